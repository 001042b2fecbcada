// SPDX-License-Identifier: Apache-2.0
#include "data/datasets/cifar10.h"

#include "data/datasets/cifar.h"
#include "data/datasets/dataset_file.h"

namespace cornu::datasets::cifar10 {
namespace {

constexpr DatasetFile kFile = {
    .title = "CIFAR-10",
    .name = "cifar-10-python.tar.gz",
    .folder = "https://www.cs.toronto.edu/~kriz/",
    .hash = "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce"};

Examples with_labels(const CifarImages& images, const std::filesystem::path& path) {
  Examples examples{images.x, Tensor::empty({images.x.dim(0), 1}, DType::UInt8)};
  const auto labels = examples.y.mutable_data<uint8_t>();
  for (size_t i = 0; i < labels.size(); ++i) {
    check<DataLoss>(images.y[i] >= 0 && images.y[i] <= UINT8_MAX,
                    "{}: expected labels of 0 to 255, got {}.", path.string(), images.y[i]);
    labels[i] = static_cast<uint8_t>(images.y[i]);
  }
  return examples;
}

}  // namespace

Splits load_data(const LoadOptions& options) {
  const auto path = find_dataset_file(kFile, options);
  std::vector<std::string> train;
  for (int i = 1; i <= 5; ++i) train.push_back(fmt::format("cifar-10-batches-py/data_batch_{}", i));
  const auto parts = read_cifar(path, {train, {"cifar-10-batches-py/test_batch"}}, "labels");
  return {with_labels(parts[0], path), with_labels(parts[1], path)};
}

}  // namespace cornu::datasets::cifar10
