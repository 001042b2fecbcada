// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/onnx/exporter.h"

#include <algorithm>
#include <array>
#include <utility>

#include "framework/saving/onnx/graph_writer.h"

namespace cornu::onnx {
namespace {

// The sizes for which the n-th open axis is traced. The second is one more than the first, which is
// a multiple of 2, 3, and 4, so that strides leave a different remainder at the end of the axis;
// padding that depends on it is thereby detected. The third differs from it by another step for
// each axis, so that no size differs from another by a constant.
Size traced_size(size_t number) {
  const auto n = static_cast<int64_t>(number);
  const int64_t first = n == 0 ? 24 : 120 * (n + 1);
  Size size;
  size.by_trace = {first, first + 1, first + 7 + 6 * n};
  return size;
}

// Which axes are considered the same: only the batch axes, or all axes at the same position.
enum class Alike { Batch, Places };

class OpenAxes {
 public:
  OpenAxes(const std::vector<ExportedInput>& inputs, Alike alike) {
    for (size_t input = 0; input < inputs.size(); ++input) {
      Sizes sizes;
      for (int64_t axis = 0; axis < inputs[input].shape.rank(); ++axis) {
        const int64_t given = inputs[input].shape[axis];
        sizes.push_back(given == kUnknown ? open(inputs[input], input, axis, alike) : Size(given));
      }
      shapes_.push_back(std::move(sizes));
    }
  }

  const std::vector<OpenAxis>& list() const { return list_; }
  const Sizes& shape(size_t input) const { return shapes_[input]; }

 private:
  Size open(const ExportedInput& given, size_t input, int64_t axis, Alike alike) {
    if (axis == 0 || alike == Alike::Places) {
      const auto same = std::ranges::find(list_, axis, &OpenAxis::axis);
      if (same != list_.end()) return same->size;
    }
    const Size size = traced_size(axis == 0 ? 0 : ++others_);
    std::string name = axis == 0                ? "batch"
                       : alike == Alike::Places ? fmt::format("axis_{}", axis)
                                                : fmt::format("{}_axis_{}", given.name, axis);
    while (std::ranges::find(list_, name, &OpenAxis::name) != list_.end()) name += "_";
    list_.push_back({std::move(name), input, axis, size});
    return size;
  }

  std::vector<OpenAxis> list_;
  std::vector<Sizes> shapes_;
  size_t others_ = 0;  // other than the batch
};

class Exporter {
 public:
  // Traces the function.
  Exporter(const ExportedFunction& function, Alike alike)
      : function_(function), axes_(function.inputs, alike) {
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
    std::vector<TensorType> types;
    for (size_t i = 0; i < function_.inputs.size(); ++i) {
      Shape shape;
      for (const Size& size : axes_.shape(i)) shape.push_back(size.by_trace[trace]);
      types.push_back({function_.inputs[i].dtype, shape});
    }
    const ExportedFunction::Trace made = function_.trace(types);
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

Exporter traced(const ExportedFunction& function) {
  try {
    return Exporter(function, Alike::Batch);
  } catch (const InvalidArgument& error) {
    const bool open = std::ranges::any_of(function.inputs, [](const ExportedInput& input) {
      return !input.shape.slice(1).is_static();
    });
    if (!open) throw;
    // Axes that were distinct may have to be the same.
    try {
      return Exporter(function, Alike::Places);
    } catch (const InvalidArgument&) {
      raise<InvalidArgument>(
          "{} (It was exported for axes of any size. With .input_signature = {{{{.shape = "
          "{{…}}}}}} it is exported for those that you give.)",
          error.what());
    }
  }
}

}  // namespace

EncodedModel exported(const ExportedFunction& function, int64_t opset,
                      const TensorStorage& storage) {
  check<InvalidArgument>(opset >= kFirstOpset && opset <= kLastOpset,
                         "{}: export_ expected an opset_version from {} to {}, got {}.",
                         function.title, kFirstOpset, kLastOpset, opset);
  return traced(function).write(opset, storage);
}

}  // namespace cornu::onnx
