// SPDX-License-Identifier: Apache-2.0
// What collectives between processes move bytes by.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <span>

#include "distribute/collectives/shared_block.h"

namespace cornu::distribute {

// One rank's connections to the others of its group: a stream of bytes each way. No call waits but
// wait(). For one thread at a time, except abort(). Errors are what abort() was given, PeerLost for
// a rank whose connection ended, and DeadlineExceeded; after one, all later calls throw the same.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Gives these bytes to a rank as far as they are taken now; returns how many were.
  virtual size_t send(int to, std::span<const std::byte> bytes) = 0;
  // What has come from a rank and wasn't consumed, from its beginning: at least `wanted` bytes (at
  // most kMostWanted), or empty while there are fewer. In memory of the transport, aligned as the
  // stream is (to 64 bytes, where everything that was consumed is a multiple of it); good until the
  // next call for that rank.
  static constexpr size_t kMostWanted = 4096;
  virtual std::span<const std::byte> received(int from, size_t wanted) = 0;
  virtual void consume(int from, size_t bytes) = 0;
  // The same into the caller's memory, as far as it has come; returns how many bytes.
  virtual size_t receive(int from, std::span<std::byte> bytes) = 0;

  // Returns when `to` (kNobody: none) may take bytes, or some more may have come from `from`.
  static constexpr int kNobody = -1;
  virtual void wait(int to, int from) = 0;

  // Whether all ranks are processes of one machine that can read memory of each other's.
  virtual bool shares_memory() const { return false; }
  // Memory that other ranks can read, at least so many bytes of it; null where they can't. This
  // rank's until the next call, or the end of the transport.
  virtual std::byte* memory(size_t bytes) {
    static_cast<void>(bytes);
    return nullptr;
  }
  virtual std::span<const std::byte> own_memory() const { return {}; }  // what memory() gave
  virtual SharedBlock::Handle memory_handle() const { return {}; }
  // Another rank's, as its memory_handle() names it; empty where it can't be reached.
  virtual std::span<const std::byte> memory_of(int rank, const SharedBlock::Handle& handle) {
    static_cast<void>(rank), static_cast<void>(handle);
    return {};
  }

  // Ends what waits, now and later, with this error. From any thread; the first call counts.
  virtual void abort(std::exception_ptr why) = 0;
};

// How long a rank waits for another one while nothing moves.
inline constexpr std::chrono::milliseconds kCollectiveTimeout = std::chrono::minutes(10);

}  // namespace cornu::distribute
