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

// Returns the index (>= 0) of the file that an element goes to.
using ShardFunction = std::function<int64_t(const Element&)>;

// Combines the datasets of the files into one.
using ReaderFunction = std::function<Dataset(const std::vector<Dataset>&)>;

struct SaveOptions {
  std::string compression = "";   // or "GZIP", "ZLIB"
  ShardFunction shard_func = {};  // empty: all go to one file
};

struct SnapshotOptions {
  std::string compression = "AUTO";  // currently no compression; or "", "GZIP", "ZLIB"
  // With either of these, the snapshot is a directory in the format of save(). While it is written,
  // the elements come in their original order; afterwards they are read with `reader_func`
  // (default: one file after another). Neither function is used to distinguish snapshots.
  ShardFunction shard_func = {};
  ReaderFunction reader_func = {};  // must return each element once
};

struct LoadOptions {
  // The expected type; throws InvalidArgument when the elements have another one. nullopt: as
  // saved.
  std::optional<ElementSpec> element_spec = {};
  ReaderFunction reader_func = {};  // default: one file after another
};

}  // namespace cornu::data
