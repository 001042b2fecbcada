// SPDX-License-Identifier: Apache-2.0
// Rows of large arrays in blocks ("row_blocks"): results are those of the same graph without them.
// Here "large" is small.
#include <cornu/cornu.h>
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "framework/backends/cpu/passes/passes.h"
#include "framework/backends/cpu/program.h"
#include "framework/core/random.h"
#include "framework/core/threads.h"
#include "framework/graph/backend.h"
#include "framework/graph/passes/pass.h"
#include "framework/graph/trace.h"

namespace cornu::cpu {
namespace {

using Inputs = std::vector<Tensor>;
using Body = std::function<Inputs(const Inputs&)>;

constexpr RowBlockChoices kSmall = {.least_bytes = 1024, .block_bytes = 512};

Tensor numbers(const Shape& shape, uint64_t seed, DType dtype = DType::Float64) {
  PhiloxEngine engine(seed);
  Tensor result = Tensor::empty(shape, DType::Float64);
  for (double& value : result.mutable_data<double>()) value = 2 * engine.uniform() - 0.9;
  return ops::cast(result, dtype);
}

Graph traced(const Body& body, const Inputs& inputs) {
  std::vector<TensorType> types;
  for (const Tensor& input : inputs) types.push_back(type_of(input));
  const passes::Evaluator evaluate = [](const OpDef& op, std::span<const Tensor> operands,
                                        const Attributes& attributes,
                                        std::span<const TensorType> results) {
    return cpu_backend().execute(op, operands, attributes, results, Device{});
  };
  return passes::simplify(trace(types, body).graph, evaluate);
}

size_t count_blocks(const Graph& graph) {
  return static_cast<size_t>(
      std::ranges::count_if(graph.nodes, [](const Node& node) { return node.is("row_blocks"); }));
}

Inputs run(const Graph& graph, const Inputs& inputs) {
  Program program(passes::fuse_elementwise(graph));
  std::vector<const void*> in;
  for (const Tensor& input : inputs) in.push_back(input.raw());
  Inputs results;
  const std::vector<void*> out = allocate_outputs(program.graph(), results);
  Tensor workspace = Tensor::empty({static_cast<int64_t>(program.workspace_bytes())}, DType::UInt8);
  program.run({.inputs = in, .states = {}, .outputs = out, .workspace = workspace.mutable_raw()});
  return results;
}

void check_close(const Inputs& results, const Inputs& expected, double tolerance) {
  REQUIRE(results.size() == expected.size());
  for (size_t i = 0; i < results.size(); ++i) {
    CAPTURE(i);
    CHECK(results[i].shape() == expected[i].shape());
    CHECK(results[i].dtype() == expected[i].dtype());
    const Tensor a = ops::cast(results[i], DType::Float64);
    const Tensor b = ops::cast(expected[i], DType::Float64);
    const double size = 1 + ops::max(ops::abs(b)).item<double>();
    CHECK(ops::max(ops::abs(a - b)).item<double>() <= tolerance * size);
  }
}

// The graph in blocks, on 1, 2 and 3 threads. Returns the number of groups.
size_t check_blocks(const Body& body, const Inputs& inputs, double tolerance = 1e-13) {
  const Graph graph = traced(body, inputs);
  const Graph blocked = block_rows(graph, kSmall);
  const Inputs expected = run(graph, inputs);
  for (int threads = 1; threads <= 3; ++threads) {
    const ComputeThreadsScope scope(threads);
    check_close(run(blocked, inputs), expected, tolerance);
  }
  return count_blocks(blocked);
}

Inputs gradients(const Inputs& in, const std::function<Tensor()>& f) {
  GradientTape tape;
  for (const Tensor& x : in) tape.watch(x);
  const Tensor y = f();
  return tape.gradient(y, in);
}

TEST_CASE("normalizations and their gradients, of any number of rows") {
  const auto normalize = [](const Inputs& in) {
    return ops::layer_normalization(in[0], {.gamma = in[1], .beta = in[2]});
  };
  for (const Shape& shape :
       {Shape{64, 24}, {37, 24}, {1000, 8}, {3, 7, 5, 24}, {2, 90, 24}, {24, 24}}) {
    CAPTURE(fmt::format("{}", shape));
    const Shape row = {shape.back()};
    const Inputs inputs = {numbers(shape, 1), numbers(row, 2), numbers(row, 3), numbers(shape, 4)};
    CHECK(check_blocks([&](const Inputs& in) { return Inputs{normalize(in)}; }, inputs) == 1);
    const size_t groups = check_blocks(
        [&](const Inputs& in) {
          return gradients(in, [&] { return ops::sum(normalize(in) * in[3]); });
        },
        inputs);
    CHECK(groups >= 1);
  }
}

// By block: how many arrays of this shape it has as results.
std::vector<int64_t> arrays_of(const Graph& graph, const Shape& shape) {
  std::vector<int64_t> counts;
  for (const Node& node : graph.nodes) {
    if (!node.is("row_blocks")) continue;
    counts.push_back(std::ranges::count_if(
        node.outputs, [&](ValueId id) { return graph.type(id).shape == shape; }));
  }
  return counts;
}

TEST_CASE("what a gradient reads again is computed again, not stored") {
  const Inputs inputs = {numbers({64, 24}, 1), numbers({24}, 2), numbers({24}, 3),
                         numbers({24, 24}, 4)};
  const auto normalize = [](const Inputs& in) {
    return ops::layer_normalization(in[0], {.gamma = in[1], .beta = in[2]});
  };
  const Body between_products = [&](const Inputs& in) {
    return gradients(in, [&] {
      return ops::sum(
          ops::square(ops::matmul(normalize({ops::matmul(in[0], in[3]), in[1], in[2]}), in[3])));
    });
  };
  check_blocks(between_products, inputs);
  // The normalized array, and the gradient.
  CHECK(arrays_of(block_rows(traced(between_products, inputs), kSmall), {64, 24}) ==
        std::vector<int64_t>{1, 1});
  const Body of_exponentials = [&](const Inputs& in) {
    return gradients(in, [&] { return ops::sum(ops::exp(normalize(in))); });
  };
  const Inputs without_matrix(inputs.begin(), inputs.begin() + 3);
  check_blocks(of_exponentials, without_matrix);
  // The exponentials and the gradient.
  CHECK(arrays_of(block_rows(traced(of_exponentials, without_matrix), kSmall), {64, 24}) ==
        std::vector<int64_t>{2});
}

TEST_CASE("losses, distances and moments of rows") {
  const Inputs inputs = {numbers({50, 40}, 1), numbers({50, 40}, 2)};
  const auto check_gradient = [&](const std::function<Tensor(const Inputs&)>& f) {
    const auto values = [&](const Inputs& in) { return Inputs{f(in)}; };
    CHECK(check_blocks(values, inputs) == 1);
    const auto of_sum = [&](const Inputs& in) {
      return gradients(in, [&] { return ops::sum(ops::square(f(in))); });
    };
    CHECK(check_blocks(of_sum, inputs) >= 1);
  };
  check_gradient([](const Inputs& in) { return ops::normalize(in[0]) * in[1]; });
  check_gradient([](const Inputs& in) { return ops::var(in[0] * in[1], 1); });
  check_gradient([](const Inputs& in) { return ops::norm(in[0] - in[1], {.axis = 1}); });
  check_gradient([](const Inputs& in) {
    return ops::sum(ops::exp(in[0]) / ops::sum(ops::exp(in[0]), 1, true) * in[1], 1);
  });
  check_gradient([](const Inputs& in) { return ops::logsumexp(in[0] * in[1], 1); });
}

TEST_CASE("groups of channels, whose reduced axes aren't the last ones") {
  const Inputs inputs = {numbers({9, 30, 4, 6}, 1), numbers({4, 6}, 2)};
  const auto normalize = [](const Inputs& in) {
    const Tensor mean = ops::mean(in[0], {1, 3}, true);
    const Tensor variance = ops::mean(ops::square(in[0] - mean), {1, 3}, true);
    return (in[0] - mean) * ops::rsqrt(variance + 1e-3) * in[1];
  };
  // A row is 5760 bytes long: too long for blocks of 512.
  CHECK(check_blocks([&](const Inputs& in) { return Inputs{normalize(in)}; }, inputs) == 0);
  const Inputs smaller = {numbers({200, 3, 4, 6}, 1), numbers({4, 6}, 2)};
  CHECK(check_blocks([&](const Inputs& in) { return Inputs{normalize(in)}; }, smaller) == 1);
}

TEST_CASE("16-bit arrays, whose sums are of float32") {
  const Inputs inputs = {numbers({60, 32}, 1, DType::BFloat16), numbers({32}, 2, DType::BFloat16)};
  CHECK(check_blocks(
            [](const Inputs& in) {
              const Tensor x = ops::cast(in[0], DType::Float32);
              const Tensor mean = ops::mean(x, 1, true);
              return Inputs{ops::cast((x - mean) * in[1], DType::BFloat16), mean};
            },
            inputs, 1e-2) == 1);
}

TEST_CASE("arrays that stay in caches, batches, and reductions of the batch are left as they are") {
  const Inputs large = {numbers({64, 64}, 1)};
  const auto groups = [&](const Body& body, const RowBlockChoices& choices) {
    return count_blocks(block_rows(traced(body, large), choices));
  };
  const auto centered = [](int64_t axis) {
    return [axis](const Inputs& in) { return Inputs{in[0] - ops::mean(in[0], axis, true)}; };
  };
  CHECK(groups(centered(1), kSmall) == 1);
  CHECK(groups(centered(0), kSmall) == 0);
  CHECK(groups(centered(1), {}) == 0);
  CHECK(groups([](const Inputs& in) { return Inputs{ops::sum(in[0], 1)}; }, kSmall) == 0);
}

TEST_CASE("a result takes an operand's place where nothing reads that afterwards") {
  const Inputs inputs = {numbers({50, 40}, 1), numbers({50, 40}, 2)};
  const auto node_of = [&](const Body& body) {
    const Graph blocked = block_rows(traced(body, inputs), kSmall);
    INFO(blocked.to_string());
    const auto found =
        std::ranges::find_if(blocked.nodes, [](const Node& node) { return node.is("row_blocks"); });
    REQUIRE(found != blocked.nodes.end());
    return *found;
  };
  const std::vector<TensorType> types = {type_of(inputs[0]), type_of(inputs[1])};
  const auto kernel_of = [&](const Node& node, size_t results) {
    const std::vector<TensorType> out(results, types[0]);
    return kernel_table().make({*node.op, node.attributes, types, out});
  };
  // in[1] is read in the end only, with the result; in[0] before that, too.
  const Body centered = [](const Inputs& in) {
    return Inputs{in[1] - ops::mean(in[0], 1, true) * ops::tanh(in[0])};
  };
  const Node node = node_of(centered);
  const auto kernel = kernel_of(node, 1);
  CHECK(kernel->may_alias() == Aliases{{0, 0}, {1, 0}});
  for (const size_t place : {size_t{0}, size_t{1}}) {
    Inputs copies = {inputs[0] + 0.0, inputs[1] + 0.0};
    const void* in[] = {copies[0].raw(), copies[1].raw()};
    void* out[] = {copies[place].mutable_raw()};
    const Tensor expected = run(traced(centered, inputs), inputs)[0];
    Tensor scratch = Tensor::empty({static_cast<int64_t>(kernel->scratch_bytes())}, DType::UInt8);
    kernel->run({.in = in, .out = out, .scratch = scratch.mutable_raw()});
    check_close({copies[place]}, {expected}, 1e-13);
  }
  // Each is read after the first of both results.
  const Node both = node_of([](const Inputs& in) {
    const Tensor first = in[0] - ops::mean(in[1], 1, true);
    const Tensor sum = ops::sum(first * in[1], 1, true);
    return Inputs{first, in[1] * sum + in[0]};
  });
  const auto of_both = kernel_of(both, 2);
  CHECK(std::ranges::none_of(of_both->may_alias(),
                             [](const auto& pair) { return pair.second == 0; }));
}

// ---- random graphs ----

// Ops over arrays, values of rows, vectors and scalars; all numbers stay within a few units.
Inputs random_results(const Inputs& in, uint64_t seed) {
  PhiloxEngine engine(seed);
  Inputs arrays = {in[0], in[1]}, rows = {in[2]}, others = {in[3], Tensor(0.5)};
  const auto pick = [&](const Inputs& from) { return from[engine.below(from.size())]; };
  const auto any = [&] {
    const auto kind = engine.below(6);
    return kind < 3 ? pick(arrays) : kind < 5 ? pick(rows) : pick(others);
  };
  const auto combined = [&](const Tensor& a, const Tensor& b) {
    switch (engine.below(5)) {
      case 0:
        return (a + b) * 0.5;
      case 1:
        return a - b * 0.25;
      case 2:
        return ops::maximum(a, b);
      case 3:
        return ops::where(a > b, b, a * 0.75);
      default:
        return ops::tanh(a * b);
    }
  };
  const auto reduced = [&](const Tensor& x) {
    return engine.below(2) == 0 ? ops::mean(x, -1, true) : ops::max(x, -1, true) * 0.5;
  };
  for (uint64_t i = 0, count = 4 + engine.below(24); i < count; ++i) {
    switch (engine.below(4)) {
      case 0:
        rows.push_back(reduced(pick(arrays)));
        break;
      case 1:
        rows.push_back(combined(pick(rows), engine.below(3) == 0 ? pick(others) : pick(rows)));
        if (rows.back().shape() != in[2].shape()) rows.pop_back();
        break;
      default:
        arrays.push_back(combined(pick(arrays), any()));
        break;
    }
  }
  Inputs results = {arrays.back(), rows.back(), ops::sum(pick(arrays), 0)};
  if (engine.below(2) == 0) results.push_back(pick(arrays) * 2);
  if (engine.below(3) == 0) results.push_back(ops::sum(pick(arrays)));
  if (engine.below(3) == 0)
    results.push_back(ops::matmul(pick(arrays), ops::ones({in[3].dim(0), 2}, DType::Float64)));
  return results;
}

TEST_CASE("random graphs have the results of their ops") {
  const Shape shapes[] = {{40, 16}, {33, 20}, {16, 16}, {5, 9, 16}, {2, 2, 30, 12}, {70, 3}};
  size_t groups = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    const Shape& shape = shapes[seed % std::size(shapes)];
    Shape column = shape;
    column[shape.rank() - 1] = 1;
    groups += check_blocks([&](const Inputs& in) { return random_results(in, seed); },
                           {numbers(shape, 4 * seed), numbers(shape, 4 * seed + 1),
                            numbers(column, 4 * seed + 2), numbers({shape.back()}, 4 * seed + 3)});
  }
  CHECK(groups > 200);
}

TEST_CASE("reductions of a whole computed array go by rows first") {
  for (const Shape& shape :
       {Shape{64, 24}, {37, 51}, {30, 2, 3, 8}, {3, 7, 5, 24}, {1, 900}, {700, 1}}) {
    CAPTURE(fmt::format("{}", shape));
    const Inputs inputs = {numbers(shape, 1)};
    // Rows of at most a block, and not of a few elements.
    const int64_t row = shape.num_elements() / shape[0];
    const bool has_rows = shape[0] > 1 && row >= 8 && row * 8 <= kSmall.block_bytes;
    for (const bool keepdims : {false, true}) {
      const auto sum = [&](const Inputs& in) {
        return Inputs{ops::sum(ops::square(in[0]), {}, keepdims)};
      };
      const auto extreme = [&](const Inputs& in) {
        return Inputs{ops::max(ops::abs(in[0]), {}, keepdims)};
      };
      CHECK(check_blocks(sum, inputs) == (has_rows ? 1 : 0));
      CHECK(check_blocks(extreme, inputs, 0) == (has_rows ? 1 : 0));
    }
  }
  // Sums of columns stay with what they add up; an array that is given is reduced at once.
  const Inputs inputs = {numbers({8, 9, 24}, 2)};
  const std::vector<int64_t> leading = {0, 1};
  CHECK(
      check_blocks([&](const Inputs& in) { return Inputs{ops::sum(ops::square(in[0]), leading)}; },
                   inputs) == 0);
  CHECK(check_blocks([](const Inputs& in) { return Inputs{ops::sum(in[0])}; }, inputs) == 0);
}

}  // namespace
}  // namespace cornu::cpu
