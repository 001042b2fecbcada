// SPDX-License-Identifier: Apache-2.0
// What the housing data sets have in common. Internal to the data sets.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "data/datasets/splits.h"

namespace cornu::datasets {

// x and y of a .npz file (of their first `rows`, where given), shuffled and split. DataLoss when
// they differ in number.
Splits load_housing(const std::filesystem::path& path, std::optional<int64_t> rows,
                    double test_split, int64_t seed);

}  // namespace cornu::datasets
