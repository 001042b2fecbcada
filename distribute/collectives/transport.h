// SPDX-License-Identifier: Apache-2.0
// Moves the bytes of collectives between processes.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <span>

#include "distribute/collectives/shared_block.h"

namespace cornu::distribute {

// One rank's connections to the other ranks of its group: a byte stream in each direction. Only
// wait() blocks. May be used by one thread at a time, except abort(). Throws the error passed to
// abort(), PeerLost for a rank whose connection has ended, and DeadlineExceeded; after an error,
// all later calls throw the same one.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Sends as many of these bytes as can be taken now; returns how many were.
  virtual size_t send(int to, std::span<const std::byte> bytes) = 0;
  // The bytes that have arrived from a rank and aren't consumed, from the first on: at least
  // `wanted` bytes (at most kMaxWanted), or empty while there are fewer. They are in the
  // transport's memory, aligned like the stream (to 64 bytes, if everything consumed so far is a
  // multiple of 64), and valid until the next call for that rank.
  static constexpr size_t kMaxWanted = 4096;
  virtual std::span<const std::byte> received(int from, size_t wanted) = 0;
  virtual void consume(int from, size_t bytes) = 0;
  // Copies what has arrived into the caller's memory and consumes it; returns the number of bytes.
  virtual size_t receive(int from, std::span<std::byte> bytes) = 0;

  // Blocks until `to` (kNobody: none) may accept bytes, or more bytes may have arrived from `from`.
  static constexpr int kNobody = -1;
  virtual void wait(int to, int from) = 0;

  // Whether all ranks are processes of one machine that can read each other's memory.
  virtual bool shares_memory() const { return false; }
  // Returns at least this many bytes of memory that other ranks can read; null if they can't. It is
  // this rank's until the next call, or until the transport is destroyed.
  virtual std::byte* memory(size_t bytes) {
    static_cast<void>(bytes);
    return nullptr;
  }
  virtual std::span<const std::byte> own_memory() const { return {}; }  // the result of memory()
  virtual SharedBlock::Handle memory_handle() const { return {}; }
  // The memory of another rank, as named by its memory_handle(); empty when it can't be opened.
  virtual std::span<const std::byte> memory_of(int rank, const SharedBlock::Handle& handle) {
    static_cast<void>(rank), static_cast<void>(handle);
    return {};
  }

  // Fails all current and later waits with this error. May be called from any thread; the first
  // call wins.
  virtual void abort(std::exception_ptr why) = 0;
};

// How long a rank waits for another one without any progress.
inline constexpr std::chrono::milliseconds kCollectiveTimeout = std::chrono::minutes(10);

}  // namespace cornu::distribute
