// SPDX-License-Identifier: Apache-2.0
// Tar archives (POSIX's ustar and pax, GNU's and older ones), read member by member and never
// unpacked to the disk.
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
  std::string name;  // relative, without ".." and a leading "./"
  TarKind kind = TarKind::File;
  uint64_t size = 0;  // bytes of a file
};

// An archive that lies in memory, plain or gzip-compressed (told apart by content). Not
// thread-safe.
class TarReader {
 public:
  // `name` is for messages; `archive` must outlive the reader.
  TarReader(std::span<const std::byte> archive, std::string name);
  ~TarReader();
  TarReader(const TarReader&) = delete;
  TarReader& operator=(const TarReader&) = delete;

  // The next member; false at the archive's end. DataLoss, with the byte offset in the unpacked
  // archive, when it is damaged or cut off; InvalidArgument for a name that is absolute or has
  // "..", since it would lead out of the folder that the archive is unpacked into; Unimplemented
  // for GNU's sparse files.
  bool next(TarEntry& entry);

  // What the file has that next() gave, at most once. InvalidArgument for what is no file: links
  // aren't followed. DataLoss as above; memory is only taken for what is there.
  std::shared_ptr<Buffer> read();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cornu::data
