// SPDX-License-Identifier: Apache-2.0

#include "data/serialization/links.h"
#include "data/sources/host.h"
#include "data/transforms/specs.h"
#include "data/transforms/transforms.h"
#include "framework/core/hex.h"
#include "framework/core/strings.h"

namespace cornu::data {
namespace {

// Pairs of a state, which is set from outside, and the next element.
class StatefulStream : public Stream<Element> {
 public:
  StatefulStream(StreamPtr<Element> input, Element state,
                 std::shared_ptr<const Structure> structure)
      : state(std::move(state)), input_(std::move(input)), structure_(std::move(structure)) {}

  bool next(Element& element) override {
    Element own;
    if (!input_.next(own)) return false;
    std::vector<Tensor> tensors = state.tensors();
    tensors.insert(tensors.end(), own.tensors().begin(), own.tensors().end());
    element = Element(std::move(tensors), structure_);
    return true;
  }
  Json save() const override { return input_.position(); }
  void restore(const Json& position) override { input_.restore(position); }

  Element state;

 private:
  Input<Element> input_;
  std::shared_ptr<const Structure> structure_;
};

class Stateful : public Node {
 public:
  Stateful(NodePtr input, const Element& initial)
      : Node({std::move(input)}), initial_(on_host(initial, "scan")) {
    spec_ = tuple_of({spec_of(initial_), this->input().spec()});
  }

  const ElementSpec& spec() const override { return spec_; }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override {
    return fmt::format("with_state({})", spec_of(initial_).to_string());
  }
  const Element& initial() const { return initial_; }
  void write(LinkWriter& link) const override {
    link.kind("with_state")("initial_state", initial_);
  }
  StreamPtr<Element> elements(Pass pass) const override { return open(pass); }
  std::unique_ptr<StatefulStream> open(Pass pass) const {
    return std::make_unique<StatefulStream>(input().stream(pass), initial_, spec_.structure);
  }

 private:
  Element initial_;
  ElementSpec spec_;
};

constexpr size_t kMaxState = 1 << 16;  // maximum bytes of a state in a position

Tensor state_of_hex(const std::string& text, const Tensor& like) {
  Tensor tensor = Tensor::empty(like.shape(), like.dtype());
  check<DataLoss>(from_hex(text, {tensor.mutable_raw(), tensor.bytes()}),
                  "scan: a position's state is damaged: expected {} bytes.", tensor.bytes());
  return tensor;
}

class ScanStream : public Stream<Element> {
 public:
  ScanStream(StreamPtr<Element> mapped, StatefulStream& stateful,
             std::shared_ptr<const Structure> structure)
      : mapped_(std::move(mapped)), stateful_(stateful), structure_(std::move(structure)) {}

  bool next(Element& element) override {
    Element both;
    if (!mapped_->next(both)) return false;
    const auto states = static_cast<std::ptrdiff_t>(stateful_.state.tensors().size());
    const auto begin = both.tensors().begin();
    stateful_.state = stateful_.state.with({begin, begin + states});
    element = Element({begin + states, both.tensors().end()}, structure_);
    return true;
  }

  Json save() const override {
    Json values = Json::array();
    size_t bytes = 0;
    for (const Tensor& tensor : stateful_.state.tensors()) {
      bytes += tensor.bytes();
      // The state is then computed again.
      if (bytes > kMaxState || tensor.dtype() == DType::String) return {};
      values.push_back(to_hex({tensor.raw(), tensor.bytes()}));
    }
    return Json::object({{"input", mapped_->save()}, {"values", values}});
  }
  void restore(const Json& state) override {
    const Json& values = streams::saved_part(state, "values");
    std::vector<Tensor> tensors = stateful_.state.tensors();
    check<DataLoss>(values.is_array() && values.size() == tensors.size(),
                    "scan: a position's state {} is damaged.", state.excerpt());
    for (size_t i = 0; i < tensors.size(); ++i) {
      check<DataLoss>(values[i].is_string(), "scan: a position's state {} is damaged.",
                      state.excerpt());
      tensors[i] = state_of_hex(values[i].as_string(), tensors[i]);
    }
    stateful_.state = stateful_.state.with(std::move(tensors));
    mapped_->restore(streams::saved_part(state, "input"));
  }

 private:
  StreamPtr<Element> mapped_;
  StatefulStream& stateful_;  // at the end of mapped_
  std::shared_ptr<const Structure> structure_;
};

class Scanned : public Node {
 public:
  Scanned(NodePtr mapped, const ElementSpec& spec) : Node({std::move(mapped)}), spec_(spec) {}

  const ElementSpec& spec() const override { return spec_; }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override { return "scan"; }
  void write(LinkWriter& link) const override { link.kind("scan"); }
  StreamPtr<Element> elements(Pass pass) const override {
    auto stateful = dynamic_cast<const Stateful&>(input().input()).open(pass);
    StatefulStream& state = *stateful;
    return std::make_unique<ScanStream>(mapped_elements(input(), std::move(stateful), pass), state,
                                        spec_.structure);
  }

 private:
  ElementSpec spec_;
};

// Checks the result of f: two components, of which the first must match the state.
ElementSpec checked_result(const ElementSpec& result, const ElementSpec& state, const char* who) {
  const bool pair = result.structure->num_components() == 2;
  ElementSpec first;
  ElementSpec second;
  if (pair) {
    const size_t size = result.structure->component(0).num_tensors();
    const auto at = result.types.begin() + static_cast<std::ptrdiff_t>(size);
    first = {{result.types.begin(), at},
             std::make_shared<const Structure>(result.structure->component(0))};
    second = {{at, result.types.end()},
              std::make_shared<const Structure>(result.structure->component(1))};
  }
  check<InvalidArgument>(pair,
                         "{}: expected a function that gives a pair of the next state, {}, and an "
                         "element, got {}.",
                         who, state.to_string(), result.to_string());
  check<InvalidArgument>(first.admits(state),
                         "{}: expected a next state like the one before, {}, "
                         "got {}.",
                         who, state.to_string(), first.to_string());
  return second;
}

// Removes the states from the results of a map over Stateful.
NodePtr scanned(NodePtr mapped, const char* who) {
  const auto* stateful =
      is_map(*mapped) ? dynamic_cast<const Stateful*>(&mapped->input()) : nullptr;
  check<InvalidArgument>(stateful != nullptr, "{}: expected a map of pairs with a state, got {}.",
                         who, mapped->describe());
  const ElementSpec spec = checked_result(mapped->spec(), spec_of(stateful->initial()), who);
  return std::make_shared<Scanned>(std::move(mapped), spec);
}

}  // namespace

NodePtr make_scan(NodePtr input, const Element& initial, MapFunction f, const char* who) {
  auto stateful = std::make_shared<Stateful>(std::move(input), initial);
  return scanned(make_map(std::move(stateful), std::move(f), {}, who), who);
}

NodePtr read_with_state(LinkReader& link) {
  return std::make_shared<Stateful>(link.input(), link.get<Element>("initial_state"));
}

NodePtr read_scan(LinkReader& link) { return scanned(link.input(), "scan"); }

}  // namespace cornu::data
