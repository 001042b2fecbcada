// SPDX-License-Identifier: Apache-2.0
// Files that are replaced completely or not at all, even if the process is killed.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cornu {

// Calls `write` with the path of an empty temporary file in the same directory, and when it
// returns, moves that file to `path`: fsync, rename, fsync of the directory. If anything throws or
// the process dies, an existing file at `path` stays unchanged; if only syncing the directory
// fails, the error says that the new file is in place. The temporary file is removed on an error;
// those left by processes that were killed are removed by the next write to any path in the
// directory.
//
// If `path` is a symbolic link, its target is replaced; other hard links keep the old file. An
// existing file keeps its permissions, and its owner and group if the process is allowed to change
// them. A file that the process may not write isn't replaced.
//
// Errors name `path` and the system's message: NotFound when the directory doesn't exist,
// FailedPrecondition when it isn't writable or `path` isn't a regular file, ResourceExhausted when
// the disk is full, InvalidArgument when `path` is empty or ends with '/'. Exceptions thrown by
// `write` are propagated. Thread-safe; when several writers use the same path concurrently, the
// last one wins.
void write_file_atomically(const std::string& path,
                           const std::function<void(const std::string& temporary_path)>& write);
void write_file_atomically(const std::string& path, std::span<const std::byte> bytes);
void write_file_atomically(const std::string& path, std::string_view text);
// Overload for contents in several pieces.
void write_file_atomically(const std::string& path,
                           std::span<const std::span<const std::byte>> pieces);

// Removes temporary files in a directory that processes that were killed have left.
void remove_leftovers(const std::string& directory);

// For writing incrementally: write to the file at temporary_path(), then call commit() to move it
// to `path`. Without commit(), it is removed. Throws the same errors as write_file_atomically. Must
// be used by one thread at a time.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::string& temporary_path() const;
  // Appends these pieces to the file.
  void append(std::span<const std::span<const std::byte>> pieces);
  void commit();  // at most once

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Returns when the contents of these files in `folder`, and their directory entries, are on the
// disk; many small files are synced with one call for the whole file system. Throws the same errors
// as above.
void sync_files(const std::string& folder, std::span<const std::string> paths);

// Throws the error for a failed system call; `doing` is "be written", "be opened", ….
[[noreturn]] void raise_file_error(const std::string& path, const char* doing, int error);

// Reads a whole file. Throws NotFound when it doesn't exist, FailedPrecondition when it can't be
// read or isn't a regular file, ResourceExhausted when it is larger than `limit` (without
// allocating anything).
std::vector<std::byte> read_file(const std::string& path, size_t limit);

// The size of a file, if it is readable; otherwise throws the same errors as read_file.
size_t file_size(const std::string& path);

}  // namespace cornu
