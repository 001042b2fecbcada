// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/onnx/exporter.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "framework/saving/onnx/graph_writer.h"
#include "framework/saving/onnx/open_axes.h"

namespace cornu::onnx {
namespace {

class Exporter {
 public:
  // Traces the function.
  Exporter(const ExportedFunction& function, OpenAxes axes)
      : function_(function), axes_(std::move(axes)) {
    const bool open = !axes_.list().empty();
    for (size_t i = 0; i < (open ? kTraces : 1); ++i) graphs_[i] = traced(i);
  }

  EncodedModel write(int64_t opset, const TensorStorage& storage) {
    const bool open = !axes_.list().empty();
    std::array<const Graph*, kTraces> graphs = {};
    for (size_t i = 0; i < kTraces; ++i) graphs[i] = &graphs_[open ? i : 0];
    const Traces traces(graphs);
    FileWriter file(constants_, axes_.list());
    GraphWriter writer(file, traces, file.graph());
    file.graph().name = writable(function_.title);
    Names outputs;
    for (size_t i = 0; i < function_.inputs.size(); ++i) declare(file, writer, traces, i);
    for (const std::string& name : output_names_) outputs.push_back(file.unique(name));
    writer.write(outputs);
    return encode_model(file.graph(), opset, function_.title, storage);
  }

 private:
  void declare(FileWriter& file, GraphWriter& writer, const Traces& traces, size_t i) {
    const std::string name = file.unique(function_.inputs[i].name);
    const DType dtype = exported_dtype(function_.inputs[i].dtype);
    file.graph().inputs.push_back(file.declared(name, dtype, axes_.shape(i)));
    file.know(name, axes_.shape(i));
    writer.bind(traces.first().inputs[i], name);
  }

  Graph traced(size_t trace) {
    const ExportedFunction::Trace made = function_.trace(axes_.types(function_.inputs, trace));
    output_names_ = made.output_names;
    Graph graph = lowered(made.traced.graph, constants_);
    refuse_other_inputs(graph);
    return graph;
  }

  // Rejects inputs of a compiled function besides the user's: random keys, replicas.
  void refuse_other_inputs(const Graph& graph) {
    const std::vector<int32_t> uses = graph.use_counts();
    for (size_t i = function_.inputs.size(); i < graph.inputs.size(); ++i) {
      check<Unimplemented>(uses[static_cast<size_t>(graph.inputs[i])] == 0,
                           "ONNX: {} draws random numbers when it predicts, which an ONNX model "
                           "can't do as Cornu does. Omit what draws them.",
                           function_.title);
    }
  }

  const ExportedFunction& function_;
  OpenAxes axes_;
  NamedConstants constants_;
  std::array<Graph, kTraces> graphs_;
  Names output_names_;
};

// Finds open axes that the function accepts: all of them distinct if possible, and otherwise only
// those the same that must be; of the largest sizes.
class Search {
 public:
  Search(const ExportedFunction& function, int64_t opset, const TensorStorage& storage)
      : function_(function),
        opset_(opset),
        storage_(storage),
        places_(open_places(function.inputs)) {}

  // Throws the function's own error if it accepts none.
  EncodedModel run() {
    if (places_.empty()) {
      return Exporter(function_, OpenAxes::make(function_.inputs, {}, 0).value())
          .write(opset_, storage_);
    }
    const AxisGroups distinct = numbered([](size_t i) { return i; });
    if (auto found = of_groups(distinct, false)) return std::move(*found);
    const AxisGroups by_position =
        numbered([this](size_t i) { return static_cast<size_t>(places_[i].axis); });
    if (auto found = of_groups(by_position, true)) return std::move(*found);
    if (auto found = of_groups(AxisGroups(places_.size(), 0), true)) return std::move(*found);
    if (!refusal_.empty()) throw FailedPrecondition(refusal_);
    raise<InvalidArgument>(
        "{} (It was exported for axes of any size. With .input_signature = {{{{.shape = "
        "{{…}}}}}} it is exported for those that you give.)",
        error_);
  }

 private:
  template <class F>
  AxisGroups numbered(F number) const {
    AxisGroups groups;
    for (size_t i = 0; i < places_.size(); ++i) groups.push_back(number(i));
    return groups;
  }

  std::optional<EncodedModel> of_groups(const AxisGroups& groups, bool splits) {
    for (size_t range = 0; range < kSizeRanges; ++range) {
      AxisGroups finest = groups;
      if (splits) {
        if (!accepts(groups, range)) continue;
        finest =
            finest_groups(groups, [&](const AxisGroups& finer) { return accepts(finer, range); });
      }
      if (auto model = written(finest, range)) return model;
    }
    return std::nullopt;
  }

  // Whether the function accepts the sizes of the last trace, which are distinct.
  bool accepts(const AxisGroups& groups, size_t range) {
    const auto axes = OpenAxes::make(function_.inputs, groups, range);
    const auto trace = [&] { function_.trace(axes->types(function_.inputs, kTraces - 1)); };
    return axes && tried(range, trace);
  }

  // nullopt if the range hasn't enough sizes, or the function doesn't accept them; also if its
  // graphs differ for some of a later range: small sizes may coincide with those of a table.
  std::optional<EncodedModel> written(const AxisGroups& groups, size_t range) {
    auto axes = OpenAxes::make(function_.inputs, groups, range);
    std::optional<Exporter> exporter;
    const auto trace = [&] { exporter.emplace(function_, std::move(*axes)); };
    if (!axes || !tried(range, trace)) return std::nullopt;
    try {
      return exporter->write(opset_, storage_);
    } catch (const FailedPrecondition& error) {
      if (range == 0) throw;
      refusal_ = error.what();
      return std::nullopt;
    }
  }

  template <class F>
  bool tried(size_t range, F f) {
    try {
      f();
      return true;
    } catch (const InvalidArgument& error) {
      if (range == 0) error_ = error.what();
      return false;
    }
  }

  const ExportedFunction& function_;
  int64_t opset_;
  const TensorStorage& storage_;
  std::vector<OpenPlace> places_;
  std::string error_;    // for the largest sizes
  std::string refusal_;  // for others
};

}  // namespace

EncodedModel exported(const ExportedFunction& function, int64_t opset,
                      const TensorStorage& storage) {
  check<InvalidArgument>(opset >= kFirstOpset && opset <= kLastOpset,
                         "{}: export_ expected an opset_version from {} to {}, got {}.",
                         function.title, kFirstOpset, kLastOpset, opset);
  return Search(function, opset, storage).run();
}

}  // namespace cornu::onnx
