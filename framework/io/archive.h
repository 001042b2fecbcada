// SPDX-License-Identifier: Apache-2.0
// Zip archives: what .keras and .npz files are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/core/buffer.h"

namespace cornu {

struct ArchiveMember {
  std::string name;
  std::span<const std::byte> bytes;  // the caller's
  bool compress = false;             // by deflate
  // Instead of `bytes`, unless there are none: these, one after another.
  std::span<const std::span<const std::byte>> pieces = {};
};

// Some of a file's bytes.
struct FileRange {
  std::string path;
  uint64_t offset = 0;
  size_t size = 0;
};

// Writes a zip archive of these members, in this order, atomically (see atomic_file.h, also for the
// errors). As Keras does, members are stored without compression unless they say otherwise, dated
// 1980-01-01: the same members give the same bytes. InvalidArgument for an empty or repeated name.
// Thread-safe.
void write_archive(const std::string& path, std::span<const ArchiveMember> members);

// Would a member of this name lie outside of the folder that an archive is unpacked to? Backslashes
// and drives count, as on the systems that have them.
bool leads_outside(std::string_view name);

// InvalidArgument, naming the archive and the member, where one of `names` leads outside.
void require_inside(const std::string& archive, std::span<const std::string> names);

// A zip archive being read. Nothing is unpacked to the disk. Errors name the file and the member.
// Not thread-safe.
class ArchiveReader {
 public:
  // NotFound when there is no such file, DataLoss when it isn't a zip archive, or one that has two
  // members of one name.
  explicit ArchiveReader(const std::string& path);
  ~ArchiveReader();
  ArchiveReader(ArchiveReader&&) noexcept;
  ArchiveReader& operator=(ArchiveReader&&) noexcept;

  const std::vector<std::string>& names() const;  // in the archive's order
  bool contains(std::string_view name) const;

  // A member's bytes. NotFound when there is none; ResourceExhausted when it says that it has more
  // than `limit` bytes, before anything is allocated; Unimplemented when it is encrypted or
  // compressed otherwise than by deflate; DataLoss when it is damaged (its checksum is verified).
  std::vector<std::byte> read(std::string_view name, size_t limit) const;
  // The same in a buffer; ResourceExhausted also when the system has no memory for it.
  std::shared_ptr<Buffer> read_buffer(std::string_view name, size_t limit = SIZE_MAX) const;
  // Where the bytes of a member lie in the file, which are verified by reading them once, piece by
  // piece. None for one that is compressed, or empty. The errors of read().
  std::optional<FileRange> stored_range(std::string_view name) const;
  std::string read_text(std::string_view name, size_t limit) const;

 private:
  struct State;
  class Member;
  std::unique_ptr<State> state_;
};

}  // namespace cornu
