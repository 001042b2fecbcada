// SPDX-License-Identifier: Apache-2.0
#include "data/readers/output_file.h"

#include <fcntl.h>
#include <zlib.h>

#include <cerrno>
#include <limits>
#include <span>

#include "framework/core/error.h"
#include "framework/io/atomic_file.h"
#include "framework/io/checked_path.h"
#include "framework/io/file_descriptor.h"
#include "framework/io/standard_files.h"

namespace cornu::data {
namespace {

constexpr size_t kWritten = 256 << 10;  // bytes at a time

}  // namespace

struct OutputFile::State {
  State(const std::string& name, Compression how, Appears appears) : path(name), compression(how) {
    if (appears == Appears::Whole) {
      whole.emplace(name);
    } else {
      const FileDescriptor made(opened(path, O_CREAT | O_EXCL));
    }
  }
  ~State() {
    if (compression != Compression::None) deflateEnd(&stream);
  }

  int opened(const std::string& where, int how) const {
    occupy_standard_files();
    const int descriptor = open(checked_path(where).c_str(), O_WRONLY | O_CLOEXEC | how, 0666);
    if (descriptor < 0) raise_file_error(path, "be written", errno);
    return descriptor;
  }

  void give_away() {
    check<FailedPrecondition>(!damaged, "'{}': it can't be completed, since a write failed.", path);
    damaged = true;
    const FileDescriptor file(opened(whole ? whole->temporary_path() : path, O_APPEND));
    if (!write_all(file.get(), std::as_bytes(std::span(ready)))) {
      raise_file_error(path, "be written", errno);
    }
    ready.clear();
    damaged = false;
  }

  void pack(std::string_view bytes, int mode) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    Bytef packed[16 << 10];
    do {
      stream.next_out = packed;
      stream.avail_out = sizeof(packed);
      deflate(&stream, mode);
      ready.append(reinterpret_cast<const char*>(packed), sizeof(packed) - stream.avail_out);
    } while (stream.avail_out == 0);
    if (ready.size() >= kWritten) give_away();
  }

  std::string path;
  Compression compression;
  std::optional<AtomicFile> whole;  // nullopt: written directly to `path`
  z_stream stream{};
  std::string ready;  // bytes to be written
  bool closed = false;
  bool damaged = false;  // some of the bytes in `ready` may have been written
};

OutputFile::OutputFile(const std::string& path, Compression compression,
                       const std::optional<int64_t>& level, Appears appears) {
  check<InvalidArgument>(!level || (*level >= 0 && *level <= 9),
                         "'{}' can't be written: expected a compression_level of 0 to 9, got {}.",
                         path, level.value_or(0));
  state_ = std::make_unique<State>(path, compression, appears);
  if (compression == Compression::None) return;
  const int window = compression == Compression::Gzip ? 15 + 16 : 15;
  const int how = static_cast<int>(level.value_or(Z_DEFAULT_COMPRESSION));
  check<ResourceExhausted>(
      deflateInit2(&state_->stream, how, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) == Z_OK,
      "'{}': no memory for compressing.", path);
}

OutputFile::OutputFile(OutputFile&&) noexcept = default;
OutputFile::~OutputFile() = default;

OutputFile::State& OutputFile::opened() {
  check<FailedPrecondition>(!state_->closed, "'{}' is closed: nothing more can be written to it.",
                            state_->path);
  return *state_;
}

void OutputFile::write(std::string_view bytes) {
  State& state = opened();
  if (state.compression == Compression::None) {
    state.ready.append(bytes);
    if (state.ready.size() >= kWritten) state.give_away();
    return;
  }
  constexpr size_t kMax = std::numeric_limits<uInt>::max();
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kMax))) {
    state.pack(bytes.substr(0, kMax), Z_NO_FLUSH);
  }
}

void OutputFile::flush() {
  State& state = opened();
  if (state.compression != Compression::None) state.pack({}, Z_SYNC_FLUSH);
  state.give_away();
}

void OutputFile::close() {
  State& state = *state_;
  if (state.closed) return;
  state.closed = true;
  if (state.compression != Compression::None) state.pack({}, Z_FINISH);
  state.give_away();
  if (state.whole) state.whole->commit();
}

}  // namespace cornu::data
