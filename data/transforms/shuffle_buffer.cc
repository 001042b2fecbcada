// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/shuffle_buffer.h"

#include <algorithm>

namespace cornu::data {

TakenNumbers::TakenNumbers(int64_t first, int64_t end, const std::vector<int64_t>& failed)
    : next_(first),
      end_(end),
      failed_(std::lower_bound(failed.begin(), failed.end(), first)),
      failed_end_(failed.end()) {}

bool TakenNumbers::more() {
  for (; failed_ != failed_end_ && *failed_ == next_; ++failed_) ++next_;
  return next_ < end_;
}

std::vector<size_t> ascending(const std::vector<int64_t>& numbers) {
  if (numbers.empty()) return {};
  const auto [least, most] = std::ranges::minmax(numbers);
  std::vector<uint64_t> marks(static_cast<size_t>(most - least) / 64 + 1);
  const auto offset_of = [least = least](int64_t n) { return static_cast<size_t>(n - least); };
  for (const int64_t number : numbers) {
    marks[offset_of(number) / 64] |= uint64_t{1} << offset_of(number) % 64;
  }
  std::vector<size_t> before;  // count of numbers in the words before each
  size_t count = 0;
  for (const uint64_t word : marks) {
    before.push_back(count);
    count += static_cast<size_t>(std::popcount(word));
  }
  std::vector<size_t> order(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    const size_t offset = offset_of(numbers[i]);
    const uint64_t lower = marks[offset / 64] & ((uint64_t{1} << offset % 64) - 1);
    order[before[offset / 64] + static_cast<size_t>(std::popcount(lower))] = i;
  }
  return order;
}

void PlaceLog::add(const Place& place) {
  const auto [block, offset] = find(count_++);
  if (!blocks_[block]) blocks_[block] = std::make_unique<Place[]>(kFirst << block);
  blocks_[block][offset] = place;
}

BufferHistory::BufferHistory(std::vector<Place> slots, const PhiloxEngine& engine, int64_t given,
                             int64_t taken)
    : base_(std::make_shared<const Base>(Base{std::move(slots), engine, given, taken})),
      log_(std::make_shared<PlaceLog>()) {}

std::vector<Place> BufferHistory::places(int64_t buffer_size, int64_t given, int64_t taken,
                                         const std::vector<int64_t>& failed) const {
  std::vector<Place> slots = base_->slots;
  PhiloxEngine engine = base_->engine;
  replay(slots, buffer_size, engine, given - base_->given,
         TakenNumbers(base_->taken, taken, failed),
         [this](int64_t number) { return (*log_)[number - base_->taken]; });
  return slots;
}

}  // namespace cornu::data
