// SPDX-License-Identifier: Apache-2.0
// Locks between processes that die with their owner, however it dies.
#pragma once

#include <filesystem>
#include <memory>

#include "framework/io/file_descriptor.h"

namespace cornu {

// Holds the lock file `path` (flock), which it makes and removes. Threads of one process that make
// locks of one path keep each other out, too.
class FileLock {
 public:
  // Waits for the lock. Unavailable when the file can't be made or locked.
  explicit FileLock(const std::filesystem::path& path);
  // Null when another process or thread holds it.
  static std::unique_ptr<FileLock> try_lock(const std::filesystem::path& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  enum class Wait { Yes, No };
  FileLock(const std::filesystem::path& path, Wait wait);
  bool is_current() const;

  std::filesystem::path path_;
  std::unique_ptr<FileDescriptor> file_;  // null: not locked
};

}  // namespace cornu
