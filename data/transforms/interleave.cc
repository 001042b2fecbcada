// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>

#include "data/iteration.h"
#include "data/pool.h"
#include "data/serialization/links.h"
#include "data/transforms/inner_datasets.h"
#include "data/transforms/parallel_map.h"
#include "data/transforms/stream_pool.h"
#include "data/transforms/transforms.h"

namespace cornu::data {
namespace {

// The same on any machine, since the order of the elements depends on it.
constexpr int64_t kAutomaticCycle = 16;

struct Interleaving {
  int64_t cycle_length;
  int64_t block_length;
  int64_t calls;
};

// As in tf.data: takes blocks from the datasets of `cycle_length` elements in turn; when a dataset
// ends, that of the next element takes its slot at the slot's next turn.
class InterleaveStream : public Stream<Element> {
 public:
  InterleaveStream(StreamPtr<Element> outer, const InnerDatasets<Element>& datasets, Pass pass,
                   const Interleaving& how)
      : outer_(std::move(outer), true),
        datasets_(datasets),
        pass_(pass),
        how_(how),
        seed_(datasets.seed(pass)) {
    if (how.calls != 1) pool_ = std::make_unique<StreamPool>(threads(), cores());
  }

  ~InterleaveStream() override {
    slots_.clear();
    // Threads that don't exist in this process can't be ended.
    if (pool_ && !pool_->is_ours()) static_cast<void>(pool_.release());
  }

  bool next(Element& element) override {
    check<FailedPrecondition>(!pool_ || pool_->is_ours(),
                              "interleave: this iteration was begun before the process forked, and "
                              "its threads are the parent's. Begin a new one in the child.");
    while (Slot* slot = open_slot()) {
      if (slot->inner->next(element)) {
        given(1);
        return true;
      }
      close(*slot);
    }
    return false;
  }

  // A dataset's turn continues after an element that fails.
  void leave_out(int64_t count, int64_t& left_out) override {
    if (pass_.failures == Failures::ArePassed) return Stream::leave_out(count, left_out);
    while (count > 0) {
      Slot* slot = open_slot();
      if (!slot) break;
      const int64_t asked = std::min(count, how_.block_length - in_block_);
      const Passed passed = slot->inner->pass(asked);
      left_out += passed.count;
      count -= passed.count;
      given(passed.count);
      passed.throw_error();
      if (passed.count < asked) close(*slot);
    }
  }

  Json save() const override {
    Json slots = Json::array();
    for (size_t place = 0; place < slots_.size(); ++place) {
      const Slot& slot = slots_[place];
      if (!slot.inner) continue;
      slots.push_back(Json::object({{"place", static_cast<int64_t>(place)},
                                    {"number", slot.number},
                                    {"inner", slot.inner->position()}}));
    }
    return Json::object({{"input", outer_.position(oldest())},
                         {"slots", slots},
                         {"place", static_cast<int64_t>(place_)},
                         {"in_block", in_block_},
                         {"ended", ended_}});
  }

  void restore(const Json& state) override {
    std::vector<std::pair<int64_t, const Json*>> saved;
    const Json& slots = streams::saved_part(state, "slots");
    for (size_t i = 0; i < slots.size() && slots.is_array(); ++i) {
      saved.emplace_back(streams::saved_count(slots[i], "number"), &slots[i]);
    }
    std::sort(saved.begin(), saved.end());
    std::vector<int64_t> numbers;
    for (const auto& [number, slot] : saved) numbers.push_back(number);
    size_t next = 0;
    outer_.restore(streams::saved_part(state, "input"), numbers, [&](const Element& outer) {
      const Json& from = *saved[next++].second;
      Slot& slot = slot_at(place_of(from));
      check<DataLoss>(!slot.inner, "a position's state {} is damaged: a place comes twice.",
                      state.excerpt());
      open(slot, outer);
      slot.inner->restore(streams::saved_part(from, "inner"));
    });
    place_ = place_of(state);
    in_block_ = streams::saved_count(state, "in_block");
    ended_ = streams::saved_part(state, "ended") == Json(true);
  }

 private:
  struct Slot {
    int64_t number = 0;  // of the outer element
    std::optional<Input<Element>> inner;
  };

  // At most one thread per dataset.
  int64_t threads() const {
    const auto tuning = pass_.iteration ? pass_.iteration->options.autotune : AutotuneOptions();
    if (how_.calls == kAutotune && tuning.enabled) return kAutotune;
    return std::min(how_.calls == kAutotune ? cores() : how_.calls, how_.cycle_length);
  }
  int64_t cores() const {
    const int64_t budget = pass_.iteration ? pass_.iteration->options.autotune.cpu_budget : 0;
    const int64_t cores = budget > 0 ? std::min(budget, usable_cores()) : usable_cores();
    return std::min(cores, how_.cycle_length);
  }

  void open(Slot& slot, const Element& outer) {
    slot.number = outer_.taken() - 1;
    auto elements = datasets_.open(outer, slot.number, pass_, seed_);
    // Prefetches one block.
    const int64_t ahead = std::min<int64_t>(how_.block_length, 16);
    if (pool_) elements = make_pooled_stream(std::move(elements), ahead, *pool_);
    slot.inner.emplace(std::move(elements));
    ++open_;
  }

  // The slot whose turn it is; null after the last element.
  Slot* open_slot() {
    while (!ended_ || open_ > 0) {
      Slot& slot = slot_here();
      if (slot.inner) return &slot;
      if (ended_) {
        advance();
        continue;
      }
      Element outer;
      outer_.release(oldest());
      ended_ = !outer_.next(outer);
      if (!ended_) open(slot, outer);
    }
    return nullptr;
  }

  void given(int64_t count) {
    in_block_ += count;
    if (in_block_ == how_.block_length) advance();
  }

  void close(Slot& slot) {
    slot.inner.reset();
    --open_;
    advance();
  }

  void advance() {
    in_block_ = 0;
    place_ = (place_ + 1) % static_cast<size_t>(how_.cycle_length);
  }

  // Slots are created at their first turn, since a cycle may be longer than the number of elements.
  Slot& slot_at(size_t place) {
    if (place >= slots_.size()) slots_.resize(place + 1);
    return slots_[place];
  }
  Slot& slot_here() {
    // The remaining slots have never had a dataset, and won't get one.
    if (ended_ && place_ >= slots_.size()) place_ = 0;
    return slot_at(place_);
  }

  int64_t oldest() const {
    int64_t oldest = outer_.taken();
    for (const Slot& slot : slots_) {
      if (slot.inner) oldest = std::min(oldest, slot.number);
    }
    return oldest;
  }

  size_t place_of(const Json& state) const {
    const int64_t place = streams::saved_count(state, "place");
    // At most as many slots as there were elements have been used.
    check<DataLoss>(place < how_.cycle_length && place <= outer_.taken(),
                    "a position's state {} is damaged.", state.excerpt());
    return static_cast<size_t>(place);
  }

  Input<Element> outer_;
  const InnerDatasets<Element>& datasets_;
  Pass pass_;
  Interleaving how_;
  uint64_t seed_;
  std::unique_ptr<StreamPool> pool_;
  std::deque<Slot> slots_;
  int64_t open_ = 0;
  size_t place_ = 0;
  int64_t in_block_ = 0;  // elements of the current slot returned in its turn
  bool ended_ = false;    // outer_ has ended
};

class Interleaved : public DatasetOfEach {
 public:
  Interleaved(NodePtr input, MakeNode f, const InterleaveOptions& options)
      : DatasetOfEach(std::move(input), std::move(f), options.output_signature, "interleave"),
        how_(checked(options)) {}

  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override {
    return fmt::format("interleave({}, {}, to {}{})", how_.cycle_length, how_.block_length,
                       spec().to_string(), range());
  }
  StreamPtr<Element> elements(Pass pass) const override {
    Interleaving how = how_;
    if (pass.sample) how.calls = 1;
    return std::make_unique<InterleaveStream>(input().stream(pass), datasets(), pass, how);
  }

 private:
  static Interleaving checked(const InterleaveOptions& options) {
    check<InvalidArgument>(
        options.cycle_length >= 1 || options.cycle_length == kAutotune,
        "interleave: expected a cycle_length of at least 1, or data::kAutotune, got {}.",
        options.cycle_length);
    check<InvalidArgument>(options.block_length >= 1,
                           "interleave: expected a block_length of at least 1, got {}.",
                           options.block_length);
    const bool chosen = options.cycle_length != kAutotune;
    return {.cycle_length = chosen ? options.cycle_length : kAutomaticCycle,
            .block_length = options.block_length,
            .calls = resolve_parallel_calls(options.num_parallel_calls, "interleave")};
  }

  Interleaving how_;
};

}  // namespace

NodePtr make_interleave(NodePtr input, MakeNode f, const InterleaveOptions& options) {
  return std::make_shared<Interleaved>(std::move(input), std::move(f), options);
}

}  // namespace cornu::data
