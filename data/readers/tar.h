// SPDX-License-Identifier: Apache-2.0
// Tar archives (POSIX ustar and pax, GNU and older formats), read member by member without
// extracting them to disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "framework/core/buffer.h"

namespace cornu::data {

enum class TarKind { File, Directory, Link, Other };

struct TarEntry {
  std::string name;  // relative, without ".." and without a leading "./"
  TarKind kind = TarKind::File;
  uint64_t size = 0;  // size of a file in bytes
};

// Reads an archive in memory, plain or gzip-compressed (detected by content). Not thread-safe.
class TarReader {
 public:
  // `name` is for messages; `archive` must outlive the reader.
  TarReader(std::span<const std::byte> archive, std::string name);
  ~TarReader();
  TarReader(const TarReader&) = delete;
  TarReader& operator=(const TarReader&) = delete;

  // Moves to the next member; returns false at the archive's end. Throws DataLoss, with the byte
  // offset in the uncompressed archive, when it is damaged or truncated; InvalidArgument for a name
  // that is absolute or contains "..", since it would escape the target directory; Unimplemented
  // for GNU sparse files.
  bool next(TarEntry& entry);

  // The contents of the file that next() returned; may be called at most once per file. Throws
  // InvalidArgument for anything but a file (links aren't followed), and DataLoss as above. Memory
  // is allocated only for data that is actually there.
  std::shared_ptr<Buffer> read();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cornu::data
