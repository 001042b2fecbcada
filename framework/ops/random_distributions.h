// SPDX-License-Identifier: Apache-2.0
// More distributions (keras.random). Each number is drawn by rejection sampling from its own Philox
// stream, numbered by its position, so the same seed gives the same bits on any number of threads.
// Seeds are as in random.h. No gradients flow through a draw.
#pragma once

#include "framework/core/tensor.h"
#include "framework/ops/arguments.h"

namespace cornu {
namespace random {

struct DistributionOptions {
  DTypeLike dtype = DType::Float32;
  Seed seed = {};
};

// The gamma distribution with shape parameter `alpha` (> 0, else NaN) and scale 1; alpha broadcasts
// to `shape` (Marsaglia and Tsang 2000).
Tensor gamma(const Shape& shape, const Tensor& alpha, const DistributionOptions& options = {});
// The number of successes in `counts` trials, each with probability `probabilities`; both broadcast
// to `shape`. NaN for counts below 0 and probabilities outside of [0, 1] (Hoermann 1993).
Tensor binomial(const Shape& shape, const Tensor& counts, const Tensor& probabilities,
                const DistributionOptions& options = {});
// The beta distribution on [0, 1]; alpha and beta (> 0, else NaN) broadcast to `shape`.
Tensor beta(const Shape& shape, const Tensor& alpha, const Tensor& beta,
            const DistributionOptions& options = {});

}  // namespace random

namespace ops {

// The underlying stateless ops, with the shape of the operands. `seed` is a key, uint32[2]; with
// `logarithm`, returns the logarithms of the draws, which don't underflow to 0 for small shape
// parameters.
Tensor random_gamma(const Tensor& seed, const Tensor& alpha, bool logarithm = false);
Tensor random_binomial(const Tensor& seed, const Tensor& counts, const Tensor& probabilities);

}  // namespace ops
}  // namespace cornu
