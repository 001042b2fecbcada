// SPDX-License-Identifier: Apache-2.0
#include "data/file_names.h"

namespace cornu::data {
namespace {

Dataset names_of(const std::vector<std::string>& paths) {
  return Dataset::from_tensor_slices(Tensor::from(paths, {std::ssize(paths)}));
}

std::vector<std::string> texts_of(const std::vector<std::filesystem::path>& paths) {
  return {paths.begin(), paths.end()};
}

}  // namespace

FileNames::FileNames(const std::vector<std::string>& paths) : dataset_(names_of(paths)) {}
FileNames::FileNames(const std::vector<std::filesystem::path>& paths)
    : dataset_(names_of(texts_of(paths))) {}

}  // namespace cornu::data
