// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/register.h"

namespace cornu::ops {

void register_all(OpRegistry& registry) {
  register_elementwise(registry);
  register_matmul(registry);
  register_conv(registry);
  register_pool(registry);
  register_reduce(registry);
  register_shape(registry);
  register_bits(registry);
  register_index(registry);
  register_scatter(registry);
  register_linalg(registry);
  register_nn(registry);
  register_recurrent(registry);
  register_fft(registry);
  register_attention(registry);
  register_random(registry);
  register_distributions(registry);
  register_control(registry);
  register_loops(registry);
  register_custom_gradient(registry);
  register_collective(registry);
}

}  // namespace cornu::ops
