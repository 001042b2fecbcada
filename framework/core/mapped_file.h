// SPDX-License-Identifier: Apache-2.0
// A file's contents as memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace cornu {

// Maps a whole file, privately: nothing is read until it is touched, and writes to the memory (as
// the owner of a tensor in it may do) never reach the file. The file must not be shortened while it
// is mapped: replace files by renaming, never in place.
class MappedFile {
 public:
  // NotFound when there is no such file or it can't be read; InvalidArgument when it isn't a
  // regular file.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace cornu
