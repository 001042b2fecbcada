// SPDX-License-Identifier: Apache-2.0
#include <mutex>
#include <utility>

#include "data/transforms/transforms.h"

namespace cornu::data {
namespace {

// The items of the first pass that was finished.
template <class Item>
class Store {
 public:
  using Items = std::shared_ptr<const std::vector<Item>>;

  Items get() const {
    std::lock_guard lock(mutex_);
    return items_;
  }
  void put(std::vector<Item> items) const {
    std::lock_guard lock(mutex_);
    if (!items_) items_ = std::make_shared<const std::vector<Item>>(std::move(items));
  }

 private:
  mutable std::mutex mutex_;
  mutable Items items_;
};

template <class Item>
class StoringStream : public Stream<Item> {
 public:
  StoringStream(StreamPtr<Item> input, const Store<Item>& store)
      : input_(std::move(input)), store_(store) {}

  bool next(Item& item) override {
    if (ended_) return false;
    if (input_->next(item)) {
      items_.push_back(item);
      return true;
    }
    ended_ = true;
    store_.put(std::move(items_));
    return false;
  }

 private:
  StreamPtr<Item> input_;
  const Store<Item>& store_;
  std::vector<Item> items_;
  bool ended_ = false;
};

template <class Item>
class StoredStream : public Stream<Item> {
 public:
  explicit StoredStream(typename Store<Item>::Items items) : items_(std::move(items)) {}

  bool next(Item& item) override {
    if (next_ == std::ssize(*items_)) return false;
    item = (*items_)[static_cast<size_t>(next_++)];
    return true;
  }
  int64_t skip(int64_t count) override {
    const int64_t skipped = std::min<int64_t>(count, std::ssize(*items_) - next_);
    next_ += skipped;
    return skipped;
  }

 private:
  typename Store<Item>::Items items_;
  int64_t next_ = 0;
};

class Cached : public ItemTransform<Cached> {
 public:
  explicit Cached(NodePtr input) : ItemTransform(std::move(input)) {}
  Cached(const Cached& other) : ItemTransform(other) {}  // its own elements may be others

  bool works_on_parts() const override { return true; }
  std::string describe() const override { return "cache()"; }

  template <class Item>
  StreamPtr<Item> open(Pass) const {
    const auto& store = std::get<Store<Item>>(stores_);
    if (auto items = store.get()) return std::make_unique<StoredStream<Item>>(std::move(items));
    // Always the same pass: what is kept doesn't depend on which pass fills the cache.
    return std::make_unique<StoringStream<Item>>(open_input<Item>(Pass()), store);
  }

 private:
  std::tuple<Store<Row>, Store<Element>> stores_;
};

}  // namespace

NodePtr make_cache(NodePtr input) { return std::make_shared<Cached>(std::move(input)); }

}  // namespace cornu::data
