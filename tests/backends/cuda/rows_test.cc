// SPDX-License-Identifier: Apache-2.0
// Normalizations of rows and the like: one launch forward, one backward, as the CPU computes them.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "framework/backends/cuda/cuda_backend.h"
#include "framework/graph/backend.h"
#include "tests/support/cuda/simulator.h"

using namespace cornu;

TEST_CASE("dump") {
  register_backend(DeviceType::Gpu, cuda::cuda_backend(cuda::simulated::simulated_runtime()));
  const DeviceScope scope("GPU:0");
  for (const std::string dtype : {"float32", "bfloat16"}) {
    const Function f = function([&](const std::vector<Tensor>& in) {
      GradientTape tape;
      for (const Tensor& x : in) tape.watch(x);
      const Tensor y = ops::cast(ops::layer_normalization(ops::cast(in[0], "float32"), {.gamma = in[2], .beta = in[3]}), dtype);
      const Tensor loss = ops::sum(y * in[1]);
      auto gradients = tape.gradient(loss, std::vector<Tensor>{in[0], in[2], in[3]});
      gradients.push_back(y);
      return gradients;
    }, {.name = "ln_" + dtype});
    const Tensor x = ops::cast(ops::ones({3, 4, 32}), dtype);
    f(x, x, ops::ones({32}), ops::ones({32}));
  }
}
