// SPDX-License-Identifier: Apache-2.0
// Gzip data (RFC 1952): read piece by piece, and written whole; and small pieces of zlib data
// (RFC 1950), read at once.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace cornu {

// Deflate can't shrink anything more than this many times, so `compressed bytes * kMostInflation`
// bounds what a gzip file may unpack to.
inline constexpr size_t kMostInflation = 1032;

// Does it begin as gzip does?
bool is_gzip(std::span<const std::byte> bytes);

// `bytes` as gzip data, without a name or a time: the same bytes give the same data.
std::string gzip(std::string_view bytes);

// Unpacks gzip data that lies in memory (one member or several, one after another). Checks the
// checksums that the data carries.
class GzipReader {
 public:
  // `name` is for error messages. `compressed` must outlive the reader.
  GzipReader(std::span<const std::byte> compressed, std::string name);
  ~GzipReader();
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  // Unpacks the next bytes into `out` and returns how many: fewer than asked for only at the end.
  // DataLoss, with the byte offset in the file, when the data is damaged, cut off, or followed by
  // something else.
  size_t read(std::span<std::byte> out);

  size_t unpacked_bytes() const;  // read so far

 private:
  struct State;
  void start_next_member();
  [[noreturn]] void damaged(const char* what) const;
  std::unique_ptr<State> state_;
};

// Unpacks zlib data into `out` and returns how many bytes that were. DataLoss, naming `what`, when
// the data is damaged, cut off, or has more bytes.
size_t unpack_zlib(std::span<const std::byte> compressed, std::span<std::byte> out,
                   std::string_view what);

}  // namespace cornu
