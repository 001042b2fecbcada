// SPDX-License-Identifier: Apache-2.0
// Pooling of channels-last arrays: README.md.
#include <algorithm>

#include "framework/backends/cuda/kernels/conv/axes.h"
#include "framework/backends/cuda/sources.h"

namespace cornu::cuda {
namespace {

constexpr int64_t kPoolBlock = 256;  // threads

// x (batch, in..., channels), y (batch, out..., channels).
struct PoolProblem {
  PoolProblem(const Shape& x, const Shape& y, const Attributes& attributes)
      : batch(x[0]),
        channels(x.back()),
        in(spatial_axes(x.dims())),
        out(spatial_axes(y.dims())),
        window(three_axes(attributes.get_ints("window"), 1)),
        strides(three_axes(attributes.get_ints("strides"), 1)) {
    std::vector<int64_t> before;
    const auto& padding = attributes.get_ints("padding");
    for (size_t i = 0; i < padding.size(); i += 2) before.push_back(padding[i]);
    low = three_axes(before, 0);
  }

  int64_t batch;
  int64_t channels;
  Triple in;
  Triple out;
  Triple window;
  Triple strides;
  Triple low;

  int64_t inputs() const { return batch * product_of(in) * channels; }
  int64_t outputs() const { return batch * product_of(out) * channels; }
};

// The type of a position's number within its window.
DType number_type(const PoolProblem& problem) {
  return product_of(problem.window) <= 256 ? DType::UInt8 : DType::Int64;
}

// The lowest value of a type: the maximum of an empty window.
std::string lowest_text(DType dtype) {
  if (is_floating(dtype)) return "(C)-CORNU_INFINITY";
  const bool is_signed = dtype == DType::Int8 || dtype == DType::Int32 || dtype == DType::Int64;
  if (!is_signed) return "(C)0";
  return fmt::format("(C)((u64)1 << {})", 8 * size_of(dtype) - 1);
}

// Launches `file` for all vectors of channels of `elements`, with the definitions that all texts of
// this folder need and `more`.
void launch_pooling(const std::string& name, std::string_view file, const PoolProblem& problem,
                    DType dtype, int64_t elements, const std::string& more,
                    std::vector<Argument> arguments, Lowering& lowering) {
  if (elements == 0) return;
  const int64_t lanes = std::min<int64_t>(8, lanes_for(size_of(dtype), {problem.channels}));
  KernelSizes sizes(lowering);
  add_axes(sizes, "in", problem.in);
  add_axes(sizes, "out", problem.out);
  add_axes(sizes, "window", problem.window);
  add_axes(sizes, "step", problem.strides);
  add_axes(sizes, "low", problem.low);
  sizes.add("channels", problem.channels);
  sizes.add("count", elements / lanes);
  int64_t largest = std::max({problem.inputs(), problem.outputs(), product_of(problem.window)});
  for (size_t axis = 0; axis < 3; ++axis) {
    largest = std::max(largest, problem.in[axis] + problem.out[axis] * problem.strides[axis] +
                                    problem.window[axis]);
  }
  const std::string text = define_vector(type_name(dtype), lanes) +
                           define("C", compute_name(dtype)) + define("I", signed_index(largest)) +
                           define("N", type_name(number_type(problem))) + more +
                           sizes.definitions();
  lowering.launch_text(
      name, text + std::string(source("kernels/pooling/windows.cu")) + std::string(source(file)),
      blocks_for(elements / lanes, kPoolBlock), {kPoolBlock},
      sizes.arguments(std::move(arguments)));
}

// Computes y, or g at the maxima, or the numbers of the maxima, depending on GIVES.
void add_maxima(const std::string& name, const PoolProblem& problem, DType dtype,
                std::string_view gives, std::vector<Argument> arguments, Lowering& lowering) {
  launch_pooling(name, "kernels/pooling/max_pool.cu", problem, dtype, problem.outputs(),
                 define("GIVES", gives) + define("LOWEST", lowest_text(dtype)),
                 std::move(arguments), lowering);
}

bool lower_max_pool(const KernelSpec& spec, Lowering& lowering) {
  const PoolProblem problem(spec.inputs[0].shape, spec.outputs[0].shape, spec.attributes);
  add_maxima("max_pool", problem, spec.inputs[0].dtype, "VALUES", {in(0), in(0), out(0)}, lowering);
  return true;
}

bool lower_max_pool_select(const KernelSpec& spec, Lowering& lowering) {
  const PoolProblem problem(spec.inputs[0].shape, spec.inputs[1].shape, spec.attributes);
  add_maxima("max_pool_select", problem, spec.inputs[0].dtype, "SELECTED", {in(0), in(2), out(0)},
             lowering);
  return true;
}

// First the positions of the maxima, then the part of dy for each element of x.
bool lower_max_pool_grad(const KernelSpec& spec, Lowering& lowering) {
  const PoolProblem problem(spec.inputs[0].shape, spec.inputs[1].shape, spec.attributes);
  const DType dtype = spec.inputs[0].dtype;
  const Slot numbers =
      lowering.scratch(static_cast<size_t>(problem.outputs()) * size_of(number_type(problem)));
  add_maxima("max_pool_numbers", problem, dtype, "NUMBERS", {in(0), in(0), numbers}, lowering);
  launch_pooling("max_pool_grad", "kernels/pooling/max_pool_grad.cu", problem, dtype,
                 problem.inputs(), "", {in(2), numbers, out(0)}, lowering);
  return true;
}

bool lower_avg_pool(const KernelSpec& spec, Lowering& lowering) {
  const PoolProblem problem(spec.inputs[0].shape, spec.outputs[0].shape, spec.attributes);
  launch_pooling("avg_pool", "kernels/pooling/avg_pool.cu", problem, spec.inputs[0].dtype,
                 problem.outputs(), "", {in(0), out(0)}, lowering);
  return true;
}

bool lower_avg_pool_grad(const KernelSpec& spec, Lowering& lowering) {
  const PoolProblem problem(spec.outputs[0].shape, spec.inputs[0].shape, spec.attributes);
  launch_pooling("avg_pool_grad", "kernels/pooling/avg_pool_grad.cu", problem, spec.inputs[0].dtype,
                 problem.inputs(), "", {in(0), out(0)}, lowering);
  return true;
}

// For numeric types only, not for bools.
Lower of_numbers(bool (*lower)(const KernelSpec&, Lowering&)) {
  return [lower](const KernelSpec& spec, Lowering& lowering) {
    return spec.inputs[0].dtype != DType::Bool && lower(spec, lowering);
  };
}

}  // namespace

void register_pooling(LoweringTable& table) {
  table.add("max_pool", of_numbers(lower_max_pool));
  table.add("max_pool_grad", of_numbers(lower_max_pool_grad));
  table.add("max_pool_select", of_numbers(lower_max_pool_select));
  table.add("avg_pool", of_numbers(lower_avg_pool));
  table.add("avg_pool_grad", of_numbers(lower_avg_pool_grad));
}

}  // namespace cornu::cuda
