// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <utility>

#include "data/serialization/links.h"
#include "data/transforms/transforms.h"
#include "framework/core/random.h"

namespace cornu::data {

template <class Fields>
void visit_fields(Fields& fields, ShuffleOptions& options) {
  fields("seed", options.seed);
  fields("reshuffle_each_iteration", options.reshuffle_each_iteration);
}

namespace {

// A buffer that a random item is taken from and the next one put into. When it holds the whole
// input this is a Fisher-Yates shuffle.
//
// A position of elements has the numbers that tell which of the input's items are in the buffer:
// those alone are made again. Rows are numbers themselves, and skipping them is as cheap.
template <class Item>
class ShuffleStream : public Stream<Item> {
 public:
  // `expected`: how many items there are, where that is known.
  ShuffleStream(StreamPtr<Item> input, int64_t buffer_size, PhiloxEngine engine,
                const std::optional<int64_t>& expected)
      : input_(std::move(input), !kRows), buffer_size_(buffer_size), engine_(engine) {
    // Of rows there may be very many: a buffer that grows would take twice their memory meanwhile.
    if (kRows && expected && *expected != kInfiniteCardinality) {
      buffer_.reserve(static_cast<size_t>(std::min(buffer_size, *expected)));
    }
  }

  bool next(Item& item) override {
    Item fresh;
    while (!ended_ && std::ssize(buffer_) < buffer_size_) {
      if (take(fresh)) buffer_.push_back({std::move(fresh), number_taken()});
    }
    if (buffer_.empty()) return false;
    const bool more = !ended_ && take(fresh);  // before anything changes: it may throw
    Held& chosen = buffer_[engine_.below(buffer_.size())];
    item = std::move(chosen.item);
    if (more) {
      chosen = {std::move(fresh), number_taken()};
    } else {
      drop(buffer_, chosen);
    }
    ++given_;
    return true;
  }

  Json save() const override {
    if constexpr (kRows) {
      return {};
    } else {
      return Json::object({{"input", input_.position(oldest())},
                           {"given", given_},
                           {"ended", ended_},
                           {"failed", failed_}});
    }
  }
  void restore(const Json& state) override {
    const Json& input = streams::saved_part(state, "input");
    const int64_t taken = streams::saved_count(input, "taken");
    given_ = streams::saved_count(state, "given");
    ended_ = streams::saved_part(state, "ended") == Json(true);
    failed_ = streams::saved_counts(state, "failed");
    const int64_t held = taken - given_ - std::ssize(failed_);
    // Before it is replayed, which takes as long as there are items.
    const bool possible = held >= 0 && held <= buffer_size_;
    std::vector<int64_t> places;
    if (possible) places = replay(taken);
    check<DataLoss>(possible && std::ssize(places) == held,
                    "a position's state {} is damaged: {} items were taken, {} given.",
                    state.excerpt(), taken, given_);
    buffer_.resize(places.size());
    std::vector<size_t> order(places.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return places[a] < places[b]; });
    std::vector<int64_t> numbers;
    for (const size_t place : order) numbers.push_back(places[place]);
    size_t next = 0;
    input_.restore(input, numbers, [&](Item item) {
      buffer_[order[next]] = {std::move(item), numbers[next]};
      ++next;
    });
  }

 private:
  static constexpr bool kRows = std::is_same_v<Item, Row>;
  struct NoNumber {
    NoNumber(int64_t = 0) {}
  };
  struct Held {
    Item item = {};
    [[no_unique_address]] std::conditional_t<kRows, NoNumber, int64_t> number = 0;
  };

  bool take(Item& item) {
    try {
      ended_ = !input_.next(item);
    } catch (...) {
      failed_.push_back(number_taken());
      throw;
    }
    if constexpr (!kRows) {
      if (input_.taken() % buffer_size_ == 0) input_.release(std::min(oldest(), number_taken()));
    }
    return !ended_;
  }

  int64_t number_taken() const { return input_.taken() - 1; }
  // The first of the input's items that is in the buffer.
  int64_t oldest() const {
    int64_t oldest = input_.taken();
    for (const Held& held : buffer_) oldest = std::min(oldest, held.number);
    return oldest;
  }

  template <class T>
  static void drop(std::vector<T>& buffer, T& chosen) {
    if (&chosen != &buffer.back()) chosen = std::move(buffer.back());
    buffer.pop_back();
  }

  // The numbers of the items that are in the buffer, by their places there, after `given_` of
  // `taken` were given.
  std::vector<int64_t> replay(int64_t taken) {
    std::vector<int64_t> places;
    int64_t number = 0;
    auto failed = failed_.begin();
    const auto has_next = [&] {
      for (; failed != failed_.end() && *failed == number; ++failed) ++number;
      return number < taken;
    };
    while (std::ssize(places) < buffer_size_ && has_next()) places.push_back(number++);
    for (int64_t i = 0; i < given_ && !places.empty(); ++i) {
      int64_t& chosen = places[engine_.below(places.size())];
      if (has_next()) {
        chosen = number++;
      } else {
        drop(places, chosen);
      }
    }
    return places;
  }

  Input<Item> input_;
  int64_t buffer_size_;
  PhiloxEngine engine_;
  std::vector<Held> buffer_;
  int64_t given_ = 0;
  std::vector<int64_t> failed_;  // the numbers of items that couldn't be made
  bool ended_ = false;           // the input
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
  // A buffer that is going to be filled must not be larger than the machine's memory.
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
