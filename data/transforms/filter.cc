// SPDX-License-Identifier: Apache-2.0
#include "data/serialization/links.h"
#include "data/transforms/said.h"
#include "data/transforms/transforms.h"

namespace cornu::data {
namespace {

// The elements whose flag is true, without the flag.
class FilterStream : public Stream<Element> {
 public:
  // `stops`: whether to end at the first element whose flag is false.
  FilterStream(StreamPtr<Element> flagged, std::shared_ptr<const Structure> structure, bool stops)
      : flagged_(std::move(flagged)), structure_(std::move(structure)), stops_(stops) {}

  bool next(Element& element) override {
    while (!stopped_ && flagged_.next(element)) {
      if (take_said(element, structure_).item<int>() != 0) return true;
      stopped_ = stops_;
    }
    return false;
  }

  // The number of elements it has kept doesn't determine how many it has consumed.
  Json save() const override {
    Json state = flagged_.position();
    if (stopped_) state.set("stopped", true);
    return state;
  }
  void restore(const Json& state) override {
    flagged_.restore(state);
    stopped_ = state.contains("stopped");
  }

 private:
  Input<Element> flagged_;
  std::shared_ptr<const Structure> structure_;
  bool stops_;
  bool stopped_ = false;
};

class Filtered : public Node {
 public:
  Filtered(NodePtr flagged, ElementSpec spec, bool stops)
      : Node({std::move(flagged)}), spec_(std::move(spec)), stops_(stops) {}

  const ElementSpec& spec() const override { return spec_; }
  std::optional<int64_t> cardinality() const override {
    const auto items = input().cardinality();
    return items == kInfiniteCardinality && !stops_ ? items : std::nullopt;
  }
  bool works_on_parts() const override { return !stops_; }
  bool takes_any_order() const override { return !stops_; }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override { return stops_ ? "take_while" : "filter"; }
  void write(LinkWriter& link) const override {
    link.kind("filter")("element", spec_)("stops", stops_);
  }
  StreamPtr<Element> elements(Pass pass) const override {
    return std::make_unique<FilterStream>(input().stream(pass), spec_.structure, stops_);
  }

 private:
  ElementSpec spec_;
  bool stops_;
};

}  // namespace

NodePtr make_filter(NodePtr input, MapFunction predicate) {
  const ElementSpec spec = input->spec();
  NodePtr flagged = make_flagged(std::move(input), std::move(predicate), "filter");
  return std::make_shared<Filtered>(std::move(flagged), spec, false);
}

NodePtr make_take_while(NodePtr input, MapFunction predicate) {
  const ElementSpec spec = input->spec();
  NodePtr flagged = make_flagged(std::move(input), std::move(predicate), "take_while");
  return std::make_shared<Filtered>(std::move(flagged), spec, true);
}

NodePtr read_filter(LinkReader& link) {
  const auto element = link.get<ElementSpec>("element");
  require_said(*link.input(), element, DType::Bool);
  return std::make_shared<Filtered>(link.input(), element, link.get<bool>("stops"));
}

}  // namespace cornu::data
