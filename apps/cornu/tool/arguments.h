// SPDX-License-Identifier: Apache-2.0
// The arguments of the commands that work on models.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace apps {

// How pictures are converted to a model's input.
struct PictureArguments {
  std::string interpolation = "nearest";
  std::string preprocess = "none";
};

struct SummaryArguments {
  std::string model;
  bool expand_nested = false;
  bool show_trainable = false;
  int64_t line_length = 0;  // 0: the terminal's width
};

struct PredictArguments {
  std::string model;
  std::vector<std::string> x;
  std::string output;  // empty: CSV to standard output
  int64_t batch_size = 32;
  PictureArguments pictures;
  int64_t top = 0;      // 0: classes aren't named
  std::string classes;  // a file of class names; empty: ImageNet's
};

struct EvaluateArguments {
  std::string model;
  std::vector<std::string> x;
  std::vector<std::string> y;
  int64_t batch_size = 32;
  PictureArguments pictures;
  bool json = false;
  int verbose = 1;
};

struct FitArguments {
  std::string model;
  std::vector<std::string> x;
  std::vector<std::string> y;
  double validation_split = 0;
  std::vector<std::string> validation_x;
  std::vector<std::string> validation_y;
  int64_t epochs = 1;
  int64_t batch_size = 32;
  bool shuffle = true;
  PictureArguments pictures;
  // "": as saved in the file.
  std::string optimizer;
  std::string loss;
  std::vector<std::string> metrics;
  std::optional<double> learning_rate;
  std::string strategy = "default";
  int replicas = 2;
  std::string checkpoint_dir;
  int64_t checkpoint_every = 100;
  std::string tensorboard;
  std::vector<int64_t> profile_batch;
  int64_t seed = 0;
  int verbose = 1;
  std::string output;
};

struct ConvertArguments {
  std::string input;
  std::string output;
  std::string weights;
  bool compile = true;
};

struct PlotArguments {
  std::string model;
  std::string output;
  bool show_shapes = false;
  bool show_dtype = false;
  bool show_layer_names = true;
  bool show_layer_activations = false;
  bool show_trainable = false;
  bool expand_nested = false;
  std::string rankdir = "TB";
  int64_t dpi = 200;
};

struct ProfileArguments {
  std::string model;
  std::vector<std::string> x;
  std::vector<std::string> y;
  int64_t batch_size = 32;
  int64_t runs = 10;
  int64_t most = 20;
  std::string trace;
  bool json = false;
  PictureArguments pictures;
};

struct DevicesArguments {
  bool json = false;
};

}  // namespace apps
