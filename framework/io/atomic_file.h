// SPDX-License-Identifier: Apache-2.0
// Files that are replaced whole or not at all, whatever kills the process.
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
// returns, makes that file the one at `path`: fsync, rename, fsync of the directory. If anything
// throws or the process dies, the file at `path` stays what it was; but if the directory alone
// can't be synced, the error says that the new file is there. The temporary file is removed on an
// error; those that killed processes left are removed by the next write to any path in the
// directory.
//
// A symbolic link stays, and its target is replaced; other hard links keep the old file. An
// existing file keeps its permissions, and its owner and group where the process may give files
// away. One that the process may not write to isn't replaced.
//
// Errors name `path` and what the system said: NotFound when the directory doesn't exist,
// FailedPrecondition when it can't be written or `path` isn't a regular file, ResourceExhausted
// when the disk is full, InvalidArgument when `path` is empty or ends with '/'; and what `write`
// throws. Thread-safe; of concurrent writers of one path the last wins.
void write_file_atomically(const std::string& path,
                           const std::function<void(const std::string& temporary_path)>& write);
void write_file_atomically(const std::string& path, std::span<const std::byte> bytes);
void write_file_atomically(const std::string& path, std::string_view text);
// These pieces, one after another.
void write_file_atomically(const std::string& path,
                           std::span<const std::span<const std::byte>> pieces);

// The same for what is written piece by piece: write to the file at temporary_path(), then commit()
// makes it the one at `path`. What isn't committed is removed. Errors as above; used by one thread.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::string& temporary_path() const;
  // Writes these pieces, one after another, behind what the file holds.
  void append(std::span<const std::span<const std::byte>> pieces);
  void commit();  // once

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Returns when the bytes of these files in `folder`, and their names there, are on the disk: many
// small ones by one call for the whole file system. Errors as above.
void sync_files(const std::string& folder, std::span<const std::string> paths);

// What is thrown when the system refuses something: `doing` is "be written", "be opened", ….
[[noreturn]] void raise_file_error(const std::string& path, const char* doing, int error);

// The whole file. NotFound when there is none, FailedPrecondition when it can't be read or isn't a
// regular file, ResourceExhausted when it has more than `limit` bytes (nothing is allocated then).
std::vector<std::byte> read_file(const std::string& path, size_t limit);

// The size of a file that can be read; the errors of read_file otherwise.
size_t file_size(const std::string& path);

}  // namespace cornu
