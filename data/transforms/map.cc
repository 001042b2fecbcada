// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "data/sources/host.h"
#include "data/transforms/parallel_map.h"
#include "data/transforms/transforms.h"
#include "framework/core/random.h"
#include "framework/core/variable.h"
#include "framework/graph/dispatch.h"
#include "framework/graph/function.h"
#include "framework/graph/trace.h"

namespace cornu::data {
namespace {

bool is_static(const std::vector<TensorType>& types) {
  return std::all_of(types.begin(), types.end(),
                     [](const TensorType& type) { return type.shape.is_static(); });
}

// Map functions must not change variables: elements are computed ahead, and left out when a
// position is restored.
class NoAssignments : public VariableHooks {
 public:
  Tensor read(const Variable& variable) override {
    return outer_ ? outer_->read(variable) : variable.stored();
  }
  void assign(const Variable& variable, const Tensor&) override {
    raise<InvalidArgument>(
        "the function changes the variable '{}'. A map function's result may depend on its "
        "arguments only.",
        variable.path());
  }

 private:
  VariableHooks* outer_ = current_variable_hooks();
};

// The traced form of a map function. Its graph is made when the dataset is, so that mistakes show
// there; signatures with axes that vary are compiled when they first come.
class Mapper {
 public:
  Mapper(MapFunction f, const ElementSpec& in) {
    auto traced = std::make_shared<std::shared_ptr<const Structure>>();
    auto body = [f = std::move(f), structure = in.structure,
                 traced](const std::vector<Tensor>& tensors) {
      NoAssignments hooks;
      const VariableHooksScope scope(&hooks);
      Element result = f(Element(tensors, structure));
      *traced = result.structure();
      return result.tensors();
    };
    function_ = Function(body, {.name = "map"});
    out_.types = is_static(in.types) ? compile(in.types) : infer_types(in.types, body);
    out_.structure = *traced;
  }

  const ElementSpec& out() const { return out_; }
  // May it draw random numbers without a seed?
  bool draws() const { return draws_; }

  // `key`: what it draws from.
  Element operator()(const Element& element, uint64_t key) const {
    const DeviceScope host(Device{});
    return on_host(Element(function_.call(element.tensors(), key), out_.structure), "map");
  }

 private:
  std::vector<TensorType> compile(const std::vector<TensorType>& types) {
    std::vector<Tensor> stand_ins;
    for (const TensorType& type : types) stand_ins.push_back(Tensor::empty(type.shape, type.dtype));
    const DeviceScope host(Device{});
    const auto compiled = function_.compiled(stand_ins);
    draws_ = compiled->has_key;
    std::vector<TensorType> results;
    for (ValueId id : compiled->graph.outputs) results.push_back(compiled->graph.type(id));
    return results;
  }

  Function function_;
  ElementSpec out_;
  bool draws_ = true;  // where axes vary, nobody knows yet
};

class Mapped : public Node {
 public:
  Mapped(NodePtr input, MapFunction f, int64_t calls)
      : Node({std::move(input)}),
        calls_(calls),
        mapper_(std::move(f), this->input().spec()),
        seed_(mapper_.draws() ? next_seed() : 0) {}

  const ElementSpec& spec() const override { return mapper_.out(); }
  // Not the number of calls: it may change without changing what comes.
  std::string describe() const override {
    return fmt::format("map(to {})", mapper_.out().to_string());
  }
  StreamPtr<Element> elements(Pass pass) const override {
    const auto f = [this, seed = seed_.load(), pass](const Element& element, int64_t number) {
      // The key is (seed, pass, number of the element), whichever thread computes it.
      const auto words = philox(seed, static_cast<uint64_t>(number), pass.id);
      return mapper_(element, uint64_t{words[1]} << 32 | words[0]);
    };
    return make_parallel_map(input().elements(pass), f, calls_);
  }
  std::atomic<uint64_t>* drawn_seed() const override { return mapper_.draws() ? &seed_ : nullptr; }

 private:
  int64_t calls_;
  Mapper mapper_;
  mutable std::atomic<uint64_t> seed_;
};

}  // namespace

NodePtr make_map(NodePtr input, MapFunction f, const MapOptions& options) {
  const int64_t calls = resolve_parallel_calls(options.num_parallel_calls, "map");
  try {
    return std::make_shared<Mapped>(std::move(input), std::move(f), calls);
  } catch (Error& error) {
    error.add_place("map");
    throw;
  }
}

}  // namespace cornu::data
