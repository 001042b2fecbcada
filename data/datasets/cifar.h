// SPDX-License-Identifier: Apache-2.0
// Common parts of CIFAR-10 and CIFAR-100. Internal to the data sets.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::datasets {

// The concatenated images of some batches of an archive, and their labels.
struct CifarImages {
  Tensor x;                // uint8 (n, 32, 32, 3)
  std::vector<int64_t> y;  // n
};

// Reads batches (pickles) from a .tar.gz, without extracting it to disk. Each element of `wanted`
// is a list of members, whose images are concatenated; `label_key` is the key of the labels. Throws
// DataLoss when a member is missing or isn't a batch.
std::vector<CifarImages> read_cifar(const std::filesystem::path& archive,
                                    const std::vector<std::vector<std::string>>& wanted,
                                    const std::string& label_key);

}  // namespace cornu::datasets
