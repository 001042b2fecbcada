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

// Makes one dataset of those of the files.
using ReaderFunction = std::function<Dataset(const std::vector<Dataset>&)>;

struct SaveOptions {
  std::string compression = "";   // or "GZIP", "ZLIB"
  ShardFunction shard_func = {};  // none: all go to one file
};

struct SnapshotOptions {
  std::string compression = "AUTO";  // that is, none; or "", "GZIP", "ZLIB"
  // With either of these, the snapshot is a folder as save() writes it, gone through in the order
  // of the elements while it is written, and by `reader_func` (none: one file after another)
  // afterwards. Neither is part of what tells snapshots apart.
  ShardFunction shard_func = {};
  ReaderFunction reader_func = {};  // its dataset has each element once
};

struct LoadOptions {
  // What is expected; InvalidArgument when the elements are others. None: as they were saved.
  std::optional<ElementSpec> element_spec = {};
  ReaderFunction reader_func = {};  // none: one file after another
};

}  // namespace cornu::data
