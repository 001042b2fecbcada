// SPDX-License-Identifier: Apache-2.0
// The text form of graphs: writing and reading.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "framework/core/ascii.h"
#include "framework/core/hex.h"
#include "framework/graph/graph.h"

namespace cornu {
namespace {

constexpr int64_t kMaxDecimalElements = 16;  // larger constants are written as hex bytes

std::string type_text(const TensorType& type) {
  std::string text = to_string(type.dtype);
  text += '[';
  for (int64_t i = 0; i < type.shape.rank(); ++i) {
    if (i > 0) text += ',';
    text += std::to_string(type.shape[i]);
  }
  return text + "]";
}

std::string number_text(double value) {
  char buffer[32];
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof(buffer), value).ptr);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

std::string tensor_text(const Tensor& tensor) {
  std::string text = "<" + type_text(type_of(tensor)) + " ";
  if (tensor.num_elements() > kMaxDecimalElements || is_half(tensor.dtype())) {
    return text + "0x" + to_hex({tensor.raw(), tensor.bytes()}) + ">";
  }
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    if (i > 0) text += ' ';
    text += dispatch_dtype(tensor.dtype(), [&](auto t) {
      decltype(t) value;
      std::memcpy(&value, tensor.raw() + static_cast<size_t>(i) * sizeof(value), sizeof(value));
      if constexpr (std::is_integral_v<decltype(t)>) {
        return fmt::format("{}", +value);
      } else {
        return number_text(static_cast<double>(value));
      }
    });
  }
  return text + ">";
}

std::string indent_lines(const std::string& text) {
  std::string result;
  for (char c : text) {
    result += c;
    if (c == '\n') result += "  ";
  }
  return result;
}

// The destination of tensors that are too large for the text.
struct Apart {
  size_t largest;  // maximum bytes of a tensor within the text
  std::vector<Tensor>& tensors;
};

std::string graph_text(const Graph& graph, Apart* apart);

std::string attribute_text(const AttributeValue& value, Apart* apart) {
  return std::visit(
      [apart](const auto& typed) -> std::string {
        using T = std::decay_t<decltype(typed)>;
        if constexpr (std::is_same_v<T, bool>) {
          return typed ? "true" : "false";
        } else if constexpr (std::is_same_v<T, int64_t>) {
          return std::to_string(typed);
        } else if constexpr (std::is_same_v<T, double>) {
          return number_text(typed);
        } else if constexpr (std::is_same_v<T, std::string>) {
          return in_quotes(typed);
        } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
          std::string text = "[";
          for (size_t i = 0; i < typed.size(); ++i) {
            text += (i > 0 ? "," : "") + std::to_string(typed[i]);
          }
          return text + "]";
        } else if constexpr (std::is_same_v<T, DType>) {
          return to_string(typed);
        } else if constexpr (std::is_same_v<T, Tensor>) {
          if (!apart || typed.bytes() <= apart->largest) return tensor_text(typed);
          apart->tensors.push_back(typed);
          return fmt::format("<{} #{}>", type_text(type_of(typed)), apart->tensors.size() - 1);
        } else {
          return indent_lines(graph_text(*typed, apart));
        }
      },
      value);
}

std::string ids_text(const std::vector<ValueId>& ids) {
  std::string text;
  for (ValueId id : ids) text += fmt::format("{}%{}", text.empty() ? "" : ", ", id);
  return text;
}

std::string graph_text(const Graph& graph, Apart* apart) {
  std::string text = "graph(";
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    text += fmt::format("{}%{}: {}", i > 0 ? ", " : "", graph.inputs[i],
                        type_text(graph.type(graph.inputs[i])));
  }
  text += ")";
  for (const StateBinding& state : graph.states) {
    text += fmt::format("\n  state(%{} {}: {} -> %{})", state.in, in_quotes(state.name),
                        type_text(graph.type(state.in)), state.out);
  }
  text += " {\n";
  for (const Node& node : graph.nodes) {
    text +=
        fmt::format("  {} = {}({})", ids_text(node.outputs), node.op->name, ids_text(node.inputs));
    const char* separator = " {";
    for (const auto& [name, value] : node.attributes.entries()) {
      text += fmt::format("{}{}={}", separator, name, attribute_text(value, apart));
      separator = ", ";
    }
    text += node.attributes.empty() ? " :" : "} :";
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      text += (i > 0 ? ", " : " ") + type_text(graph.type(node.outputs[i]));
    }
    text += '\n';
  }
  return text + "  return " + ids_text(graph.outputs) + "\n}";
}

class Parser {
 public:
  Parser(std::string_view text, std::span<const Tensor> apart) : text_(text), apart_(apart) {}

  Graph graph() {
    constexpr int kMaxDepth = 64;
    check<InvalidArgument>(depth_++ < kMaxDepth,
                           "Graph text: expected graphs nested at most {} levels deep.", kMaxDepth);
    Graph graph;
    expect_word("graph");
    expect('(');
    while (!accept(')')) {
      const ValueId id = value_id();
      expect(':');
      define(graph, id, type());
      graph.inputs.push_back(id);
      accept(',');
    }
    while (peek_word("state")) graph.states.push_back(state(graph));
    expect('{');
    while (!peek_word("return")) node(graph);
    expect_word("return");
    graph.outputs = value_ids();
    expect('}');
    --depth_;
    try {
      graph.validate();                // before the enclosing graph uses this one
    } catch (const Internal& error) {  // a bug in Cornu's own graphs, but not in text
      raise<InvalidArgument>("Graph text: {}", error.what());
    }
    return graph;
  }

  void end() {
    skip_space();
    if (at_ != text_.size()) fail("the end");
  }

 private:
  [[noreturn]] void fail(std::string_view expected) const {
    const auto line =
        1 + std::count(text_.begin(), text_.begin() + static_cast<int64_t>(at_), '\n');
    raise<InvalidArgument>("Graph text, line {}: expected {}, got '{}'.", line, expected,
                           text_.substr(at_, 20));
  }

  void skip_space() {
    while (at_ < text_.size() && ascii::is_space(text_[at_])) ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("'") + c + "'");
  }
  bool peek_word(std::string_view word) {
    skip_space();
    return text_.substr(at_, word.size()) == word;
  }
  void expect_word(std::string_view word) {
    if (!peek_word(word)) fail(word);
    at_ += word.size();
  }
  std::string_view name() {
    skip_space();
    const size_t begin = at_;
    while (at_ < text_.size() && (ascii::is_alnum(text_[at_]) || text_[at_] == '_')) {
      ++at_;
    }
    if (at_ == begin) fail("a name");
    return text_.substr(begin, at_ - begin);
  }
  template <class T>
  T number() {
    skip_space();
    T value{};
    const auto result = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (result.ec != std::errc()) fail("a number");
    at_ = static_cast<size_t>(result.ptr - text_.data());
    return value;
  }
  ValueId value_id() {
    expect('%');
    const auto id = number<ValueId>();
    if (id < 0) fail("a value id");
    return id;
  }
  std::vector<ValueId> value_ids() {
    std::vector<ValueId> ids;
    skip_space();
    if (at_ < text_.size() && text_[at_] != '%') return ids;
    do ids.push_back(value_id());
    while (accept(','));
    return ids;
  }
  std::vector<int64_t> ints() {
    std::vector<int64_t> values;
    expect('[');
    while (!accept(']')) {
      values.push_back(number<int64_t>());
      accept(',');
    }
    return values;
  }
  TensorType type() {
    const DType dtype = dtype_from_string(name());
    if (dtype == DType::String) fail("a dtype of numbers, which graphs are of");
    return {dtype, Shape(ints())};
  }
  std::string string() {
    expect('"');
    std::string value;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\') ++at_;
      if (at_ < text_.size()) value += text_[at_++];
    }
    expect('"');
    return value;
  }

  void define(Graph& graph, ValueId id, TensorType type) {
    const auto index = static_cast<size_t>(id);
    if (index >= graph.types.size()) {
      // Ids may have gaps, but the type tables must stay proportional to the text.
      constexpr size_t kMaxRatio = 2;
      entries_ += index + 1 - graph.types.size();
      if (entries_ > kMaxRatio * text_.size()) fail("smaller value ids");
      graph.types.resize(index + 1);
    }
    graph.types[index] = std::move(type);
  }

  StateBinding state(Graph& graph) {
    StateBinding binding;
    expect_word("state");
    expect('(');
    binding.in = value_id();
    binding.name = string();
    expect(':');
    define(graph, binding.in, type());
    expect_word("->");
    binding.out = value_id();
    expect(')');
    return binding;
  }

  void node(Graph& graph) {
    Node node;
    node.outputs = value_ids();
    expect('=');
    node.op = &OpRegistry::global().at(name());
    expect('(');
    node.inputs = value_ids();
    expect(')');
    if (accept('{')) {
      while (!accept('}')) {
        const std::string key(name());
        expect('=');
        node.attributes.set(key, attribute());
        accept(',');
      }
    }
    expect(':');
    for (ValueId id : node.outputs) {
      define(graph, id, type());
      accept(',');
    }
    graph.nodes.push_back(std::move(node));
  }

  AttributeValue attribute() {
    skip_space();
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (c == '"') return string();
    if (c == '[') return ints();
    if (c == '<') return tensor();
    if (peek_word("graph(")) return std::make_shared<const Graph>(graph());
    if (ascii::is_alpha(c)) {
      const std::string_view word = name();
      if (word == "true") return true;
      if (word == "false") return false;
      if (word == "inf" || word == "nan") return word == "inf" ? INFINITY : NAN;
      return dtype_from_string(word);
    }
    const size_t end = text_.find_first_not_of("-+0123456789", at_);
    const bool real = end != std::string_view::npos &&
                      (text_[end] == '.' || text_[end] == 'e' || text_[end] == 'i');
    if (real) return number<double>();
    return number<int64_t>();
  }

  Tensor tensor() {
    expect('<');
    const TensorType stated = type();
    if (accept('#')) return tensor_apart(stated);
    if (!stated.shape.is_static() || stated.bytes() > text_.size())
      fail("a shape as large as the data");
    Tensor tensor = Tensor::empty(stated.shape, stated.dtype);
    if (peek_word("0x")) {
      expect_word("0x");
      for (size_t i = 0; i < tensor.bytes(); ++i, at_ += 2) {
        unsigned byte = 0;
        if (at_ + 2 > text_.size()) fail("two hex digits");
        const char* digits = text_.data() + at_;
        if (std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2) fail("two hex digits");
        tensor.mutable_raw()[i] = static_cast<std::byte>(byte);
      }
    } else {
      for (int64_t i = 0; i < tensor.num_elements(); ++i) {
        dispatch_dtype(tensor.dtype(), [&](auto t) {
          using T = decltype(t);
          const T value = [&] {
            if constexpr (std::is_integral_v<T>) {
              return static_cast<T>(is_signed(tensor.dtype())
                                        ? static_cast<uint64_t>(number<int64_t>())
                                        : number<uint64_t>());
            } else {
              return static_cast<T>(number<double>());
            }
          }();
          std::memcpy(tensor.mutable_raw() + static_cast<size_t>(i) * sizeof(T), &value, sizeof(T));
        });
      }
    }
    expect('>');
    return tensor;
  }

  Tensor tensor_apart(const TensorType& stated) {
    const auto index = number<size_t>();
    const bool fits =
        index < apart_.size() && apart_[index].defined() && type_of(apart_[index]) == stated;
    if (!fits) fail("the number of a tensor of this type that is kept apart");
    expect('>');
    return apart_[index];
  }

  std::string_view text_;
  std::span<const Tensor> apart_;
  size_t at_ = 0;
  size_t entries_ = 0;  // in the type tables
  int depth_ = 0;
};

}  // namespace

std::string Graph::to_string() const { return graph_text(*this, nullptr); }

std::string Graph::to_string(size_t largest, std::vector<Tensor>& apart) const {
  Apart large{largest, apart};
  return graph_text(*this, &large);
}

Graph parse_graph(std::string_view text, std::span<const Tensor> apart) {
  Parser parser(text, apart);
  Graph graph = parser.graph();
  parser.end();
  return graph;
}

}  // namespace cornu
