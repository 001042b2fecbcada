// SPDX-License-Identifier: Apache-2.0
// Writes zip archives (APPNOTE.TXT 6.3.10) incrementally. Internal to io.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "framework/io/file_descriptor.h"

namespace cornu {

// Writes members one after another to an empty file. Members and archives larger than 4 GiB use the
// zip64 fields. Errors name `path`, and are those of atomic_file.h.
class ZipWriter {
 public:
  using Pieces = std::span<const std::span<const std::byte>>;

  // Writes to the file `temporary`; errors refer to it as `path`.
  ZipWriter(std::string path, const std::string& temporary);
  // The member's contents are the concatenated pieces.
  void add(const std::string& name, Pieces pieces, bool compress);
  void finish();  // call once, after the last member

 private:
  struct Entry {
    std::string name;
    bool compress = false;
    uint32_t crc = 0;
    uint64_t stored = 0, size = 0, offset = 0;
  };
  std::string local_header(const Entry& entry) const;
  std::string directory_entry(const Entry& entry) const;
  void write(std::span<const std::byte> bytes);
  void write(const std::string& text);
  void write_deflated(Pieces pieces, Entry& entry);

  std::string path_;
  FileDescriptor file_;
  uint64_t at_ = 0;  // bytes written
  std::vector<Entry> entries_;
};

}  // namespace cornu
