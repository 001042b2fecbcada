// SPDX-License-Identifier: Apache-2.0
// Options of Dataset::save, Dataset::load and Dataset::snapshot.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/element.h"

namespace cornu::data {

class Dataset;

// The number (>= 0) of the file that an element goes to.
using ShardFunction = std::function<int64_t(const Element&)>;

struct SaveOptions {
  std::string compression = "";   // or "GZIP", "ZLIB"
  ShardFunction shard_func = {};  // none: all go to one file
};

struct SnapshotOptions {
  std::string compression = "AUTO";  // that is, none; or "", "GZIP", "ZLIB"
};

struct LoadOptions {
  // What is expected; InvalidArgument when the elements are others. None: as they were saved.
  std::optional<ElementSpec> element_spec = {};
  // Makes one dataset of those of the files; none: one file after another.
  std::function<Dataset(const std::vector<Dataset>&)> reader_func = {};
};

}  // namespace cornu::data
