// SPDX-License-Identifier: Apache-2.0
#include "data/readers/input_file.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "framework/core/error.h"
#include "framework/io/file_reader.h"
#include "framework/io/fuzzing.h"
#include "framework/strategy/stream.h"

namespace cornu::data {
namespace {

constexpr int64_t kDefaultBuffer = 256 << 10;
constexpr int64_t kMaxBuffer = 1 << 30;

size_t buffer_bytes(const std::optional<int64_t>& asked) {
  check<InvalidArgument>(!asked || (*asked >= 0 && *asked <= kMaxBuffer),
                         "expected a buffer_size of 0 (the default) to 2^30 bytes, got {}.",
                         asked.value_or(0));
  return static_cast<size_t>(asked.value_or(0) == 0 ? kDefaultBuffer : *asked);
}

// Small files need no large buffer. Files of unknown size (pipes) have size 0.
size_t enough_for(const FileReader& file, size_t buffer) {
  constexpr size_t kMin = 4096;
  return file.size() == 0 ? buffer : std::min(buffer, std::max(kMin, file.size() + 1));
}

}  // namespace

Compression compression_of(const std::string& type, const char* who) {
  if (type.empty()) return Compression::None;
  if (type == "GZIP") return Compression::Gzip;
  check<InvalidArgument>(type == "ZLIB",
                         "{}: expected a compression_type of \"\", \"GZIP\" or \"ZLIB\", got "
                         "\"{}\".",
                         who, type);
  return Compression::Zlib;
}

// Decompresses zlib and gzip data; gzip data may have several members.
class InputFile::Unpacker {
 public:
  Unpacker(Compression compression, size_t buffer_size)
      : gzip_(compression == Compression::Gzip), packed_(buffer_size) {
    check<ResourceExhausted>(inflateInit2(&stream_, gzip_ ? 15 + 16 : 15) == Z_OK,
                             "no memory for unpacking.");
    if (!kChecksumsMatter) inflateValidate(&stream_, 0);
  }
  ~Unpacker() { inflateEnd(&stream_); }
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  // May return fewer bytes than requested, 0 only at the end.
  size_t read(FileReader& file, const std::string& path, char* to, size_t room) {
    room = std::min<size_t>(room, std::numeric_limits<uInt>::max());
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(room);
    while (stream_.avail_out == room) {
      if (stream_.avail_in == 0 && !refill(file)) {
        check<DataLoss>(between_members_, "{}: the compressed data is cut off after {} bytes.",
                        path, file.size());
        return 0;
      }
      if (between_members_) begin_member(path);
      const int result = inflate(&stream_, Z_NO_FLUSH);
      between_members_ = result == Z_STREAM_END;
      check<ResourceExhausted>(result != Z_MEM_ERROR, "{}: no memory for unpacking.", path);
      check<DataLoss>(result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR,
                      "{}: the {} data is damaged near byte {} of the compressed file{}{}. Is its "
                      "compression_type right?",
                      path, gzip_ ? "GZIP" : "ZLIB", taken_ - stream_.avail_in,
                      stream_.msg ? ": " : "", stream_.msg ? stream_.msg : "");
    }
    return room - stream_.avail_out;
  }

 private:
  bool refill(FileReader& file) {
    const size_t got = file.read_some(std::as_writable_bytes(std::span(packed_)));
    stream_.next_in = packed_.data();
    stream_.avail_in = static_cast<uInt>(got);
    taken_ += got;
    return got > 0;
  }

  void begin_member(const std::string& path) {
    check<DataLoss>(gzip_ || first_, "{}: the ZLIB data is followed by something else at byte {}.",
                    path, taken_ - stream_.avail_in);
    if (!first_) inflateReset(&stream_);
    if (!kChecksumsMatter) inflateValidate(&stream_, 0);
    first_ = false;
  }

  bool gzip_;
  std::vector<Bytef> packed_;
  z_stream stream_{};
  uint64_t taken_ = 0;
  bool between_members_ = true;  // an empty file has no data, as in tf.data
  bool first_ = true;
};

struct InputFile::State {
  State(const std::string& name, size_t bytes)
      : path(name), file(name), buffer_size(enough_for(file, bytes)) {}

  std::string path;
  FileReader file;
  size_t buffer_size;
  std::unique_ptr<Unpacker> unpacker;  // null if not compressed
  std::vector<char> buffer;
  size_t begin = 0;  // of the unconsumed bytes, in the buffer
  size_t end = 0;
  uint64_t offset = 0;  // of the unconsumed bytes, in the file
};

InputFile::InputFile(const std::string& path, Compression compression,
                     const std::optional<int64_t>& buffer_size)
    : state_(std::make_unique<State>(path, buffer_bytes(buffer_size))) {
  if (compression != Compression::None) {
    state_->unpacker = std::make_unique<Unpacker>(compression, state_->buffer_size);
  }
}

InputFile::~InputFile() = default;

const std::string& InputFile::path() const { return state_->path; }
uint64_t InputFile::offset() const { return state_->offset; }
std::string_view InputFile::ahead() const {
  return {state_->buffer.data() + state_->begin, state_->end - state_->begin};
}
void InputFile::consume(size_t count) {
  state_->begin += count;
  state_->offset += count;
}

size_t InputFile::read_some(char* to, size_t room) {
  State& state = *state_;
  if (state.unpacker) return state.unpacker->read(state.file, state.path, to, room);
  return state.file.read_some(std::as_writable_bytes(std::span(to, room)));
}

bool InputFile::fill() {
  State& state = *state_;
  const size_t kept = state.end - state.begin;
  if (state.begin > 0 && kept > 0) {
    std::memmove(state.buffer.data(), state.buffer.data() + state.begin, kept);
  }
  state.begin = 0;
  state.end = kept;
  if (state.buffer.size() - kept < state.buffer_size) {
    state.buffer.resize(std::max(2 * kept, kept + state.buffer_size));
  }
  const size_t got = read_some(state.buffer.data() + kept, state.buffer_size);
  state.end += got;
  return got > 0;
}

size_t InputFile::read(std::string& text, uint64_t count) {
  const size_t before = text.size();
  const size_t here = static_cast<size_t>(std::min<uint64_t>(count, ahead().size()));
  text.append(ahead().substr(0, here));
  consume(here);
  uint64_t missing = count - here;
  while (missing > 0) {
    // A damaged length may be too large: don't allocate memory before there are bytes for it.
    const uint64_t most = left() ? *left() : std::max<uint64_t>(state_->buffer_size, text.size());
    const size_t room = static_cast<size_t>(std::min(missing, most));
    const size_t at = text.size();
    text.resize(at + room);
    const size_t got = room == 0 ? 0 : read_some(text.data() + at, room);
    text.resize(at + got);
    state_->offset += got;
    missing -= got;
    if (got == 0) break;
  }
  return text.size() - before;
}

uint64_t InputFile::skip(uint64_t count) {
  uint64_t skipped = 0;
  while (skipped < count) {
    const size_t here = static_cast<size_t>(std::min<uint64_t>(count - skipped, ahead().size()));
    consume(here);
    skipped += here;
    if (skipped == count) break;
    if (const auto rest = left(); rest && count - skipped > state_->buffer_size) {
      const uint64_t jump = std::min(count - skipped, *rest);
      state_->file.seek(state_->offset + jump);
      state_->offset += jump;
      return skipped + jump;
    }
    if (!fill()) break;
  }
  return skipped;
}

std::optional<uint64_t> InputFile::left() const {
  if (state_->unpacker) return std::nullopt;
  const uint64_t size = state_->file.size();
  return size - std::min(size, state_->offset);
}

Json InputFile::position(int64_t number) const {
  if (!left()) return {};
  return Json::object({{"offset", static_cast<int64_t>(offset())}, {"number", number}});
}

int64_t InputFile::go_to(const Json& position) {
  const int64_t offset = streams::saved_count(position, "offset");
  const int64_t number = streams::saved_count(position, "number");
  require_place(offset);
  skip(static_cast<uint64_t>(offset));
  return number;
}

void InputFile::seek(int64_t offset) {
  constexpr size_t kLittle = 4096;
  require_place(offset);
  State& state = *state_;
  state.begin = state.end = 0;
  state.offset = static_cast<uint64_t>(offset);
  state.buffer_size = std::min(state.buffer_size, kLittle);
  state.file.seek(state.offset);
}

void InputFile::require_place(int64_t offset) const {
  const uint64_t size = state_->unpacker ? 0 : state_->file.size();
  check<DataLoss>(static_cast<uint64_t>(offset) <= size,
                  "{}: the position is at byte {}, but there are {} now.", path(), offset, size);
}

}  // namespace cornu::data
