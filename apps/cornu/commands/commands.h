// SPDX-License-Identifier: Apache-2.0
// The commands about models. Each throws what went wrong: cornu::Error, or WrongCall.
#pragma once

#include <cornu/cornu.h>

#include <stdexcept>
#include <string>

#include "apps/cornu/tool/arguments.h"

namespace apps {

// Arguments that don't go together, which the command line alone can't tell.
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

// The model in a file of any format that is read.
cornu::Model open_model(const std::string& path, bool compile = true);
// The same; WrongCall where the file has none of the weights that the model has.
cornu::Model open_trained_model(const std::string& path);

// WrongCall where both paths are one file: a result would take the place of what it was made of.
void require_other_file(const std::string& output, const std::string& input);

}  // namespace apps
