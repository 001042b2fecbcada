// SPDX-License-Identifier: Apache-2.0
// Exports models to files for other runtimes.
#include <filesystem>
#include <utility>

#include "framework/graph/trace.h"
#include "framework/io/atomic_file.h"
#include "framework/saving/onnx/exporter.h"
#include "framework/train/body.h"
#include "framework/train/trainer.h"

namespace cornu {
namespace {

// The inputs of a model whose inputs are known.
std::vector<onnx::ExportedInput> own_inputs(const FunctionalGraph& graph) {
  std::vector<onnx::ExportedInput> inputs;
  const std::vector<std::string> names = graph.input_names();
  for (size_t i = 0; i < names.size(); ++i) {
    inputs.push_back({names[i], graph.inputs()[i].shape(), graph.inputs()[i].dtype()});
  }
  return inputs;
}

std::vector<onnx::ExportedInput> exported_inputs(const Model& model, const FunctionalGraph* graph,
                                                 const ExportOptions& options) {
  std::vector<onnx::ExportedInput> inputs;
  if (graph) inputs = own_inputs(*graph);
  if (options.input_signature.empty()) {
    check<FailedPrecondition>(graph != nullptr,
                              "{}: export_ doesn't know its inputs. Give them, for example with "
                              ".input_signature = {{{{.shape = {{kUnknown, 28, 28, 1}}}}}}.",
                              title_of(model));
    return inputs;
  }
  check<InvalidArgument>(!graph || options.input_signature.size() == inputs.size(),
                         "{}: export_ expected an input_signature of {} inputs, got {}.",
                         title_of(model), inputs.size(), options.input_signature.size());
  inputs.resize(options.input_signature.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const InputSignature& given = options.input_signature[i];
    inputs[i].shape = given.shape;
    if (given.dtype) inputs[i].dtype = *given.dtype;
    if (!given.name.empty()) inputs[i].name = given.name;
    if (inputs[i].name.empty()) inputs[i].name = fmt::format("input_{}", i);
  }
  return inputs;
}

void refuse_strings(const Model& model, const std::vector<onnx::ExportedInput>& inputs) {
  for (const onnx::ExportedInput& input : inputs) {
    check<Unimplemented>(
        input.dtype != DType::String,
        "{}: its input '{}' is of strings, which Cornu's ops don't take. Export the "
        "part of the model behind the layers that make numbers of them.",
        title_of(model), input.name);
  }
}

std::vector<std::string> exported_names(const Model& model, const Tensors& outputs) {
  if (outputs.has_names()) return outputs.names();
  const FunctionalGraph* graph = model.body() ? model.body()->graph() : nullptr;
  if (graph && graph->output_names().size() == outputs.size()) return graph->output_names();
  std::vector<std::string> names;
  for (size_t i = 0; i < outputs.size(); ++i) names.push_back(fmt::format("output_{}", i));
  return names;
}

std::string data_path(const std::string& filepath) { return filepath + ".data"; }

// Both files are written to disk before either is put in place.
void write_exported(const std::string& filepath, const onnx::EncodedModel& encoded) {
  if (encoded.data.empty()) return write_file_atomically(filepath, encoded.file);
  AtomicFile file(filepath);
  AtomicFile data(data_path(filepath));
  file.append(encoded.file);
  data.append(encoded.data);
  data.commit();
  file.commit();
}

}  // namespace

TracedGraph Trainer::trace_predictions(Model& model, const std::vector<TensorType>& types,
                                       Tensors& outputs) {
  const auto lock = tracing_lock();
  const auto body = [&](const std::vector<Tensor>& symbols) {
    const Tensors x = symbols.size() == 1 ? Tensors(symbols[0]) : Tensors(symbols);
    outputs = traced_body(model, Kind::Predict, {x, {}, {}});
    return outputs.list();
  };
  return trace(types, body, {.name = "predict_step"});
}

void Model::export_(const std::string& filepath, const ExportOptions& options) {
  check<InvalidArgument>(options.size_threshold >= 0,
                         "{}: export_ expected a size_threshold >= 0, got {}.", title_of(*this),
                         options.size_threshold);
  check<Unimplemented>(
      options.format == "onnx",
      "{}: export_ writes the format \"onnx\", not \"{}\". TensorFlow's SavedModel "
      "is written by Python Keras, of the file that save('x.keras') writes.",
      title_of(*this), options.format);
  const StrategyScope scope(trainer_->strategy());
  Model& model = subject();
  const FunctionalGraph* graph = model.body() ? model.body()->graph() : nullptr;
  build_if_known(model);
  require_built("export_");
  const onnx::ExportedFunction function = {
      .title = title_of(*this),
      .inputs = exported_inputs(model, graph, options),
      .trace = [&model](const std::vector<TensorType>& types) {
        Tensors outputs;
        TracedGraph traced = Trainer::trace_predictions(model, types, outputs);
        return onnx::ExportedFunction::Trace{std::move(traced), exported_names(model, outputs)};
      }};
  refuse_strings(*this, function.inputs);
  const onnx::EncodedModel encoded =
      onnx::exported(function, options.opset_version,
                     {.location = std::filesystem::path(data_path(filepath)).filename().string(),
                      .external = options.save_as_external_data,
                      .threshold = options.size_threshold});
  if (get_strategy().is_chief()) write_exported(filepath, encoded);
}

}  // namespace cornu
