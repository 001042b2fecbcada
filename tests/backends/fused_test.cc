// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "tests/backends/elementwise_graphs.h"
#include "tests/backends/instruction_sets.h"

namespace cornu::cpu::testing {
namespace {

constexpr DType kF32 = DType::Float32;

Tensor scalar(float value) { return Tensor::scalar(value); }

// Adam's update. Inputs: parameter, both moments, gradient, step size.
BodyBuilder adam(const Shape& shape, DType dtype = kF32) {
  BodyBuilder b;
  const TensorType type{dtype, shape};
  const ValueId p = b.input(type), m = b.input(type), v = b.input(type), g = b.input(type);
  const ValueId rate = b.input({dtype, {}});
  const auto number = [&](double x) { return b.constant(tensor_of({x}, {}, dtype)); };
  const ValueId m2 =
      b.op("add", {b.op("multiply", {number(0.9), m}), b.op("multiply", {number(0.1), g})});
  const ValueId v2 = b.op("add", {b.op("multiply", {number(0.999), v}),
                                  b.op("multiply", {number(0.001), b.op("square", {g})})});
  const ValueId step = b.op(
      "divide", {b.op("multiply", {rate, m2}), b.op("add", {b.op("sqrt", {v2}), number(1e-7)})});
  for (const ValueId id : {b.op("subtract", {p, step}), m2, v2}) b.output(id);
  return b;
}

std::vector<Tensor> adam_inputs(const Shape& shape, DType dtype = kF32) {
  const Tensor v = elementwise_kernels().run("square", {random_tensor(shape, dtype, 3)}, {},
                                             {{dtype, shape}})[0];
  return {random_tensor(shape, dtype, 1), random_tensor(shape, dtype, 2), v,
          random_tensor(shape, dtype, 4), tensor_of({0.001}, {}, dtype)};
}

TEST_CASE("an optimizer's update has the bits of its ops") {
  for (const DType dtype : {kF32, DType::Float64}) {
    for (const int64_t size : {0, 1, 7, 64, 127, 128, 129, 1000, 4096, 5003, 50021}) {
      CAPTURE(size);
      check_fused(adam({size}, dtype), adam_inputs({size}, dtype));
    }
  }
}

// Runs the kernel with the outputs of `pairs` written over their inputs.
std::vector<Tensor> run_in_place(const BodyBuilder& b, const std::vector<Tensor>& inputs,
                                 const std::vector<std::pair<int, int>>& pairs) {
  const std::vector<TensorType> types = b.output_types();
  auto kernel = elementwise_kernels().make("fused", inputs, b.attributes(), types);
  std::vector<Tensor> in, out;
  for (const Tensor& input : inputs) {
    in.push_back(Tensor::empty(input.shape(), input.dtype()));
    std::memcpy(in.back().mutable_raw(), input.raw(), input.bytes());
  }
  for (const TensorType& type : types) out.push_back(Tensor::empty(type.shape, type.dtype));
  for (const auto& [i, o] : pairs) out[size_t(o)] = in[size_t(i)];
  std::vector<const void*> in_data;
  std::vector<void*> out_data;
  for (Tensor& tensor : in) in_data.push_back(tensor.raw());
  for (Tensor& tensor : out) out_data.push_back(tensor.mutable_raw());
  Tensor scratch = Tensor::empty({static_cast<int64_t>(kernel->scratch_bytes())}, DType::UInt8);
  kernel->run({.in = in_data.data(), .out = out_data.data(), .scratch = scratch.mutable_raw()});
  return out;
}

std::vector<std::pair<int, int>> aliases(const BodyBuilder& b, const std::vector<Tensor>& inputs) {
  KernelTable table;
  register_elementwise_kernels(table);
  const OpDef op{.name = "fused", .infer = {}, .vjp = {}, .traits = {}};
  std::vector<TensorType> in;
  for (const Tensor& input : inputs) in.push_back(type_of(input));
  const std::vector<TensorType> out = b.output_types();
  const Attributes attributes = b.attributes();
  return table.make({op, attributes, in, out})->may_alias();
}

// Checks every pair by itself, then as many as fit together, taken from the front and from the
// back.
void check_in_place(const BodyBuilder& b, const std::vector<Tensor>& inputs) {
  const auto pairs = aliases(b, inputs);
  const std::vector<Tensor> expected = run_one_by_one(b.body(), inputs);
  for (const auto& pair : pairs) check_same_bits(run_in_place(b, inputs, {pair}), expected);
  for (const bool backwards : {false, true}) {
    std::vector<std::pair<int, int>> chosen;
    for (size_t k = 0; k < pairs.size(); ++k) {
      const auto& pair = pairs[backwards ? pairs.size() - 1 - k : k];
      if (std::none_of(chosen.begin(), chosen.end(), [&](const auto& other) {
            return other.first == pair.first || other.second == pair.second;
          })) {
        chosen.push_back(pair);
      }
    }
    check_same_bits(run_in_place(b, inputs, chosen), expected);
  }
}

TEST_CASE("an optimizer's update may be done in place") {
  for (const int64_t size : {5, 128, 5003}) {
    const auto pairs = aliases(adam({size}), adam_inputs({size}));
    for (int i = 0; i < 3; ++i) {
      CHECK(std::count(pairs.begin(), pairs.end(), std::make_pair(i, i)) == 1);
    }
    check_in_place(adam({size}), adam_inputs({size}));
  }
}

TEST_CASE("an input that is needed after an output was made isn't overwritten by it") {
  BodyBuilder b;
  const ValueId x = b.input({kF32, {300}}), y = b.input({kF32, {300}});
  const ValueId sum = b.op("add", {x, y});
  b.output(sum);
  b.output(b.op("multiply", {b.op("tanh", {sum}), x}));
  const std::vector<Tensor> inputs = {random_tensor({300}, kF32, 1), random_tensor({300}, kF32, 2)};
  const auto pairs = aliases(b, inputs);
  CHECK(std::count(pairs.begin(), pairs.end(), std::make_pair(0, 0)) == 0);
  CHECK(std::count(pairs.begin(), pairs.end(), std::make_pair(1, 0)) == 1);
  CHECK(std::count(pairs.begin(), pairs.end(), std::make_pair(0, 1)) == 1);
  check_fused(b, inputs);
  check_in_place(b, inputs);
}

TEST_CASE("outputs that are inputs, constants, the same value, or smaller than the others") {
  BodyBuilder b;
  const ValueId x = b.input({kF32, {50}});
  const ValueId doubled = b.op("add", {x, x});
  const ValueId same = b.op("identity", {x});
  for (const ValueId id : {x, doubled, doubled, same}) b.output(id);
  check_fused(b, {random_tensor({50}, kF32, 1)});
  check_in_place(b, {random_tensor({50}, kF32, 1)});

  BodyBuilder other;
  const ValueId row = other.input({kF32, {1, 5}});
  other.output(other.op("add", {other.input({kF32, {3, 5}}), row}));
  other.output(other.op("exp", {row}));
  const OpDef op{.name = "fused", .infer = {}, .vjp = {}, .traits = {}};
  CHECK(elementwise_kernels().make("fused",
                                   {random_tensor({1, 5}, kF32, 1), random_tensor({3, 5}, kF32, 1)},
                                   other.attributes(), other.output_types()) == nullptr);
}

TEST_CASE("masks, selects and casts") {
  for (const int64_t size : {3, 70, 2000}) {
    BodyBuilder b;
    const ValueId x = b.input({kF32, {size}}), dy = b.input({kF32, {size}});
    const ValueId keep = b.input({DType::Bool, {size}});
    const ValueId zero = b.constant(scalar(0));
    const ValueId positive = b.op("greater", {x, zero});
    b.output(b.op("select", {positive, dy, zero}));                           // relu's gradient
    b.output(b.op("multiply", {b.cast(b.op("less", {zero, x}), kF32), dy}));  // the same
    b.output(b.op("logical_and", {keep, b.op("logical_not", {positive})}));
    b.output(b.op("select", {keep, b.op("multiply", {x, b.constant(scalar(2))}), zero}));
    b.output(b.op("select", {b.op("equal", {x, dy}), b.op("maximum", {x, dy}), x}));
    b.output(b.cast(b.op("floor", {b.op("multiply", {x, b.constant(scalar(100))})}), DType::Int32));
    b.output(b.cast(b.op("not_equal", {x, dy}), DType::Float64));
    const std::vector<Tensor> inputs = {random_tensor({size}, kF32, 1),
                                        random_tensor({size}, kF32, 2),
                                        random_tensor({size}, DType::Bool, 3)};
    check_fused(b, inputs);
    check_in_place(b, inputs);
  }
}

TEST_CASE("a maximum or minimum of zeros has the sign of its op, on either side of a chain") {
  const Shape shape = {300};
  std::vector<double> zeros, others;
  for (int i = 0; i < 300; ++i) {
    zeros.push_back(i % 2 == 0 ? 0.0 : -0.0);
    others.push_back(i % 3 == 0 ? 0.0 : -0.0);
  }
  for (const DType dtype : {kF32, DType::Float64}) {
    for (const char* op : {"maximum", "minimum"}) {
      for (const bool first : {false, true}) {
        BodyBuilder b;
        const ValueId x = b.input({dtype, shape}), y = b.input({dtype, shape});
        const ValueId negative = b.op("negate", {x});
        const ValueId extreme = first ? b.op(op, {negative, y}) : b.op(op, {y, negative});
        b.output(b.op("negate", {extreme}));
        check_fused(b, {tensor_of(zeros, shape, dtype), tensor_of(others, shape, dtype)});
      }
    }
  }
}

TEST_CASE("comparisons of what relu makes, and the gradient of relu6") {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const DType dtype : {kF32, DType::Float64}) {
    const auto number = [&](double value) { return tensor_of({value}, {}, dtype); };
    const Tensor x =
        tensor_of({-inf, -7, -6, -1, -0.0, 0, 1e-30, 3, 5.5, 6, 6.5, inf, nan, -nan, 0.5, -0.5, 2},
                  {17}, dtype);
    for (const double limit : {-1.0, 0.0, 0.5, 6.0}) {
      BodyBuilder b;
      const ValueId in = b.input({dtype, {17}}), dy = b.input({dtype, {17}});
      const ValueId relu = b.op("relu", {in});
      const ValueId bound = b.constant(number(limit)), zero = b.constant(number(0));
      for (const char* compare :
           {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"}) {
        b.output(b.op(compare, {relu, bound}));
        b.output(b.op("select", {b.op(compare, {bound, relu}), dy, in}));
        const ValueId kept = b.op("select", {b.op(compare, {relu, bound}), dy, zero});
        b.output(b.op("select", {b.op("greater", {relu, zero}), kept, zero}));
        const ValueId also = b.op("select", {b.op(compare, {in, bound}), dy, zero});
        b.output(b.op("select", {b.op("greater", {in, zero}), also, bound}));
      }
      const std::vector<Tensor> inputs = {x, random_tensor({17}, dtype, 2)};
      check_fused(b, inputs);
      check_in_place(b, inputs);
    }
  }
}

TEST_CASE("a comparison behind relu that depends on less than relu's result, which leaves") {
  for (const auto& [rows, columns] : {std::pair{4, 5}, {32, 16}, {32, 17}, {100, 8}}) {
    BodyBuilder b;
    const ValueId p = b.input({kF32, {rows, 1}}), n = b.input({kF32, {columns}});
    const ValueId w = b.input({kF32, {columns}});
    const ValueId zero = b.constant(scalar(0));
    const ValueId y = b.op("relu", {b.op("subtract", {n, p})});
    const ValueId kept = b.op("select", {b.op("greater", {y, zero}), w, zero});
    b.output(y);
    b.output(b.op("exp", {kept}));
    check_fused(b, {random_tensor({rows, 1}, kF32, 1), random_tensor({columns}, kF32, 2),
                    random_tensor({columns}, kF32, 3)});
  }
}

TEST_CASE("selects of 16-bit values, which leave or are read") {
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    for (const int64_t size : {3, 70, 2000}) {
      BodyBuilder b;
      const ValueId x = b.input({dtype, {size}}), dy = b.input({dtype, {size}});
      const ValueId keep = b.input({DType::Bool, {size}});
      const ValueId zero = b.constant(tensor_of({0}, {}, dtype));
      b.output(b.op("select", {b.op("greater", {x, zero}), dy, zero}));
      b.output(b.op("select", {keep, zero, x}));
      b.output(b.op("select", {keep, dy, b.op("negate", {x})}));  // of values that aren't in memory
      const ValueId read = b.op("select", {b.op("less", {dy, zero}), x, zero});
      b.output(b.op("add", {read, dy}));
      b.output(read);
      const std::vector<Tensor> inputs = {random_tensor({size}, dtype, 1),
                                          random_tensor({size}, dtype, 2),
                                          random_tensor({size}, DType::Bool, 3)};
      check_fused(b, inputs);
      check_in_place(b, inputs);
    }
  }
}

TEST_CASE("images become floating-point numbers") {
  BodyBuilder b;
  const ValueId image = b.input({DType::UInt8, {4, 9, 9, 3}});
  const ValueId mean = b.constant(tensor_of({0.5, 0.4, 0.3}, {3}, kF32));
  const ValueId deviation = b.constant(tensor_of({0.2, 0.3, 0.1}, {3}, kF32));
  const ValueId scaled = b.op("divide", {b.cast(image, kF32), b.constant(scalar(255))});
  b.output(b.op("divide", {b.op("subtract", {scaled, mean}), deviation}));
  check_fused(b, {random_tensor({4, 9, 9, 3}, DType::UInt8, 1)});
}

TEST_CASE("16-bit values are rounded where they are cast or leave") {
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    BodyBuilder b;
    const ValueId x = b.input({dtype, {333}}), y = b.input({dtype, {333}});
    const ValueId product = b.op("multiply", {x, y});
    const ValueId sum = b.op("add", {product, x});
    b.output(sum);
    b.output(b.cast(b.cast(b.cast(x, kF32), dtype), kF32));
    b.output(b.op("less", {product, y}));
    const Tensor a = random_tensor({333}, dtype, 1), c = random_tensor({333}, dtype, 2);
    const auto results =
        elementwise_kernels().run("fused", {a, c}, b.attributes(), b.output_types());
    std::vector<double> sums, less;
    for (size_t i = 0; i < 333; ++i) {
      // A product of two such numbers is exact in float32.
      const double exact = values_of(a)[i] * values_of(c)[i];
      sums.push_back(static_cast<float>(exact + values_of(a)[i]));
      less.push_back(exact < values_of(c)[i]);
    }
    check_close(results[0], values_of(tensor_of(sums, {333}, dtype)), 0);
    check_close(results[1], values_of(a), 0);
    check_close(results[2], less, 0);
  }
}

TEST_CASE("small powers are done without pow") {
  BodyBuilder b;
  const ValueId x = b.input({kF32, {100}});
  for (const float exponent : {1.0f, 2.0f, -1.0f, 3.5f}) {
    b.output(b.op("power", {x, b.constant(scalar(exponent))}));
  }
  const Tensor in = random_tensor({100}, kF32, 5);
  const auto out = elementwise_kernels().run("fused", {in}, b.attributes(), b.output_types());
  const float exponents[] = {1, 2, -1, 3.5f};
  for (size_t k = 0; k < 4; ++k) {
    std::vector<double> expected;
    for (const double value : values_of(in)) {
      expected.push_back(std::pow(value, double{exponents[k]}));
    }
    check_close(out[k], expected, 1e-7);
  }
}

TEST_CASE("a body with an op that isn't elementwise has no kernel") {
  BodyBuilder b;
  b.output(b.op("reverse", {b.input({kF32, {4}})}));
  CHECK(elementwise_kernels().make("fused", {random_tensor({4}, kF32, 1)}, b.attributes(),
                                   b.output_types()) == nullptr);
}

// ---- random bodies ----

struct RandomBody {
  BodyBuilder builder;
  std::vector<Tensor> inputs;
};

// Up to 40 ops over inputs of shapes that broadcast to `full`, with several outputs.
RandomBody random_body(const Shape& full, DType dtype, uint64_t seed) {
  PhiloxEngine engine(seed);
  RandomBody result;
  BodyBuilder& b = result.builder;
  std::vector<ValueId> numbers, masks;
  const auto pick = [&](const std::vector<ValueId>& from) {
    return from[engine.below(from.size())];
  };
  const auto add_input = [&](const Shape& shape) {
    numbers.push_back(b.input({dtype, shape}));
    result.inputs.push_back(random_tensor(shape, dtype, seed * 100 + numbers.size()));
  };
  add_input(full);
  for (uint64_t i = 0, count = 1 + engine.below(5); i < count; ++i) {
    Shape shape = full;
    for (int64_t axis = 0; axis < full.rank(); ++axis) {
      if (engine.below(3) == 0) shape[axis] = 1;
    }
    add_input(shape.slice(static_cast<int64_t>(engine.below(uint64_t(full.rank()) + 1))));
  }
  numbers.push_back(b.constant(tensor_of({0.75}, {}, dtype)));
  masks.push_back(b.op("less", {numbers[0], numbers.back()}));
  static const char* const kUnary[] = {"negate", "abs", "square", "relu", "tanh", "sign", "floor"};
  static const char* const kBinary[] = {"add",     "subtract", "multiply", "divide",
                                        "maximum", "minimum",  "multiply", "add"};
  static const char* const kCompare[] = {"less",    "less_equal",    "equal",
                                         "greater", "greater_equal", "not_equal"};
  for (uint64_t i = 0, count = 3 + engine.below(37); i < count; ++i) {
    switch (engine.below(6)) {
      case 0:
        numbers.push_back(b.op(kUnary[engine.below(7)], {pick(numbers)}));
        break;
      case 1:
        masks.push_back(b.op(kCompare[engine.below(6)], {pick(numbers), pick(numbers)}));
        break;
      case 2:
        numbers.push_back(b.op("select", {pick(masks), pick(numbers), pick(numbers)}));
        break;
      default:
        numbers.push_back(b.op(kBinary[engine.below(8)], {pick(numbers), pick(numbers)}));
        break;
    }
  }
  if (b.shape(numbers.back()) != full) numbers.push_back(b.op("add", {numbers.back(), numbers[0]}));
  b.output(numbers.back());
  for (int i = 0; i < 3; ++i) {
    const ValueId extra = engine.below(4) == 0 ? pick(masks) : pick(numbers);
    if (b.shape(extra) == full) b.output(extra);
  }
  return result;
}

TEST_CASE("random bodies have the bits of their ops, in place too") {
  const Shape shapes[] = {{1},          {13},      {3, 5},       {40, 10},    {7, 300},
                          {3, 700},     {2, 3, 4}, {5, 1, 6},    {4, 130, 3}, {2, 2, 520},
                          {3, 2, 4, 5}, {1, 2000}, {1500, 1, 2}, {6, 9, 33},  {45, 140},
                          {31, 256},    {0, 600}};
  uint64_t seed = 0;
  for_each_instruction_set([&] {
    for (const uint64_t last = seed + 100; seed < last; ++seed) {
      CAPTURE(seed);
      const DType dtype = seed % 2 == 0 ? kF32 : DType::Float64;
      const RandomBody body = random_body(shapes[seed / 2 % std::size(shapes)], dtype, seed);
      check_fused(body.builder, body.inputs);
      check_in_place(body.builder, body.inputs);
    }
  });
}

}  // namespace
}  // namespace cornu::cpu::testing
