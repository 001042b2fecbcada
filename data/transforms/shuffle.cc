// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "data/transforms/transforms.h"
#include "framework/core/random.h"

namespace cornu::data {
namespace {

// A buffer that a random item is taken from and the next one put into. When it holds the whole
// input this is a Fisher-Yates shuffle.
template <class Item>
class ShuffleStream : public Stream<Item> {
 public:
  ShuffleStream(StreamPtr<Item> input, int64_t buffer_size, PhiloxEngine engine)
      : input_(std::move(input)), buffer_size_(buffer_size), engine_(engine) {}

  bool next(Item& item) override {
    if (!filled_) fill();
    if (buffer_.empty()) return false;
    Item& chosen = buffer_[engine_.below(buffer_.size())];
    item = std::move(chosen);
    ended_ = ended_ || !input_->next(chosen);
    if (ended_) {
      if (&chosen != &buffer_.back()) chosen = std::move(buffer_.back());
      buffer_.pop_back();
    }
    return true;
  }

 private:
  void fill() {
    Item item;
    while (std::ssize(buffer_) < buffer_size_ && !ended_) {
      ended_ = !input_->next(item);
      if (!ended_) buffer_.push_back(std::move(item));
    }
    filled_ = true;
  }

  StreamPtr<Item> input_;
  int64_t buffer_size_;
  PhiloxEngine engine_;
  std::vector<Item> buffer_;
  bool filled_ = false;
  bool ended_ = false;  // the input
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

  std::string describe() const override {
    return fmt::format("shuffle({}{}{})", buffer_size_,
                       options_.seed ? fmt::format(", seed {}", *options_.seed) : "",
                       options_.reshuffle_each_iteration ? "" : ", once");
  }
  std::atomic<uint64_t>* drawn_seed() const override { return options_.seed ? nullptr : &seed_; }

  template <class Item>
  StreamPtr<Item> open(Pass pass) const {
    const uint64_t order = options_.reshuffle_each_iteration ? pass.id : 0;
    return std::make_unique<ShuffleStream<Item>>(open_input<Item>(pass), buffer_size_,
                                                 PhiloxEngine(seed_, order));
  }

 private:
  int64_t buffer_size_;
  ShuffleOptions options_;
  mutable std::atomic<uint64_t> seed_;
};

}  // namespace

NodePtr make_shuffle(NodePtr input, int64_t buffer_size, const ShuffleOptions& options) {
  const auto shuffled = [&](NodePtr items) -> NodePtr {
    return std::make_shared<Shuffled>(std::move(items), buffer_size, options);
  };
  if (NodePtr mapped = shuffle_below_map(input, shuffled)) return mapped;
  return shuffled(std::move(input));
}

}  // namespace cornu::data
