// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/transforms.h"

namespace cornu::data {
namespace {

// Elements that end with a flag, where it holds, without it.
class FilterStream : public Stream<Element> {
 public:
  FilterStream(StreamPtr<Element> flagged, std::shared_ptr<const Structure> structure)
      : flagged_(std::move(flagged)), structure_(std::move(structure)) {}

  bool next(Element& element) override {
    Element flagged;
    while (flagged_.next(flagged)) {
      std::vector<Tensor> tensors = flagged.tensors();
      const bool keeps = tensors.back().item<int>() != 0;
      tensors.pop_back();
      if (!keeps) continue;
      element = Element(std::move(tensors), structure_);
      return true;
    }
    return false;
  }

  // How many elements it has kept doesn't tell how many it has seen.
  Json save() const override { return flagged_.position(); }
  void restore(const Json& state) override { flagged_.restore(state); }

 private:
  Input<Element> flagged_;
  std::shared_ptr<const Structure> structure_;
};

class Filtered : public Node {
 public:
  Filtered(NodePtr flagged, ElementSpec spec)
      : Node({std::move(flagged)}), spec_(std::move(spec)) {}

  const ElementSpec& spec() const override { return spec_; }
  std::optional<int64_t> cardinality() const override {
    const auto items = input().cardinality();
    return items == kInfiniteCardinality ? items : std::nullopt;
  }
  std::string describe() const override { return "filter"; }
  StreamPtr<Element> elements(Pass pass) const override {
    return std::make_unique<FilterStream>(input().elements(pass), spec_.structure);
  }

 private:
  ElementSpec spec_;
};

// The element, and behind it what the predicate says of it.
MapFunction flagged_by(MapFunction predicate) {
  return [predicate = std::move(predicate)](const Element& element) {
    const Element said = predicate(element);
    const bool is_flag = said.tensors().size() == 1 && said.tensors()[0].dtype() == DType::Bool &&
                         said.tensors()[0].rank() == 0;
    check<InvalidArgument>(is_flag,
                           "the predicate gives {}, expected a bool scalar. Reduce it, for example "
                           "with ops::all.",
                           spec_of(said));
    return Element::tuple({element, said});
  };
}

}  // namespace

NodePtr make_filter(NodePtr input, MapFunction predicate) {
  const ElementSpec spec = input->spec();
  try {
    NodePtr flagged = make_map(std::move(input), flagged_by(std::move(predicate)), {});
    return std::make_shared<Filtered>(std::move(flagged), spec);
  } catch (Error& error) {
    error.add_place("filter");
    throw;
  }
}

}  // namespace cornu::data
