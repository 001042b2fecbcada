// SPDX-License-Identifier: Apache-2.0
#include "data/datasets/cifar100.h"

#include "data/datasets/cifar.h"
#include "data/datasets/dataset_file.h"

namespace cornu::datasets::cifar100 {
namespace {

constexpr DatasetFile kFile = {
    .title = "CIFAR-100",
    .name = "cifar-100-python.tar.gz",
    .folder = "https://www.cs.toronto.edu/~kriz/",
    .hash = "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7"};

Examples with_labels(const CifarImages& images) {
  return {images.x, Tensor::from(images.y, {images.x.dim(0), 1})};
}

}  // namespace

Splits load_data(const LoadOptions& options) {
  const std::string& mode = options.label_mode;
  check<InvalidArgument>(mode == "fine" || mode == "coarse",
                         "cifar100: expected label_mode \"fine\" or \"coarse\", got \"{}\".", mode);
  const auto path = find_dataset_file(kFile, {options.path, options.download});
  const auto parts =
      read_cifar(path, {{"cifar-100-python/train"}, {"cifar-100-python/test"}}, mode + "_labels");
  return {with_labels(parts[0]), with_labels(parts[1])};
}

}  // namespace cornu::datasets::cifar100
