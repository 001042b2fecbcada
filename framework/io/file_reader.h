// SPDX-License-Identifier: Apache-2.0
// Reads regular files sequentially. (They aren't memory-mapped, since truncating a mapped file
// kills the process.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "framework/core/buffer.h"
#include "framework/io/file_descriptor.h"

namespace cornu {

class FileReader {
 public:
  // Throws NotFound when the file doesn't exist, other errors (raise_file_error) when it can't be
  // opened, and InvalidArgument when it isn't a regular file.
  explicit FileReader(const std::filesystem::path& path);

  size_t size() const { return size_; }  // when it was opened

  // Fills `out` with the next bytes. Throws DataLoss when there aren't enough, because the file was
  // truncated in the meantime, or when it can't be read.
  void read(std::span<std::byte> out);
  // Reads up to out.size() bytes and returns their number: 0 only at the end, unless `out` is
  // empty. Throws DataLoss when the file can't be read.
  size_t read_some(std::span<std::byte> out);
  // Makes the byte at `offset` the next one to be read.
  void seek(uint64_t offset);

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
  size_t size_ = 0;
};

// Reads a whole file into memory. Throws the same errors as FileReader; ResourceExhausted when
// there isn't enough memory.
std::shared_ptr<Buffer> read_whole_file(const std::filesystem::path& path);

}  // namespace cornu
