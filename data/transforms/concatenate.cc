// SPDX-License-Identifier: Apache-2.0
#include "data/serialization/links.h"
#include "data/transforms/specs.h"
#include "data/transforms/transforms.h"

namespace cornu::data {
namespace {

// The second dataset after the first. If both are the same dataset, skipped items are counted once
// for both, since n such links have 2^n parts.
class ConcatenatedStream : public Stream<Element> {
 public:
  ConcatenatedStream(const Node& first, const Node& second, Pass pass, Pass second_pass)
      : first_(first),
        second_(second),
        pass_(pass.id),
        second_pass_(second_pass),
        current_(first.stream(pass)) {}

  bool next(Element& element) override {
    if (ended_) return false;
    if (current_.next(element)) return true;
    return to_second() && current_.next(element);
  }

  void leave_out(int64_t count, int64_t& left_out) override {
    if (ended_) return;
    if (!in_second_) {
      count -= current_.leave_out(count, left_out);
      if (count == 0) return;
      if (const auto second = items_of_second(); second && *second <= count) {
        ended_ = true;
        left_out += *second;
        return;
      }
      to_second();
    }
    current_.leave_out(count, left_out);
  }

  Json save() const override {
    if (ended_) return {};
    Json input = current_.save();
    if (!in_second_ && input.is_null()) return {};
    return Json::object(
        {{"second", in_second_}, {"input", current_.position_of_saved(std::move(input))}});
  }
  void restore(const Json& state) override {
    if (streams::saved_part(state, "second") == Json(true)) to_second();
    current_.restore(streams::saved_part(state, "input"));
  }

 private:
  // Called at the end of the first dataset: returns its number of items if the second dataset is
  // known to have as many.
  std::optional<int64_t> items_of_second() const {
    if (&first_ != &second_ || current_.has_failed()) return std::nullopt;
    const bool is_same = pass_ == second_pass_.id || first_.cardinality() == current_.taken();
    return is_same ? std::optional(current_.taken()) : std::nullopt;
  }

  bool to_second() {
    if (in_second_) return false;
    current_ = Input<Element>(second_.stream(second_pass_));
    return in_second_ = true;
  }

  const Node& first_;
  const Node& second_;
  uint64_t pass_;
  Pass second_pass_;
  Input<Element> current_;
  bool in_second_ = false;
  bool ended_ = false;  // without having opened the second
};

class Concatenated : public Node {
 public:
  Concatenated(NodePtr first, NodePtr second) : Node({std::move(first), std::move(second)}) {
    spec_ = merged(inputs()[0]->spec(), inputs()[1]->spec(), "concatenate");
    inputs_changed();
  }

  const ElementSpec& spec() const override { return spec_; }
  std::optional<int64_t> cardinality() const override { return cardinality_; }
  std::optional<int64_t> batch_size() const override { return batch_size_; }
  bool works_on_parts() const override { return true; }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override { return "concatenate"; }
  void write(LinkWriter& link) const override { link.kind("concatenate"); }
  StreamPtr<Element> elements(Pass pass) const override {
    return std::make_unique<ConcatenatedStream>(*inputs()[0], *inputs()[1], pass,
                                                pass_of_input(1, pass));
  }

 protected:
  void inputs_changed() final {
    cardinality_ = sum_of_inputs();
    batch_size_ = batch_size_of_inputs();
  }

 private:
  std::optional<int64_t> sum_of_inputs() const {
    const auto first = inputs()[0]->cardinality();
    const auto second = inputs()[1]->cardinality();
    if (first == kInfiniteCardinality || second == kInfiniteCardinality) {
      return kInfiniteCardinality;
    }
    if (!first || !second) return std::nullopt;
    return saturating_sum(*first, *second);
  }

  ElementSpec spec_;
  std::optional<int64_t> cardinality_;  // computed once, as the same dataset may be on both sides
                                        // many times over
  std::optional<int64_t> batch_size_;
};

}  // namespace

NodePtr make_concatenate(NodePtr first, NodePtr second) {
  return std::make_shared<Concatenated>(std::move(first), std::move(second));
}

NodePtr read_concatenate(LinkReader& link) {
  return make_concatenate(link.inputs()[0], link.inputs()[1]);
}

}  // namespace cornu::data
