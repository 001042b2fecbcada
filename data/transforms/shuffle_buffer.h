// SPDX-License-Identifier: Apache-2.0
// What a shuffle's buffer holds, told from counts.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "data/places.h"
#include "framework/core/random.h"

namespace cornu::data {

// The numbers of items from `first` up to `end`, without those that failed (ascending).
class TakenNumbers {
 public:
  TakenNumbers(int64_t first, int64_t end, const std::vector<int64_t>& failed);

  bool more();
  int64_t take() { return next_++; }  // where there are more

 private:
  int64_t next_;
  int64_t end_;
  std::vector<int64_t>::const_iterator failed_;
  std::vector<int64_t>::const_iterator failed_end_;
};

// Removes one of a buffer's items.
template <class T>
void drop(std::vector<T>& buffer, T& chosen) {
  if (&chosen != &buffer.back()) chosen = std::move(buffer.back());
  buffer.pop_back();
}

// Fills a buffer and takes `draws` items from it, as the shuffle does. of(number): what stands for
// an item there.
template <class T, class Of>
void replay(std::vector<T>& buffer, int64_t buffer_size, PhiloxEngine& engine, int64_t draws,
            TakenNumbers numbers, const Of& of) {
  while (std::ssize(buffer) < buffer_size && numbers.more()) buffer.push_back(of(numbers.take()));
  for (; draws > 0 && !buffer.empty(); --draws) {
    T& chosen = buffer[engine.below(buffer.size())];
    if (numbers.more()) {
      chosen = of(numbers.take());
    } else {
      drop(buffer, chosen);
    }
  }
}

// Where in `numbers`, which differ, the least one is, the next one, and so on. Takes as long as
// they are many, and a bit for each number between the first and the last.
std::vector<size_t> ascending(const std::vector<int64_t>& numbers);

// Places one after another. One thread adds some, others read those that they know of: what was
// added never moves.
class PlaceLog {
 public:
  void add(const Place& place);
  const Place& operator[](int64_t index) const {
    const auto [block, offset] = find(index);
    return blocks_[block][offset];
  }

 private:
  static constexpr uint64_t kFirst = 64;  // places in the first block; each next one has twice as
                                          // many

  static std::pair<size_t, size_t> find(int64_t index) {
    const uint64_t shifted = static_cast<uint64_t>(index) + kFirst;
    const auto width = static_cast<size_t>(std::bit_width(shifted));
    return {width - std::bit_width(kFirst), shifted - (uint64_t{1} << (width - 1))};
  }

  std::array<std::unique_ptr<Place[]>, 48> blocks_;
  int64_t count_ = 0;
};

// What a buffer of items with places held, and what has been taken since: enough to tell later what
// it held at any time after. Copies share it.
class BufferHistory {
 public:
  BufferHistory() = default;
  // After `given` of `taken` items.
  BufferHistory(std::vector<Place> slots, const PhiloxEngine& engine, int64_t given, int64_t taken);

  // The next item that was taken, also one that failed.
  void add(const Place& place) { log_->add(place); }
  // Where the items are that the buffer held after `given` of `taken` were given, slot by slot. On
  // any thread.
  std::vector<Place> places(int64_t buffer_size, int64_t given, int64_t taken,
                            const std::vector<int64_t>& failed) const;

 private:
  struct Base {
    std::vector<Place> slots;
    PhiloxEngine engine;
    int64_t given;
    int64_t taken;
  };

  std::shared_ptr<const Base> base_;
  std::shared_ptr<PlaceLog> log_;  // since then
};

}  // namespace cornu::data
