// SPDX-License-Identifier: Apache-2.0
// Gzip data (RFC 1952), read incrementally and written as a whole; and zlib data (RFC 1950), read
// as a whole.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace cornu {

// The maximum compression ratio of deflate: `compressed bytes * kMaxInflation` is an upper bound
// for the uncompressed size of a gzip file.
inline constexpr size_t kMaxInflation = 1032;

// Whether `bytes` begin with the gzip magic number.
bool is_gzip(std::span<const std::byte> bytes);

// Compresses `bytes` to gzip data without a name or time, so the result is reproducible.
std::string gzip(std::string_view bytes);

// Decompresses gzip data in memory (one or more members), verifying its checksums.
class GzipReader {
 public:
  // `name` is for error messages. `compressed` must outlive the reader.
  GzipReader(std::span<const std::byte> compressed, std::string name);
  ~GzipReader();
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  // Decompresses the next bytes into `out` and returns their number: fewer than requested only at
  // the end. Throws DataLoss, with the byte offset in the file, when the data is damaged,
  // truncated, or followed by other data.
  size_t read(std::span<std::byte> out);

  size_t unpacked_bytes() const;  // bytes returned so far

 private:
  struct State;
  void start_next_member();
  [[noreturn]] void damaged(const char* what) const;
  std::unique_ptr<State> state_;
};

// Decompresses zlib data into `out` and returns the number of bytes. Throws DataLoss, naming
// `what`, when the data is damaged, truncated, or larger than `out`.
size_t unpack_zlib(std::span<const std::byte> compressed, std::span<std::byte> out,
                   std::string_view what);

}  // namespace cornu
