// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <exception>
#include <string>

#include "data/serialization/links.h"
#include "data/transforms/transforms.h"

namespace cornu::data {
namespace {

class ZipStream : public Stream<Element> {
 public:
  ZipStream(std::vector<StreamPtr<Element>> inputs, std::shared_ptr<const Structure> structure)
      : structure_(std::move(structure)) {
    for (auto& input : inputs) inputs_.emplace_back(std::move(input));
  }

  bool next(Element& element) override {
    std::vector<Tensor> tensors;
    std::exception_ptr error;
    for (auto& input : inputs_) {
      Element part;
      try {
        if (!input.next(part)) return false;
      } catch (...) {  // the others advance, too, so that elements with the same number stay
                       // together
        if (!error) error = std::current_exception();
        continue;
      }
      tensors.insert(tensors.end(), part.tensors().begin(), part.tensors().end());
    }
    if (error) std::rethrow_exception(error);
    element = Element(std::move(tensors), structure_);
    return true;
  }
  // Skips one at a time, so that all inputs stay at the same number if one of them fails.
  void leave_out(int64_t count, int64_t& left_out) override {
    for (; count > 0; --count, ++left_out) {
      std::exception_ptr error;
      for (auto& input : inputs_) {
        const Passed passed = input.pass(1);
        if (passed.count == 0 && !passed.error) return;
        if (!error) error = passed.error;
      }
      if (error) std::rethrow_exception(error);
    }
  }

  Json save() const override {
    Json positions = Json::array();
    bool counted = true;
    for (const auto& input : inputs_) {
      Json saved = input.save();
      counted = counted && saved.is_null();
      positions.push_back(input.position_of_saved(std::move(saved)));
    }
    return counted ? Json() : positions;
  }
  void restore(const Json& state) override {
    check<DataLoss>(state.is_array() && state.size() == inputs_.size(),
                    "a position's state {} is damaged: expected those of {} datasets.",
                    state.excerpt(), inputs_.size());
    for (size_t i = 0; i < inputs_.size(); ++i) inputs_[i].restore(state[i]);
  }

 private:
  std::vector<Input<Element>> inputs_;
  std::shared_ptr<const Structure> structure_;
};

bool has_empty_part(const Structure& structure) {
  return structure.num_tensors() == 0 ||
         std::any_of(structure.children().begin(), structure.children().end(), has_empty_part);
}

Structure plain_tuple(size_t count) { return Structure::tuple(std::vector<Structure>(count)); }

class Zipped : public Node {
 public:
  // `around`: the structure of the inputs.
  Zipped(std::vector<NodePtr> nodes, Structure around)
      : Node(std::move(nodes)), around_(std::move(around)) {
    check<InvalidArgument>(!inputs().empty(), "zip: expected datasets, got none.");
    check<InvalidArgument>(!has_empty_part(around_),
                           "zip: expected datasets in each part of a structure, got none in one.");
    for (const NodePtr& input : inputs()) {
      const auto& types = input->spec().types;
      spec_.types.insert(spec_.types.end(), types.begin(), types.end());
    }
    Structure nested =
        around_.with_leaves([this](size_t i) { return *inputs()[i]->spec().structure; });
    if (nested.kind() == Structure::Kind::Tuple) {
      nested = Structure::of_components(nested.children());
    }
    spec_.structure = std::make_shared<const Structure>(std::move(nested));
    inputs_changed();
  }

  const ElementSpec& spec() const override { return spec_; }
  std::optional<int64_t> cardinality() const override { return cardinality_; }
  std::optional<int64_t> batch_size() const override { return batch_size_; }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override {
    if (is_plain_tuple()) return "zip";
    return "zip" + around_.to_string([](size_t i) { return std::to_string(i); });
  }
  void write(LinkWriter& link) const override {
    link.kind("zip");
    if (!is_plain_tuple()) link("structure", around_);
  }
  StreamPtr<Element> elements(Pass pass) const override {
    std::vector<StreamPtr<Element>> streams;
    for (size_t i = 0; i < inputs().size(); ++i) {
      streams.push_back(inputs()[i]->stream(pass_of_input(i, pass)));
    }
    return std::make_unique<ZipStream>(std::move(streams), spec_.structure);
  }

 protected:
  void inputs_changed() final {
    cardinality_ = shortest_of_inputs();
    batch_size_ = batch_size_of_inputs();
  }

 private:
  bool is_plain_tuple() const { return around_ == plain_tuple(inputs().size()); }

  // An input of unknown cardinality may be the shortest.
  std::optional<int64_t> shortest_of_inputs() const {
    int64_t shortest = kInfiniteCardinality;
    for (const NodePtr& input : inputs()) {
      const auto items = input->cardinality();
      if (!items) return std::nullopt;
      if (*items != kInfiniteCardinality) {
        shortest = shortest == kInfiniteCardinality ? *items : std::min(shortest, *items);
      }
    }
    return shortest;
  }

  Structure around_;
  ElementSpec spec_;
  std::optional<int64_t> cardinality_;
  std::optional<int64_t> batch_size_;
};

}  // namespace

NodePtr make_zip(std::vector<NodePtr> inputs, Structure structure) {
  if (structure.kind() == Structure::Kind::Tensor) return inputs.front();
  return std::make_shared<Zipped>(std::move(inputs), std::move(structure));
}

NodePtr read_zip(LinkReader& link) {
  const size_t count = link.inputs().size();
  Structure structure = plain_tuple(count);
  if (link.has("structure")) structure = link.get<Structure>("structure");
  check<InvalidArgument>(structure.num_tensors() == count,
                         "zip: expected a structure of {} datasets, got one of {}.", count,
                         structure.num_tensors());
  return make_zip(link.inputs(), std::move(structure));
}

}  // namespace cornu::data
