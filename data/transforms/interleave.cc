// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/inner_datasets.h"
#include "data/transforms/parallel_map.h"
#include "data/transforms/prefetch_stream.h"
#include "data/transforms/transforms.h"

namespace cornu::data {
namespace {

// The same whatever machine it runs on: the order of the elements depends on it.
constexpr int64_t kAutomaticCycle = 16;

struct Interleaving {
  int64_t cycle_length;
  int64_t block_length;
  int64_t calls;
};

// As tf.data's: blocks of the datasets of `cycle_length` elements in turn; where one ends, the
// next element's takes its place when its turn comes.
class InterleaveStream : public Stream<Element> {
 public:
  InterleaveStream(StreamPtr<Element> outer, const InnerDatasets<Element>& datasets, Pass pass,
                   const Interleaving& how)
      : outer_(std::move(outer), true),
        datasets_(datasets),
        pass_(pass),
        how_(how),
        seed_(datasets.seed()),
        slots_(static_cast<size_t>(how.cycle_length)) {}

  bool next(Element& element) override {
    while (!ended_ || open_ > 0) {
      Slot& slot = slots_[place_];
      if (slot.inner) {
        if (slot.inner->next(element)) {
          if (++in_block_ == how_.block_length) advance();
          return true;
        }
        slot.inner.reset();
        --open_;
        advance();
      } else if (!ended_) {
        Element outer;
        outer_.release(oldest());
        ended_ = !outer_.next(outer);
        if (!ended_) open(slot, outer);
      } else {
        advance();
      }
    }
    return false;
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
      Slot& slot = slots_[place_of(from)];
      open(slot, outer);
      slot.inner->restore(streams::saved_part(from, "inner"));
    });
    place_ = place_of(state);
    in_block_ = streams::saved_count(state, "in_block");
    ended_ = streams::saved_part(state, "ended") == Json(true);
  }

 private:
  struct Slot {
    int64_t number = 0;  // of the element
    std::optional<Input<Element>> inner;
  };

  void open(Slot& slot, const Element& outer) {
    slot.number = outer_.taken() - 1;
    auto elements = datasets_.open(outer, slot.number, pass_, seed_);
    // Each on a thread of its own, a block ahead.
    const int64_t ahead = std::min<int64_t>(how_.block_length, 16);
    if (how_.calls != 1) elements = make_prefetch_stream(std::move(elements), ahead, pass_);
    slot.inner.emplace(std::move(elements));
    ++open_;
  }

  void advance() {
    in_block_ = 0;
    place_ = (place_ + 1) % slots_.size();
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
    check<DataLoss>(place < how_.cycle_length, "a position's state {} is damaged.",
                    state.excerpt());
    return static_cast<size_t>(place);
  }

  Input<Element> outer_;
  const InnerDatasets<Element>& datasets_;
  Pass pass_;
  Interleaving how_;
  uint64_t seed_;
  std::vector<Slot> slots_;
  int64_t open_ = 0;
  size_t place_ = 0;
  int64_t in_block_ = 0;  // given of this one in its turn
  bool ended_ = false;    // outer_
};

class Interleaved : public Node {
 public:
  Interleaved(NodePtr input, MakeNode f, const InterleaveOptions& options)
      : Node({std::move(input)}),
        how_(checked(options)),
        datasets_(
            std::move(f), options.output_signature, [this] { return this->input().elements({}); },
            "interleave") {}

  const ElementSpec& spec() const override { return datasets_.spec(); }
  std::optional<int64_t> cardinality() const override { return std::nullopt; }
  std::optional<int64_t> batch_size() const override { return std::nullopt; }
  bool works_on_parts() const override { return true; }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override {
    return fmt::format("interleave({}, {}, to {})", how_.cycle_length, how_.block_length,
                       spec().to_string());
  }
  std::atomic<uint64_t>* drawn_seed() const override { return datasets_.drawn_seed(); }
  const Node* first_inner() const override { return datasets_.first(); }
  StreamPtr<Element> elements(Pass pass) const override {
    return std::make_unique<InterleaveStream>(input().stream(pass), datasets_, pass, how_);
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
  InnerDatasets<Element> datasets_;
};

}  // namespace

NodePtr make_interleave(NodePtr input, MakeNode f, const InterleaveOptions& options) {
  return std::make_shared<Interleaved>(std::move(input), std::move(f), options);
}

}  // namespace cornu::data
