// SPDX-License-Identifier: Apache-2.0
#include "framework/train/plot_model.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <map>
#include <set>
#include <span>

#include "framework/core/strings.h"
#include "framework/io/atomic_file.h"
#include "framework/io/file_descriptor.h"
#include "framework/train/body.h"

namespace cornu {
namespace {

constexpr size_t kMaxLabel = 1000;  // maximum length of a name in bytes

// ---- text ----

// Escapes text for an HTML-like label.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : printable(text, kMaxLabel)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

using PlotTypes = std::vector<std::pair<DType, Shape>>;

// Formats a shape like Python.
std::string tuple_text(const Shape& shape) {
  std::string text = "(";
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    if (axis > 0) text += ", ";
    text += shape[axis] == kUnknown ? "None" : std::to_string(shape[axis]);
  }
  return text + (shape.rank() == 1 ? ",)" : ")");
}

template <class Text>
std::string list_text(const PlotTypes& types, const Text& text) {
  if (types.empty()) return "?";
  std::vector<std::string> parts;
  for (const auto& type : types) parts.push_back(text(type));
  return parts.size() == 1 ? parts[0] : "[" + join(parts, ", ") + "]";
}

std::string shapes_of(const PlotTypes& types) {
  return list_text(types, [](const auto& type) { return tuple_text(type.second); });
}
std::string dtypes_of(const PlotTypes& types) {
  return list_text(types, [](const auto& type) { return std::string(to_string(type.first)); });
}

// The name of a layer's activation; empty if it has none.
std::string activation_of(const Layer& layer) {
  try {
    const Json config = layer.get_config();
    const Json* activation = config.find("activation");
    if (!activation) return "";
    if (activation->is_string()) return activation->as_string();
    if (!activation->is_object()) return "";
    const Json* name = activation->find("class_name");
    return name && name->is_string() ? name->as_string() : "";
  } catch (const Error&) {
    return "";  // a layer without a config
  }
}

// ---- the graph ----

PlotTypes types_of_list(const Tensors& placeholders) {
  PlotTypes types;
  for (const Tensor& tensor : placeholders) types.emplace_back(tensor.dtype(), tensor.shape());
  return types;
}

const Model* as_graph(const Layer& layer) {
  const auto* model = dynamic_cast<const Model*>(&layer);
  return model && model->body() && model->body()->graph() ? model : nullptr;
}

bool is_sequential(const Model& model) { return model.body()->class_name() == "Sequential"; }

class DotWriter {
 public:
  explicit DotWriter(const ModelToDotOptions& options) : options_(options) {}

  std::string write(const Model& model) {
    text_ = fmt::format(
        "digraph G {{\n  rankdir={};\n  concentrate=true;\n  dpi={};\n  splines={};\n"
        "  node [shape=record, fontname=\"Helvetica\", border=0, margin=0];\n",
        options_.rankdir, options_.dpi, options_.splines);
    if (as_graph(model)) {
      add_layers(model, 1);
    } else {
      add_node(model, nullptr, 1);
    }
    for (const auto& [from, to] : edges_) {
      text_ += fmt::format("  n{} -> n{} [penwidth=2];\n", from, to);
    }
    return text_ + "}\n";
  }

 private:
  using Calls = std::map<const Layer*, KerasNode*>;  // each layer's first call

  static Calls first_calls(const FunctionalGraph& graph) {
    Calls calls;
    for (const auto& node : graph.nodes()) {
      KerasNode*& first = calls.try_emplace(node->layer().get(), node.get()).first->second;
      if (node->index() < first->index()) first = node.get();
    }
    return calls;
  }

  void add_layers(const Model& model, int depth) {
    const FunctionalGraph& graph = *model.body()->graph();
    const Calls calls = first_calls(graph);
    const std::vector<LayerHandle> layers = model.operations();
    for (const LayerHandle& handle : layers) {
      const Model* nested = options_.expand_nested ? as_graph(handle.get()) : nullptr;
      if (nested) {
        add_cluster(*nested, depth);
      } else {
        const auto found = calls.find(&handle.get());
        add_node(handle.get(), found == calls.end() ? nullptr : found->second, depth);
      }
    }
    if (is_sequential(model)) {
      for (size_t i = 1; i < layers.size(); ++i) {
        add_edge(layers[i - 1].get(), 0, layers[i].get(), 0);
      }
      return;
    }
    for (const auto& node : graph.nodes()) {
      const std::vector<Tensor> operands = node->operands();
      for (size_t input = 0; input < operands.size(); ++input) {
        const auto from = keras_node(operands[input]);
        add_edge(*from->layer(), static_cast<size_t>(operands[input].symbol_id()), *node->layer(),
                 input);
      }
    }
  }

  void add_cluster(const Model& model, int depth) {
    const std::string indent(static_cast<size_t>(2 * depth), ' ');
    text_ += fmt::format(
        "{0}subgraph cluster_{1} {{\n{0}  style=dashed;\n{0}  label=<{2}>;\n{0}  labeljust=l;\n",
        indent, clusters_++, escaped(model.name()));
    add_layers(model, depth + 1);
    text_ += indent + "}\n";
  }

  size_t number_of(const Layer& layer) {
    return numbers_.try_emplace(&layer, numbers_.size()).first->second;
  }

  void add_node(const Layer& layer, KerasNode* call, int depth) {
    if (numbers_.contains(&layer)) return;  // drawn elsewhere
    text_ += fmt::format("{}n{} [label=<{}>];\n", std::string(static_cast<size_t>(2 * depth), ' '),
                         number_of(layer), label_of(layer, call));
  }

  // Adds one edge per pair, between layers that are drawn.
  void add_edge(const Layer& from, size_t output, const Layer& to, size_t input) {
    const Layer* begin = &from;
    const Layer* end = &to;
    while (const Model* nested = options_.expand_nested ? as_graph(*begin) : nullptr) {
      const Tensor placeholder = nested->body()->graph()->outputs()[output];
      output = static_cast<size_t>(placeholder.symbol_id());
      begin = keras_node(placeholder)->layer().get();
    }
    while (const Model* nested = options_.expand_nested ? as_graph(*end) : nullptr) {
      if (is_sequential(*nested) && !nested->layers().empty()) {
        end = &nested->layers().front().get();
      } else {
        end = keras_node(nested->body()->graph()->inputs()[input])->layer().get();
      }
      input = 0;
    }
    const std::pair edge(number_of(*begin), number_of(*end));
    if (drawn_.insert(edge).second) edges_.push_back(edge);
  }

  static std::string cell(const char* color, const std::string& text) {
    return fmt::format("<td bgcolor=\"{}\"><font point-size=\"14\">{}</font></td>", color, text);
  }
  static std::string fact(const char* what, const std::string& value) {
    return cell("white", fmt::format("{}: <b>{}</b>", what, escaped(value)));
  }

  // A table with the layer's name in white on black, followed by the requested facts.
  std::string label_of(const Layer& layer, KerasNode* call) const {
    std::vector<std::string> facts;
    if (options_.show_shapes) {
      if (!dynamic_cast<const InputLayer*>(&layer)) {
        facts.push_back(fact("Input shape", shapes_of(inputs_of(layer, call))));
      }
      facts.push_back(fact("Output shape", shapes_of(outputs_of(layer, call))));
    }
    if (options_.show_dtype) {
      facts.push_back(fact("Output dtype", dtypes_of(outputs_of(layer, call))));
    }
    if (options_.show_trainable && !layer.weights().empty()) {
      facts.push_back(layer.trainable() ? cell("palegreen", "<b>Trainable</b>")
                                        : cell("lightpink", "<b>Non-trainable</b>"));
    }
    const size_t columns = std::max<size_t>(facts.size(), 1);
    const std::string class_name = escaped(layer.class_name());
    const std::string title = options_.show_layer_names
                                  ? fmt::format("<b>{}</b> ({})", escaped(layer.name()), class_name)
                                  : fmt::format("<b>{}</b>", class_name);
    std::string table = fmt::format(
        "<table border=\"0\" cellborder=\"1\" bgcolor=\"black\" cellpadding=\"10\"><tr><td "
        "colspan=\"{}\" bgcolor=\"black\"><font point-size=\"16\" color=\"white\">{}</font></td>"
        "</tr>",
        columns, title);
    if (const std::string activation = activation_of(layer);
        options_.show_layer_activations && !activation.empty()) {
      table += fmt::format(
          "<tr><td colspan=\"{}\" bgcolor=\"white\"><font point-size=\"14\">Activation: "
          "<b>{}</b></font></td></tr>",
          columns, escaped(activation));
    }
    if (!facts.empty()) table += "<tr>" + join(facts, "") + "</tr>";
    return table + "</table>";
  }

  static PlotTypes inputs_of(const Layer& layer, KerasNode* call) {
    if (const Model* model = as_graph(layer)) {
      return types_of_list(model->body()->graph()->inputs());
    }
    return call ? types_of_list(call->operands()) : PlotTypes();
  }
  static PlotTypes outputs_of(const Layer& layer, KerasNode* call) {
    if (const Model* model = as_graph(layer)) {
      return types_of_list(model->body()->graph()->outputs());
    }
    return call ? call->output_types() : PlotTypes();
  }

  ModelToDotOptions options_;
  std::string text_;
  std::map<const Layer*, size_t> numbers_;
  std::vector<std::pair<size_t, size_t>> edges_;
  std::set<std::pair<size_t, size_t>> drawn_;
  int clusters_ = 0;
};

void require_one_of(const char* option, const std::string& value,
                    std::span<const std::string> known) {
  check<InvalidArgument>(std::ranges::find(known, value) != known.end(),
                         "plot_model: expected a {} of {}, got '{}'.", option, join(known, ", "),
                         printable(value));
}

// ---- Graphviz's program ----

FileDescriptor file_in_memory(const std::string& content) {
  FileDescriptor file(memfd_create("cornu", MFD_CLOEXEC));
  const bool good = file.get() >= 0 && write_all(file.get(), std::as_bytes(std::span(content))) &&
                    lseek(file.get(), 0, SEEK_SET) == 0;
  check<ResourceExhausted>(good, "plot_model: no memory for the graph's text.");
  return file;
}

std::string content_of(const FileDescriptor& file) {
  char text[500];
  const ssize_t count = pread(file.get(), text, sizeof(text), 0);
  return printable(std::string_view(text, count > 0 ? static_cast<size_t>(count) : 0),
                   sizeof(text));
}

class SpawnSetup {
 public:
  SpawnSetup(int input, int errors) {
    posix_spawn_file_actions_init(&files_);
    posix_spawn_file_actions_adddup2(&files_, input, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&files_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&files_, errors, STDERR_FILENO);
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK);
  }
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;

  // Returns 0 or an error number.
  int spawn(pid_t& child, char* const* arguments) const {
    return posix_spawnp(&child, arguments[0], &files_, &attributes_, arguments, environ);
  }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

// No shell is involved: names are data in a file that dot reads.
void run_dot(const std::string& dot, const std::string& format, const std::string& output,
             const std::string& wanted) {
  const FileDescriptor input = file_in_memory(dot);
  const FileDescriptor errors = file_in_memory("");
  std::string arguments[] = {"dot", "-T" + format, "-o" + output};
  char* const list[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(), nullptr};
  pid_t child = 0;
  const int error = SpawnSetup(input.get(), errors.get()).spawn(child, list);
  check<FailedPrecondition>(
      error == 0,
      "plot_model: '{}' is drawn by Graphviz's program dot, which can't be run here ({}). Install "
      "it (on Debian: apt-get install graphviz), or write a file that ends in '.dot'.",
      wanted, std::generic_category().message(error));
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) {
      raise<FailedPrecondition>("plot_model: the end of the program dot can't be awaited: {}.",
                                std::generic_category().message(errno));
    }
  }
  check<FailedPrecondition>(WIFEXITED(status) && WEXITSTATUS(status) == 0,
                            "plot_model: the program dot failed to draw '{}' ({} {}). It said: {}",
                            wanted, WIFEXITED(status) ? "exit code" : "signal",
                            WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status),
                            content_of(errors));
}

}  // namespace

std::string model_to_dot(const Model& model, const ModelToDotOptions& options) {
  static const std::string kRankDirs[] = {"TB", "BT", "LR", "RL"};
  static const std::string kSplines[] = {"ortho", "curved", "polyline", "spline", "line"};
  require_one_of("rankdir", options.rankdir, kRankDirs);
  require_one_of("splines", options.splines, kSplines);
  check<InvalidArgument>(options.dpi >= 1 && options.dpi <= 10'000,
                         "plot_model: expected a dpi of 1 to 10000, got {}.", options.dpi);
  check<FailedPrecondition>(model.built(),
                            "plot_model: {} isn't built yet. Call it on data, fit it, or give it "
                            "an Input first.",
                            title_of(model));
  return DotWriter(options).write(model);
}

void plot_model(const Model& model, const PlotModelOptions& options) {
  const std::string dot =
      model_to_dot(model, {.show_shapes = options.show_shapes,
                           .show_dtype = options.show_dtype,
                           .show_layer_names = options.show_layer_names,
                           .rankdir = options.rankdir,
                           .expand_nested = options.expand_nested,
                           .dpi = options.dpi,
                           .show_layer_activations = options.show_layer_activations,
                           .show_trainable = options.show_trainable,
                           .splines = options.splines});
  const std::string ending = std::filesystem::path(options.to_file).extension().string();
  if (ending == ".dot" || ending == ".gv") {
    write_file_atomically(options.to_file, std::string_view(dot));
    return;
  }
  check<InvalidArgument>(ending == ".png" || ending == ".svg" || ending == ".pdf",
                         "plot_model: expected a file that ends in '.dot', '.gv', '.svg', '.png' "
                         "or '.pdf', got '{}'.",
                         options.to_file);
  write_file_atomically(options.to_file, [&](const std::string& temporary) {
    run_dot(dot, ending.substr(1), temporary, options.to_file);
  });
}

}  // namespace cornu
