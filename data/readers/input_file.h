// SPDX-License-Identifier: Apache-2.0
// Reads files sequentially, a block at a time, optionally decompressing them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "framework/core/json.h"

namespace cornu::data {

// Makes a reader end after damage, since nothing after it can be trusted.
class UntilDamage {
 public:
  // Calls read(), which returns whether there is more and throws at damage; returns false after
  // that.
  template <class Read>
  bool operator()(const Read& read) {
    if (damaged_) return false;
    damaged_ = true;
    const bool more = read();
    damaged_ = false;
    return more;
  }
  bool is_damaged() const { return damaged_; }
  void begin_anew() { damaged_ = false; }

 private:
  bool damaged_ = false;
};

enum class Compression { None, Gzip, Zlib };

// Parses tf.data's "" (none), "GZIP" or "ZLIB". Throws InvalidArgument, naming `who`, for others.
Compression compression_of(const std::string& type, const char* who);

// Data is decompressed while reading; offsets refer to the uncompressed bytes. Memory: two buffers.
// Throws DataLoss, naming the file, for compressed data that is damaged or truncated; NotFound when
// the file doesn't exist. Must be used by one thread at a time.
class InputFile {
 public:
  // `buffer_size`: bytes read at a time; nullopt: 256 KiB.
  InputFile(const std::string& path, Compression compression,
            const std::optional<int64_t>& buffer_size = {});
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const;
  uint64_t offset() const;  // of the next byte
  // The bytes that have been read but not consumed.
  std::string_view ahead() const;
  void consume(size_t count);  // of those in ahead()
  // Reads more bytes into ahead(), invalidating its earlier views. Returns false at the end of the
  // file.
  bool fill();
  // Reads until at least `count` bytes are available; returns false if there are fewer.
  bool need(size_t count) {
    while (ahead().size() < count) {
      if (!fill()) return false;
    }
    return true;
  }
  // Appends the next `count` bytes to `text`; fewer only at the end. Allocates no more memory than
  // there are bytes in the file, whatever `count` is.
  size_t read(std::string& text, uint64_t count);
  // Skips the next `count` bytes; fewer only at the end. Doesn't read them if the file isn't
  // compressed.
  uint64_t skip(uint64_t count);
  // The current location as part of a saved position, with the number of the record that begins
  // there. Null if the file is compressed and has to be read again from its beginning.
  Json position(int64_t number) const;
  // Moves a new file to a position, and returns the record number. Throws DataLoss when there is no
  // such position.
  int64_t go_to(const Json& position);
  // Moves to any offset; from then on, less is read at a time, since what follows is seldom needed.
  // Throws DataLoss when there is no such offset.
  void seek(int64_t offset);
  // Number of bytes from offset() to the end; nullopt if the file is compressed.
  std::optional<uint64_t> left() const;

 private:
  class Unpacker;
  size_t read_some(char* to, size_t room);
  void require_place(int64_t offset) const;

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cornu::data
