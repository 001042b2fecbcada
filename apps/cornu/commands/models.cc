// SPDX-License-Identifier: Apache-2.0
// Output about a model: its layers, figures, pictures and times.
#include <fmt/core.h>

#include "apps/cornu/commands/commands.h"
#include "apps/cornu/commands/data.h"
#include "framework/io/console.h"
#include "framework/train/body.h"

namespace apps {
namespace {

using cornu::check;

cornu::Json json_of(const cornu::Logs& logs) {
  cornu::Json result = cornu::Json::object();
  for (const auto& [name, value] : logs) result.set(name, value);
  return result;
}

// Random numbers, or zeros for integers, in a model's input shapes.
cornu::Tensors made_up_inputs(const cornu::Model& model, int64_t batch_size) {
  const cornu::FunctionalGraph* graph = model.body() ? model.body()->graph() : nullptr;
  check<cornu::InvalidArgument>(
      graph != nullptr, "The model's file doesn't say what its input is. Give one (--input).");
  std::vector<cornu::Tensor> inputs;
  for (const cornu::Tensor& input : graph->inputs()) {
    cornu::Shape shape = input.shape();
    shape[0] = batch_size;
    check<cornu::InvalidArgument>(shape.is_static(),
                                  "The model's input {} leaves sizes open. Give one (--input).",
                                  input.shape());
    inputs.push_back(
        cornu::is_floating(input.dtype())
            ? cornu::ops::cast(cornu::random::uniform(shape, {.seed = 1}), input.dtype())
            : cornu::ops::zeros(shape, input.dtype()));
  }
  return inputs;
}

}  // namespace

void summarize(const SummaryArguments& arguments) {
  cornu::SummaryOptions options{.expand_nested = arguments.expand_nested,
                                .show_trainable = arguments.show_trainable};
  if (arguments.line_length > 0) options.line_length = arguments.line_length;
  open_model(arguments.model).summary(options);
}

void evaluate(const EvaluateArguments& arguments) {
  cornu::Model model = open_trained_model(arguments.model);
  check<cornu::FailedPrecondition>(
      model.compiled(),
      "'{}' was saved without a loss and metrics. Compile it before it is saved, or train it with "
      "cornu fit --loss … --metrics ….",
      arguments.model);
  const Inputs inputs(model, arguments.x, arguments.pictures);
  const cornu::Tensors y =
      arguments.y.empty() ? cornu::Tensors(inputs.classes()) : read_targets(model, arguments.y);
  const cornu::Logs logs = model.evaluate(
      inputs.all(), y,
      {.batch_size = arguments.batch_size, .verbose = arguments.json ? 0 : arguments.verbose});
  if (arguments.json) {
    cornu::console::write(json_of(logs).dump() + "\n");
    return;
  }
  for (const auto& [name, value] : logs) {
    cornu::console::write(fmt::format("{}: {:.6g}\n", name, value));
  }
}

void plot(const PlotArguments& arguments) {
  require_other_file(arguments.output, arguments.model);
  const cornu::Model model = open_model(arguments.model, false);
  cornu::plot_model(model, {.to_file = arguments.output,
                            .show_shapes = arguments.show_shapes,
                            .show_dtype = arguments.show_dtype,
                            .show_layer_names = arguments.show_layer_names,
                            .rankdir = arguments.rankdir,
                            .expand_nested = arguments.expand_nested,
                            .dpi = arguments.dpi,
                            .show_layer_activations = arguments.show_layer_activations,
                            .show_trainable = arguments.show_trainable});
}

void profile(const ProfileArguments& arguments) {
  if (!arguments.trace.empty()) require_other_file(arguments.trace, arguments.model);
  cornu::Model model = open_model(arguments.model);
  cornu::Tensors x;
  cornu::Tensors y;
  if (arguments.x.empty()) {
    x = made_up_inputs(model, arguments.batch_size);
  } else {
    const Inputs inputs(model, arguments.x, arguments.pictures);
    const int64_t count = std::min(arguments.batch_size, inputs.size());
    x = inputs.rows(0, count);
    if (!arguments.y.empty()) {
      const cornu::Tensors targets = read_targets(model, arguments.y);
      std::vector<cornu::Tensor> first;
      for (const cornu::Tensor& target : targets) first.push_back(target.rows(0, count));
      y = targets.with(std::move(first));
    }
  }
  const cornu::Profile profile = model.profile(x, y, {.runs = arguments.runs});
  if (!arguments.trace.empty()) profile.save_trace(arguments.trace);
  if (arguments.json) {
    cornu::console::write(profile.to_json().dump() + "\n");
  } else {
    profile.print(arguments.most);
  }
}

}  // namespace apps
