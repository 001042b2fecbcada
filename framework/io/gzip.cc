// SPDX-License-Identifier: Apache-2.0
#include "framework/io/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "framework/core/error.h"
#include "framework/io/fuzzing.h"

namespace cornu {
namespace {

constexpr int kGzipOnly = 15 + 16;  // the largest window, only gzip headers

uInt clamp(size_t bytes) {
  return static_cast<uInt>(std::min<size_t>(bytes, std::numeric_limits<uInt>::max()));
}

}  // namespace

struct GzipReader::State {
  std::span<const std::byte> compressed;
  std::string name;
  z_stream stream{};
  size_t consumed = 0;
  size_t produced = 0;
  bool finished = false;

  ~State() { inflateEnd(&stream); }
  std::span<const std::byte> rest() const { return compressed.subspan(consumed); }
};

bool is_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

std::string gzip(std::string_view bytes) {
  z_stream stream{};
  check<ResourceExhausted>(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipOnly, 8,
                                        Z_DEFAULT_STRATEGY) == Z_OK,
                           "gzip: no memory for compressing.");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, deflateEnd);
  std::string packed;
  char block[16 << 10];
  int result = Z_OK;
  while (result != Z_STREAM_END) {
    if (stream.avail_in == 0 && !bytes.empty()) {
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
      stream.avail_in = clamp(bytes.size());
      bytes.remove_prefix(stream.avail_in);
    }
    stream.next_out = reinterpret_cast<Bytef*>(block);
    stream.avail_out = sizeof(block);
    result = deflate(&stream, bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
    packed.append(block, sizeof(block) - stream.avail_out);
  }
  return packed;
}

GzipReader::GzipReader(std::span<const std::byte> compressed, std::string name)
    : state_(std::make_unique<State>()) {
  state_->compressed = compressed;
  state_->name = std::move(name);
  check<ResourceExhausted>(inflateInit2(&state_->stream, kGzipOnly) == Z_OK,
                           "{}: no memory for unpacking.", state_->name);
  if (!kChecksumsMatter) inflateValidate(&state_->stream, 0);
}

GzipReader::~GzipReader() = default;

size_t GzipReader::unpacked_bytes() const { return state_->produced; }

void GzipReader::damaged(const char* what) const {
  raise<DataLoss>(
      "{}: {} at byte {} of the compressed file ({} bytes unpacked). Download or create the file "
      "again.",
      state_->name, what, state_->consumed, state_->produced);
}

void GzipReader::start_next_member() {
  State& state = *state_;
  if (state.rest().empty()) {
    state.finished = true;
    return;
  }
  if (!is_gzip(state.rest())) damaged("gzip data is followed by something else");
  inflateReset(&state.stream);
  if (!kChecksumsMatter) inflateValidate(&state.stream, 0);
}

size_t GzipReader::read(std::span<std::byte> out) {
  State& state = *state_;
  size_t filled = 0;
  while (filled < out.size() && !state.finished) {
    const uInt input = clamp(state.rest().size());
    const uInt room = clamp(out.size() - filled);
    state.stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(state.rest().data()));
    state.stream.avail_in = input;
    state.stream.next_out = reinterpret_cast<Bytef*>(out.data() + filled);
    state.stream.avail_out = room;
    const int result = inflate(&state.stream, Z_NO_FLUSH);
    const size_t produced = room - state.stream.avail_out;
    state.consumed += input - state.stream.avail_in;
    state.produced += produced;
    filled += produced;
    if (result == Z_STREAM_END) {
      start_next_member();
    } else if (result == Z_BUF_ERROR) {  // no progress is possible: the input is exhausted
      damaged("gzip data is truncated");
    } else if (result == Z_MEM_ERROR) {
      raise<ResourceExhausted>("{}: no memory for unpacking.", state.name);
    } else if (result != Z_OK) {
      damaged("gzip data is damaged");
    }
  }
  return filled;
}

size_t unpack_zlib(std::span<const std::byte> compressed, std::span<std::byte> out,
                   std::string_view what) {
  z_stream stream{};
  check<ResourceExhausted>(inflateInit(&stream) == Z_OK, "{}: no memory for unpacking.", what);
  if (!kChecksumsMatter) inflateValidate(&stream, 0);
  int result = Z_OK;
  size_t consumed = 0, produced = 0;
  while (result == Z_OK) {
    const uInt input = clamp(compressed.size() - consumed);
    const uInt room = clamp(out.size() - produced);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(compressed.data() + consumed));
    stream.avail_in = input;
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + produced);
    stream.avail_out = room;
    result = inflate(&stream, Z_NO_FLUSH);
    consumed += input - stream.avail_in;
    produced += room - stream.avail_out;
  }
  inflateEnd(&stream);
  check<ResourceExhausted>(result != Z_MEM_ERROR, "{}: no memory for unpacking.", what);
  check<DataLoss>(result == Z_STREAM_END,
                  "{} is damaged: its compressed bytes end too early, or have more than {} bytes.",
                  what, out.size());
  return produced;
}

}  // namespace cornu
