// SPDX-License-Identifier: Apache-2.0
// Plots of models (keras.utils.plot_model), drawn by Graphviz.
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
  std::string rankdir = "TB";  // top to bottom; or "BT", "LR", "RL"
  bool expand_nested = false;  // draw nested models as clusters of their layers
  int64_t dpi = 200;
  bool show_layer_activations = false;
  bool show_trainable = false;
  std::string splines = "ortho";  // edge style; or "curved", "polyline", "spline", "line"
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

// Returns the model as a graph in Graphviz's DOT language. Each layer is a node, named n0, n1, … in
// the order of the layers; there is one edge for each pair of layers where one feeds the other. A
// subclassed model is a single node. Throws FailedPrecondition before the model is built and
// InvalidArgument for options that Graphviz doesn't know. As thread-safe as other reads of the
// model.
std::string model_to_dot(const Model& model, const ModelToDotOptions& options = {});

// Writes the graph to a file, atomically: as DOT text if the file name ends in ".dot" or ".gv";
// otherwise (".png", ".svg", ".pdf") rendered by Graphviz's program `dot`, which must be in PATH:
// throws FailedPrecondition, saying how to install it, when it isn't found. Throws InvalidArgument
// for other extensions; file errors are those of write_file_atomically.
void plot_model(const Model& model, const PlotModelOptions& options = {});

}  // namespace cornu
