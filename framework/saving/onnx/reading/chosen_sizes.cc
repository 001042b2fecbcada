// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/onnx/reading/chosen_sizes.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <variant>

#include "framework/model/input.h"
#include "framework/saving/keras_op.h"
#include "framework/saving/onnx/reading/read_value.h"

namespace cornu::onnx::reading {
namespace {

int64_t prime(int64_t place) {
  static const std::vector<int64_t>* const primes = [] {
    auto* found = new std::vector<int64_t>;
    for (int64_t number = 2; std::ssize(*found) < std::ssize(Size().by_trace) * kMaxOpenAxes;
         ++number) {
      const auto divides = [number](int64_t divisor) { return number % divisor == 0; };
      if (std::ranges::none_of(*found, divides)) found->push_back(number);
    }
    return found;
  }();
  return primes->at(static_cast<size_t>(place));
}

bool same_constants(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::ranges::equal(a, b, [](const Tensor& x, const Tensor& y) {
    return x.defined() == y.defined() && (!x.defined() || is_same_value(x, y));
  });
}

Json config_of(const Layer& layer) {
  const auto* op = dynamic_cast<const KerasOp*>(&layer);
  if (!op) return layer.get_config();
  return Json::array({op->entry(), op->written_call([](size_t input) {
                        return Json(static_cast<int64_t>(input));
                      })});
}

bool same_layer(const Layer& a, const Layer& b) {
  if (a.class_name() != b.class_name() || a.name() != b.name()) return false;
  const auto* graph_a = dynamic_cast<const GraphOp*>(&a);
  const auto* graph_b = dynamic_cast<const GraphOp*>(&b);
  if (!graph_a != !graph_b) return false;
  if (graph_a && !same_constants(graph_a->constants(), graph_b->constants())) return false;
  const auto* op_a = dynamic_cast<const OpLayer*>(&a);
  const auto* op_b = dynamic_cast<const OpLayer*>(&b);
  if (!op_a != !op_b) return false;
  if (op_a) return &op_a->op() == &op_b->op() && op_a->attributes() == op_b->attributes();
  return config_of(a).dump() == config_of(b).dump();
}

}  // namespace

std::set<std::string> names_of_rows(const std::vector<FileValue>& inputs) {
  std::set<std::string> names;
  for (const FileValue& value : inputs) {
    if (!value.sizes || value.sizes->empty()) continue;
    const auto* name = std::get_if<std::string>(&value.sizes->front());
    if (name && !name->empty()) names.insert(*name);
  }
  return names;
}

std::vector<ChoiceOfSizes> choices_for(const std::vector<FileValue>& inputs) {
  const auto is_open = [](const FileValue::Size& size) {
    return std::holds_alternative<std::string>(size);
  };
  const bool has_open_axes = std::ranges::any_of(inputs, [&](const FileValue& value) {
    return value.sizes && value.sizes->size() > 1 &&
           std::any_of(value.sizes->begin() + 1, value.sizes->end(), is_open);
  });
  std::vector<ChoiceOfSizes> choices(1);
  if (has_open_axes) choices.insert(choices.end(), {{.scale = 32}, {.scale = 256}});
  if (names_of_rows(inputs).size() > 1) {
    const std::vector<ChoiceOfSizes> apart = choices;
    for (ChoiceOfSizes choice : apart) {
      choice.same_rows = true;
      choices.push_back(choice);
    }
  }
  return choices;
}

Size chosen_size(ChoiceOfSizes choice, int64_t number, bool of_picture) {
  Size size;
  const int64_t unit =
      of_picture || choice.last ? 32 * std::min<int64_t>(choice.scale, 32) : 4 * choice.scale;
  for (size_t k = 0; k < kTraces; ++k) {
    const auto trace = static_cast<int64_t>(k);
    const int64_t multiple = number == 0 ? 31 + 6 * trace : unit * prime(3 * (number - 1) + trace);
    size.by_trace[k] = multiple + choice.more * (trace + 1) - (choice.last ? 1 : 0);
  }
  return size;
}

std::optional<std::string> first_difference(const std::vector<std::shared_ptr<KerasNode>>& a,
                                            const std::vector<std::shared_ptr<KerasNode>>& b) {
  std::unordered_map<const KerasNode*, const KerasNode*> others;
  for (size_t i = 0; i < a.size(); ++i) {
    const std::string& name = a[i]->layer()->name();
    if (i >= b.size()) return name;
    others[a[i].get()] = b[i].get();
    if (!same_layer(*a[i]->layer(), *b[i]->layer())) return name;
  }
  if (b.size() > a.size()) return b[a.size()]->layer()->name();
  for (const auto& node : a) {
    const auto same = [&](const Tensor& x, const Tensor& y) {
      return x.symbol_id() == y.symbol_id() &&
             others.at(keras_node(x).get()) == keras_node(y).get();
    };
    if (!std::ranges::equal(node->operands(), others.at(node.get())->operands(), same)) {
      return node->layer()->name();
    }
  }
  return {};
}

}  // namespace cornu::onnx::reading
