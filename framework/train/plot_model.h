// SPDX-License-Identifier: Apache-2.0
// Pictures of models (keras.utils.plot_model), drawn by Graphviz.
#pragma once

#include <cstdint>
#include <string>

#include "framework/train/model.h"

namespace cornu {

// Arguments of plot_model, in Keras's order.
struct PlotModelOptions {
  std::string to_file = "model.png";
  bool show_shapes = false;  // of inputs and outputs
  bool show_dtype = false;   // of outputs
  bool show_layer_names = false;
  std::string rankdir = "TB";  // from top to bottom; or "BT", "LR", "RL"
  bool expand_nested = false;  // nested models as clusters of their layers
  int64_t dpi = 200;
  bool show_layer_activations = false;
  bool show_trainable = false;
  std::string splines = "ortho";  // how edges run; or "curved", "polyline", "spline", "line"
};

struct ModelToDotOptions {
  bool show_shapes = false;
  bool show_dtype = false;
  bool show_layer_names = true;
  std::string rankdir = "TB";
  bool expand_nested = false;
  int64_t dpi = 200;
  bool show_layer_activations = false;
  bool show_trainable = false;
  std::string splines = "ortho";
};

// The model as a graph in Graphviz's language, with a node for each layer, named n0, n1, … in the
// order of the layers, and an edge for each pair of layers that one gives to the other. A
// subclassed model is one node. FailedPrecondition before the model is built; InvalidArgument for
// options that Graphviz doesn't know. Thread-safe as the model's other reads are.
std::string model_to_dot(const Model& model, const ModelToDotOptions& options = {});

// Writes it to a file, atomically: as text where that ends in ".dot" or ".gv", else (".png",
// ".svg",
// ".pdf") drawn by Graphviz's program `dot`, which is looked for in PATH: FailedPrecondition,
// saying how to install it, when it isn't there. InvalidArgument for other endings; errors of files
// as write_file_atomically's.
void plot_model(const Model& model, const PlotModelOptions& options = {});

}  // namespace cornu
