// SPDX-License-Identifier: Apache-2.0
#include "framework/io/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "framework/core/error.h"
#include "framework/io/fuzzing.h"

namespace cornu {
namespace {

constexpr int kGzipOnly = 15 + 16;  // the largest window, gzip headers only

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
      "{}: {} at byte {} of the compressed file ({} bytes unpacked). Get the file anew.",
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
    } else if (result == Z_BUF_ERROR) {  // no progress is possible: there is no input left
      damaged("gzip data is cut off");
    } else if (result == Z_MEM_ERROR) {
      raise<ResourceExhausted>("{}: no memory for unpacking.", state.name);
    } else if (result != Z_OK) {
      damaged("gzip data is damaged");
    }
  }
  return filled;
}

}  // namespace cornu
