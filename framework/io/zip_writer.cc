// SPDX-License-Identifier: Apache-2.0
#include "framework/io/zip_writer.h"

#include <fcntl.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <memory>

#include "framework/core/error.h"
#include "framework/io/atomic_file.h"
#include "framework/io/crc.h"

namespace cornu {
namespace {

constexpr uint32_t kWide = 0xFFFFFFFF;  // the value is in the zip64 fields
// Deflate may slightly enlarge incompressible data, which must still fit below kWide.
constexpr uint64_t kMaxNarrow = 0xF0000000;
constexpr uint16_t kFirstDay = 1 << 5 | 1;  // 1980-01-01
constexpr uint16_t kVersion = 20, kWideVersion = 45;
constexpr uint16_t kUnix = 3 << 8;
constexpr uint32_t kRegularFile = 0100644U << 16;  // readable by all
constexpr uint16_t kUtf8 = 1 << 11;
constexpr uint16_t kStore = 0, kDeflate = 8;
constexpr size_t kZipPiece = size_t{1} << 18;

class Record {
 public:
  explicit Record(std::string_view signature) : text_(signature) {}
  Record& u16(uint64_t value) { return number(value, 2); }
  Record& u32(uint64_t value) { return number(value, 4); }
  Record& u64(uint64_t value) { return number(value, 8); }
  Record& text(std::string_view value) {
    text_ += value;
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  Record& number(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) text_ += static_cast<char>(value >> (8 * i) & 255);
    return *this;
  }
  std::string text_;
};

uint16_t flags_of(const std::string& name) {
  const bool ascii = std::all_of(name.begin(), name.end(),
                                 [](char c) { return static_cast<unsigned char>(c) < 128; });
  return ascii ? 0 : kUtf8;
}

bool is_wide(uint64_t size) { return size > kMaxNarrow; }

uint32_t narrow(uint64_t value, bool wide) { return wide ? kWide : static_cast<uint32_t>(value); }

}  // namespace

ZipWriter::ZipWriter(std::string path, const std::string& temporary)
    : path_(std::move(path)), file_(open(temporary.c_str(), O_WRONLY | O_CLOEXEC)) {
  if (!file_.is_open()) raise_file_error(path_, "be opened", errno);
}

std::string ZipWriter::local_header(const Entry& entry) const {
  const bool wide = is_wide(entry.size);
  Record record("PK\3\4");
  record.u16(wide ? kWideVersion : kVersion).u16(flags_of(entry.name));
  record.u16(entry.compress ? kDeflate : kStore).u16(0).u16(kFirstDay).u32(entry.crc);
  record.u32(narrow(entry.stored, wide)).u32(narrow(entry.size, wide));
  record.u16(entry.name.size()).u16(wide ? 20 : 0).text(entry.name);
  if (wide) record.u16(1).u16(16).u64(entry.size).u64(entry.stored);
  return record.take();
}

std::string ZipWriter::directory_entry(const Entry& entry) const {
  const bool wide = is_wide(entry.size);
  const bool far = is_wide(entry.offset);
  const uint64_t more = (wide ? 16 : 0) + (far ? 8 : 0);
  const uint16_t version = wide || far ? kWideVersion : kVersion;
  Record record("PK\1\2");
  record.u16(kUnix | version).u16(version).u16(flags_of(entry.name));
  record.u16(entry.compress ? kDeflate : kStore).u16(0).u16(kFirstDay).u32(entry.crc);
  record.u32(narrow(entry.stored, wide)).u32(narrow(entry.size, wide));
  record.u16(entry.name.size()).u16(more > 0 ? more + 4 : 0);
  record.u16(0).u16(0).u16(0).u32(kRegularFile).u32(narrow(entry.offset, far)).text(entry.name);
  if (more > 0) record.u16(1).u16(more);
  if (wide) record.u64(entry.size).u64(entry.stored);
  if (far) record.u64(entry.offset);
  return record.take();
}

void ZipWriter::write(std::span<const std::byte> bytes) {
  if (!write_all(file_.get(), bytes)) raise_file_error(path_, "be written", errno);
  at_ += bytes.size();
}

void ZipWriter::write(const std::string& text) { write(std::as_bytes(std::span(text))); }

void ZipWriter::add(const std::string& name, Pieces pieces, bool compress) {
  check<InvalidArgument>(name.size() <= std::numeric_limits<uint16_t>::max(),
                         "'{}': a member's name has {} bytes; at most 65535 are possible.", path_,
                         name.size());
  Entry entry{name, compress, 0, 0, 0, at_};
  for (const auto& piece : pieces) entry.size += piece.size();
  write(local_header(entry));
  if (compress) {
    write_deflated(pieces, entry);
  } else {
    for (auto piece : pieces) {
      // In blocks that stay in the CPU cache between computing the checksum and writing.
      for (; !piece.empty(); piece = piece.subspan(std::min(kZipPiece, piece.size()))) {
        const auto part = piece.first(std::min(kZipPiece, piece.size()));
        entry.crc = crc32(part, entry.crc);
        write(part);
      }
    }
    entry.stored = entry.size;
  }
  const std::string header = local_header(entry);
  if (!write_all_at(file_.get(), std::as_bytes(std::span(header)), entry.offset)) {
    raise_file_error(path_, "be written", errno);
  }
  entries_.push_back(std::move(entry));
}

void ZipWriter::write_deflated(Pieces pieces, Entry& entry) {
  z_stream stream{};
  constexpr int kRaw = -15;  // the largest window, without header and checksum
  constexpr int kMemory = 8;
  check<ResourceExhausted>(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kRaw, kMemory,
                                        Z_DEFAULT_STRATEGY) == Z_OK,
                           "'{}': no memory for compressing.", path_);
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, deflateEnd);
  std::vector<std::byte> out(kZipPiece);
  const auto run = [&](std::span<const std::byte> part, int flush) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(part.data()));
    stream.avail_in = static_cast<uInt>(part.size());
    do {
      stream.next_out = reinterpret_cast<Bytef*>(out.data());
      stream.avail_out = static_cast<uInt>(out.size());
      deflate(&stream, flush);
      const size_t made = out.size() - stream.avail_out;
      write(std::span(out).first(made));
      entry.stored += made;
    } while (stream.avail_out == 0);
  };
  for (auto piece : pieces) {
    for (; !piece.empty(); piece = piece.subspan(std::min(kZipPiece, piece.size()))) {
      const auto part = piece.first(std::min(kZipPiece, piece.size()));
      entry.crc = crc32(part, entry.crc);
      run(part, Z_NO_FLUSH);
    }
  }
  run({}, Z_FINISH);
}

void ZipWriter::finish() {
  const uint64_t begin = at_;
  for (const Entry& entry : entries_) write(directory_entry(entry));
  const uint64_t size = at_ - begin;
  constexpr uint64_t kMaxEntries = 0xFFFF;
  const bool wide = is_wide(begin) || is_wide(size) || entries_.size() >= kMaxEntries;
  if (wide) {
    Record record("PK\6\6");
    record.u64(44).u16(kUnix | kWideVersion).u16(kWideVersion).u32(0).u32(0);
    record.u64(entries_.size()).u64(entries_.size()).u64(size).u64(begin);
    const uint64_t end = at_;
    write(record.take());
    write(Record("PK\6\7").u32(0).u64(end).u32(1).take());
  }
  const uint64_t count = std::min<uint64_t>(entries_.size(), kMaxEntries);
  Record record("PK\5\6");
  record.u16(0).u16(0).u16(count).u16(count).u32(narrow(size, wide)).u32(narrow(begin, wide));
  write(record.u16(0).take());
}

}  // namespace cornu
