// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/kernels/conv/pool.h"

#include <algorithm>
#include <optional>

#include "framework/backends/cpu/kernels/conv/conv.h"
#include "framework/backends/cpu/kernels/through_float32.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

// The number of partial sums, whatever the number of threads; they are added in order.
constexpr int64_t kParts = 16;

bool all(const std::vector<int64_t>& values, int64_t value) {
  return std::ranges::all_of(values, [&](int64_t v) { return v == value; });
}

struct Plan {
  ConvPoolProblem problem;
  SimdConvPool functions;
  int64_t taps;  // of the whole filter
};

// Returns nullopt if the vectorized functions don't support the spec.
std::optional<Plan> plan(const KernelSpec& spec, const Shape& filter, const Shape& y) {
  const Shape& x = spec.inputs[0].shape;
  const Attributes& attributes = spec.attributes;
  const auto& window = attributes.get_ints("window");
  if (x.rank() != 4 || x.back() != 1 || filter[0] != filter[1] || window[0] != window[1]) return {};
  if (spec.inputs[0].dtype != DType::Float32) return {};
  if (!all(attributes.get_ints("strides"), 1) || !all(attributes.get_ints("dilation"), 1) ||
      !all(attributes.get_ints("padding"), 0) || attributes.get_int("groups") != 1 ||
      attributes.get_ints("pool_strides") != window ||
      !all(attributes.get_ints("pool_padding"), 0)) {
    return {};
  }
  const SimdConvPool functions = simd_conv_pool(filter[0], window[0]);
  if (!functions.forward) return {};
  return Plan{{.batch = x[0],
               .height = x[1],
               .width = x[2],
               .channels = filter.back(),
               .pooled_h = y[1],
               .pooled_w = y[2],
               .relu = attributes.get_string("activation") == "relu"},
              functions,
              filter[0] * filter[1]};
}

std::unique_ptr<Kernel> make_conv_pool(const KernelSpec& spec) {
  const auto made = plan(spec, spec.inputs[1].shape, spec.outputs[0].shape);
  if (!made) return through_float32(spec, make_conv_pool);
  return make_kernel([plan = *made](const KernelArgs& args) {
    parallel_for(plan.problem.batch, 1, [&](int64_t begin, int64_t end) {
      plan.functions.forward(
          plan.problem, static_cast<const float*>(args.in[0]),
          static_cast<const float*>(args.in[1]), static_cast<const float*>(args.in[2]),
          static_cast<float*>(args.out[0]), static_cast<uint8_t*>(args.out[1]), begin, end);
    });
  });
}

std::unique_ptr<Kernel> make_conv_pool_filter_grad(const KernelSpec& spec) {
  const auto made = plan(spec, spec.attributes.get_shape("filter_shape"), spec.inputs[1].shape);
  if (!made) return through_float32(spec, make_conv_pool_filter_grad);
  const int64_t size = (made->taps + 1) * made->problem.channels;  // of a part's sums
  auto run = [plan = *made, size](const KernelArgs& args) {
    const ConvPoolProblem& problem = plan.problem;
    auto* sums = static_cast<float*>(args.scratch);
    parallel_parts(kParts, [&](int part) {
      plan.functions.filter_grad(
          problem, static_cast<const float*>(args.in[0]), static_cast<const float*>(args.in[1]),
          static_cast<const uint8_t*>(args.in[2]), sums + part * size,
          problem.batch * part / kParts, problem.batch * (part + 1) / kParts);
    });
    for (int64_t part = 1; part < kParts; ++part) {
      for (int64_t i = 0; i < size; ++i) sums[i] += sums[part * size + i];
    }
    const int64_t filter = plan.taps * problem.channels;
    std::copy_n(sums, filter, static_cast<float*>(args.out[0]));
    std::copy_n(sums + filter, problem.channels, static_cast<float*>(args.out[1]));
  };
  return make_kernel(run, static_cast<size_t>(kParts * size) * sizeof(float));
}

}  // namespace

void register_conv_pool_kernels(KernelTable& table) {
  table.add("conv_pool", make_conv_pool);
  table.add("conv_pool_filter_grad", make_conv_pool_filter_grad);
}

}  // namespace cornu::cpu
