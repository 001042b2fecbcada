// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "apps/cornu/commands/commands.h"
#include "apps/cornu/tool/formats.h"
#include "framework/io/atomic_file.h"

namespace apps {
namespace {

constexpr size_t kMaxJson = size_t{64} << 20;

std::string text_of(const std::string& path) {
  const std::vector<std::byte> bytes = cornu::read_file(path, kMaxJson);
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

cornu::Model read_model(Format format, const std::string& path, bool compile) {
  switch (format) {
    case Format::Keras:
    case Format::Hdf5:
    case Format::Onnx:
      return cornu::load_model(path, {.compile = compile});
    case Format::Json: {
      cornu::Model model = cornu::model_from_json(text_of(path));
      return compile ? model : cornu::clone_model(model);
    }
    case Format::Weights:
      break;
  }
  throw WrongCall(fmt::format(
      "'{0}' has weights alone. Put them into their model first: cornu convert MODEL.json "
      "MODEL.keras --weights '{0}'",
      path));
}

void write_model(Format format, cornu::Model& model, const std::string& path) {
  switch (format) {
    case Format::Keras:
    case Format::Hdf5:
      return model.save(path);
    case Format::Weights:
      return model.save_weights(path);
    case Format::Json:
      return cornu::write_file_atomically(path, std::string_view(model.to_json()));
    case Format::Onnx:
      return model.export_(path);
  }
}

}  // namespace

cornu::Model open_model(const std::string& path, bool compile) {
  if (const FormatRow* row = format_of(path)) return read_model(row->format, path, compile);
  throw WrongCall(fmt::format(
      "expected a model in a file that ends in '.keras', '.h5', '.hdf5', '.onnx' or '.json', got "
      "'{}'",
      path));
}

cornu::Model open_trained_model(const std::string& path) {
  cornu::Model model = open_model(path);
  if (format_of(path)->format != Format::Json) return model;
  if (model.built() && model.weights().empty()) return model;
  throw WrongCall(fmt::format(
      "'{0}' is an architecture without weights, so what it gives would mean nothing. Put them in "
      "first: cornu convert '{0}' MODEL.keras --weights FILE",
      path));
}

void require_other_file(const std::string& output, const std::string& input) {
  std::error_code ignored;
  if (output.empty() || !std::filesystem::equivalent(output, input, ignored)) return;
  throw WrongCall(
      fmt::format("'{}' is what is read: the result would take its place. Name another "
                  "file",
                  output));
}

void convert(const ConvertArguments& arguments) {
  require_other_file(arguments.output, arguments.input);
  if (!arguments.weights.empty()) require_other_file(arguments.output, arguments.weights);
  cornu::Model model = open_model(arguments.input, arguments.compile);
  if (!arguments.weights.empty()) {
    // Create the optimizer's variables, as the file may contain its state.
    if (model.built() && model.compiled()) model.optimizer().build(model.trainable_variables());
    model.load_weights(arguments.weights);
  }
  write_model(format_of(arguments.output)->format, model, arguments.output);
}

}  // namespace apps
