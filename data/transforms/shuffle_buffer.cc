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

void PlaceLog::add(const Place& place) {
  const auto [block, offset] = find(count_++);
  if (!blocks_[block]) blocks_[block] = std::make_unique<Place[]>(kFirst << block);
  blocks_[block][offset] = place;
}

BufferHistory::BufferHistory(std::vector<Slot> slots, const PhiloxEngine& engine, int64_t given,
                             int64_t taken)
    : base_(std::make_shared<const Base>(Base{std::move(slots), engine, given, taken})),
      log_(std::make_shared<PlaceLog>()) {}

std::vector<Place> BufferHistory::places(int64_t buffer_size, int64_t given, int64_t taken,
                                         const std::vector<int64_t>& failed) const {
  std::vector<Slot> slots = base_->slots;
  PhiloxEngine engine = base_->engine;
  replay(slots, buffer_size, engine, given - base_->given,
         TakenNumbers(base_->taken, taken, failed), [this](int64_t number) {
           return Slot{number, (*log_)[number - base_->taken]};
         });
  std::sort(slots.begin(), slots.end(),
            [](const Slot& a, const Slot& b) { return a.number < b.number; });
  std::vector<Place> places;
  places.reserve(slots.size());
  for (const Slot& slot : slots) places.push_back(slot.place);
  return places;
}

}  // namespace cornu::data
