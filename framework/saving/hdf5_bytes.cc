// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/hdf5_bytes.h"

#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "framework/core/error.h"
#include "framework/io/atomic_file.h"
#include "framework/io/file_descriptor.h"
#include "framework/io/fuzzing.h"

namespace cornu::hdf5 {
namespace {

class FileBytes : public Bytes {
 public:
  explicit FileBytes(const FileRange& range)
      : Bytes(range.size),
        offset_(range.offset),
        file_(::open(range.path.c_str(), O_RDONLY | O_CLOEXEC)) {}

 private:
  void read_within(uint64_t address, std::span<std::byte> out) const override {
    while (!out.empty()) {
      const ssize_t got =
          pread(file_.get(), out.data(), out.size(), static_cast<off_t>(offset_ + address));
      if (got < 0 && errno == EINTR) continue;
      check<DataLoss>(got >= 0, "byte {} can't be read: {}.", address,
                      std::system_category().message(errno));
      check<DataLoss>(got > 0, "the file was shortened while it was being read.");
      out = out.subspan(static_cast<size_t>(got));
      address += static_cast<uint64_t>(got);
    }
  }
  uint64_t offset_;
  FileDescriptor file_;
};

class MemoryBytes : public Bytes {
 public:
  explicit MemoryBytes(std::vector<std::byte> bytes)
      : Bytes(bytes.size()), bytes_(std::move(bytes)) {}

 private:
  void read_within(uint64_t address, std::span<std::byte> out) const override {
    std::memcpy(out.data(), bytes_.data() + address, out.size());
  }
  std::vector<std::byte> bytes_;
};

}  // namespace

void Bytes::read(uint64_t address, std::span<std::byte> out, std::string_view what) const {
  check<DataLoss>(address <= size_ && out.size() <= size_ - address,
                  "{} is said to be {} bytes at byte {}, but the file has {} bytes.", what,
                  out.size(), address, size_);
  if (!out.empty()) read_within(address, out);
}

std::vector<std::byte> Bytes::block(uint64_t address, uint64_t size, std::string_view what) const {
  check<DataLoss>(size <= kMaxStructure && size <= size_,
                  "{} is said to be {} bytes at byte {}, which is too much.", what, size, address);
  std::vector<std::byte> bytes(static_cast<size_t>(size));
  read(address, bytes, what);
  return bytes;
}

std::unique_ptr<Bytes> Bytes::of_file(const std::string& path) {
  return of_range({path, 0, file_size(path)});
}

std::unique_ptr<Bytes> Bytes::of_range(const FileRange& range) {
  return std::make_unique<FileBytes>(range);
}

std::unique_ptr<Bytes> Bytes::of_memory(std::vector<std::byte> bytes) {
  return std::make_unique<MemoryBytes>(std::move(bytes));
}

void Budget::take(uint64_t bytes) {
  check<DataLoss>(bytes <= left_,
                  "its headers and groups overlap: they have more bytes than the file.");
  left_ -= bytes;
}

void Blocks::add(uint64_t address, uint64_t bytes, std::string_view what) {
  check<DataLoss>(seen_.insert(address).second, "{} goes in circles.", what);
  check<DataLoss>(bytes <= left_, "{} has parts that overlap: they have more bytes than the file.",
                  what);
  left_ -= bytes;
  if (budget_) budget_->take(bytes);
}

std::span<const std::byte> Cursor::take(uint64_t count) {
  check<DataLoss>(count <= left(), "{} ends too early.", what_);
  const auto taken = all_.subspan(at_, static_cast<size_t>(count));
  at_ += static_cast<size_t>(count);
  return taken;
}

uint64_t Cursor::number(uint64_t bytes) {
  check<DataLoss>(bytes >= 1 && bytes <= 8, "{} has numbers of {} bytes.", what_, bytes);
  uint64_t value = 0;
  int shift = 0;
  for (const std::byte byte : take(bytes)) {
    value |= static_cast<uint64_t>(byte) << shift;
    shift += 8;
  }
  return value;
}

std::string Cursor::text(uint64_t size) {
  const auto taken = take(size);
  return std::string(reinterpret_cast<const char*>(taken.data()), taken.size());
}

std::string Cursor::text_to_zero() {
  const auto rest = all_.subspan(at_);
  const void* zero = rest.empty() ? nullptr : std::memchr(rest.data(), 0, rest.size());
  check<DataLoss>(zero != nullptr, "{} has a text without an end.", what_);
  std::string result =
      text(static_cast<uint64_t>(static_cast<const std::byte*>(zero) - rest.data()));
  skip(1);
  return result;
}

void Cursor::expect(std::string_view signature) {
  check<DataLoss>(text(signature.size()) == signature, "{} isn't where it is said to be.", what_);
}

uint8_t Cursor::version(uint8_t first, uint8_t last) {
  const uint8_t found = u8();
  check<Unimplemented>(found >= first && found <= last,
                       "{} is of version {}; only {} to {} can be read.", what_, found, first,
                       last);
  return found;
}

namespace {

struct Mixer {
  uint32_t a, b, c;

  void subtract(uint32_t& x, uint32_t& y, uint32_t& z, int turn) {
    x -= z;
    x ^= std::rotl(z, turn);
    z += y;
  }
  void mix() {
    subtract(a, b, c, 4);
    subtract(b, c, a, 6);
    subtract(c, a, b, 8);
    subtract(a, b, c, 16);
    subtract(b, c, a, 19);
    subtract(c, a, b, 4);
  }
  static void fold(uint32_t& x, uint32_t y, int turn) { x = (x ^ y) - std::rotl(y, turn); }
  void finish() {
    fold(c, b, 14);
    fold(a, c, 11);
    fold(b, a, 25);
    fold(c, b, 16);
    fold(a, c, 4);
    fold(b, a, 14);
    fold(c, b, 24);
  }
};

// Adds up to twelve bytes as three words; missing bytes are zero.
void add_words(Mixer& mixer, std::span<const std::byte> bytes) {
  std::byte padded[12] = {};
  std::memcpy(padded, bytes.data(), bytes.size());
  Cursor words(padded, "checksum");
  mixer.a += words.u32();
  mixer.b += words.u32();
  mixer.c += words.u32();
}

}  // namespace

uint32_t lookup3(std::span<const std::byte> bytes) {
  const uint32_t start = 0xDEADBEEF + static_cast<uint32_t>(bytes.size());
  Mixer mixer{start, start, start};
  for (; bytes.size() > 12; bytes = bytes.subspan(12)) {
    add_words(mixer, bytes.first(12));
    mixer.mix();
  }
  if (bytes.empty()) return mixer.c;
  add_words(mixer, bytes);
  mixer.finish();
  return mixer.c;
}

void verify_checksum(std::span<const std::byte> block, std::string_view what) {
  check<DataLoss>(block.size() >= 4, "{} ends too early.", what);
  Cursor stored(block.last(4), what);
  check<DataLoss>(!kChecksumsMatter || stored.u32() == lookup3(block.first(block.size() - 4)),
                  "{} is damaged: its checksum is wrong.", what);
}

}  // namespace cornu::hdf5
