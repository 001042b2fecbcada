// SPDX-License-Identifier: Apache-2.0
// Files read from their beginning to their end, compressed or not, a piece at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "framework/core/json.h"

namespace cornu::data {

// Of a reader: nothing can be told of what is behind damage, so what it reads ends there.
class UntilDamage {
 public:
  // read(), which gives whether there is more and throws where there is damage; false behind that.
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

// "" (none), "GZIP" or "ZLIB", as tf.data names them. InvalidArgument, naming `who`, for others.
Compression compression_of(const std::string& type, const char* who);

// What is read is unpacked; places are those in the unpacked bytes. Memory: two buffers. DataLoss,
// naming the file, for compressed data that is damaged or cut off; NotFound when there is no such
// file. Used by one thread at a time.
class InputFile {
 public:
  // `buffer_size`: bytes read at a time; none: 256 KiB.
  InputFile(const std::string& path, Compression compression,
            const std::optional<int64_t>& buffer_size = {});
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const;
  uint64_t offset() const;  // of the next byte
  // The bytes that have been read and not consumed.
  std::string_view ahead() const;
  void consume(size_t count);  // of those ahead
  // Reads more behind what is ahead, whose views end. False at the end of the file.
  bool fill();
  // Reads until at least `count` bytes are ahead; false when there aren't as many.
  bool need(size_t count) {
    while (ahead().size() < count) {
      if (!fill()) return false;
    }
    return true;
  }
  // Appends the next `count` bytes to `text`, fewer at the end only. Takes no more memory than
  // there are bytes in the file, whatever `count` is.
  size_t read(std::string& text, uint64_t count);
  // Leaves the next `count` bytes out, fewer at the end only; without reading them where the file
  // isn't compressed.
  uint64_t skip(uint64_t count);
  // Where it stands, as a part of a saved position, with the number of the record that begins
  // there: null where the file is compressed, and has to be read from its beginning again.
  Json position(int64_t number) const;
  // Moves a new one there, and returns the number. DataLoss when there is no such place.
  int64_t go_to(const Json& position);
  // Moves to any place; from there on less is read at a time, since what follows is seldom wanted.
  // DataLoss when there is no such place.
  void seek(int64_t offset);
  // Bytes from offset() to the end; none where the file is compressed.
  std::optional<uint64_t> left() const;

 private:
  class Unpacker;
  size_t read_some(char* to, size_t room);
  void require_place(int64_t offset) const;

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cornu::data
