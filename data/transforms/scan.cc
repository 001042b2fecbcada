// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <mutex>

#include "data/sources/host.h"
#include "data/transforms/specs.h"
#include "data/transforms/transforms.h"
#include "framework/core/strings.h"

namespace cornu::data {
namespace {

// Pairs of a state, which is put in from outside, and the next element.
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
  StreamPtr<Element> elements(Pass pass) const override { return open(pass); }
  std::unique_ptr<StatefulStream> open(Pass pass) const {
    return std::make_unique<StatefulStream>(input().stream(pass), initial_, spec_.structure);
  }

 private:
  Element initial_;
  ElementSpec spec_;
};

constexpr size_t kLargestState = 1 << 16;  // bytes of a state that a position holds

std::string hex_of(const Tensor& tensor) {
  std::string text;
  for (size_t i = 0; i < tensor.bytes(); ++i) {
    text += fmt::format("{:02x}", std::to_integer<int>(tensor.raw()[i]));
  }
  return text;
}

Tensor from_hex(const std::string& text, const Tensor& like) {
  Tensor tensor = Tensor::empty(like.shape(), like.dtype());
  check<DataLoss>(text.size() == 2 * tensor.bytes() &&
                      text.find_first_not_of("0123456789abcdef") == std::string::npos,
                  "scan: a position's state is damaged: expected {} bytes.", tensor.bytes());
  std::byte* to = tensor.mutable_raw();
  for (size_t i = 0; i < tensor.bytes(); ++i) {
    to[i] = static_cast<std::byte>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  }
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
      // Then it is computed again.
      if (bytes > kLargestState || tensor.dtype() == DType::String) return {};
      values.push_back(hex_of(tensor));
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
      tensors[i] = from_hex(values[i].as_string(), tensors[i]);
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
  std::optional<int64_t> batch_size() const override { return std::nullopt; }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override { return "scan"; }
  StreamPtr<Element> elements(Pass pass) const override {
    auto stateful = dynamic_cast<const Stateful&>(input().input()).open(pass);
    StatefulStream& state = *stateful;
    return std::make_unique<ScanStream>(mapped_elements(input(), std::move(stateful), pass), state,
                                        spec_.structure);
  }

 private:
  ElementSpec spec_;
};

// What f gave: two components, of which the first is a state as before.
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
  check<InvalidArgument>(pair && first.admits(state),
                         "{}: expected a function that gives a pair of the next state, {}, and an "
                         "element, got {}.",
                         who, state.to_string(), result.to_string());
  return second;
}

}  // namespace

NodePtr make_scan(NodePtr input, const Element& initial, MapFunction f, const char* who) {
  auto stateful = std::make_shared<Stateful>(std::move(input), initial);
  const ElementSpec state = spec_of(stateful->initial());
  NodePtr mapped = make_map(std::move(stateful), std::move(f), {}, who);
  const ElementSpec spec = checked_result(mapped->spec(), state, who);
  return std::make_shared<Scanned>(std::move(mapped), spec);
}

}  // namespace cornu::data
