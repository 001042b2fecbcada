// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "apps/common/program.h"
#include "apps/cornu/commands/commands.h"
#include "apps/cornu/commands/data.h"
#include "framework/io/console.h"
#include "framework/train/trainer.h"

namespace apps {
namespace {

using cornu::check;

// Sets a constant learning rate; the optimizer keeps its state if its rate was already constant.
void set_learning_rate(cornu::CompileOptions& options, double rate, bool& replaced) {
  cornu::Json serialized = cornu::serialize(options.optimizer);
  cornu::Json config = serialized.at("config");
  if (!replaced && config.contains("learning_rate") && config.at("learning_rate").is_number()) {
    options.optimizer.set_learning_rate(rate);
    return;
  }
  config.set("learning_rate", rate);
  serialized.set("config", std::move(config));
  options.optimizer = cornu::optimizer_from_json(serialized);
  replaced = true;
}

// Compiles as saved in the file, with overrides from the command line.
void compile(cornu::Model& model, const FitArguments& arguments) {
  const bool is_compiled = model.compiled();
  check<cornu::FailedPrecondition>(
      is_compiled || (!arguments.optimizer.empty() && !arguments.loss.empty()),
      "'{}' was saved without compile arguments. Give --optimizer and --loss.", arguments.model);
  cornu::CompileOptions options = is_compiled ? model.trainer().options() : cornu::CompileOptions();
  bool replaced = !is_compiled || !arguments.optimizer.empty();
  if (!arguments.optimizer.empty()) options.optimizer = cornu::Optimizer(arguments.optimizer);
  if (arguments.learning_rate) set_learning_rate(options, *arguments.learning_rate, replaced);
  if (!arguments.loss.empty()) options.loss = cornu::Loss(arguments.loss);
  if (!arguments.metrics.empty()) options.metrics = arguments.metrics;
  if (replaced || !arguments.loss.empty() || !arguments.metrics.empty()) model.compile(options);
}

std::vector<cornu::CallbackHandle> callbacks_for(const FitArguments& arguments) {
  std::vector<cornu::CallbackHandle> callbacks;
  if (!arguments.checkpoint_dir.empty()) {
    callbacks.push_back(cornu::callbacks::BackupAndRestore(
        {.backup_dir = arguments.checkpoint_dir, .save_freq = arguments.checkpoint_every}));
  }
  if (!arguments.tensorboard.empty()) {
    cornu::callbacks::ProfiledBatches profiled = 0;
    if (!arguments.profile_batch.empty()) {
      profiled = {arguments.profile_batch.front(), arguments.profile_batch.back()};
    }
    callbacks.push_back(cornu::callbacks::TensorBoard(
        {.log_dir = arguments.tensorboard, .profile_batch = profiled}));
  }
  return callbacks;
}

}  // namespace

void fit(const FitArguments& arguments) {
  if (!arguments.validation_x.empty() && arguments.validation_y.empty()) {
    throw WrongCall("--validation-x needs --validation-y");
  }
  require_other_file(arguments.output, arguments.model);
  for (const auto* files : {&arguments.x, &arguments.y}) {
    for (const std::string& file : *files) require_other_file(arguments.output, file);
  }
  cornu::set_random_seed(static_cast<uint64_t>(arguments.seed));
  const cornu::Strategy strategy = make_strategy(arguments.strategy, arguments.replicas);
  const auto scope = strategy.scope();
  cornu::Model model = open_model(arguments.model);
  compile(model, arguments);
  const Inputs inputs(model, arguments.x, arguments.pictures);
  const cornu::Tensors y =
      arguments.y.empty() ? cornu::Tensors(inputs.classes()) : read_targets(model, arguments.y);
  cornu::FitOptions options{.batch_size = arguments.batch_size,
                            .epochs = arguments.epochs,
                            .verbose = arguments.verbose,
                            .callbacks = callbacks_for(arguments),
                            .validation_split = arguments.validation_split,
                            .shuffle = arguments.shuffle};
  if (!arguments.validation_x.empty()) {
    const Inputs validation(model, arguments.validation_x, arguments.pictures);
    options.validation_data = {validation.all(), read_targets(model, arguments.validation_y)};
  }
  model.fit(inputs.all(), y, options);
  if (arguments.output.ends_with(".weights.h5")) {
    model.save_weights(arguments.output);
  } else {
    model.save(arguments.output);
  }
  if (arguments.verbose > 0 && strategy.is_chief()) {
    cornu::console::write(fmt::format("saved {}\n", arguments.output));
  }
}

}  // namespace apps
