// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "data/serialization/links.h"
#include "data/transforms/shuffle_buffer.h"
#include "data/transforms/transforms.h"
#include "framework/core/random.h"

namespace cornu::data {

template <class Fields>
void visit_fields(Fields& fields, ShuffleOptions& options) {
  fields("seed", options.seed);
  fields("reshuffle_each_iteration", options.reshuffle_each_iteration);
}

namespace {

// An item in the buffer.
template <class Item>
struct Held {
  Item item = {};
  int64_t number = 0;  // in the input
  Place place = {};    // if items have places
  bool is_read = true;
};
template <>
struct Held<Row> {
  Row item = 0;
};

// A buffer from which a random item is taken and replaced by the next one. If it holds the whole
// input, this is a Fisher-Yates shuffle.
//
// For elements, a position has the numbers that determine which of the input's items are in the
// buffer; only those are computed again. If items have places, a position has the place of each
// slot and the state of the random generator: nothing is computed again, and items are read when
// they are drawn. Rows are just numbers, so skipping them is cheap.
template <class Item>
class ShuffleStream : public Stream<Item> {
 public:
  // `expected`: the number of items, if known.
  ShuffleStream(StreamPtr<Item> input, int64_t buffer_size, PhiloxEngine engine,
                const std::optional<int64_t>& expected)
      : placed_(placed_items(*input)),
        input_(std::move(input), !kRows && !placed_),
        buffer_size_(buffer_size),
        engine_(engine) {
    // There may be very many rows: growing the buffer would temporarily take twice their memory.
    if (kRows && expected && *expected != kInfiniteCardinality) {
      buffer_.reserve(static_cast<size_t>(std::min(buffer_size, *expected)));
    }
    if (placed_) take_stock();
  }

  bool next(Item& item) override {
    Held<Item> drawn;
    if (!draw(drawn)) return false;
    if constexpr (!kRows) {
      if (!drawn.is_read) drawn.item = placed_->item_at(drawn.place);
    }
    item = std::move(drawn.item);
    return true;
  }
  void leave_out(int64_t count, int64_t& left_out) override {
    Held<Item> drawn;
    for (; count > 0 && draw(drawn); --count) ++left_out;
  }

  Json save() const override {
    if constexpr (kRows) {
      return {};
    } else {
      Json state = Json::object();  // initializer lists would copy the members
      state.set("input", placed_ ? input_.position() : input_.position(oldest_));
      state.set("given", given_);
      state.set("ended", ended_);
      state.set("failed", failed_);
      if (placed_) {
        state.set("words", static_cast<int64_t>(engine_.words()));
        state.set("slots", streams::written_later(places()));
      }
      return state;
    }
  }
  void restore(const Json& state) override {
    if constexpr (kRows) {
      Stream<Item>::restore(state);
    } else {
      restore_elements(state);
    }
  }

 private:
  static constexpr bool kRows = std::is_same_v<Item, Row>;

  // Null if items have no places.
  static PlacedItems* placed_items(Stream<Item>& input) {
    PlacedItems* placed = nullptr;
    if constexpr (!kRows) placed = dynamic_cast<PlacedItems*>(&input);
    return placed && placed->has_places() ? placed : nullptr;
  }

  // Returns false at the end.
  bool draw(Held<Item>& drawn) {
    if (placed_ && input_.taken() - stock_ >= std::max(buffer_size_, kMinStock)) take_stock();
    Held<Item> fresh;
    while (!ended_ && std::ssize(buffer_) < buffer_size_) {
      if (take(fresh)) buffer_.push_back(std::move(fresh));
    }
    if (buffer_.empty()) return false;
    const bool more = !ended_ && take(fresh);  // before anything changes, since it may throw
    Held<Item>& chosen = buffer_[engine_.below(buffer_.size())];
    drawn = std::move(chosen);
    if (more) {
      chosen = std::move(fresh);
    } else {
      drop(buffer_, chosen);
    }
    ++given_;
    if constexpr (!kRows) {
      if (!placed_ && drawn.number == oldest_) find_oldest();
    }
    return true;
  }

  bool take(Held<Item>& fresh) {
    try {
      ended_ = !input_.next(fresh.item);
    } catch (...) {
      failed_.push_back(input_.taken() - 1);
      if (buffer_.empty()) oldest_ = input_.taken();
      if (placed_) history_.add({});
      throw;
    }
    if constexpr (!kRows) {
      if (!ended_) {
        number(fresh);
        if (placed_) history_.add(fresh.place);
      }
    }
    return !ended_;
  }
  // Records the number and place of an item that was just taken.
  void number(Held<Item>& fresh) {
    fresh.number = input_.taken() - 1;
    if (buffer_.empty()) oldest_ = fresh.number;
    if (placed_) fresh.place = placed_->last_place();
  }

  // Records the places of the items in the buffer, so that save() needn't go through it each time.
  void take_stock() {
    if constexpr (!kRows) {
      stock_ = input_.taken();
      std::vector<Place> slots;
      slots.reserve(buffer_.size());
      for (const Held<Item>& held : buffer_) slots.push_back(held.place);
      history_ = BufferHistory(std::move(slots), engine_, given_, stock_);
    }
  }
  // Called when the oldest item was drawn, which is rare.
  void find_oldest() {
    oldest_ = input_.taken();
    for (const Held<Item>& held : buffer_) oldest_ = std::min(oldest_, held.number);
    input_.release(oldest_);
  }

  // A function that encodes the places of the buffer's current items.
  auto places() const {
    return [history = history_, size = buffer_size_, given = given_, taken = input_.taken(),
            failed = failed_] { return packed_places(history.places(size, given, taken, failed)); };
  }

  void restore_elements(const Json& state) {
    const Json& input = streams::saved_part(state, "input");
    const int64_t taken = streams::saved_count(input, "taken");
    given_ = streams::saved_count(state, "given");
    ended_ = streams::saved_part(state, "ended") == Json(true);
    failed_ = streams::saved_counts(state, "failed");
    const int64_t held = taken - given_ - std::ssize(failed_);
    // Check this first: a replay takes time proportional to the number of items.
    if (held < 0 || held > buffer_size_) damaged(state, taken);
    const bool has_slots = state.contains("slots");
    if (has_slots && placed_) {
      restore_slots(state, held);
      input_.restore(input);
      take_stock();
      return;
    }
    std::vector<int64_t> numbers;
    replay(numbers, buffer_size_, engine_, given_, TakenNumbers(0, taken, failed_),
           [](int64_t number) { return number; });
    if (std::ssize(numbers) != held) damaged(state, taken);
    // With slots, the saved state is past the items, which would have been read by their places.
    make_again(has_slots ? without_state(input) : input, numbers);
    placed_ ? take_stock() : find_oldest();
  }

  [[noreturn]] void damaged(const Json& state, int64_t taken) const {
    raise<DataLoss>("a position's state {} is damaged: {} items were taken, {} given.",
                    state.excerpt(), taken, given_);
  }

  void restore_slots(const Json& state, int64_t held) {
    const int64_t words = streams::saved_count(state, "words");
    check<DataLoss>(words / 2 >= given_,  // a draw takes two words or more
                    "a position's state {} is damaged: {} items were given, but {} random words "
                    "drawn.",
                    state.excerpt(), given_, words);
    engine_.go_to(static_cast<uint64_t>(words));
    const auto places = unpacked_places(state.at("slots"), static_cast<size_t>(held));
    buffer_.resize(places.size());
    for (size_t i = 0; i < places.size(); ++i) {
      buffer_[i].place = places[i];
      buffer_[i].is_read = false;
    }
  }

  static Json without_state(const Json& position) {
    Json counted = Json::object({{"taken", position.at("taken")}});
    if (position.contains("failed")) counted.set("failed", true);
    return counted;
  }

  // Computes the items with these numbers again.
  void make_again(const Json& input, const std::vector<int64_t>& numbers) {
    buffer_.resize(numbers.size());
    const std::vector<size_t> slots = ascending(numbers);
    std::vector<int64_t> in_order;
    for (const size_t slot : slots) in_order.push_back(numbers[slot]);
    auto slot = slots.begin();
    input_.restore(input, in_order, [&](Item item) {
      Held<Item>& held = buffer_[*slot++];
      number(held);
      held.item = std::move(item);
    });
  }

  static constexpr int64_t kMinStock = 64;  // items between two calls of take_stock()

  PlacedItems* placed_;  // the input, if its items have places
  Input<Item> input_;
  int64_t buffer_size_;
  PhiloxEngine engine_;
  std::vector<Held<Item>> buffer_;
  int64_t given_ = 0;
  std::vector<int64_t> failed_;  // numbers of items that failed
  bool ended_ = false;           // whether the input has ended
  int64_t oldest_ = 0;           // number of the oldest item in the buffer, if items have no places
  int64_t stock_ = 0;            // items taken when the history began
  BufferHistory history_;        // if items have places
};

class Shuffled : public ItemTransform<Shuffled> {
 public:
  Shuffled(NodePtr input, int64_t buffer_size, const ShuffleOptions& options)
      : ItemTransform(std::move(input)),
        buffer_size_(buffer_size),
        options_(options),
        seed_(seed_or_next(options.seed)) {
    check<InvalidArgument>(buffer_size >= 1,
                           "shuffle: expected a buffer_size of at least 1, got {}.", buffer_size);
  }

  bool works_on_parts() const override { return true; }
  std::string describe() const override {
    return fmt::format("shuffle({}{}{})", buffer_size_,
                       options_.seed ? fmt::format(", seed {}", *options_.seed) : "",
                       options_.reshuffle_each_iteration ? "" : ", once");
  }
  std::atomic<uint64_t>* drawn_seed() const override {
    return options_.seed ? nullptr : seed_.get();
  }
  bool is_reshuffled() const override { return options_.reshuffle_each_iteration; }
  void write(LinkWriter& link) const override {
    link.kind("shuffle")("buffer_size", buffer_size_).options(options_);
  }

  template <class Item>
  StreamPtr<Item> open(Pass pass) const {
    if (pass.sample) return open_input<Item>(pass);
    require_room(sizeof(Item));
    const uint64_t order = options_.reshuffle_each_iteration ? pass.id : 0;
    return std::make_unique<ShuffleStream<Item>>(open_input<Item>(pass), buffer_size_,
                                                 PhiloxEngine(seed_.in(pass), order),
                                                 input().cardinality());
  }

 private:
  // Throws if a buffer that will be filled exceeds the machine's memory.
  void require_room(size_t bytes_each) const {
    const auto items = input().cardinality();
    if (!items) return;
    const bool endless = *items == kInfiniteCardinality;
    const int64_t held = endless ? buffer_size_ : std::min(*items, buffer_size_);
    const double bytes = static_cast<double>(held) * static_cast<double>(bytes_each);
    const double memory =
        static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
    check<ResourceExhausted>(memory <= 0 || bytes <= memory,
                             "shuffle: a buffer of {} elements takes {:.0f} GB and more, but this "
                             "machine has {:.0f} GB. Use a smaller buffer_size.",
                             held, bytes / 1e9, memory / 1e9);
  }

  int64_t buffer_size_;
  ShuffleOptions options_;
  SharedSeed seed_;
};

}  // namespace

NodePtr make_shuffle(NodePtr input, int64_t buffer_size, const ShuffleOptions& options) {
  const auto shuffled = [&](NodePtr items) -> NodePtr {
    return std::make_shared<Shuffled>(std::move(items), buffer_size, options);
  };
  if (NodePtr mapped = shuffle_below_map(input, shuffled)) return mapped;
  return shuffled(std::move(input));
}

NodePtr read_shuffle(LinkReader& link) {
  const auto size = link.get<int64_t>("buffer_size");
  return std::make_shared<Shuffled>(link.input(), size, link.options<ShuffleOptions>());
}

}  // namespace cornu::data
