// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/mapper.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <string>

#include "data/iteration.h"
#include "data/serialization/functions.h"
#include "data/serialization/host_functions.h"
#include "data/sources/host.h"
#include "framework/core/logging.h"
#include "framework/core/random.h"
#include "framework/core/user_code.h"
#include "framework/core/variable.h"
#include "framework/graph/dispatch.h"
#include "framework/graph/function.h"
#include "framework/graph/open_axes.h"
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

// The spec of batches of such elements.
ElementSpec stacked(ElementSpec spec, const ElementSpec& batches) {
  const Shape leading = batches.types.front().shape.slice(0, 1);
  for (TensorType& type : spec.types) type.shape = leading.concat(type.shape);
  return spec;
}

// The spec of results when each row of the input's tensor becomes a row: the row axes are taken
// from the input.
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

// Whether all results are computed elementwise from the inputs, so that the graph's ops also work
// on batches of inputs. Ranks must be equal to those of the results, since broadcasting aligns
// shapes at their ends.
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

// The graph is made with the dataset; signatures with axes that vary are compiled when they first
// occur.
class TracedMapper : public Mapper {
 public:
  TracedMapper(MapFunction f, const ElementSpec& in, std::string who)
      : who_(std::move(who)), in_(in.types) {
    auto traced = std::make_shared<std::shared_ptr<const Structure>>();
    auto body = [f = std::move(f), structure = in.structure,
                 traced](const std::vector<Tensor>& tensors) {
      NoAssignments hooks;
      const VariableHooksScope scope(&hooks);
      const ops::internal::DrawsFromTrace draws;
      const TracedFunctionScope traced_here;
      Element result = f(Element(tensors, structure));
      *traced = result.structure();
      return result.tensors();
    };
    body_ = body;
    function_ = Function(body, {.name = "map"});
    out_.types = is_static(in.types) ? compile(in.types) : infer_types(in.types, body);
    out_.structure = *traced;
  }

  // `graph` maps elements of types `in` to elements of the spec `out`.
  TracedMapper(std::shared_ptr<const PortableFunction> graph, std::vector<TensorType> in,
               ElementSpec out, std::string who)
      : who_(std::move(who)), in_(std::move(in)), body_(replayed(graph)) {
    function_ = Function(body_, {.name = "map"});
    if (is_static(in_)) {
      draws_ = graph->has_key;
      graph_ = std::move(graph);
    }
    out_ = std::move(out);
  }

  // The composition of several mappers.
  explicit TracedMapper(const std::vector<const TracedMapper*>& mappers)
      : who_(mappers.front()->who_), in_(mappers.front()->in_) {
    std::vector<TensorFunction> bodies;
    for (const TracedMapper* mapper : mappers) {
      const auto& graph = mapper->graph_;  // with states, variables are read again
      bodies.push_back(graph && graph->graph.states.empty() ? replayed(graph) : mapper->body_);
    }
    body_ = [bodies = std::move(bodies)](std::vector<Tensor> tensors) {
      for (const TensorFunction& body : bodies) {
        // As between two functions, tensors aren't weakly typed and have no mask.
        for (Tensor& tensor : tensors) {
          tensor = (tensor.is_weak() ? tensor.strong() : tensor).with_mask({});
        }
        tensors = body(tensors);
      }
      return tensors;
    };
    function_ = Function(body_, {.name = "map"});
    out_ = mappers.back()->out_;
  }

  bool draws() const override { return draws_; }
  bool has_draws() const override {
    if (!draws_ || is_static(in_)) return draws_;
    try {
      const auto lock = tracing_lock();
      return trace(with_sizes(in_, kSubstituteSizes[0]), body_, {.name = who_}).has_key;
    } catch (const Error&) {  // it may work for other sizes
      return true;
    }
  }
  bool is_pure() const override { return graph_ && !draws_ && !of_rows_; }
  bool keeps_rows() const override { return of_rows_; }

  std::shared_ptr<const Mapper> of_batches(const ElementSpec& batches) const override {
    if (!is_pure() || !works_on_rows(graph_->graph)) return nullptr;
    auto mapper =
        std::make_shared<TracedMapper>(graph_, batches.types, stacked(out_, batches), who_);
    mapper->graph_ = graph_;
    mapper->of_rows_ = true;
    mapper->draws_ = false;
    return mapper;
  }

  void write(LinkWriter& link) const override {
    link("of_batches", of_rows_)("structure", *out_.structure);
    write_function(link, graph_ ? *graph_ : trace_for_all_sizes(body_, in_, who_), who_);
  }

  Element operator()(const Element& element, uint64_t key) const override {
    const DeviceScope host(Device{});
    return on_host(Element(function_.call(element.tensors(), key), out_.structure), who_.c_str());
  }

 private:
  std::vector<TensorType> compile(const std::vector<TensorType>& types) {
    std::vector<Tensor> stand_ins;
    for (const TensorType& type : types) stand_ins.push_back(Tensor::empty(type.shape, type.dtype));
    const DeviceScope host(Device{});
    const auto compiled = function_.compiled(stand_ins);
    graph_ = std::make_shared<const PortableFunction>(
        PortableFunction{compiled->graph, compiled->has_key});
    draws_ = compiled->has_key;
    std::vector<TensorType> results;
    for (ValueId id : graph_->graph.outputs) results.push_back(graph_->graph.type(id));
    return results;
  }

  std::string who_;
  std::vector<TensorType> in_;
  TensorFunction body_;
  Function function_;
  std::shared_ptr<const PortableFunction> graph_;  // set if all elements have the same signature
  bool of_rows_ = false;                           // whether the graph is applied to batches
  bool draws_ = true;                              // assumed if axes vary
};

class HostMapper : public Mapper {
 public:
  // `why`: the reason that it runs on the host.
  HostMapper(MapFunction f, const Node& input, std::string who, const char* why,
             const std::optional<ElementSpec>& signature)
      : who_(std::move(who)), why_(why), f_(std::move(f)) {
    if (signature) {
      out_ = as_signature(*signature);
      return;
    }
    const std::optional<Element> first = input.sample();
    check<InvalidArgument>(first.has_value(),
                           "expected a first element, from which the function's result types are "
                           "inferred, got none. Pass output_signature if there may be none.");
    out_ = spec_of(first_result(*first));
    if (f_.works_on_batches()) {
      out_ = of_rows_like(out_, input.spec());
    } else {
      out_ = with_unknown_axes(out_);
    }
  }

  // For a function that works on batches, with results of the spec `out`.
  HostMapper(MapFunction f, ElementSpec out, std::string who, const char* why)
      : who_(std::move(who)), why_(why), f_(std::move(f)) {
    out_ = std::move(out);
  }

  bool draws() const override { return !is_pure(); }  // unknown otherwise
  bool is_pure() const override { return f_.works_on_batches(); }
  bool keeps_rows() const override { return f_.works_on_batches(); }
  std::shared_ptr<const Mapper> of_batches(const ElementSpec& batches) const override {
    if (!is_pure()) return nullptr;
    return std::make_shared<HostMapper>(f_, stacked(out_, batches), who_, why_);
  }

  void write(LinkWriter& link) const override {
    check<FailedPrecondition>(
        f_.write() != nullptr,
        "{}: it can't be serialized: its function runs on the host, op by op, {}. Write it so that "
        "it can be traced, give one that the other process has (an ExampleParser, a "
        "StaticHashTable, strings::functions, or see data/serialization/host_functions.h), or call "
        "this transform where the dataset is iterated.",
        who_, why_);
    link("out", out_);
    f_.write()(link);
  }

  Element operator()(const Element& element, uint64_t key) const override {
    Element made = result(element, key);
    if (out_.admits(made)) return made;
    raise<InvalidArgument>(
        "expected the function to give {}, as it did first, or as its output_signature says, got "
        "{}.",
        out_, spec_of(made));
  }

 private:
  // The result for the first element. If it fails, nothing can be inferred.
  Element first_result(const Element& element) const {
    const std::string place =
        who_ + ", element 0 (where the first one may fail give output_signature)";
    try {
      return call_user([&] { return place; }, [&] { return result(element, 0); });
    } catch (Error& error) {
      error.add_place(place);
      throw;
    }
  }

  Element result(const Element& element, uint64_t key) const {
    const DeviceScope host(Device{});
    const StopRecordingScope not_recorded;
    NoAssignments hooks;
    const VariableHooksScope scope(&hooks);
    const SeedSequenceScope draws(key);
    const ops::internal::DrawsFromTrace generators;
    return on_host(f_(element), who_.c_str());
  }

  std::string who_;
  const char* why_;
  MapFunction f_;
};

// Logs once per transform, as a program may make many datasets in the same way.
void tell_of_host(const std::string& who) {
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

std::shared_ptr<const Mapper> make_mapper(MapFunction f, const Node& input, const std::string& who,
                                          const std::optional<ElementSpec>& signature,
                                          bool traced) {
  const ElementSpec& in = input.spec();
  const char* why = traced ? "since its elements have strings" : "as its options say (traced)";
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
      why = "since it asks for the values of tensors";
    }
  }
  return std::make_shared<HostMapper>(std::move(f), input, who, why, signature);
}

std::shared_ptr<const Mapper> make_fused_mapper(
    const std::vector<std::shared_ptr<const Mapper>>& mappers) {
  std::vector<const TracedMapper*> traced;
  for (const auto& mapper : mappers) {
    traced.push_back(dynamic_cast<const TracedMapper*>(mapper.get()));
    if (!traced.back()) return nullptr;
  }
  const auto draw = std::count_if(mappers.begin(), mappers.end(),
                                  [](const auto& mapper) { return mapper->has_draws(); });
  return draw > 1 ? nullptr : std::make_shared<TracedMapper>(traced);
}

std::shared_ptr<const Mapper> read_mapper(LinkReader& link, const ElementSpec& in,
                                          const std::string& who) {
  if (link.has("host_function")) {
    const auto name = link.get<std::string>("host_function");
    return std::make_shared<HostMapper>(host_function_registry().at(name).read(link),
                                        link.get<ElementSpec>("out"), who,
                                        "as it did where it was written");
  }
  const bool of_batches = link.get<bool>("of_batches");
  std::vector<TensorType> types = in.types;
  for (TensorType& type : types) {
    check<InvalidArgument>(!of_batches || type.shape.rank() > 0,
                           "expected a function of batches, got elements of the kind {}.", in);
    if (of_batches) type.shape = type.shape.slice(1);
  }
  auto function = std::make_shared<const PortableFunction>(read_function(link, types));
  ElementSpec out{result_types(*function, types), {}};
  auto structure = std::make_shared<const Structure>(link.get<Structure>("structure"));
  check<InvalidArgument>(!out.types.empty() && structure->num_tensors() == out.types.size(),
                         "expected a structure of the {} results, got one of {}.", out.types.size(),
                         structure->num_tensors());
  out.structure = std::move(structure);
  std::shared_ptr<const Mapper> mapper =
      std::make_shared<TracedMapper>(std::move(function), std::move(types), std::move(out), who);
  if (!of_batches) return mapper;
  mapper = mapper->of_batches(in);
  check<InvalidArgument>(mapper != nullptr,
                         "expected a function whose ops are elementwise, for batches.");
  return mapper;
}

}  // namespace cornu::data
