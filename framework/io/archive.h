// SPDX-License-Identifier: Apache-2.0
// Zip archives, the format of .keras and .npz files.
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
  std::span<const std::byte> bytes;  // owned by the caller
  bool compress = false;             // with deflate
  // The member's contents in several pieces, used instead of `bytes` unless empty.
  std::span<const std::span<const std::byte>> pieces = {};
};

// A range of bytes in a file.
struct FileRange {
  std::string path;
  uint64_t offset = 0;
  size_t size = 0;
};

// Writes a zip archive of these members, in this order, atomically (see atomic_file.h, also for
// errors). As in Keras, members are stored without compression unless requested otherwise, and
// dated 1980-01-01, so the same members give the same bytes. Throws InvalidArgument for an empty or
// duplicate name. Thread-safe.
void write_archive(const std::string& path, std::span<const ArchiveMember> members);

// Whether a member with this name would be extracted to a path outside of the target folder.
// Backslashes and drive letters count, as on the systems that have them.
bool leads_outside(std::string_view name);

// Throws InvalidArgument, naming the archive and the member, when one of `names` leads outside.
void require_inside(const std::string& archive, std::span<const std::string> names);

// Reads a zip archive. Nothing is extracted to disk. Errors name the file and the member. Not
// thread-safe.
class ArchiveReader {
 public:
  // Throws NotFound when the file doesn't exist, DataLoss when it isn't a zip archive or has two
  // members with the same name.
  explicit ArchiveReader(const std::string& path);
  ~ArchiveReader();
  ArchiveReader(ArchiveReader&&) noexcept;
  ArchiveReader& operator=(ArchiveReader&&) noexcept;

  const std::vector<std::string>& names() const;  // in the archive's order
  bool contains(std::string_view name) const;

  // Returns a member's contents. Throws NotFound when there is no such member; ResourceExhausted
  // when its declared size exceeds `limit`, before anything is allocated; Unimplemented when it is
  // encrypted or uses a compression other than deflate; DataLoss when it is damaged (its checksum
  // is verified).
  std::vector<std::byte> read(std::string_view name, size_t limit) const;
  // Like read(), but returns a buffer; also throws ResourceExhausted when memory can't be
  // allocated.
  std::shared_ptr<Buffer> read_buffer(std::string_view name, size_t limit = SIZE_MAX) const;
  // The range of a member's bytes in the file, which are verified by reading them once, block by
  // block. nullopt for a member that is compressed or empty. Throws the same errors as read().
  std::optional<FileRange> stored_range(std::string_view name) const;
  std::string read_text(std::string_view name, size_t limit) const;

 private:
  struct State;
  class Member;
  std::unique_ptr<State> state_;
};

}  // namespace cornu
