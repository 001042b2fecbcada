// SPDX-License-Identifier: Apache-2.0
#include "tests/data/support.h"

#include <fstream>
#include <iterator>
#include <numeric>

#include "data/readers/output_file.h"

namespace cornu::testing {

std::vector<int64_t> numbers(const Tensor& tensor) {
  std::vector<int64_t> result;
  dispatch_dtype(tensor.dtype(), [&](auto t) {
    for (auto value : tensor.data<decltype(t)>()) result.push_back(static_cast<int64_t>(value));
  });
  return result;
}

std::vector<int64_t> numbers(data::Iterator& iterator, int64_t limit) {
  std::vector<int64_t> result;
  data::Element element;
  for (int64_t i = 0; i < limit && iterator.next(element); ++i) {
    for (const Tensor& tensor : element.tensors()) {
      const auto part = numbers(tensor);
      result.insert(result.end(), part.begin(), part.end());
    }
  }
  return result;
}

std::vector<int64_t> numbers(const data::Dataset& dataset, int64_t limit) {
  auto iterator = dataset.iterator();
  return numbers(iterator, limit);
}

Json unsealed(const Json& position) {
  Json::Object members;
  for (const Json::Member& member : position.as_object()) {
    if (member.first != "checksum") members.push_back(member);
  }
  return Json::of_members(std::move(members));
}

std::vector<std::string> texts(const data::Dataset& dataset) {
  std::vector<std::string> result;
  for (const data::Element& element : dataset) {
    for (const Tensor& tensor : element.tensors()) {
      const auto part = tensor.data<std::string>();
      result.insert(result.end(), part.begin(), part.end());
    }
  }
  return result;
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_text(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string gzip_of(const std::string& bytes) {
  const TempFolder folder;
  data::OutputFile file((folder / "gz").string(), data::Compression::Gzip, {});
  file.write(bytes);
  file.close();
  return read_text(folder / "gz");
}

data::Dataset rows_to(int64_t count) {
  std::vector<int64_t> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  return data::Dataset::from_tensor_slices(Tensor::from(values));
}

}  // namespace cornu::testing
