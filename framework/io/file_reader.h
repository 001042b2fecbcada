// SPDX-License-Identifier: Apache-2.0
// Regular files, read from their beginning. (Not mapped into memory: a file that is shortened while
// it is mapped ends the process.)
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
  // NotFound when there is no such file, other kinds (raise_file_error) when it can't be opened;
  // InvalidArgument when it isn't a regular file.
  explicit FileReader(const std::filesystem::path& path);

  size_t size() const { return size_; }  // when it was opened

  // Fills `out` with the next bytes. DataLoss when there are no more, because the file was
  // shortened meanwhile, or can't be read.
  void read(std::span<std::byte> out);
  // Reads what comes next into `out` and returns how many bytes: 0 at the end only, where `out` has
  // room. DataLoss when the file can't be read.
  size_t read_some(std::span<std::byte> out);
  // The next byte to be read is that at `offset`.
  void seek(uint64_t offset);

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
  size_t size_ = 0;
};

// A whole file in memory. Errors as FileReader's; ResourceExhausted when there is no room for it.
std::shared_ptr<Buffer> read_whole_file(const std::filesystem::path& path);

}  // namespace cornu
