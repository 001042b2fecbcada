// SPDX-License-Identifier: Apache-2.0
// Attention with dropout, computed as products and softmax, compared with the CPU's.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <algorithm>

#include "framework/backends/cuda/passes/passes.h"
#include "framework/graph/passes/pass.h"
#include "framework/ops/attention_dropout.h"
#include "tests/backends/cuda/attention_case.h"
#include "tests/backends/cuda/lowered_run.h"
#include "tests/support/launches.h"

namespace cornu::cuda::testing {
namespace {

using Values = std::vector<Tensor>;

// The output and all gradients of a loss that gives each output element a gradient of its own.
Values trained(const AttentionCase& one, double rate, const Values& in) {
  const bool biased = one.bias_shape.rank() == 4, masked = one.mask_shape.rank() == 4;
  Values sources(in.begin(), in.begin() + (biased ? 4 : 3));
  GradientTape tape;
  for (const Tensor& x : sources) tape.watch(x);
  const Tensor y = ops::dot_product_attention(in[0], in[1], in[2],
                                              {.bias = biased ? in[3] : Tensor(),
                                               .mask = masked ? in.back() : Tensor(),
                                               .scale = one.scale,
                                               .is_causal = one.causal},
                                              {.rate = rate, .seed = 4});
  Values results = tape.gradient(ops::sum(ops::square(y + 0.5)), sources);
  results.push_back(y);
  return results;
}

// `eager`: runs attention eagerly, on results that a function has left on the device.
std::vector<std::string> check_dropping(const AttentionCase& one, double rate, bool eager = false) {
  CAPTURE(cpu::testing::text(one.output_shape()));
  CAPTURE(cpu::testing::text(one.dtype));
  CAPTURE(rate);
  CAPTURE(eager);
  Values inputs = one.operands();
  one.add_optional(inputs);
  return check_program_like_cpu(
      [&] {
        const Function compiled([&](const Values& in) {
          return eager ? Values{-in[0], -in[1], -in[2]} : trained(one, rate, in);
        });
        const Values results = compiled.call(inputs);
        return eager ? trained(one, rate, results) : results;
      },
      20 * one.tolerance());
}

TEST_CASE("attention that drops has no kernel of its own, and one softmax for both directions") {
  Graph graph = parse_graph(
      "graph(%0: float32[2,5,4,8], %1: float32[2,7,2,8], %2: float32[2,7,2,8], "
      "%3: bool[2,4,5,7]) {\n"
      "  %4, %5 = attention(%0, %1, %2, %3) "
      "{bias=false, causal=true, dropout=0.2, mask=false, scale=0.5} : float32[2,5,4,8], "
      "float32[2,4,5,2]\n"
      "  %6, %7, %8 = attention_grad(%0, %1, %2, %4, %5, %0, %3) {bias=false, "
      "bias_gradient=false, causal=true, dropout=0.2, mask=false, scale=0.5} : "
      "float32[2,5,4,8], float32[2,7,2,8], float32[2,7,2,8]\n"
      "  return %4, %6, %7, %8\n"
      "}");
  graph = passes::simplify(expand_dropout(graph));
  graph.validate();
  const auto count = [&](const char* op) {
    return std::ranges::count_if(graph.nodes, [&](const Node& node) { return node.is(op); });
  };
  CHECK(count("attention") == 0);
  CHECK(count("attention_grad") == 0);
  CHECK(count("softmax") == 1);
  CHECK(count("matmul") == 6);
  CHECK(count("concatenate") == 0);  // nobody reads the statistics
}

TEST_CASE("attention that drops: shared keys, masks and biases, causal and not") {
  AttentionCase one{
      .batch = 2, .rows = 5, .columns = 7, .heads = 4, .keys = 2, .size = 3, .width = 6};
  const auto lines = check_dropping(one, 0.3);
  CHECK(test::count_lines(lines, "kernel attention") == 0);
  one.causal = true;
  one.mask_shape = {2, 1, 1, 7};
  one.bias_shape = {1, 4, 1, 7};
  check_dropping(one, 0.3);
  one.mask_shape = {2, 4, 5, 1};
  one.bias_shape = {2, 1, 5, 7};
  one.keys = 4;
  check_dropping(one, 0.5);
}

TEST_CASE("attention that drops: of every dtype, eagerly, all, and of nothing") {
  AttentionCase one{.rows = 5, .columns = 6, .heads = 2, .keys = 2, .size = 8, .width = 8};
  check_dropping(one, 0.4, true);
  check_dropping(one, 1);
  for (const DType dtype : {DType::BFloat16, DType::Float16, DType::Float64}) {
    one.dtype = dtype;
    check_dropping(one, 0.4);
  }
  check_dropping({.rows = 2, .columns = 0, .size = 3, .width = 3}, 0.4);
}

}  // namespace
}  // namespace cornu::cuda::testing
