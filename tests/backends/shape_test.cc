// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>

#include <array>

#include "tests/backends/kernel_run.h"

namespace cornu::cpu::testing {
namespace {

const KernelRunner& kernels() {
  static const KernelRunner runner(register_shape_kernels);
  return runner;
}

using Ints = std::vector<int64_t>;
using Indexer = std::function<int64_t(const Ints&)>;  // the input element of an output index

constexpr std::array kOfEachSize = {DType::UInt8, DType::BFloat16, DType::Float32, DType::Float64};

Ints unravel(int64_t index, const Shape& shape) {
  Ints result(static_cast<size_t>(shape.rank()));
  for (size_t i = result.size(); i-- > 0;) {
    const int64_t size = shape[static_cast<int64_t>(i)];
    result[i] = index % size;
    index /= size;
  }
  return result;
}

int64_t ravel(const Ints& index, const Shape& shape) {
  int64_t result = 0;
  for (size_t i = 0; i < index.size(); ++i) {
    result = result * shape[static_cast<int64_t>(i)] + index[i];
  }
  return result;
}

// Checks, for all element sizes, that each output element is the input element that `from` returns.
void check_moves(const std::string& op, const Shape& in, const Attributes& attributes,
                 const Shape& out, const Indexer& from) {
  CAPTURE(text(op));
  CAPTURE(text(in));
  CAPTURE(text(out));
  for (DType dtype : kOfEachSize) {
    CAPTURE(text(dtype));
    const Tensor x = random_tensor(in, dtype, 1);
    const auto values = values_of(x);
    std::vector<double> expected;
    for (int64_t i = 0; i < out.num_elements(); ++i) {
      expected.push_back(values[static_cast<size_t>(from(unravel(i, out)))]);
    }
    check_close(kernels().run(op, {x}, attributes, {{dtype, out}})[0], expected, 0);
  }
}

TEST_CASE("reshape keeps the elements") {
  check_moves("reshape", {3, 4}, {{"shape", Ints{2, 6}}}, {2, 6},
              [](const Ints& i) { return i[0] * 6 + i[1]; });
  check_moves("reshape", {0, 4}, {{"shape", Ints{4, 0}}}, {4, 0}, {});
}

void check_transpose(const Shape& in, const Ints& permutation) {
  Shape out;
  for (int64_t axis : permutation) out.push_back(in[axis]);
  check_moves("transpose", in, {{"permutation", permutation}}, out, [&](const Ints& index) {
    Ints original(index.size());
    for (size_t i = 0; i < index.size(); ++i) {
      original[static_cast<size_t>(permutation[i])] = index[i];
    }
    return ravel(original, in);
  });
}

TEST_CASE("transpose permutes axes") {
  check_transpose({5, 7}, {1, 0});
  check_transpose({64, 48}, {1, 0});
  check_transpose({67, 35}, {1, 0});
  check_transpose({1, 9}, {1, 0});
  check_transpose({3, 4, 5}, {0, 2, 1});
  check_transpose({3, 40, 21}, {0, 2, 1});
  check_transpose({3, 4, 5}, {2, 1, 0});
  check_transpose({19, 4, 33}, {2, 1, 0});
  check_transpose({3, 4, 5}, {1, 0, 2});
  check_transpose({2, 3, 4, 5}, {0, 2, 1, 3});
  check_transpose({2, 3, 4, 5}, {3, 1, 0, 2});
  check_transpose({2, 3, 4, 5}, {1, 2, 3, 0});
  check_transpose({2, 0, 4}, {2, 0, 1});
  check_transpose({}, {});
}

TEST_CASE("slice takes a part, with steps") {
  auto check_slice = [](const Shape& in, const Ints& begin, const Ints& size, const Ints& strides) {
    check_moves("slice", in, {{"begin", begin}, {"size", size}, {"strides", strides}}, Shape(size),
                [&](const Ints& index) {
                  Ints original;
                  for (size_t i = 0; i < index.size(); ++i) {
                    original.push_back(begin[i] + index[i] * strides[i]);
                  }
                  return ravel(original, in);
                });
  };
  check_slice({9}, {2}, {5}, {1});
  check_slice({9}, {1}, {3}, {3});
  check_slice({5, 6, 7}, {1, 2, 3}, {3, 2, 4}, {1, 1, 1});
  check_slice({5, 6, 7}, {0, 1, 0}, {3, 2, 7}, {2, 3, 1});
  check_slice({5, 6, 7}, {0, 0, 1}, {5, 6, 3}, {1, 1, 2});
  check_slice({5, 6}, {2, 0}, {0, 6}, {1, 1});
}

TEST_CASE("reverse") {
  for (const Ints& axes : {Ints{0}, Ints{1}, Ints{2}, Ints{0, 2}, Ints{0, 1, 2}}) {
    const Shape shape = {3, 4, 5};
    check_moves("reverse", shape, {{"axes", axes}}, shape, [&](Ints index) {
      for (int64_t axis : axes) {
        int64_t& i = index[static_cast<size_t>(axis)];
        i = shape[axis] - 1 - i;
      }
      return ravel(index, shape);
    });
  }
}

TEST_CASE("rows of any length, short ones included") {
  for (int64_t length = 1; length <= 70; ++length) {
    const Shape shape = {2, 7, length};
    const auto mirrored = [&](Ints index) {
      index[1] = 6 - index[1];
      return ravel(index, shape);
    };
    check_moves("reverse", shape, {{"axes", Ints{1}}}, shape, mirrored);
    const auto backwards = [&](Ints index) {
      index[2] = length - 1 - index[2];
      return ravel(index, shape);
    };
    check_moves("reverse", shape, {{"axes", Ints{2}}}, shape, backwards);
    check_moves("broadcast_to", {2, 7, 1}, {{"shape", shape.dims()}}, shape,
                [](const Ints& index) { return index[0] * 7 + index[1]; });
  }
  const Shape many = {40'000, 3};  // on several threads
  check_moves("reverse", many, {{"axes", Ints{0}}}, many,
              [](const Ints& index) { return (39'999 - index[0]) * 3 + index[1]; });
}

TEST_CASE("broadcast_to repeats") {
  auto check_broadcast = [](const Shape& in, const Shape& out) {
    check_moves("broadcast_to", in, {{"shape", out.dims()}}, out, [&](Ints index) {
      index.erase(index.begin(), index.begin() + (out.rank() - in.rank()));
      for (size_t i = 0; i < index.size(); ++i) {
        if (in[static_cast<int64_t>(i)] == 1) index[i] = 0;
      }
      return ravel(index, in);
    });
  };
  check_broadcast({}, {3, 4});
  check_broadcast({4}, {3, 4});
  check_broadcast({3, 1}, {3, 4});
  check_broadcast({1, 5}, {2, 3, 5});
  check_broadcast({2, 1, 3, 1}, {2, 4, 3, 5});
  check_broadcast({1}, {0});
  for (const int64_t width : {2, 9, 33, 100, 5000}) {
    check_broadcast({5, 1}, {5, width});
    check_broadcast({3, 1, 5, 1}, {3, 2, 5, width});
    check_broadcast({3, 1, 5}, {3, width, 5});
  }
}

TEST_CASE("concatenate joins along an axis") {
  for (int64_t axis = 0; axis < 3; ++axis) {
    for (DType dtype : kOfEachSize) {
      CAPTURE(text(axis));
      CAPTURE(text(dtype));
      std::vector<Tensor> inputs;
      Shape out = {2, 3, 4};
      out[axis] = 0;
      for (int64_t size : {2, 0, 3, 1}) {
        Shape shape = {2, 3, 4};
        shape[axis] = size;
        out[axis] += size;
        inputs.push_back(random_tensor(shape, dtype, static_cast<uint64_t>(size)));
      }
      std::vector<double> expected;
      for (int64_t i = 0; i < out.num_elements(); ++i) {
        Ints index = unravel(i, out);
        int64_t& at = index[static_cast<size_t>(axis)];
        size_t part = 0;
        while (at >= inputs[part].shape()[axis]) at -= inputs[part++].shape()[axis];
        expected.push_back(
            values_of(inputs[part])[static_cast<size_t>(ravel(index, inputs[part].shape()))]);
      }
      check_close(kernels().run("concatenate", inputs, {{"axis", axis}}, {{dtype, out}})[0],
                  expected, 0);
    }
  }
}

TEST_CASE("concatenate joins many short rows, and few long ones") {
  const auto check_joined = [](int64_t rows, const std::vector<int64_t>& sizes) {
    std::vector<Tensor> inputs;
    int64_t total = 0;
    for (const int64_t size : sizes) {
      inputs.push_back(random_tensor({rows, size}, DType::Float32, static_cast<uint64_t>(size)));
      total += size;
    }
    const Tensor joined = kernels().run("concatenate", inputs, {{"axis", int64_t{1}}},
                                        {{DType::Float32, {rows, total}}})[0];
    const float* at = joined.data<float>().data();
    for (int64_t row = 0; row < rows; ++row) {
      for (const Tensor& input : inputs) {
        const int64_t size = input.dim(1);
        const auto part = input.data<float>().subspan(size_t(row * size), size_t(size));
        REQUIRE(std::equal(part.begin(), part.end(), at));
        at += size;
      }
    }
  };
  check_joined(30'011, {3, 5, 1});
  check_joined(30'011, {1, 1});
  check_joined(1, {1, 1});
  check_joined(5'003, {16, 64});
  check_joined(3, {200'000, 100'001});
}

TEST_CASE("pad puts a value around and between the elements") {
  struct Case {
    Shape in;
    Ints low, high, interior;
  };
  const std::vector<Case> cases = {{{4}, {2}, {1}, {0}},
                                   {{3, 4}, {1, 0}, {0, 2}, {0, 0}},
                                   {{3, 4}, {0, 1}, {2, 0}, {2, 1}},
                                   {{2, 3, 2}, {1, 1, 1}, {1, 1, 1}, {0, 3, 1}},
                                   {{0, 3}, {1, 1}, {1, 1}, {0, 0}}};
  for (const Case& c : cases) {
    for (DType dtype : kOfEachSize) {
      CAPTURE(text(c.in));
      CAPTURE(text(dtype));
      Shape out = c.in;
      for (size_t i = 0; i < c.low.size(); ++i) {
        int64_t& size = out[static_cast<int64_t>(i)];
        size += std::max<int64_t>(0, size - 1) * c.interior[i] + c.low[i] + c.high[i];
      }
      const Tensor x = random_tensor(c.in, dtype, 1);
      const Tensor value = tensor_of({7}, {}, dtype);
      std::vector<double> expected(static_cast<size_t>(out.num_elements()), 7);
      for (int64_t i = 0; i < c.in.num_elements(); ++i) {
        Ints index = unravel(i, c.in);
        for (size_t k = 0; k < index.size(); ++k) {
          index[k] = index[k] * (c.interior[k] + 1) + c.low[k];
        }
        expected[static_cast<size_t>(ravel(index, out))] = values_of(x)[static_cast<size_t>(i)];
      }
      const Attributes attributes = {{"low", c.low}, {"high", c.high}, {"interior", c.interior}};
      check_close(kernels().run("pad", {x, value}, attributes, {{dtype, out}})[0], expected, 0);
    }
  }
}

}  // namespace
}  // namespace cornu::cpu::testing
