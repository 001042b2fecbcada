// SPDX-License-Identifier: Apache-2.0
// The commands that work on models. Each one throws cornu::Error or WrongCall on failure.
#pragma once

#include <cornu/cornu.h>

#include <stdexcept>
#include <string>

#include "apps/cornu/tool/arguments.h"

namespace apps {

// Arguments that are inconsistent in a way that the command line alone can't detect.
struct WrongCall : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void summarize(const SummaryArguments& arguments);
void predict(const PredictArguments& arguments);
void evaluate(const EvaluateArguments& arguments);
void fit(const FitArguments& arguments);
void convert(const ConvertArguments& arguments);
void plot(const PlotArguments& arguments);
void profile(const ProfileArguments& arguments);
void show_devices(const DevicesArguments& arguments);

// Opens a model file of any readable format.
cornu::Model open_model(const std::string& path, bool compile = true);
// Like open_model(); throws WrongCall when the file lacks all of the model's weights.
cornu::Model open_trained_model(const std::string& path);

// Throws WrongCall when both paths are the same file: a result would overwrite its own input.
void require_other_file(const std::string& output, const std::string& input);

}  // namespace apps
