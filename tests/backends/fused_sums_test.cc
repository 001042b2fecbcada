// SPDX-License-Identifier: Apache-2.0
// Sums that "fused" computes in its pass over memory.
#include <doctest/doctest.h>

#include "tests/backends/elementwise_graphs.h"
#include "tests/backends/instruction_sets.h"

namespace cornu::cpu::testing {
namespace {

struct Body {
  BodyBuilder builder;
  std::vector<Tensor> inputs;
};

// What a body has: the summed arrays as outputs as well; sums of everything; numbers that are
// constant along rows.
struct Kind {
  bool arrays = false;
  bool total = false;
  bool by_row = false;
};

// relu(x * f + s), its sums, the sums of its products with x, and the sums of x alone.
Body make_body(const Shape& shape, DType dtype, const Kind& kind) {
  Body b;
  const Shape vector = {shape.back()};
  Shape column = shape;
  column[shape.rank() - 1] = 1;
  const ValueId x = b.builder.input({dtype, shape});
  const ValueId f = b.builder.input({dtype, vector});
  const Shape shift = kind.by_row ? column : vector;
  const ValueId s = b.builder.input({dtype, shift});
  const ValueId y =
      b.builder.op("relu", {b.builder.op("add", {b.builder.op("multiply", {x, f}), s})});
  const ValueId product = b.builder.op("multiply", {y, x});
  if (kind.arrays) b.builder.output(y);
  b.builder.output(b.builder.sum(y));
  b.builder.output(b.builder.sum(product, kind.total));
  if (kind.arrays) b.builder.output(product);
  b.builder.output(b.builder.sum(x, kind.total));
  b.inputs = {random_tensor(shape, dtype, 1), random_tensor(vector, dtype, 2),
              random_tensor(shift, dtype, 3)};
  return b;
}

std::vector<double> sums_of(const Tensor& array, int64_t columns) {
  std::vector<double> sums(static_cast<size_t>(columns));
  const std::vector<double> values = values_of(array);
  for (size_t i = 0; i < values.size(); ++i) sums[i % sums.size()] += values[i];
  return sums;
}

// Compares each output with the result of its ops run one by one.
void check_outputs(const Body& b, const std::vector<Tensor>& results, double tolerance) {
  const Graph& body = b.builder.body();
  for (size_t i = 0; i < results.size(); ++i) {
    CAPTURE(i);
    const ValueId id = body.outputs[i];
    ValueId of = id;
    for (const Node& node : body.nodes) {
      if (node.outputs[0] == id && node.is("reduce_sum")) of = node.inputs[0];
    }
    Graph plain = body;
    std::erase_if(plain.nodes, [](const Node& node) { return node.is("reduce_sum"); });
    plain.outputs = {of};
    const Tensor array = run_one_by_one(plain, b.inputs)[0];
    if (of == id) {
      check_same_bits({results[i]}, {array});
      continue;
    }
    const std::vector<double> got = values_of(results[i]);
    const std::vector<double> expected = sums_of(array, results[i].num_elements());
    for (size_t k = 0; k < expected.size(); ++k) {
      const double off = std::abs(got[k] - expected[k]);
      if (off > tolerance * (1 + std::abs(expected[k]))) FAIL_CHECK("column " << k << ": " << off);
    }
  }
}

void check_sums(const Shape& shape, DType dtype, const Kind& kind) {
  CAPTURE(text(shape));
  CAPTURE(kind.arrays);
  CAPTURE(kind.total);
  CAPTURE(kind.by_row);
  const Body b = make_body(shape, dtype, kind);
  std::vector<Tensor> first;
  for (int threads = 1; threads <= 3; ++threads) {
    const ComputeThreadsScope scope(threads);
    const auto results = elementwise_kernels().run("fused", b.inputs, b.builder.attributes(),
                                                   b.builder.output_types());
    if (first.empty()) first = results;
    check_same_bits(results, first);  // at any number of threads
  }
  check_outputs(b, first, dtype == DType::Float32 ? 1e-4 : 1e-11);
}

TEST_CASE("sums of columns and of everything, of all shapes") {
  const std::vector<Shape> shapes = {
      {2, 1},     {5, 3},      {100, 10},       {4097, 1},     {64, 96},   {1000, 144},
      {129, 255}, {3, 600},    {300, 576},      {90, 960},     {50, 2048}, {2, 5000},
      {13, 513},  {700, 1025}, {4, 7, 5, 16},   {1, 9, 1, 24}, {3, 1, 17}, {2, 3, 1},
      {9001, 3},  {31, 7, 11}, {1, 1, 5, 8192}, {50, 128},     {99, 256}};
  for_each_instruction_set([&] {
    for (const Shape& shape : shapes) {
      for (int kinds = 0; kinds < 8; ++kinds) {
        const Kind kind{(kinds & 1) != 0, (kinds & 2) != 0, (kinds & 4) != 0};
        check_sums(shape, DType::Float32, kind);
        check_sums(shape, DType::Float64, kind);
      }
    }
  });
}

TEST_CASE("a sum of many equal numbers is exact") {
  BodyBuilder b;
  const ValueId x = b.input({DType::Float32, {1 << 16, 16}});
  b.output(b.sum(b.op("add", {x, x})));
  const Tensor ones = elementwise_kernels().run(
      "abs", {tensor_of(std::vector<double>(1 << 20, 1), {1 << 16, 16}, DType::Float32)}, {},
      {{DType::Float32, {1 << 16, 16}}})[0];
  const auto sums = elementwise_kernels().run("fused", {ones}, b.attributes(), b.output_types());
  for (const double sum : values_of(sums[0])) CHECK(sum == 1 << 17);
}

TEST_CASE("no kernel serves sums of other shapes or dtypes") {
  BodyBuilder integers;
  const ValueId i = integers.input({DType::Int32, {4, 3}});
  integers.output(integers.sum(integers.op("abs", {i})));
  CHECK(elementwise_kernels().make("fused", {random_tensor({4, 3}, DType::Int32, 1)},
                                   integers.attributes(), integers.output_types()) == nullptr);
  BodyBuilder other;
  const ValueId x = other.input({DType::Float32, {4, 3}});
  const ValueId v = other.input({DType::Float32, {5, 3}});
  other.output(other.op("abs", {x}));
  other.output(other.sum(other.op("abs", {v})));
  CHECK(elementwise_kernels().make(
            "fused",
            {random_tensor({4, 3}, DType::Float32, 1), random_tensor({5, 3}, DType::Float32, 2)},
            other.attributes(), other.output_types()) == nullptr);
}

}  // namespace
}  // namespace cornu::cpu::testing
