// SPDX-License-Identifier: Apache-2.0
// Reconstructs the contents of a shuffle's buffer from counts.
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

// The numbers of items from `first` to `end`, without those that failed (ascending).
class TakenNumbers {
 public:
  TakenNumbers(int64_t first, int64_t end, const std::vector<int64_t>& failed);

  bool more();
  int64_t take() { return next_++; }  // requires more()

 private:
  int64_t next_;
  int64_t end_;
  std::vector<int64_t>::const_iterator failed_;
  std::vector<int64_t>::const_iterator failed_end_;
};

// Removes an item from a buffer.
template <class T>
void drop(std::vector<T>& buffer, T& chosen) {
  if (&chosen != &buffer.back()) chosen = std::move(buffer.back());
  buffer.pop_back();
}

// Fills a buffer and takes `draws` items from it, exactly as shuffle does. of(number) is the
// buffer's entry for that item.
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

// The indices that sort `numbers`, which are distinct. Takes time proportional to their count, and
// one bit for each number between the smallest and the largest.
std::vector<size_t> ascending(const std::vector<int64_t>& numbers);

// An append-only list of places. One thread appends while others read entries they know of; entries
// never move.
class PlaceLog {
 public:
  void add(const Place& place);
  const Place& operator[](int64_t index) const {
    const auto [block, offset] = find(index);
    return blocks_[block][offset];
  }

 private:
  static constexpr uint64_t kFirst = 64;  // places in the first block; each block is twice as large
                                          // as the one before

  static std::pair<size_t, size_t> find(int64_t index) {
    const uint64_t shifted = static_cast<uint64_t>(index) + kFirst;
    const auto width = static_cast<size_t>(std::bit_width(shifted));
    return {width - std::bit_width(kFirst), shifted - (uint64_t{1} << (width - 1))};
  }

  std::array<std::unique_ptr<Place[]>, 48> blocks_;
  int64_t count_ = 0;
};

// What a buffer of items with places held at some time, and what has been taken since: enough to
// reconstruct its contents at any later time. Copies share the history.
class BufferHistory {
 public:
  BufferHistory() = default;
  // The state after returning `given` and taking `taken` items.
  BufferHistory(std::vector<Place> slots, const PhiloxEngine& engine, int64_t given, int64_t taken);

  // Adds the next item that was taken, even if it failed.
  void add(const Place& place) { log_->add(place); }
  // The places of the items in the buffer, slot by slot, after returning `given` and taking `taken`
  // items. May be called on any thread.
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
  std::shared_ptr<PlaceLog> log_;  // taken since then
};

}  // namespace cornu::data
