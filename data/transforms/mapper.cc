// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/mapper.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <string>

#include "data/sources/host.h"
#include "framework/core/logging.h"
#include "framework/core/random.h"
#include "framework/core/variable.h"
#include "framework/graph/dispatch.h"
#include "framework/graph/function.h"
#include "framework/graph/trace.h"
#include "framework/ops/random.h"

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

// Elements of this kind with the axis of batches.
ElementSpec stacked(ElementSpec spec, const ElementSpec& batches) {
  const Shape leading = batches.types.front().shape.slice(0, 1);
  for (TensorType& type : spec.types) type.shape = leading.concat(type.shape);
  return spec;
}

// Where each row of the input's tensor becomes a row: the axes that make the rows are the input's.
ElementSpec of_rows_like(ElementSpec spec, const ElementSpec& input) {
  const Shape& rows = input.types.front().shape;
  for (TensorType& type : spec.types) type.shape = rows.concat(type.shape.slice(rows.rank()));
  return spec;
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

// Whether all results are found element by element in the inputs, so that the graph's ops give them
// for rows of inputs, too. Ranks must be as those of the results: shapes are aligned at their ends.
bool works_on_rows(const Graph& graph) {
  if (!graph.states.empty()) return false;
  std::vector<bool> of_row(graph.types.size());
  const auto is_of_row = [&](ValueId id) { return bool{of_row[static_cast<size_t>(id)]}; };
  for (ValueId id : graph.inputs) of_row[static_cast<size_t>(id)] = true;
  for (const cornu::Node& node : graph.nodes) {
    if (std::none_of(node.inputs.begin(), node.inputs.end(), is_of_row)) continue;
    const OpTraits& traits = node.op->traits;
    if (!traits.elementwise || traits.checks_values || traits.has_effect) return false;
    for (ValueId id : node.outputs) {
      of_row[static_cast<size_t>(id)] = true;
      for (ValueId in : node.inputs) {
        if (is_of_row(in) && graph.type(in).shape.rank() != graph.type(id).shape.rank()) {
          return false;
        }
      }
    }
  }
  return std::all_of(graph.outputs.begin(), graph.outputs.end(), is_of_row);
}

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
      const ops::internal::DrawsFromTrace draws;
      Element result = f(Element(tensors, structure));
      *traced = result.structure();
      return result.tensors();
    };
    function_ = Function(body, {.name = "map"});
    out_.types = is_static(in.types) ? compile(in.types) : infer_types(in.types, body);
    out_.structure = *traced;
  }

  // Of what gives batches of the kind `out` row by row, and draws nothing.
  TracedMapper(Function function, ElementSpec out, const char* who)
      : who_(who), function_(std::move(function)), draws_(false), keeps_rows_(true) {
    out_ = std::move(out);
  }

  bool draws() const override { return draws_; }
  bool is_pure() const override { return compiled_ && !draws_; }
  bool keeps_rows() const override { return keeps_rows_; }

  std::shared_ptr<const Mapper> of_batches(const ElementSpec& batches) const override {
    if (!is_pure() || !works_on_rows(compiled_->graph)) return nullptr;
    const auto body = [compiled = compiled_](const std::vector<Tensor>& tensors) {
      return replay(compiled->graph, tensors);
    };
    return std::make_shared<TracedMapper>(Function(body, {.name = "map"}), stacked(out_, batches),
                                          who_);
  }

  Element operator()(const Element& element, uint64_t key) const override {
    const DeviceScope host(Device{});
    return on_host(Element(function_.call(element.tensors(), key), out_.structure), who_);
  }

 private:
  std::vector<TensorType> compile(const std::vector<TensorType>& types) {
    std::vector<Tensor> stand_ins;
    for (const TensorType& type : types) stand_ins.push_back(Tensor::empty(type.shape, type.dtype));
    const DeviceScope host(Device{});
    compiled_ = function_.compiled(stand_ins);
    draws_ = compiled_->has_key;
    std::vector<TensorType> results;
    for (ValueId id : compiled_->graph.outputs) results.push_back(compiled_->graph.type(id));
    return results;
  }

  const char* who_;
  Function function_;
  std::shared_ptr<const CompiledFunction> compiled_;  // where all elements are of one signature
  bool draws_ = true;                                 // where axes vary, nobody knows yet
  bool keeps_rows_ = false;
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
    out_ = spec_of(result(*first, 0));
    if (f_.works_on_batches()) {
      out_ = of_rows_like(out_, input.spec());
    } else {
      out_ = with_unknown_axes(out_);
    }
  }

  // Of what works on batches, which are of the kind `out`.
  HostMapper(MapFunction f, ElementSpec out, const char* who) : who_(who), f_(std::move(f)) {
    out_ = std::move(out);
  }

  bool draws() const override { return !is_pure(); }  // nobody knows
  bool is_pure() const override { return f_.works_on_batches(); }
  std::shared_ptr<const Mapper> of_batches(const ElementSpec& batches) const override {
    if (!is_pure()) return nullptr;
    return std::make_shared<HostMapper>(f_, stacked(out_, batches), who_);
  }

  Element operator()(const Element& element, uint64_t key) const override {
    Element made = result(element, key);
    check<InvalidArgument>(out_.admits(made),
                           "expected the function to give {}, as it did first, or as its "
                           "output_signature tells, got {}.",
                           out_, spec_of(made));
    return made;
  }

 private:
  Element result(const Element& element, uint64_t key) const {
    const DeviceScope host(Device{});
    const StopRecordingScope not_recorded;
    NoAssignments hooks;
    const VariableHooksScope scope(&hooks);
    const SeedSequenceScope draws(key);
    const ops::internal::DrawsFromTrace generators;
    return on_host(f_(element), who_);
  }

  const char* who_;
  MapFunction f_;
};

// Once of each transform: a program makes many datasets in the same way.
void tell_of_host(const char* who) {
  static std::mutex mutex;
  static std::set<std::string> told;
  {
    const std::lock_guard lock(mutex);
    if (!told.insert(who).second) return;
  }
  logging::info(
      fmt::format("{}: the function asks for the values of tensors, so it can't be traced: it runs "
                  "op by op for each element, and a dataset with it can't be serialized.",
                  who));
}

}  // namespace

std::shared_ptr<const Mapper> Mapper::of_batches(const ElementSpec&) const { return nullptr; }

std::shared_ptr<const Mapper> make_mapper(MapFunction f, const Node& input, const char* who,
                                          const std::optional<ElementSpec>& signature,
                                          bool traced) {
  const ElementSpec& in = input.spec();
  if (traced && !has_strings(in.types)) {
    try {
      auto mapper = std::make_shared<TracedMapper>(f, in, who);
      check<InvalidArgument>(!signature || as_signature(*signature).admits(mapper->out()),
                             "the function gives {}, which its output_signature {} doesn't allow.",
                             mapper->out().to_string(),
                             signature ? as_signature(*signature).to_string() : "");
      return mapper;
    } catch (const NotTraceable&) {
      tell_of_host(who);
    }
  }
  return std::make_shared<HostMapper>(std::move(f), input, who, signature);
}

}  // namespace cornu::data
