// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/einsum.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "framework/core/ascii.h"
#include "framework/core/error_place.h"
#include "framework/ops/definition.h"
#include "framework/ops/math.h"
#include "framework/ops/matmul.h"
#include "framework/ops/matrix.h"
#include "framework/ops/reduce.h"
#include "framework/ops/shape.h"
#include "framework/ops/whole_op.h"

namespace cornu::ops {

using namespace internal;

namespace {

using Labels = std::string;  // one character per axis; '0' + i represents axis i of an ellipsis

template <class... Args>
void expect(bool condition, std::string_view subscripts, fmt::format_string<Args...> format,
            Args&&... args) {
  if (condition) return;
  raise<InvalidArgument>("einsum \"{}\": {}", subscripts,
                         fmt::format(format, std::forward<Args>(args)...));
}

bool contains(const Labels& labels, char label) { return labels.find(label) != Labels::npos; }

struct Operand {
  Tensor tensor;
  Labels labels;
};

struct Notation {
  std::vector<std::string> inputs;
  std::optional<std::string> output;
};

Notation parse(std::string_view subscripts) {
  std::string text;
  for (char c : subscripts) {
    if (!ascii::is_space(c)) text += c;
  }
  Notation notation;
  if (const size_t arrow = text.find("->"); arrow != std::string::npos) {
    notation.output = text.substr(arrow + 2);
    text.resize(arrow);
  }
  size_t begin = 0;
  for (size_t comma; (comma = text.find(',', begin)) != std::string::npos; begin = comma + 1) {
    notation.inputs.push_back(text.substr(begin, comma - begin));
  }
  notation.inputs.push_back(text.substr(begin));
  return notation;
}

// The labels of a term whose ellipsis represents `axes` axes, the last of `most`.
Labels expand(const std::string& term, int64_t axes, int64_t most, std::string_view subscripts) {
  Labels labels;
  const size_t dots = term.find("...");
  for (size_t i = 0; i < term.size(); ++i) {
    if (i == dots) {
      for (int64_t axis = most - axes; axis < most; ++axis) {
        labels += static_cast<char>('0' + axis);
      }
      i += 2;
      continue;
    }
    expect(ascii::is_alpha(term[i]), subscripts,
           "expected letters and one \"...\" in each term, got '{}'.", term);
    labels += term[i];
  }
  return labels;
}

int64_t letters_of(const std::string& term) {
  const bool dots = term.find("...") != std::string::npos;
  return static_cast<int64_t>(term.size()) - (dots ? 3 : 0);
}

// Reduces a letter that occurs twice in an operand to its diagonal.
void take_diagonals(Operand& operand) {
  for (size_t i = 0; i < operand.labels.size();) {
    const size_t again = operand.labels.find(operand.labels[i], i + 1);
    if (again == Labels::npos) {
      ++i;
      continue;
    }
    const char label = operand.labels[i];
    operand.tensor = diagonal(
        operand.tensor, {.axis1 = static_cast<int64_t>(i), .axis2 = static_cast<int64_t>(again)});
    operand.labels.erase(again, 1);
    operand.labels.erase(i, 1);
    operand.labels += label;
  }
}

// Sums over the axes whose labels aren't needed anywhere else.
void sum_unneeded(Operand& operand, const Labels& needed) {
  std::vector<int64_t> axes;
  Labels kept;
  for (size_t i = 0; i < operand.labels.size(); ++i) {
    if (contains(needed, operand.labels[i])) {
      kept += operand.labels[i];
    } else {
      axes.push_back(static_cast<int64_t>(i));
    }
  }
  if (axes.empty()) return;
  operand.tensor = sum(operand.tensor, axes);
  operand.labels = kept;
}

// Also works with unknown axes, as long as no more than one of them changes its position.
Tensor reshaped(const Tensor& x, const Shape& shape) {
  return x.shape() == shape ? x : reshape(x, shape);
}

// The axes of `labels` in this order; missing ones get size 1.
Tensor arranged(const Operand& operand, const Labels& labels) {
  std::vector<int64_t> order;
  Shape shape;
  for (char label : labels) {
    const size_t axis = operand.labels.find(label);
    if (axis == Labels::npos) {
      shape.push_back(1);
      continue;
    }
    order.push_back(static_cast<int64_t>(axis));
    shape.push_back(operand.tensor.dim(order.back()));
  }
  return reshaped(transpose(operand.tensor, order), shape);
}

// The sizes of all labels of two operands.
std::map<char, int64_t> sizes_of(const Operand& a, const Operand& b) {
  std::map<char, int64_t> sizes;
  for (const Operand* operand : {&a, &b}) {
    for (size_t i = 0; i < operand->labels.size(); ++i) {
      int64_t& size = sizes.try_emplace(operand->labels[i], 1).first->second;
      const int64_t own = operand->tensor.dim(static_cast<int64_t>(i));
      if (own > 1 || own == 0 || size == 1) size = own;  // prefer a known one
    }
  }
  return sizes;
}

// Computes one matrix product: shared labels that are kept are its leading axes, shared labels that
// aren't kept are summed over. Labels are ordered as in `needed`, so that the result seldom needs a
// transpose.
Operand join(Operand a, Operand b, const Labels& needed) {
  const std::map<char, int64_t> sizes = sizes_of(a, b);
  const auto is_of_one = [&](char label) {
    return contains(a.labels, label) != contains(b.labels, label);
  };
  const auto first = std::ranges::find_if(needed, is_of_one);
  if (first != needed.end() && contains(b.labels, *first)) std::swap(a, b);
  Labels batch;
  Labels only_a;
  Labels only_b;
  for (size_t i = 0; i < needed.size(); ++i) {
    const char label = needed[i];
    const bool in_a = contains(a.labels, label);
    const bool in_b = contains(b.labels, label);
    if ((!in_a && !in_b) || needed.find(label) != i) continue;
    (in_a && in_b ? batch : in_a ? only_a : only_b) += label;
  }
  // A summed axis of size 1 is repeated to match a longer one, if both sizes are known.
  Labels summed;
  for (char label : a.labels) {
    if (!contains(needed, label)) summed += label;
  }
  auto total = [&](const Labels& labels) {
    Checked product(1, "einsum");
    for (char label : labels) {
      if (sizes.at(label) == kUnknown) return kUnknown;
      product = product * sizes.at(label);
    }
    return product.value();
  };
  auto matrices = [&](const Operand& operand, const Labels& rows, const Labels& columns) {
    const Tensor moved = arranged(operand, batch + rows + columns);
    Shape full;
    for (char label : batch + rows + columns) {
      const int64_t own = moved.dim(full.rank());
      full.push_back(own == 1 ? sizes.at(label) : own);
    }
    const Tensor whole = moved.shape() == full ? moved : broadcast_to(moved, full);
    const auto joined = [&](const Labels& labels) {
      return labels.size() == 1
                 ? whole.dim(static_cast<int64_t>((batch + rows + columns).find(labels)))
                 : total(labels);
    };
    return reshaped(
        whole,
        full.slice(0, static_cast<int64_t>(batch.size())).concat({joined(rows), joined(columns)}));
  };
  const Tensor product = matmul(matrices(a, only_a, summed), matrices(b, summed, only_b));
  Shape shape;
  for (char label : batch + only_a + only_b) shape.push_back(sizes.at(label));
  return {reshaped(product, shape), batch + only_a + only_b};
}

// The result's labels if none are given: the ellipsis, then the letters that appear once.
Labels implied_output(const std::vector<Operand>& operands, int64_t most) {
  std::map<char, int> times;
  for (const Operand& operand : operands) {
    for (char label : operand.labels) ++times[label];
  }
  Labels output;
  for (int64_t axis = 0; axis < most; ++axis) output += static_cast<char>('0' + axis);
  for (const auto& [label, count] : times) {
    if (count == 1 && ascii::is_alpha(label)) output += label;
  }
  return output;
}

// Requires that every letter has a single size, or 1.
void require_sizes_agree(const std::vector<Operand>& operands, std::string_view subscripts) {
  std::map<char, int64_t> sizes;
  for (const Operand& operand : operands) {
    for (size_t i = 0; i < operand.labels.size(); ++i) {
      const int64_t size = operand.tensor.dim(static_cast<int64_t>(i));
      int64_t& known = sizes.try_emplace(operand.labels[i], size).first->second;
      if (known == 1 || known == kUnknown) known = size;
      expect(size == known || size == 1 || size == kUnknown, subscripts,
             "expected one size for the axes '{}', got {} and {}.", operand.labels[i], known, size);
    }
  }
}

}  // namespace

Tensor einsum(std::string_view subscripts, const std::vector<Tensor>& tensors) {
  const ErrorPlace scope("einsum");
  const Notation notation = parse(subscripts);
  expect(notation.inputs.size() == tensors.size(), subscripts,
         "expected {} operands, one for each term, got {}.", notation.inputs.size(),
         tensors.size());
  DType dtype = tensors[0].dtype();
  for (const Tensor& tensor : tensors) dtype = promote(dtype, tensor.dtype());
  if (dtype == DType::Bool) dtype = DType::Int32;
  int64_t most = 0;  // number of axes of the longest ellipsis
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::string& term = notation.inputs[i];
    const int64_t rest = tensors[i].rank() - letters_of(term);
    expect(rest == 0 || (rest > 0 && term.find("...") != std::string::npos), subscripts,
           "expected {} axes for the term '{}', got shape {}.", letters_of(term), term,
           tensors[i].shape());
    most = std::max(most, rest);
  }
  expect(most <= 10, subscripts, "expected at most 10 axes in \"...\", got {}.", most);
  std::vector<Operand> operands;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const int64_t rest = tensors[i].rank() - letters_of(notation.inputs[i]);
    operands.push_back(
        {cast(tensors[i], dtype), expand(notation.inputs[i], rest, most, subscripts)});
  }
  require_sizes_agree(operands, subscripts);
  const Labels output = notation.output ? expand(*notation.output, most, most, subscripts)
                                        : implied_output(operands, most);
  Labels known;
  for (const Operand& operand : operands) known += operand.labels;
  for (size_t i = 0; i < output.size(); ++i) {
    expect(contains(known, output[i]) && output.find(output[i], i + 1) == Labels::npos, subscripts,
           "expected letters of the operands, each once, in the result, got '{}'.",
           notation.output.value_or(""));
  }
  if (any_placeholder(tensors)) {  // with unknown axes, several operands can't be joined yet
    const std::string text(subscripts);
    return whole_of("einsum", tensors, {"numpy", "Einsum", Json::object({{"subscripts", text}})},
                    [text](const std::vector<Tensor>& in) { return einsum(text, in); });
  }
  Operand result;
  for (size_t i = 0; i < operands.size(); ++i) {
    Labels needed = output;
    for (size_t later = i + 1; later < operands.size(); ++later) needed += operands[later].labels;
    take_diagonals(operands[i]);
    sum_unneeded(operands[i], i == 0 ? needed : needed + result.labels);
    result = i == 0 ? operands[0] : join(std::move(result), std::move(operands[i]), needed);
  }
  // Sums of small integers are wider; if all operands are int8, the result is int32, as in Keras.
  const bool bytes = std::ranges::all_of(
      tensors, [](const Tensor& tensor) { return tensor.dtype() == DType::Int8; });
  return cast(arranged(result, output), bytes ? DType::Int32 : dtype);
}

}  // namespace cornu::ops
