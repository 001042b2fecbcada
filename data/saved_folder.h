// SPDX-License-Identifier: Apache-2.0
// A folder of saved elements, written by Dataset::save and snapshots and read by Dataset::load.
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

// Creates a folder and its parents. Throws the same errors as write_file_atomically.
void make_folder(const std::filesystem::path& path);

// The index of a folder. The files of each save are in their own subfolder, so that replacing the
// index replaces the whole save.
struct SavedIndex {
  std::string folder;
  std::string id;  // identifies the save; stored in its files, too
  std::string compression;
  ElementSpec spec;
  std::vector<int64_t> counts;  // number of elements by file

  static bool is_in(const std::string& folder);
  // Throws NotFound when there is no index, DataLoss when it is damaged.
  static SavedIndex read(const std::string& folder);
  Json to_json() const;
};

// Writes elements to new files in `path`. close() replaces the earlier save with them; until then
// the earlier save stays. Without close(), the new files are removed. Must be used by one thread at
// a time.
class SavedFolderWriter {
 public:
  // What to do while another writer is active: wait for it, or don't write (see may_write()).
  enum class Lock { Wait, Try };

  SavedFolderWriter(std::string path, const ElementSpec& spec, const SaveOptions& options,
                    const char* who, Lock lock);
  ~SavedFolderWriter();
  SavedFolderWriter(const SavedFolderWriter&) = delete;
  SavedFolderWriter& operator=(const SavedFolderWriter&) = delete;

  bool may_write() const { return lock_ != nullptr; }
  // The file that shard_func chooses for the next element.
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

// The elements, in the order defined by `reader_func`; if empty, one file after another.
Dataset dataset_of(const std::string& path, const SavedIndex& index,
                   const ReaderFunction& reader_func);

}  // namespace cornu::data
