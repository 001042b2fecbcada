// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/mapper.h"

#include <algorithm>

#include "data/sources/host.h"
#include "framework/core/logging.h"
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

bool has_strings(const std::vector<TensorType>& types) {
  return std::any_of(types.begin(), types.end(),
                     [](const TensorType& type) { return type.dtype == DType::String; });
}

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

// Its graph is made when the dataset is; signatures with axes that vary are compiled when they
// first come.
class TracedMapper : public Mapper {
 public:
  TracedMapper(MapFunction f, const ElementSpec& in, const char* who) : who_(who) {
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

  bool draws() const override { return draws_; }

  Element operator()(const Element& element, uint64_t key) const override {
    const DeviceScope host(Device{});
    return on_host(Element(function_.call(element.tensors(), key), out_.structure), who_);
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

  const char* who_;
  Function function_;
  bool draws_ = true;  // where axes vary, nobody knows yet
};

class HostMapper : public Mapper {
 public:
  HostMapper(MapFunction f, const Node& input, const char* who,
             const std::optional<ElementSpec>& signature)
      : who_(who), f_(std::move(f)) {
    if (signature) {
      out_ = as_signature(*signature);
      return;
    }
    const std::optional<Element> first = input.sample();
    check<InvalidArgument>(first.has_value(),
                           "expected a first element, which tells what the function gives, got "
                           "none. Give output_signature where there may be none.");
    out_ = with_unknown_axes(spec_of(result(*first, 0)));
  }

  bool draws() const override { return true; }  // nobody knows

  Element operator()(const Element& element, uint64_t key) const override {
    Element made = result(element, key);
    check<InvalidArgument>(out_.admits(made),
                           "{}: expected the function to give {}, as it did first, or as its "
                           "output_signature tells, got {}.",
                           who_, out_.to_string(), spec_of(made).to_string());
    return made;
  }

 private:
  Element result(const Element& element, uint64_t key) const {
    const DeviceScope host(Device{});
    const StopRecordingScope not_recorded;
    NoAssignments hooks;
    const VariableHooksScope scope(&hooks);
    const SeedSequenceScope draws(key);
    return on_host(f_(element), who_);
  }

  const char* who_;
  MapFunction f_;
};

}  // namespace

std::unique_ptr<const Mapper> make_mapper(MapFunction f, const Node& input, const char* who,
                                          const std::optional<ElementSpec>& signature,
                                          bool traced) {
  const ElementSpec& in = input.spec();
  if (traced && !has_strings(in.types)) {
    try {
      auto mapper = std::make_unique<TracedMapper>(f, in, who);
      check<InvalidArgument>(!signature || as_signature(*signature).admits(mapper->out()),
                             "the function gives {}, which its output_signature {} doesn't allow.",
                             mapper->out().to_string(),
                             signature ? as_signature(*signature).to_string() : "");
      return mapper;
    } catch (const NotTraceable&) {
      logging::info(fmt::format(
          "{}: the function asks for the values of tensors, so it can't be traced: it runs op by "
          "op for each element, and a dataset with it can't be serialized.",
          who));
    }
  }
  return std::make_unique<HostMapper>(std::move(f), input, who, signature);
}

}  // namespace cornu::data
