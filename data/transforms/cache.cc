// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <mutex>
#include <utility>

#include "data/serialization/links.h"
#include "data/transforms/transforms.h"

namespace cornu::data {
namespace {

// An item, or the exception thrown in its place, so that items have the same numbers in all passes.
template <class Item>
struct Kept {
  Item item = {};
  std::exception_ptr error = {};
};

using Seeds = std::vector<uint64_t>;

// The items of the first complete pass. After a position has been restored, the seeds of the links
// below may differ, and so may the items.
template <class Item>
class Store {
 public:
  using Items = std::shared_ptr<const std::vector<Kept<Item>>>;

  Items get(const Seeds& seeds) const {
    std::lock_guard lock(mutex_);
    return seeds == seeds_ ? items_ : nullptr;
  }
  void put(std::vector<Kept<Item>> items, Seeds seeds) const {
    std::lock_guard lock(mutex_);
    if (items_ && seeds == seeds_) return;
    items_ = std::make_shared<const std::vector<Kept<Item>>>(std::move(items));
    seeds_ = std::move(seeds);
  }

 private:
  mutable std::mutex mutex_;
  mutable Items items_;
  mutable Seeds seeds_;  // the items were computed with these
};

template <class Item>
class StoringStream : public Stream<Item> {
 public:
  StoringStream(StreamPtr<Item> input, const Store<Item>& store, Seeds seeds)
      : input_(std::move(input)), store_(store), seeds_(std::move(seeds)) {}

  bool next(Item& item) override {
    if (ended_) return false;
    try {
      ended_ = !input_->next(item);
    } catch (...) {
      items_.push_back({.error = std::current_exception()});
      throw;
    }
    if (ended_) {
      store_.put(std::move(items_), std::move(seeds_));
    } else {
      items_.push_back({.item = item});
    }
    return !ended_;
  }

 private:
  StreamPtr<Item> input_;
  const Store<Item>& store_;
  Seeds seeds_;
  std::vector<Kept<Item>> items_;
  bool ended_ = false;
};

template <class Item>
class StoredStream : public Stream<Item> {
 public:
  explicit StoredStream(typename Store<Item>::Items items) : items_(std::move(items)) {}

  bool next(Item& item) override {
    if (next_ == std::ssize(*items_)) return false;
    const Kept<Item>& kept = (*items_)[static_cast<size_t>(next_++)];
    if (kept.error) std::rethrow_exception(kept.error);
    item = kept.item;
    return true;
  }
  void leave_out(int64_t count, int64_t& left_out) override {
    for (; count > 0 && next_ < std::ssize(*items_); --count, ++left_out) {
      const Kept<Item>& kept = (*items_)[static_cast<size_t>(next_++)];
      if (kept.error) std::rethrow_exception(kept.error);
    }
  }

 private:
  typename Store<Item>::Items items_;
  int64_t next_ = 0;
};

class Cached : public ItemTransform<Cached> {
 public:
  explicit Cached(NodePtr input) : ItemTransform(std::move(input)) {}
  Cached(const Cached& other) : ItemTransform(other) {}  // doesn't copy the items, which may differ

  bool works_on_parts() const override { return true; }
  std::string describe() const override { return "cache()"; }
  void write(LinkWriter& link) const override { link.kind("cache"); }

  template <class Item>
  StreamPtr<Item> open(Pass pass) const {
    const auto& store = std::get<Store<Item>>(stores_);
    Seeds seeds = seeds_in(pass, *this);
    if (auto items = store.get(seeds))
      return std::make_unique<StoredStream<Item>>(std::move(items));
    if (pass.sample) return open_input<Item>(pass);
    // Always the same pass, so that the cached items don't depend on which pass fills the cache.
    pass.id = 0;
    return std::make_unique<StoringStream<Item>>(open_input<Item>(pass), store, std::move(seeds));
  }

 private:
  std::tuple<Store<Row>, Store<Element>> stores_;
};

}  // namespace

NodePtr make_cache(NodePtr input) { return std::make_shared<Cached>(std::move(input)); }

NodePtr read_cache(LinkReader& link) { return make_cache(link.input()); }

}  // namespace cornu::data
