// SPDX-License-Identifier: Apache-2.0
// Common parts of the housing data sets. Internal to the data sets.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "data/datasets/splits.h"

namespace cornu::datasets {

// Reads x and y from a .npz file (only the first `rows`, if given), shuffled and split. Throws
// DataLoss when their numbers differ.
Splits load_housing(const std::filesystem::path& path, std::optional<int64_t> rows,
                    double test_split, int64_t seed);

}  // namespace cornu::datasets
