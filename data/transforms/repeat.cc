// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "data/serialization/links.h"
#include "data/transforms/transforms.h"

namespace cornu::data {
namespace {

class Repeated : public ItemTransform<Repeated> {
 public:
  Repeated(NodePtr input, int64_t count)
      : ItemTransform(std::move(input)), count_(count < 0 ? kInfiniteCardinality : count) {}

  std::optional<int64_t> cardinality() const override {
    const auto once = input().cardinality();
    if (count_ == 0 || once == 0) return 0;
    if (is_endless()) return kInfiniteCardinality;  // as in tf.data, even if it is unknown
    if (once == kInfiniteCardinality || !once) return once;
    return saturating_product(count_, *once);
  }
  bool works_on_parts() const override { return true; }
  bool takes_any_order() const override { return true; }
  std::string describe() const override {
    return is_endless() ? "repeat()" : fmt::format("repeat({})", count_);
  }

  bool is_endless() const { return count_ == kInfiniteCardinality; }
  // Whether a repetition without items ends it: if it is endless, as in tf.data; otherwise if all
  // repetitions are the same.
  bool ends_when_empty() const {
    if (is_endless()) return true;
    const auto links = links_of(input());
    return std::none_of(links.begin(), links.end(),
                        [](const Node* link) { return link->varies(); });
  }
  bool has_repetition(int64_t index) const { return is_endless() || index < count_; }
  int64_t repetitions_from(int64_t index) const {
    return is_endless() ? std::numeric_limits<int64_t>::max()
                        : std::max<int64_t>(0, count_ - index);
  }
  // Number of items in a repetition, if known and finite.
  std::optional<int64_t> length() const {
    const auto once = input().cardinality();
    return once && *once > 0 ? once : std::nullopt;
  }
  template <class Item>
  StreamPtr<Item> repetition(Pass pass, int64_t index) const {
    return open_input<Item>(pass.below(index));
  }
  void write(LinkWriter& link) const override { link.kind("repeat")("count", count_); }

  template <class Item>
  StreamPtr<Item> open(Pass pass) const;

 private:
  int64_t count_;
};

template <class Item>
class RepeatStream : public Stream<Item> {
 public:
  RepeatStream(const Repeated& node, Pass pass) : node_(node), pass_(pass) {}

  bool next(Item& item) override {
    while (is_open()) {
      if (current_->next(item)) return true;
      leave();
    }
    return false;
  }

  void leave_out(int64_t count, int64_t& left_out) override {
    while (count > 0 && is_open()) {
      count -= current_->leave_out(count, left_out);
      if (count == 0) break;
      leave();
      const int64_t whole = skip_repetitions(count);
      left_out += whole;
      count -= whole;
    }
  }

  Json save() const override {
    const bool begun = current_ || index_ > 0;
    if (!begun) return {};
    Json input = current_ ? current_->save() : Json();
    if (length() && input.is_null() && !has_failed_) return {};
    Json state = Json::object({{"repetition", index_}, {"ended", ended_}});
    if (current_) state.set("input", current_->position_of_saved(std::move(input)));
    return state;
  }
  void restore(const Json& state) override {
    index_ = streams::saved_count(state, "repetition");
    has_failed_ = index_ > 0;  // conservatively assumed
    ended_ = streams::saved_part(state, "ended") == Json(true);
    const Json* input = state.find("input");
    if (!input) return;
    check<DataLoss>(is_open(), "a position's state {} is damaged.", state.excerpt());
    current_->restore(*input);
  }

 private:
  // Opens the next repetition if there is one.
  bool is_open() {
    if (current_) return true;
    if (ended_ || !node_.has_repetition(index_)) return false;
    current_.emplace(node_.template repetition<Item>(pass_, index_));
    return true;
  }

  void leave() {
    const bool was_empty = current_->taken() == 0;
    has_failed_ = has_failed_ || current_->has_failed();
    current_.reset();
    ++index_;
    ended_ = ended_ || (was_empty && node_.ends_when_empty());
  }

  // Skips whole repetitions without opening them.
  int64_t skip_repetitions(int64_t count) {
    const auto once = length();
    if (!once || ended_) return 0;
    const int64_t repetitions = std::min(count / *once, node_.repetitions_from(index_));
    index_ += repetitions;
    return repetitions * *once;
  }

  // Unknown if items may fail, as there may then be more of them (batches, for example) or fewer.
  std::optional<int64_t> length() const {
    return pass_.failures == Failures::ArePassed ? std::nullopt : node_.length();
  }

  const Repeated& node_;
  Pass pass_;
  std::optional<Input<Item>> current_;
  int64_t index_ = 0;        // of the current repetition, or the next
  bool has_failed_ = false;  // in an earlier repetition, which may have had another number of items
  bool ended_ = false;
};

template <class Item>
StreamPtr<Item> Repeated::open(Pass pass) const {
  return std::make_unique<RepeatStream<Item>>(*this, pass);
}

}  // namespace

NodePtr make_repeat(NodePtr input, int64_t count) {
  return std::make_shared<Repeated>(std::move(input), count);
}

NodePtr read_repeat(LinkReader& link) {
  return make_repeat(link.input(), link.get<int64_t>("count"));
}

}  // namespace cornu::data
