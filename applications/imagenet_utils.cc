// SPDX-License-Identifier: Apache-2.0
#include "applications/imagenet_utils.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "applications/imagenet.h"
#include "framework/core/error.h"
#include "framework/core/json.h"
#include "framework/io/atomic_file.h"
#include "framework/ops/ops.h"

namespace cornu::applications::imagenet_utils {
namespace {

constexpr int64_t kImagenetClasses = 1000;
constexpr size_t kIndexLimit = size_t{1} << 20;  // in bytes; Keras's file has 35 363

Tensor of_channels(std::initializer_list<float> values, DType dtype) {
  return ops::cast(Tensor::from<float>(values), dtype);
}

// {"0": ["n01440764", "tench"], …}
std::vector<Prediction> read_class_index() {
  const std::string path = cached_file("imagenet_class_index.json");
  std::error_code ignored;
  check<NotFound>(
      std::filesystem::exists(path, ignored),
      "decode_predictions: there is no file '{}' with the names of the classes. Nothing "
      "is downloaded: get it from https://storage.googleapis.com/download.tensorflow."
      "org/data/imagenet_class_index.json.",
      path);
  const std::vector<std::byte> bytes = read_file(path, kIndexLimit);
  const Json index =
      Json::parse(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  std::vector<Prediction> classes;
  for (int64_t i = 0; i < kImagenetClasses; ++i) {
    const Json* item = index.find(fmt::format("{}", i));
    check<DataLoss>(item && item->as_array().size() == 2,
                    "decode_predictions: expected '{}' to give class {} as [id, name]. Download "
                    "the file again.",
                    path, i);
    classes.push_back({(*item)[0].as_string(), (*item)[1].as_string()});
  }
  return classes;
}

}  // namespace

Tensor preprocess_input(const Tensor& x, PreprocessMode mode) {
  const Tensor pixels = is_floating(x.dtype()) ? x : ops::cast(x, DType::Float32);
  if (mode == PreprocessMode::Tf) return pixels / 127.5 - 1.0;
  check<InvalidArgument>(x.rank() > 0 && x.shape().back() == 3,
                         "preprocess_input: expected 3 channels, (…, red green blue), got {}.",
                         x.shape());
  const DType dtype = pixels.dtype();
  if (mode == PreprocessMode::Torch) {
    return (pixels / 255.0 - of_channels({0.485F, 0.456F, 0.406F}, dtype)) /
           of_channels({0.229F, 0.224F, 0.225F}, dtype);
  }
  const Tensor swapped = ops::take(pixels, Tensor::from<int32_t>({2, 1, 0}), -1);
  return swapped - of_channels({103.939F, 116.779F, 123.68F}, dtype);
}

std::vector<std::vector<Prediction>> decode_predictions(const Tensor& preds, int64_t top) {
  check<InvalidArgument>(preds.rank() == 2 && preds.shape()[1] == kImagenetClasses,
                         "decode_predictions: expected a batch of predictions, (samples, 1000), "
                         "got {}.",
                         preds.shape());
  check<InvalidArgument>(top >= 1, "decode_predictions: expected top >= 1, got {}.", top);
  const std::vector<Prediction> classes = read_class_index();
  const std::vector<double> scores = ops::cast(preds, DType::Float64).to_vector<double>();
  std::vector<std::vector<Prediction>> results;
  for (int64_t sample = 0; sample < preds.shape()[0]; ++sample) {
    const double* row = scores.data() + sample * kImagenetClasses;
    std::vector<int64_t> order(kImagenetClasses);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [row](int64_t a, int64_t b) {
      return std::isnan(row[a]) ? !std::isnan(row[b]) : row[a] > row[b];  // NaN first, as in Keras
    });
    order.resize(static_cast<size_t>(std::min(top, kImagenetClasses)));
    std::vector<Prediction>& result = results.emplace_back();
    for (const int64_t i : order) {
      result.push_back(classes[static_cast<size_t>(i)]);
      result.back().score = row[i];
    }
  }
  return results;
}

}  // namespace cornu::applications::imagenet_utils
