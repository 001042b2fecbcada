// SPDX-License-Identifier: Apache-2.0
#include "data/readers/tar.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "framework/core/error.h"
#include "framework/core/strings.h"
#include "framework/io/archive.h"
#include "framework/io/fuzzing.h"
#include "framework/io/gzip.h"

namespace cornu::data {
namespace {

constexpr size_t kTarBlock = 512;
constexpr uint64_t kMaxTarRecord = uint64_t{1} << 20;  // maximum bytes of a long name and similar
                                                       // records
constexpr uint64_t kMaxTarSize = uint64_t{1} << 62;

using TarBlock = std::array<char, kTarBlock>;

// A text that fills its field or ends with a 0.
std::string_view tar_text(const TarBlock& block, size_t offset, size_t size) {
  const std::string_view field(block.data() + offset, size);
  return field.substr(0, field.find('\0'));
}

// Parses octal digits or GNU's binary numbers; nullopt for anything else.
std::optional<uint64_t> tar_number(const TarBlock& block, size_t offset, size_t size) {
  std::string_view field(block.data() + offset, size);
  uint64_t value = 0;
  if (static_cast<uint8_t>(field[0]) == 0x80) {
    for (const char byte : field.substr(1)) {
      if (value >> 54 != 0) return std::nullopt;
      value = value << 8 | static_cast<uint8_t>(byte);
    }
    return value;
  }
  while (!field.empty() && field.front() == ' ') field.remove_prefix(1);
  size_t digits = 0;
  for (; digits < field.size() && field[digits] >= '0' && field[digits] <= '7'; ++digits) {
    value = 8 * value + static_cast<uint64_t>(field[digits] - '0');  // at most 12 digits
  }
  const char after = digits < field.size() ? field[digits] : '\0';
  if (after != '\0' && after != ' ') return std::nullopt;
  return value;
}

bool tar_checksum_matches(const TarBlock& block) {
  if (!kChecksumsMatter) return true;
  constexpr size_t kField = 148;
  constexpr size_t kFieldSize = 8;
  int64_t sum = 0;
  int64_t signed_sum = 0;  // written by some old programs
  for (size_t i = 0; i < block.size(); ++i) {
    const char byte = i >= kField && i < kField + kFieldSize ? ' ' : block[i];
    sum += static_cast<uint8_t>(byte);
    signed_sum += static_cast<int8_t>(byte);
  }
  const auto stored = tar_number(block, kField, kFieldSize);
  if (!stored) return false;
  return static_cast<int64_t>(*stored) == sum || static_cast<int64_t>(*stored) == signed_sum;
}

TarKind tar_kind(char type, std::string_view name) {
  if (type == '5' || (type == '\0' && name.ends_with('/'))) return TarKind::Directory;
  if (type == '0' || type == '\0' || type == '7') return TarKind::File;
  return type == '1' || type == '2' ? TarKind::Link : TarKind::Other;
}

// Whether members of this type have content in the archive.
bool tar_type_has_content(char type) {
  constexpr std::string_view kWithout = "123456";
  return kWithout.find(type) == kWithout.npos;
}

}  // namespace

struct TarReader::State {
  std::span<const std::byte> archive;
  std::string name;
  std::unique_ptr<GzipReader> packed;  // null if the archive isn't compressed
  uint64_t at = 0;                     // offset in the uncompressed archive
  uint64_t unread = 0;                 // bytes of the member's content
  uint64_t padding = 0;                // bytes after the content
  TarEntry entry;
  bool readable = false;

  // Reads up to out.size() bytes, fewer only at the end.
  size_t read_some(std::span<std::byte> out) {
    size_t count;
    if (packed) {
      count = packed->read(out);
    } else {
      count = std::min<size_t>(out.size(), archive.size() - at);
      std::copy_n(archive.begin() + static_cast<std::ptrdiff_t>(at), count, out.begin());
    }
    at += count;
    return count;
  }

  [[noreturn]] void cut_off(const char* where) const {
    raise<DataLoss>(
        "{}: the tar archive is truncated at byte {}, {}. Download or create the file again.", name,
        at, where);
  }

  [[noreturn]] void damaged(uint64_t offset, const char* what) const {
    raise<DataLoss>("{}: the tar archive is damaged: at byte {}, {}.", name, offset, what);
  }

  void skip(uint64_t count) {
    if (!packed) {
      const uint64_t there = std::min<uint64_t>(count, archive.size() - at);
      at += there;
      if (there < count) cut_off("within a member");
      return;
    }
    std::array<std::byte, 1 << 16> scratch;
    while (count > 0) {
      const auto piece = std::span(scratch).first(std::min<uint64_t>(count, scratch.size()));
      if (read_some(piece) < piece.size()) cut_off("within a member");
      count -= piece.size();
    }
  }

  void skip_content() {
    skip(unread);
    skip(padding);
    unread = padding = 0;
  }

  void begin_content(uint64_t size) {
    unread = size;
    padding = (kTarBlock - size % kTarBlock) % kTarBlock;
  }

  // Returns false for a block of zeros, which ends the archive.
  bool read_header(TarBlock& block) {
    const uint64_t offset = at;
    if (read_some(std::as_writable_bytes(std::span(block))) < block.size()) {
      cut_off("where a member or the end should be");
    }
    if (std::all_of(block.begin(), block.end(), [](char byte) { return byte == 0; })) return false;
    if (!tar_checksum_matches(block)) damaged(offset, "a header has another checksum");
    return true;
  }

  std::shared_ptr<Buffer> read_content() {
    const size_t size = unread;
    const bool possible =
        packed ? size / kMaxInflation <= archive.size() : size <= archive.size() - at;
    if (!possible) {
      raise<DataLoss>("{}: the tar archive is damaged or truncated: '{}' can't have {} bytes.",
                      name, printable(entry.name), size);
    }
    // Grows as data arrives, since the size promised by a small archive can't be trusted.
    constexpr size_t kLikelyInflation = 8;
    auto buffer = allocate_host(packed ? std::min(size, archive.size() * kLikelyInflation) : size);
    for (size_t filled = 0;;) {
      const auto room = std::span(buffer->data(), buffer->bytes()).subspan(filled);
      const size_t count = read_some(room);
      filled += count;
      unread -= count;
      if (count < room.size()) cut_off("within a member");
      if (filled == size) break;
      auto larger = allocate_host(std::min(size, 2 * filled));
      std::copy_n(buffer->data(), filled, larger->data());
      buffer = std::move(larger);
    }
    skip_content();
    return buffer;
  }

  // Reads a member that describes the next one.
  std::string read_record(uint64_t offset) {
    if (unread > kMaxTarRecord) damaged(offset, "a record of more than 1 MiB");
    const auto buffer = read_content();
    return std::string(reinterpret_cast<const char*>(buffer->data()), buffer->bytes());
  }
};

namespace {

// What preceding records say about a member.
struct TarExtras {
  std::optional<std::string> name;
  std::optional<uint64_t> size;
  bool sparse = false;
};

// Parses records "LENGTH KEY=VALUE\n". Returns false for anything else.
bool read_pax(std::string_view records, TarExtras& extras) {
  while (!records.empty()) {
    uint64_t length = 0;
    size_t digits = 0;
    for (;
         digits < records.size() && digits < 8 && records[digits] >= '0' && records[digits] <= '9';
         ++digits) {
      length = 10 * length + static_cast<uint64_t>(records[digits] - '0');
    }
    const size_t equals = records.find('=');
    const bool whole = digits > 0 && length <= records.size() && length > digits + 1 &&
                       records[digits] == ' ' && records[length - 1] == '\n' && equals < length &&
                       equals > digits;
    if (!whole) return false;
    const std::string_view key = records.substr(digits + 1, equals - digits - 1);
    const std::string_view value = records.substr(equals + 1, length - equals - 2);
    if (key == "path") extras.name = std::string(value);
    if (key.starts_with("GNU.sparse.")) extras.sparse = true;
    if (key == "size") {
      uint64_t size = 0;
      for (const char digit : value) {
        if (digit < '0' || digit > '9' || size >= kMaxTarSize / 16) return false;
        size = 10 * size + static_cast<uint64_t>(digit - '0');
      }
      extras.size = size;
    }
    records.remove_prefix(length);
  }
  return true;
}

// The normalized name of a member; nullopt when it leads outside.
std::optional<std::string> inner_name(std::string_view name) {
  while (name.starts_with("./")) name.remove_prefix(2);
  if (leads_outside(name)) return std::nullopt;
  return std::string(name);
}

std::string header_name(const TarBlock& block) {
  std::string name(tar_text(block, 0, 100));
  const bool posix = tar_text(block, 257, 6) == "ustar";  // GNU's magic continues with a space
  const std::string_view prefix = tar_text(block, 345, 155);
  if (posix && !prefix.empty()) name = std::string(prefix) + '/' + name;
  return name;
}

}  // namespace

TarReader::TarReader(std::span<const std::byte> archive, std::string name)
    : state_(std::make_unique<State>()) {
  state_->archive = archive;
  state_->name = std::move(name);
  if (is_gzip(archive)) state_->packed = std::make_unique<GzipReader>(archive, state_->name);
}

TarReader::~TarReader() = default;

bool TarReader::next(TarEntry& entry) {
  State& state = *state_;
  state.readable = false;
  state.skip_content();
  TarBlock block;
  for (TarExtras extras;;) {
    const uint64_t offset = state.at;
    if (!state.read_header(block)) return false;
    const auto size = tar_number(block, 124, 12);
    if (!size) state.damaged(offset, "a header has a size that is no number");
    const char type = block[156];
    if (type == 'L' || type == 'K' || type == 'x' || type == 'g') {
      state.begin_content(*size);
      const std::string record = state.read_record(offset);
      if (type == 'L') extras.name = record.substr(0, record.find('\0'));
      if (type == 'x' && !read_pax(record, extras)) {
        state.damaged(offset, "a pax header isn't one");
      }
      continue;
    }
    check<Unimplemented>(type != 'S' && !extras.sparse,
                         "{}: at byte {} of the tar archive, a sparse file. Pack it without "
                         "--sparse.",
                         state.name, offset);
    const std::string given = extras.name ? *extras.name : header_name(block);
    const auto name = inner_name(given);
    check<InvalidArgument>(name.has_value(),
                           "{}: the tar archive has a member '{}', which leads out of the "
                           "directory that it would be unpacked into.",
                           state.name, printable(given));
    state.entry = {*name, tar_kind(type, *name), 0};
    if (tar_type_has_content(type)) state.begin_content(extras.size.value_or(*size));
    if (state.entry.kind == TarKind::File) state.entry.size = state.unread;
    state.readable = state.entry.kind == TarKind::File;
    entry = state.entry;
    return true;
  }
}

std::shared_ptr<Buffer> TarReader::read() {
  State& state = *state_;
  check<InvalidArgument>(
      state.readable, "{}: expected next() to have given a file that isn't read yet{}.", state.name,
      state.entry.kind == TarKind::Link
          ? ", got a link, which isn't followed: '" + printable(state.entry.name) + "'"
          : "");
  state.readable = false;
  return state.read_content();
}

}  // namespace cornu::data
