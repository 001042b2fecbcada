// SPDX-License-Identifier: Apache-2.0
#include "framework/train/console/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "framework/core/strings.h"
#include "framework/io/console.h"
#include "framework/train/body.h"
#include "framework/train/console/text_table.h"

namespace cornu {
namespace {

// ---- text ----

std::string with_commas(int64_t value) {
  std::string text = std::to_string(value);
  for (auto i = static_cast<int64_t>(text.size()) - 3; i > 0; i -= 3) {
    text.insert(static_cast<size_t>(i), ",");
  }
  return text;
}

std::string bytes_text(int64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KB", "MB", "GB", "TB", "PB"};
  auto size = static_cast<double>(bytes);
  size_t unit = 0;
  while (size >= 1024 && unit + 1 < std::size(kUnits)) {
    size /= 1024;
    ++unit;
  }
  return fmt::format("{:.2f} {}", size, kUnits[unit]);
}

std::string shape_text(const Shape& shape) {
  std::string text = "(";
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    if (axis > 0) text += ", ";
    text += shape[axis] == kUnknown ? "None" : std::to_string(shape[axis]);
  }
  return text + ")";
}

std::string shapes_text(const std::vector<std::pair<DType, Shape>>& types) {
  if (types.size() == 1) return shape_text(types[0].second);
  std::string text = "[";
  for (const auto& [dtype, shape] : types) {
    if (text.size() > 1) text += ", ";
    text += shape_text(shape);
  }
  return text + "]";
}

std::string joined(const std::vector<std::string>& parts) {
  if (parts.empty()) return "-";
  return fmt::format("{}", fmt::join(parts, ", "));
}

// ---- layout ----

constexpr double kWidest = 100'000;  // characters per line

// The columns of a table: headers, and where each ends as a fraction of the width.
struct Layout {
  std::vector<TextColumn> columns;
  std::vector<double> ends;
  int64_t width;
};

Layout choose_layout(bool chain, bool show_trainable) {
  Layout layout;
  if (chain) {
    layout.columns = {
        {"Layer (type)", Align::Left}, {"Output Shape", Align::Left}, {"Param #", Align::Right}};
    layout.ends = {0.45, 0.80, 1.0};
    layout.width = 88;
  } else {
    layout.columns = {{"Layer (type)", Align::Left},
                      {"Output Shape", Align::Left},
                      {"Param #", Align::Right},
                      {"Connected to", Align::Left}};
    layout.ends = {0.3, 0.56, 0.74, 1.0};
    layout.width = 108;
  }
  if (show_trainable) {
    layout.columns.push_back({"Trainable", Align::Center});
    layout.width += 12;
  }
  return layout;
}

TextTable make_table(const SummaryData& data, const SummaryOptions& options,
                     int64_t terminal_columns) {
  Layout layout = choose_layout(data.chain, options.show_trainable);
  if (!options.positions.empty()) layout.ends = options.positions;
  if (options.show_trainable) {
    for (double& end : layout.ends) end *= 0.90;
    layout.ends.push_back(1.0);
  }
  check<InvalidArgument>(layout.ends.size() == layout.columns.size(),
                         "summary: expected {} positions, one a column, got {}.",
                         layout.columns.size() - (options.show_trainable ? 1 : 0),
                         options.positions.size());
  const int64_t width = options.line_length.value_or(std::min(layout.width, terminal_columns - 4));
  int64_t start = 0;
  for (size_t i = 0; i < layout.ends.size(); ++i) {
    const double place = layout.ends[i] * static_cast<double>(width);
    check<InvalidArgument>(std::abs(place) <= kWidest,
                           "summary: expected lines of at most {} characters, got {:g} up to the "
                           "end of '{}'. Lower line_length.",
                           kWidest, place, layout.columns[i].header);
    const auto end = static_cast<int64_t>(place);
    check<InvalidArgument>(end - start >= 4,
                           "summary: expected columns of at least 4 characters, got {} for '{}' in "
                           "a line of {}. Raise line_length.",
                           end - start, layout.columns[i].header, width);
    layout.columns[i].width = end - start;
    start = end;
  }
  return TextTable(layout.columns, width);
}

void add_rows(TextTable& table, const std::vector<SummaryRow>& rows, bool chain,
              const SummaryOptions& options, int level) {
  for (const SummaryRow& row : rows) {
    std::string indent;
    for (int i = 0; i < level; ++i) indent += "   ";
    if (level > 0) indent += "└ ";
    std::vector<std::string> cells = {fmt::format("{}{} ({})", indent, row.name, row.class_name),
                                      row.output_shape,
                                      row.params ? with_commas(*row.params) : "0 (unbuilt)"};
    if (!chain) cells.push_back(joined(row.connected_to));
    if (options.show_trainable) {
      cells.emplace_back(!row.trainable ? "-" : *row.trainable ? "Y" : "N");
    }
    table.add_row(std::move(cells));
    if (options.expand_nested) add_rows(table, row.nested, chain, options, level + 1);
  }
}

std::string count_line(const char* title, const SummaryCount& count) {
  return fmt::format(" {} params: {} ({})\n", title, with_commas(count.params),
                     bytes_text(count.bytes));
}

// ---- what a model is made of ----

SummaryCount count(const std::vector<Variable>& variables) {
  SummaryCount result;
  std::set<const void*> seen;
  for (const Variable& variable : variables) {
    result.params += variable.num_elements();
    if (seen.insert(variable.id()).second) {
      result.bytes += variable.num_elements() * static_cast<int64_t>(size_of(variable.dtype()));
    }
  }
  return result;
}

using NodesByLayer = std::map<const Layer*, std::vector<const KerasNode*>>;

// Each layer's calls in a graph, in creation order.
NodesByLayer nodes_by_layer(const FunctionalGraph& graph) {
  NodesByLayer result;
  for (const auto& node : graph.nodes()) result[node->layer().get()].push_back(node.get());
  for (auto& [layer, nodes] : result) {
    std::sort(nodes.begin(), nodes.end(),
              [](const KerasNode* a, const KerasNode* b) { return a->index() < b->index(); });
  }
  return result;
}

// Whether a graph is a linear chain of layers, each called once on a single input.
bool is_chain(const FunctionalGraph& graph) {
  if (graph.inputs().size() > 1) return false;
  std::set<const KerasNode*> read;
  std::set<const Layer*> layers;
  for (const auto& node : graph.nodes()) {
    const std::vector<Tensor> operands = node->operands();
    if (!layers.insert(node->layer().get()).second || operands.size() > 1) return false;
    for (const Tensor& input : operands) {
      if (!read.insert(keras_node(input).get()).second) return false;
    }
  }
  return read.size() + 1 == graph.nodes().size();
}

std::string output_shape(Layer& layer, const NodesByLayer& calls) {
  if (const auto found = calls.find(&layer); found != calls.end()) {
    return shapes_text(found->second.back()->output_types());
  }
  if (layer.built_shapes().empty()) return "?";
  std::vector<std::pair<DType, Shape>> inputs;
  for (const Shape& shape : layer.built_shapes()) inputs.emplace_back(layer.compute_dtype(), shape);
  try {
    return shapes_text(layer.compute_output_types(inputs));
  } catch (const Error&) {
    return "?";  // a layer that can't be called on shapes only
  }
}

SummaryRow make_row(Layer& layer, const NodesByLayer& calls) {
  SummaryRow row{.name = layer.name(), .class_name = layer.class_name()};
  row.output_shape = output_shape(layer, calls);
  if (is_operation(layer)) row.params = 0;
  if (layer.built()) row.params = layer.count_params();
  if (!layer.weights().empty()) row.trainable = layer.trainable();
  if (const auto found = calls.find(&layer); found != calls.end()) {
    for (const KerasNode* node : found->second) {
      for (const Tensor& input : node->operands()) {
        const auto from = keras_node(input);
        row.connected_to.push_back(
            fmt::format("{}[{}][{}]", from->layer()->name(), from->index(), input.symbol_id()));
      }
    }
  }
  return row;
}

std::vector<SummaryRow> make_rows(const Model& model, bool nested) {
  const FunctionalGraph* graph = model.body() ? model.body()->graph() : nullptr;
  const NodesByLayer calls = graph ? nodes_by_layer(*graph) : NodesByLayer();
  std::vector<SummaryRow> rows;
  for (const LayerHandle& handle : model.operations()) {
    Layer& layer = handle.get();
    // As in Keras, ops are shown only in the model's own table.
    if (nested && is_operation(layer)) continue;
    SummaryRow row = make_row(layer, calls);
    if (nested) row.connected_to.clear();
    if (const auto* inner = dynamic_cast<const Model*>(&layer))
      row.nested = make_rows(*inner, true);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

std::vector<SummaryRow> summary_rows(const Model& model) { return make_rows(model, false); }

SummaryData summarize(const Model& model) {
  SummaryData data;
  data.name = model.name();
  data.rows = summary_rows(model);
  const ModelBody* body = model.body();
  const bool functional = body && body->graph() && body->class_name() == "Functional";
  data.chain = !functional || is_chain(*body->graph());
  data.trainable = count(model.trainable_weights());
  data.non_trainable = count(model.non_trainable_weights());
  if (model.compiled() && model.optimizer().impl().built()) {
    data.optimizer = count(model.optimizer().variables());
  }
  return data;
}

std::string format_summary(const SummaryData& data, const SummaryOptions& options,
                           int64_t terminal_columns) {
  TextTable table = make_table(data, options, terminal_columns);
  add_rows(table, data.rows, data.chain, options, 0);
  SummaryCount total = data.optimizer.value_or(SummaryCount());
  for (const SummaryCount& part : {data.trainable, data.non_trainable}) {
    total.params += part.params;
    total.bytes += part.bytes;
  }
  std::string text = fmt::format("Model: \"{}\"\n", printable(data.name)) + table.render();
  text += count_line("Total", total);
  text += count_line("Trainable", data.trainable);
  text += count_line("Non-trainable", data.non_trainable);
  if (data.optimizer) text += count_line("Optimizer", *data.optimizer);
  return text;
}

void print_summary(const Model& model, const SummaryOptions& options) {
  const std::string text = format_summary(summarize(model), options, console::columns());
  if (options.print_fn) {
    options.print_fn(text);
  } else {
    console::write(text);
  }
}

}  // namespace cornu
