// SPDX-License-Identifier: Apache-2.0
// The files from which a model's weights are read, and the plan for reading them.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "framework/core/variable.h"
#include "framework/io/archive.h"
#include "framework/saving/hdf5_file.h"

namespace cornu {

// Weights in the Keras 3 format: groups ("layers/dense/vars") of numbered items, in a single file
// or split into shards that a .weights.json lists.
class WeightsSource {
 public:
  // Opens a .weights.h5 file, or a .weights.json file with its shards, which must be in the same
  // directory (InvalidArgument otherwise). Throws the errors of Hdf5Reader::open.
  static WeightsSource open(const std::string& path);
  // Opens a member of an archive, which is read in place unless it is compressed; in that case it
  // may have at most `limit` bytes. Throws the errors of ArchiveReader.
  static WeightsSource of_archive(const ArchiveReader& archive, const std::string& path,
                                  const std::string& member, size_t limit);
  static WeightsSource from_bytes(std::vector<std::byte> bytes, const std::string& name);

  const std::string& name() const { return name_; }  // its name in errors
  bool has(const std::string& group) const;
  size_t count(const std::string& group) const;
  // Returns the file that contains this item of a group; null when there is none.
  const Hdf5Reader* file_of(const std::string& group, const std::string& item) const;
  // Returns the names in a group, or at the top level (""); empty when there is no such group.
  std::vector<std::string> children(const std::string& group = "") const;
  // An upper limit of the size of the weights in bytes.
  uint64_t bytes() const { return bytes_; }

 private:
  WeightsSource(std::string name, Hdf5Reader reader, uint64_t stored);
  WeightsSource() = default;
  static WeightsSource of_shards(const std::string& path);
  std::vector<const Hdf5Reader*> files_of(const std::string& group) const;

  std::string name_;
  std::vector<Hdf5Reader> files_;
  std::map<std::string, std::vector<size_t>> shards_;  // by group; empty for a single file
  uint64_t bytes_ = 0;
};

// The values to which variables are to be set. Nothing is changed until everything is known to
// match; then tensors are read one after another, each replacing the variable's previous value.
class ReadPlan {
 public:
  // Adds the dataset at `path` for a variable, replacing an earlier entry. The caller must have
  // checked its shape.
  void add(const Variable& variable, const Hdf5Reader& file, std::string path);
  // Throws the errors of Hdf5Reader::read before any variable is changed. If the system fails
  // midway, all variables are poisoned: they have no value until they are loaded again.
  void run() const;

 private:
  struct Entry {
    Variable variable;
    const Hdf5Reader* file;
    std::string path;
  };
  std::vector<Entry> entries_;
  std::map<const void*, size_t> places_;  // by variable id
};

// For an optimizer that hasn't made any steps, Keras saves at most iterations and the learning
// rate, because the slots aren't built.
inline constexpr size_t kBeforeSlots = 2;

// Whether the optimizer with this iteration counter has made steps. False if the dataset isn't a
// counter.
bool has_made_steps(const Hdf5Reader& file, const std::string& iterations);

}  // namespace cornu
