// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/onnx/traces.h"

#include <algorithm>
#include <type_traits>
#include <variant>

namespace cornu::onnx {
namespace {

std::string place_of(const Node& node) {
  return node.scope.empty() ? fmt::format("op '{}'", node.op->name)
                            : fmt::format("layer '{}', op '{}'", node.scope, node.op->name);
}

// Whether two attributes differ only in ways that a file can express.
bool comparable(const AttributeValue& a, const AttributeValue& b) {
  if (a.index() != b.index()) return false;
  if (const auto* list = std::get_if<std::vector<int64_t>>(&a)) {
    return list->size() == std::get<std::vector<int64_t>>(b).size();
  }
  if (const auto* tensor = std::get_if<Tensor>(&a)) {
    const Tensor& other = std::get<Tensor>(b);
    return tensor->dtype() == other.dtype() && tensor->rank() == other.rank();
  }
  return std::visit(
      [&b]<class T>(const T& value) {
        constexpr bool kMustEqual = std::is_same_v<T, bool> || std::is_same_v<T, double> ||
                                    std::is_same_v<T, std::string> || std::is_same_v<T, DType>;
        if constexpr (kMustEqual) {
          return value == std::get<T>(b);
        } else {
          return true;
        }
      },
      a);
}

void require_alike(const Node& a, const Node& b) {
  const auto& left = a.attributes.entries();
  const auto& right = b.attributes.entries();
  const bool alike = a.op == b.op && a.inputs == b.inputs && a.outputs == b.outputs &&
                     std::equal(left.begin(), left.end(), right.begin(), right.end(),
                                [](const auto& x, const auto& y) {
                                  return x.first == y.first && comparable(x.second, y.second);
                                });
  if (!alike) refuse_open_axes(place_of(a), fmt::format("for other sizes it is '{}'", b.op->name));
}

}  // namespace

bool all_fixed(const Sizes& sizes) {
  return std::ranges::all_of(sizes, [](const Size& size) { return size.fixed(); });
}

std::vector<int64_t> values_of(const Sizes& sizes) {
  std::vector<int64_t> values;
  for (const Size& size : sizes) values.push_back(size.value());
  return values;
}

void refuse_open_axes(std::string_view where, std::string_view how) {
  raise<FailedPrecondition>(
      "ONNX: {} depends on the size of an axis that isn't known, in a way that can't be written "
      "for all sizes ({}). Export the model for fixed ones, with .input_signature = {{{{.shape = "
      "{{32, …}}}}}}.",
      where, how);
}

Traces::Traces(std::array<const Graph*, kTraces> graphs) : graphs_(graphs) {
  for (size_t trace = 1; trace < kTraces; ++trace) {
    const Graph& other = *graphs_[trace];
    if (&other == &first()) continue;
    const size_t count = std::min(first().nodes.size(), other.nodes.size());
    for (size_t i = 0; i < count; ++i) require_alike(first().nodes[i], other.nodes[i]);
    if (first().nodes.size() != other.nodes.size() || first().outputs != other.outputs) {
      refuse_open_axes("the model", fmt::format("{} ops for some sizes, {} for others",
                                                first().nodes.size(), other.nodes.size()));
    }
  }
}

Sizes Traces::shape(ValueId id) const {
  Sizes sizes(static_cast<size_t>(first().type(id).shape.rank()));
  for (size_t trace = 0; trace < kTraces; ++trace) {
    const Shape& shape = graphs_[trace]->type(id).shape;
    CORNU_ASSERT(shape.rank(), ==, static_cast<int64_t>(sizes.size()));
    for (size_t i = 0; i < sizes.size(); ++i) {
      sizes[i].by_trace[trace] = shape[static_cast<int64_t>(i)];
    }
  }
  return sizes;
}

Size Traces::integer(size_t index, std::string_view name) const {
  Size result;
  for (size_t trace = 0; trace < kTraces; ++trace) {
    result.by_trace[trace] = node(index, trace).attributes.get_int(name);
  }
  return result;
}

Sizes Traces::integers(size_t index, std::string_view name) const {
  Sizes result(node(index).attributes.get_ints(name).size());
  for (size_t trace = 0; trace < kTraces; ++trace) {
    const std::vector<int64_t>& values = node(index, trace).attributes.get_ints(name);
    for (size_t i = 0; i < result.size(); ++i) result[i].by_trace[trace] = values[i];
  }
  return result;
}

Traces Traces::graph(size_t index, std::string_view name) const {
  std::array<const Graph*, kTraces> graphs;
  for (size_t trace = 0; trace < kTraces; ++trace) {
    graphs[trace] = &node(index, trace).attributes.get_graph(name);
  }
  return Traces(graphs);
}

std::array<Tensor, kTraces> Traces::constant(size_t index) const {
  std::array<Tensor, kTraces> values;
  for (size_t trace = 0; trace < kTraces; ++trace) {
    values[trace] = node(index, trace).attributes.get_tensor("value");
  }
  return values;
}

}  // namespace cornu::onnx
