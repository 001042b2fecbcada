// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/random_distributions.h"

#include "framework/ops/definition.h"
#include "framework/ops/math.h"
#include "framework/ops/random.h"
#include "framework/ops/register.h"
#include "framework/ops/shape.h"

namespace cornu::ops {

using namespace internal;

namespace {

// Type inference for a key and `operands` of one floating-point type, which is also the result's.
InferFunction infer_draw(std::string name, size_t operands) {
  return [=](TypeSpan inputs, const Attributes& attributes) -> Types {
    const bool placed = attributes.find("placed") != nullptr;  // by an offset, the last input
    require_inputs(inputs, operands + 1 + placed, name);
    if (placed) inputs = inputs.first(operands + 1);
    check<InvalidArgument>(inputs[0].dtype == DType::UInt32 && inputs[0].shape == Shape{2},
                           "{}: expected a seed of two uint32 words, got {} {}.", name,
                           inputs[0].dtype, inputs[0].shape);
    for (const TensorType& type : inputs.subspan(1)) {
      require_floating(type, name);
      check<InvalidArgument>(type == inputs[1],
                             "{}: expected operands of one type, got {} {} and "
                             "{} {}.",
                             name, inputs[1].dtype, inputs[1].shape, type.dtype, type.shape);
    }
    return {inputs[1]};
  };
}

void place(std::vector<Tensor>& inputs, Attributes& attributes) {
  const auto offset = first_number(inputs[1].shape());
  if (!offset) return;
  inputs.push_back(*offset);
  attributes.set("placed", true);
}

}  // namespace

void register_distributions(OpRegistry& registry) {
  auto add = [&](const char* name, size_t operands) {
    registry.add({.name = name,
                  .infer = infer_draw(name, operands),
                  .vjp = {},
                  .traits = {.differentiable = false}});
  };
  add("random_gamma", 1);
  add("random_binomial", 2);
}

Tensor random_gamma(const Tensor& seed, const Tensor& alpha, bool logarithm) {
  std::vector<Tensor> inputs = {seed, alpha};
  Attributes attributes = {{"log", logarithm}};
  place(inputs, attributes);
  return call<"random_gamma">(inputs, attributes);
}

namespace internal {

Tensor shared_gamma(const Tensor& seed, const Shape& shape, double alpha) {
  return call<"random_gamma">({seed, full(shape, alpha)}, {{"log", false}});
}

}  // namespace internal

Tensor random_binomial(const Tensor& seed, const Tensor& counts, const Tensor& probabilities) {
  std::vector<Tensor> inputs = {seed, counts, probabilities};
  Attributes attributes;
  place(inputs, attributes);
  return call<"random_binomial">(inputs, attributes);
}

}  // namespace cornu::ops

namespace cornu::random {
namespace {

// A parameter in the dtype that it is computed in, broadcast to the result's shape.
Tensor spread(const Tensor& parameter, const Shape& shape, DType dtype, const char* who) {
  check<InvalidArgument>(is_floating(dtype), "{}: expected a floating-point dtype, got {}.", who,
                         dtype);
  return ops::broadcast_to(ops::cast(parameter, promote(dtype, DType::Float32)), shape);
}

}  // namespace

Tensor gamma(const Shape& shape, const Tensor& alpha, const DistributionOptions& options) {
  const Tensor wide = spread(alpha, shape, options.dtype, "gamma");
  return ops::cast(ops::random_gamma(options.seed.key(), wide), options.dtype);
}

Tensor binomial(const Shape& shape, const Tensor& counts, const Tensor& probabilities,
                const DistributionOptions& options) {
  const Tensor n = spread(counts, shape, options.dtype, "binomial");
  const Tensor p = spread(probabilities, shape, options.dtype, "binomial");
  return ops::cast(ops::random_binomial(options.seed.key(), n, p), options.dtype);
}

Tensor beta(const Shape& shape, const Tensor& alpha, const Tensor& beta,
            const DistributionOptions& options) {
  // X / (X + Y) for two gamma draws, computed from their logarithms: for small parameters both
  // would underflow to 0.
  spread(alpha, shape, options.dtype, "beta");
  const Tensor parameters = ops::stack(
      {spread(alpha, shape, DType::Float64, "beta"), spread(beta, shape, DType::Float64, "beta")});
  const std::vector<Tensor> draws =
      ops::unstack(ops::random_gamma(options.seed.key(), parameters, true));
  return ops::cast(ops::reciprocal(1 + ops::exp(draws[1] - draws[0])), options.dtype);
}

}  // namespace cornu::random
