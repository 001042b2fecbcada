// SPDX-License-Identifier: Apache-2.0
// A folder of saved elements: what Dataset::save and snapshots write, and load reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/readers/element_file.h"
#include "data/saved_dataset.h"
#include "framework/core/json.h"
#include "framework/io/file_lock.h"

namespace cornu::data {

// With those that it lies in. Errors as write_file_atomically's.
void make_folder(const std::filesystem::path& path);

// What a folder holds, as its index says. Files lie in a subfolder of this save's own, so that the
// index is what replaces one save by another.
struct SavedIndex {
  std::string folder;
  std::string id;  // of the save, which its files know, too
  std::string compression;
  ElementSpec spec;
  std::vector<int64_t> counts;  // of elements, by file

  static bool is_in(const std::string& folder);
  // NotFound where there is none, DataLoss where it is damaged.
  static SavedIndex read(const std::string& folder);
  Json to_json() const;
};

// Writes elements to new files in `path`, which close() puts in the place of what was saved there;
// until then that stays, and without it the new files are removed. Used by one thread at a time.
class SavedFolderWriter {
 public:
  // While one writes, others wait for it; or may not write.
  enum class Lock { Wait, Try };

  SavedFolderWriter(std::string path, const ElementSpec& spec, const SaveOptions& options,
                    const char* who, Lock lock);
  ~SavedFolderWriter();
  SavedFolderWriter(const SavedFolderWriter&) = delete;
  SavedFolderWriter& operator=(const SavedFolderWriter&) = delete;

  bool may_write() const { return lock_ != nullptr; }
  // Where shard_func has the next element.
  int64_t file_of(const Element& element) const;
  void write(const Element& element, int64_t file);
  void close();

 private:
  ElementFileWriter& writer(int64_t file);

  std::string path_;
  const char* who_;
  ShardFunction shard_func_;
  Compression compression_;
  std::unique_ptr<FileLock> lock_;
  SavedIndex index_;
  std::map<int64_t, ElementFileWriter> writers_;
  int64_t count_ = 0;
  bool closed_ = false;
};

// The elements, in the order of `reader_func`; none: one file after another.
Dataset dataset_of(const std::string& path, const SavedIndex& index,
                   const ReaderFunction& reader_func);

}  // namespace cornu::data
