// SPDX-License-Identifier: Apache-2.0
// The file, or files, that a model's weights are read from, and what is read.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "framework/core/variable.h"
#include "framework/io/archive.h"
#include "framework/saving/hdf5_file.h"

namespace cornu {

// Keras 3's weights: groups ("layers/dense/vars") of numbered items, in one file or divided over
// several (shards), of which a .weights.json says what is where.
class WeightsSource {
 public:
  // A .weights.h5, or a .weights.json with its shards, which must lie beside it: InvalidArgument
  // for one that names other files. The errors of Hdf5Reader::open.
  static WeightsSource open(const std::string& path);
  // The member of an archive, which is read where it lies, unless it is compressed: then it has at
  // most `limit` bytes. The errors of ArchiveReader.
  static WeightsSource of_archive(const ArchiveReader& archive, const std::string& path,
                                  const std::string& member, size_t limit);
  static WeightsSource from_bytes(std::vector<std::byte> bytes, const std::string& name);

  const std::string& name() const { return name_; }  // what errors call it
  bool has(const std::string& group) const;
  size_t count(const std::string& group) const;
  // The file with this item of a group; null when there is none.
  const Hdf5Reader* file_of(const std::string& group, const std::string& item) const;
  // The names in a group, or at the top: ""; none where there is no such group.
  std::vector<std::string> children(const std::string& group = "") const;
  // The most bytes that the weights can have.
  uint64_t bytes() const { return bytes_; }

 private:
  WeightsSource(std::string name, Hdf5Reader reader, uint64_t stored);
  WeightsSource() = default;
  static WeightsSource of_shards(const std::string& path);
  std::vector<const Hdf5Reader*> files_of(const std::string& group) const;

  std::string name_;
  std::vector<Hdf5Reader> files_;
  std::map<std::string, std::vector<size_t>> shards_;  // by group; none for a single file
  uint64_t bytes_ = 0;
};

// What variables are set to. Nothing is changed until all is known to fit; then tensors are read
// one after another, each in the place of the variable's last.
class ReadPlan {
 public:
  // The dataset at `path` for a variable, instead of what was added for it before. Its shape must
  // have been compared.
  void add(const Variable& variable, const Hdf5Reader& file, std::string path);
  // The errors of Hdf5Reader::read, before any variable is changed. Should the system fail in the
  // midst of it, all of them are poisoned: they have no value until they are loaded again.
  void run() const;

 private:
  struct Entry {
    Variable variable;
    const Hdf5Reader* file;
    std::string path;
  };
  std::vector<Entry> entries_;
  std::map<const void*, size_t> places_;  // by the variable's id
};

// Of an optimizer that has made no step yet, Keras saves no more than iterations and learning rate:
// the slots aren't built.
inline constexpr size_t kBeforeSlots = 2;

// Whether an optimizer had made steps, whose counter is this dataset. False for what is none.
bool has_made_steps(const Hdf5Reader& file, const std::string& iterations);

}  // namespace cornu
