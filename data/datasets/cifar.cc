// SPDX-License-Identifier: Apache-2.0
#include "data/datasets/cifar.h"

#include <map>

#include "data/readers/pickle.h"
#include "data/readers/tar.h"
#include "framework/core/error.h"
#include "framework/io/file_reader.h"

namespace cornu::datasets {
namespace {

constexpr int64_t kChannels = 3;
constexpr int64_t kSide = 32;
constexpr int64_t kPixels = kSide * kSide;

struct CifarBatch {
  Tensor data;  // uint8 (n, 3072): all red values, then green, then blue
  std::vector<int64_t> labels;
};

// The requested members by name.
using CifarBatches = std::map<std::string, CifarBatch>;

CifarBatch read_batch(data::TarReader& tar, const std::string& place,
                      const std::string& label_key) {
  const auto file = tar.read();
  const auto batch = data::parse_pickle({file->data(), file->bytes()}, place, file);
  CifarBatch result{batch.at("data").to_tensor(), batch.at(label_key).to_ints()};
  const Tensor& x = result.data;
  check<DataLoss>(x.dtype() == DType::UInt8 && x.rank() == 2 && x.dim(1) == kChannels * kPixels,
                  "{}: expected images as uint8 (n, 3072), got {} {}.", place, x.dtype(),
                  x.shape());
  check<DataLoss>(x.dim(0) == static_cast<int64_t>(result.labels.size()),
                  "{}: there are {} images, but {} labels.", place, x.dim(0), result.labels.size());
  return result;
}

// Converts images to channels-last.
void interleave(std::span<const uint8_t> from, std::span<uint8_t> to) {
  for (size_t image = 0; image < from.size(); image += kChannels * kPixels) {
    for (size_t channel = 0; channel < kChannels; ++channel) {
      const uint8_t* plane = from.data() + image + channel * kPixels;
      uint8_t* out = to.data() + image + channel;
      for (size_t pixel = 0; pixel < kPixels; ++pixel) out[pixel * kChannels] = plane[pixel];
    }
  }
}

CifarImages put_together(const CifarBatches& batches, const std::vector<std::string>& names) {
  int64_t count = 0;
  for (const std::string& name : names) count += batches.at(name).data.dim(0);
  CifarImages images{Tensor::empty({count, kSide, kSide, kChannels}, DType::UInt8), {}};
  const auto out = images.x.mutable_data<uint8_t>();
  size_t filled = 0;
  for (const std::string& name : names) {
    const CifarBatch& batch = batches.at(name);
    const auto pixels = batch.data.data<uint8_t>();
    interleave(pixels, out.subspan(filled, pixels.size()));
    filled += pixels.size();
    images.y.insert(images.y.end(), batch.labels.begin(), batch.labels.end());
  }
  return images;
}

}  // namespace

std::vector<CifarImages> read_cifar(const std::filesystem::path& archive,
                                    const std::vector<std::vector<std::string>>& wanted,
                                    const std::string& label_key) {
  const auto file = read_whole_file(archive);
  data::TarReader tar({file->data(), file->bytes()}, archive.string());
  CifarBatches batches;
  for (data::TarEntry entry; tar.next(entry);) {
    for (const auto& names : wanted) {
      if (std::find(names.begin(), names.end(), entry.name) == names.end()) continue;
      const std::string place = fmt::format("{}: member '{}'", archive.string(), entry.name);
      batches[entry.name] = read_batch(tar, place, label_key);
      break;
    }
  }
  std::vector<CifarImages> result;
  for (const auto& names : wanted) {
    for (const std::string& name : names) {
      check<DataLoss>(batches.contains(name), "{}: the member '{}' is missing.", archive.string(),
                      name);
    }
    result.push_back(put_together(batches, names));
  }
  return result;
}

}  // namespace cornu::datasets
