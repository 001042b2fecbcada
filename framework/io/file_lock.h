// SPDX-License-Identifier: Apache-2.0
// Inter-process locks that are released when their owner dies, for any reason.
#pragma once

#include <filesystem>
#include <memory>

#include "framework/io/file_descriptor.h"

namespace cornu {

// Holds a lock on the file `path` (flock), which it creates and removes, against other processes
// and threads. On a file system without locks it excludes nobody, which is warned of once.
class FileLock {
 public:
  // Blocks until the lock is acquired. Throws Unavailable when the file can't be created or locked.
  explicit FileLock(const std::filesystem::path& path);
  // Returns null when another process or thread holds the lock.
  static std::unique_ptr<FileLock> try_lock(const std::filesystem::path& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  enum class Wait { Yes, No };
  FileLock(const std::filesystem::path& path, Wait wait);
  bool is_current() const;

  std::filesystem::path path_;
  std::unique_ptr<FileDescriptor> file_;  // null if not locked
};

}  // namespace cornu
