// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/kernels/shape/join.h"

#include <algorithm>
#include <bit>

#include "framework/backends/cuda/kernels/shape/copy.h"
#include "framework/backends/cuda/kernels/shape/text.h"

namespace cornu::cuda {
namespace {

constexpr int64_t kJoinBlock = 256;  // threads
constexpr int64_t kJoinedEach = 4;   // elements per thread

// ---- pad ----

struct PaddedAxis {
  int64_t size;  // of the input
  int64_t low;
  int64_t padded;    // of the output
  int64_t step = 1;  // stride in the output between consecutive elements of the input

  bool is_plain() const { return size == padded; }
};

// An axis without padding is merged with the previous one, unless that has values in between.
std::vector<PaddedAxis> padded_axes(const KernelSpec& spec) {
  const Shape& from = spec.inputs[0].shape;
  const Shape& into = spec.outputs[0].shape;
  const auto& low = spec.attributes.get_ints("low");
  const auto& interior = spec.attributes.get_ints("interior");
  std::vector<PaddedAxis> axes;
  for (size_t i = 0; i < low.size(); ++i) {
    const auto axis = static_cast<int64_t>(i);
    const int64_t step = from[axis] > 1 ? interior[i] + 1 : 1;
    const PaddedAxis next = {from[axis], low[i], into[axis], step};
    if (!axes.empty() && axes.back().step == 1 && next.is_plain()) {
      PaddedAxis& last = axes.back();
      last = {last.size * next.size, last.low * next.size, last.padded * next.size};
    } else {
      axes.push_back(next);
    }
  }
  return axes;
}

// Divides the last axis into vectors if it is evenly spaced.
int64_t join_padded(std::vector<PaddedAxis>& axes, DType dtype) {
  if (axes.empty() || axes.back().step != 1) return 1;
  PaddedAxis& last = axes.back();
  const int64_t lanes = lanes_for(size_of(dtype), {last.size, last.low, last.padded});
  last.size /= lanes;
  last.low /= lanes;
  last.padded /= lanes;
  return lanes;
}

std::string locate_padded(const std::vector<PaddedAxis>& axes, KernelSizes& sizes) {
  std::string text = "{ I at; ";
  int64_t stride = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    const PaddedAxis& axis = axes[i];
    sizes.add(fmt::format("low{}", i), axis.low);
    // One past the distance from the first element to the last. Elements before the first wrap
    // around.
    sizes.add(fmt::format("reach{}", i), (axis.size - 1) * axis.step + 1);
    sizes.add(fmt::format("from{}", i), stride);
    if (i > 0) {
      sizes.add(fmt::format("size{}", i), axis.padded);
      text += fmt::format("at = rest % (I)size{0} - (I)low{0}; rest /= (I)size{0}; ", i);
    } else {
      text += "at = rest - (I)low0; ";
    }
    text += axis.size == 0 ? "inside = false; "
                           : fmt::format("inside = inside && at < (I)reach{}; ", i);
    if (axis.step > 1) {
      sizes.add(fmt::format("step{}", i), axis.step);
      text += fmt::format("inside = inside && at % (I)step{0} == 0; at /= (I)step{0}; ", i);
    }
    text += fmt::format("from += at * (I)from{}; ", i);
    stride *= axis.size;
  }
  return define("LOCATE", text + "}");
}

// ---- concatenate ----

constexpr size_t kMaxJoined = 16;                 // maximum inputs per launch
constexpr size_t kCopiedBytes = size_t{1} << 20;  // size of each of a few parts that are copied
constexpr size_t kMaxCopied = 4;

// The inputs as rows that are placed side by side; empty ones are skipped.
struct JoinedRows {
  int64_t rows = 0;
  int64_t row = 0;  // elements in a row of the result
  std::vector<size_t> inputs;
  std::vector<int64_t> lengths;

  explicit JoinedRows(const KernelSpec& spec) {
    const int64_t axis = spec.attributes.get_int("axis");
    const Shape& shape = spec.outputs[0].shape;
    rows = shape.slice(0, axis).num_elements();
    row = shape.slice(axis).num_elements();
    for (size_t k = 0; k < spec.inputs.size(); ++k) {
      const int64_t length = spec.inputs[k].shape.slice(axis).num_elements();
      if (length == 0) continue;
      inputs.push_back(k);
      lengths.push_back(length);
    }
  }

  // A few long runs: a copy is optimal, whatever their alignment.
  bool are_copied(size_t bytes) const {
    return inputs.size() == 1 ||
           (rows == 1 && inputs.size() <= kMaxCopied && bytes >= inputs.size() * kCopiedBytes);
  }
};

void copy_parts(const KernelSpec& spec, const JoinedRows& parts, Lowering& lowering) {
  size_t place = 0;
  for (const size_t k : parts.inputs) {
    lowering.copy(out(0, place), in(k), spec.inputs[k].bytes());
    place += spec.inputs[k].bytes();
  }
}

// One launch for inputs [first, last) of `parts`; `begin` is the first column. Texts are made for
// 2, 4, 8 or 16 inputs; trailing ones may have no columns.
void launch_joined(const KernelSpec& spec, const JoinedRows& parts, size_t first, size_t last,
                   int64_t begin, Lowering& lowering) {
  const DType dtype = spec.outputs[0].dtype;
  const int64_t lanes = lanes_for(size_of(dtype), parts.lengths);
  KernelSizes sizes(lowering);
  std::string inputs;
  std::string choose = "from = in0; first = 0; length = (I)end0; ";
  std::vector<Argument> arguments;
  int64_t end = 0;
  const size_t count = std::max<size_t>(2, std::bit_ceil(last - first));
  for (size_t i = 0; i < count; ++i) {
    const size_t part = std::min(first + i, last - 1);
    if (first + i < last) end += parts.lengths[part] / lanes;
    sizes.add(fmt::format("end{}", i), end);
    arguments.emplace_back(in(parts.inputs[part]));
    inputs += fmt::format("{}const Vector* __restrict__ in{}", i == 0 ? "" : ", ", i);
    if (i == 0) continue;
    choose += fmt::format(
        "if (at >= (I)end{0}) {{ from = in{1}; first = (I)end{0}; length = (I)end{1} - first; }} ",
        i - 1, i);
  }
  const int64_t elements = parts.rows * end;
  sizes.add("count", elements);
  sizes.add("columns", end);
  sizes.add("row", parts.row / lanes);
  sizes.add("begin", begin / lanes);
  arguments.emplace_back(out(0));
  lowering.launch(
      spec.op.name, "kernels/shape/concatenate.cu",
      define_index(spec.outputs[0].shape.num_elements()) + define_vector(moved_name(dtype), lanes) +
          define("INPUTS", inputs) + define("CHOOSE", choose) + sizes.definitions(),
      blocks_for(elements, kJoinBlock * kJoinedEach), {kJoinBlock}, sizes.arguments(arguments));
}

}  // namespace

bool lower_pad(const KernelSpec& spec, Lowering& lowering) {
  const TensorType& type = spec.outputs[0];
  const int64_t whole = type.shape.num_elements();
  if (whole == 0) return true;
  if (spec.inputs[0].shape == type.shape) {
    add_plain_copy(spec, lowering);
    return true;
  }
  std::vector<PaddedAxis> axes = padded_axes(spec);
  const int64_t lanes = join_padded(axes, type.dtype);
  KernelSizes sizes(lowering);
  sizes.add("count", whole / lanes);
  const std::string text = define_index(whole) + define_vector(moved_name(type.dtype), lanes) +
                           locate_padded(axes, sizes);
  lowering.launch(spec.op.name, "kernels/shape/pad.cu", text + sizes.definitions(),
                  blocks_for(whole / lanes, kJoinBlock * kJoinedEach), {kJoinBlock},
                  sizes.arguments({in(0), in(1), out(0)}));
  return true;
}

bool lower_concatenate(const KernelSpec& spec, Lowering& lowering) {
  if (spec.outputs[0].shape.num_elements() == 0) return true;
  const JoinedRows parts(spec);
  if (parts.are_copied(spec.outputs[0].bytes())) {
    copy_parts(spec, parts, lowering);
    return true;
  }
  int64_t begin = 0;
  for (size_t first = 0; first < parts.inputs.size(); first += kMaxJoined) {
    const size_t last = std::min(first + kMaxJoined, parts.inputs.size());
    launch_joined(spec, parts, first, last, begin, lowering);
    for (size_t i = first; i < last; ++i) begin += parts.lengths[i];
  }
  return true;
}

}  // namespace cornu::cuda
