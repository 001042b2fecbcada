// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "framework/ops/math.h"
#include "framework/ops/shape.h"
#include "framework/saving/onnx/mappings.h"

namespace cornu::onnx {
namespace {

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

// Uses Reshape's special values if they suffice: 0 is the input's size at that position, -1 is
// inferred.
void write_reshape(NodeWriter& n) {
  const Sizes from = n.shape();
  const Sizes to = n.out_shape();
  std::vector<int64_t> words;
  int64_t open = 0;
  bool empty = false;
  for (size_t i = 0; i < to.size(); ++i) {
    empty |= to[i].fixed() && to[i].value() == 0;
    if (to[i].fixed()) {
      words.push_back(to[i].value());
    } else if (i < from.size() && to[i] == from[i]) {
      words.push_back(0);
    } else {
      words.push_back(-1);
      ++open;
    }
  }
  const bool enough = open <= 1 && !(empty && !all_fixed(to));
  const std::string shape = enough ? n.integers_constant(words) : n.sizes(to);
  n.give(n.add("Reshape", {n.in(), shape}, integer("allowzero", empty)));
}

void write_transpose(NodeWriter& n) { n.give(n.transposed(0, n.fixed("permutation"))); }

void write_broadcast_to(NodeWriter& n) {
  const Sizes from = n.shape();
  Sizes to = n.out_shape();
  const size_t added = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i) {  // Expand keeps the existing size for 1
    if (from[i] == to[added + i]) to[added + i] = 1;
  }
  n.give(n.add("Expand", {n.in(), n.sizes(to)}));
}

void write_reverse(NodeWriter& n) { n.give(n.reversed(n.in(), n.fixed("axes"))); }

void write_concatenate(NodeWriter& n) {
  n.give(n.add("Concat", n.all_in(), integer("axis", n.integer("axis"))));
}

void write_slice(NodeWriter& n) {
  const Sizes from = n.shape();
  const Sizes to = n.out_shape();
  const Sizes begin = n.integers("begin");
  const std::vector<int64_t> strides = n.fixed("strides");
  Sizes starts, ends;
  std::vector<int64_t> axes, steps;
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] == to[i]) continue;
    Size end;
    for (size_t k = 0; k < kTraces; ++k) {
      const int64_t count = to[i].by_trace[k];
      const int64_t covered = count == 0 ? 0 : (count - 1) * strides[i] + 1;
      end.by_trace[k] = begin[i].by_trace[k] + covered;
    }
    const bool to_end = !end.fixed() && end == from[i];
    starts.push_back(begin[i]);
    ends.push_back(to_end ? Size(kEnd) : end);
    axes.push_back(static_cast<int64_t>(i));
    steps.push_back(strides[i]);
  }
  if (axes.empty()) return n.give(n.in());
  n.give(n.add("Slice", {n.in(), n.sizes(starts), n.sizes(ends), n.integers_constant(axes),
                         n.integers_constant(steps)}));
}

void write_pad(NodeWriter& n) {
  Sizes widths = n.integers("low");
  const Sizes high = n.integers("high");
  const std::vector<int64_t> interior = n.fixed("interior");
  if (std::ranges::any_of(interior, [](int64_t width) { return width != 0; })) {
    n.refuse("ONNX pads at the ends of axes only, not between elements");
  }
  widths.insert(widths.end(), high.begin(), high.end());
  n.give(n.add("Pad", {n.in(0), n.sizes(widths), n.in(1)}));
}

void write_iota(NodeWriter& n) {
  const Sizes shape = n.out_shape();
  const auto axis = static_cast<size_t>(n.integer("axis"));
  std::vector<int64_t> apart(shape.size(), 1);
  apart[axis] = -1;
  Sizes repeats = shape;
  repeats[axis] = 1;
  std::string counted;
  if (shape[axis].fixed()) {
    const Tensor numbers = ops::cast(ops::arange(shape[axis].value()), n.out_dtype());
    counted = n.file().constant(ops::reshape(numbers, Shape(apart)), "numbers");
  } else {
    const std::string count = n.add("Squeeze", {n.sizes({shape[axis]})});
    const std::string range =
        n.add("Range", {n.scalar(0, DType::Int64), count, n.scalar(1, DType::Int64)});
    const std::string numbers = n.cast(range, DType::Int64, n.out_dtype());
    counted = shape.size() == 1 ? numbers : n.add("Reshape", {numbers, n.integers_constant(apart)});
  }
  const bool repeated = std::ranges::any_of(repeats, [](const Size& size) { return size != 1; });
  n.give(repeated ? n.add("Expand", {counted, n.sizes(repeats)}) : counted);
}

const Mapping kOfShapes[] = {
    {"broadcast_to", nullptr, write_broadcast_to},
    {"concatenate", nullptr, write_concatenate},
    {"iota", nullptr, write_iota},
    {"pad", nullptr, write_pad},
    {"reshape", nullptr, write_reshape},
    {"reverse", nullptr, write_reverse},
    {"slice", nullptr, write_slice},
    {"transpose", nullptr, write_transpose},
};

}  // namespace

std::span<const Mapping> shape_mappings() { return kOfShapes; }

}  // namespace cornu::onnx
