// SPDX-License-Identifier: Apache-2.0
// Expected values are Keras's (tests/golden) or follow from the definition of a transform.
#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

#include "framework/core/threads.h"
#include "framework/ops/ops.h"
#include "tests/ops/op_harness.h"

namespace cornu::testing {
namespace {

using Inputs = std::vector<Tensor>;

constexpr GradientCheck kClose = {.tolerance = 2e-5};

void check_smooth(const OpFunction& f, const Inputs& inputs) {
  check_compiled(f, inputs, 1e-9);
  check_gradients(f, inputs, kClose);
}

template <class F>
std::string refusal(F f) {
  return message_of<InvalidArgument>(f);
}

// Both parts, combined differently.
Tensor joined(const ops::RealAndImaginary& x) {
  return ops::concatenate({ops::sin(x.first), x.second * x.first}, -1);
}

TEST_CASE("gradients of Fourier transforms") {
  for (const int64_t size : {1, 2, 5, 6}) {
    CAPTURE(size);
    const Inputs parts = {random_tensor({2, 3, size}, -1, 1, 1), random_tensor({2, 3, size})};
    check_smooth([](const Inputs& in) { return joined(ops::fft({in[0], in[1]})); }, parts);
    check_smooth([](const Inputs& in) { return joined(ops::fft2({in[0], in[1]})); }, parts);
    check_smooth([](const Inputs& in) { return joined(ops::ifft2({in[0], in[1]})); }, parts);
    check_smooth([](const Inputs& in) { return joined(ops::rfft(in[0])); }, {parts[0]});
    check_smooth([](const Inputs& in) { return ops::rfft(in[0]).second; }, {parts[0]});
    check_smooth([](const Inputs& in) { return ops::irfft({in[0], in[1]}, 7); }, parts);
  }
  const Tensor signal = random_tensor({2, 20}, -1, 1, 3);
  check_smooth([](const Inputs& in) { return joined(ops::stft(in[0], 5, 3, 8)); }, {signal});
  check_smooth(
      [](const Inputs& in) {
        return ops::istft({in[0], in[1]}, 5, 3, 8);
      },
      {random_tensor({2, 3, 5}, -1, 1, 4), random_tensor({2, 3, 5})});
  check_smooth([](const Inputs& in) { return ops::extract_sequences(in[0], 6, 2); }, {signal});
}

TEST_CASE("a transform of any length is its definition, whatever rows are beside it") {
  std::vector<int64_t> lengths = {49, 64, 96, 121, 210, 251, 509};
  for (int64_t length = 1; length <= 40; ++length) lengths.push_back(length);
  for (const int64_t n : lengths) {
    CAPTURE(n);
    const int64_t rows = n % 2 == 0 ? 35 : 3;
    const Tensor real = random_tensor({rows, n}, -1, 1, 1);
    const Tensor imaginary = random_tensor({rows, n}, -1, 1, 2);
    const auto found = ops::fft({real, imaginary});
    const Tensor places = ops::arange(int64_t{0}, n, int64_t{1}, DType::Float64);
    const Tensor angles = ops::mod(ops::outer(places, places), static_cast<double>(n)) *
                          (-2 * std::numbers::pi / static_cast<double>(n));
    const Tensor cosines = ops::cos(angles), sines = ops::sin(angles);
    check_same(found.first, ops::matmul(real, cosines) - ops::matmul(imaginary, sines), 1e-11);
    check_same(found.second, ops::matmul(real, sines) + ops::matmul(imaginary, cosines), 1e-11);
    for (int64_t row = 0; row < rows; ++row) {
      const auto alone = ops::fft({real.rows(row, row + 1), imaginary.rows(row, row + 1)});
      CHECK(alone.first.to_vector<double>() == found.first.rows(row, row + 1).to_vector<double>());
    }
  }
}

TEST_CASE("a transform of a long row, of large prime factors too, is its definition") {
  // Sizes computed in stages, as a matrix of rows and columns, and as either kind of convolution.
  for (const int64_t n : {1009, 1018, 3000, 4096, 4100, 4200, 6561, 7919, 8192, 40009}) {
    CAPTURE(n);
    const Tensor real = random_tensor({2, n}, -1, 1, 1);
    const Tensor imaginary = random_tensor({2, n}, -1, 1, 2);
    const auto found = ops::fft({real, imaginary});
    const Tensor bins = Tensor::from<int64_t>({0, 1, 2, 17, n / 3, n / 2, n - 2, n - 1});
    const Tensor places = ops::arange(int64_t{0}, n, int64_t{1}, DType::Int64);
    const Tensor powers = ops::cast(ops::mod(ops::outer(places, bins), n), DType::Float64);
    const Tensor angles = powers * (-2 * std::numbers::pi / static_cast<double>(n));
    const Tensor cosines = ops::cos(angles), sines = ops::sin(angles);
    check_same(ops::take(found.first, bins, -1),
               ops::matmul(real, cosines) - ops::matmul(imaginary, sines), 1e-11);
    check_same(ops::take(found.second, bins, -1),
               ops::matmul(real, sines) + ops::matmul(imaginary, cosines), 1e-11);
    const auto alone = ops::fft({real.rows(1, 2), imaginary.rows(1, 2)});
    CHECK(alone.first.to_vector<double>() == found.first.rows(1, 2).to_vector<double>());
    const Tensor rounded = ops::cast(real, DType::Float32);
    const auto single = ops::fft({rounded, ops::cast(imaginary, DType::Float32)});
    const double largest = std::sqrt(static_cast<double>(n));
    check_same(ops::cast(single.first, DType::Float64) / largest, found.first / largest, 1e-5);
  }
}

TEST_CASE("rfft is the first half of fft, of any length") {
  for (const int64_t n :
       {1, 2, 3, 4, 6, 9, 30, 62, 74, 128, 1009, 1018, 2018, 3000, 12000, 16384}) {
    CAPTURE(n);
    const Tensor x = random_tensor({5, n}, -1, 1, 3);
    const auto whole = ops::fft({x, ops::zeros_like(x)});
    const auto found = ops::rfft(x);
    check_same(found.first, ops::slice_axis(whole.first, -1, 0, n / 2 + 1), 1e-11);
    check_same(found.second, ops::slice_axis(whole.second, -1, 0, n / 2 + 1), 1e-11);
    const auto alone = ops::rfft(x.rows(3, 4));
    CHECK(alone.first.to_vector<double>() == found.first.rows(3, 4).to_vector<double>());
  }
}

TEST_CASE("transforms undo each other") {
  const Tensor real = random_tensor({3, 4, 10}, -1, 1, 5);
  const Tensor imaginary = random_tensor({3, 4, 10}, -1, 1, 6);
  const auto back = ops::ifft2(ops::fft2({real, imaginary}));
  check_same(back.first, real, 1e-12);
  check_same(back.second, imaginary, 1e-12);
  check_same(ops::irfft(ops::rfft(real)), real, 1e-12);
  // Fewer frames overlap at the ends, which Keras doesn't compensate for.
  const Tensor signal = random_tensor({2, 96}, -1, 1, 7);
  const Tensor found = ops::istft(ops::stft(signal, 16, 4, 16), 16, 4, 16);
  CHECK(found.shape() == signal.shape());
  check_same(ops::slice_axis(found, -1, 4, 92), ops::slice_axis(signal, -1, 4, 92), 1e-12);
}

TEST_CASE("a transform of many rows is the same on any number of threads") {
  for (const Shape& shape : {Shape{64, 1024}, Shape{1, 20000}, Shape{3, 10007}}) {
    const Tensor x = ops::cast(random_tensor(shape, -1, 1, 8), DType::Float32);
    std::vector<Tensor> found;
    for (const int threads : {1, 2, 3}) {
      const ComputeThreadsScope scope(threads);
      found.push_back(ops::rfft(x).second);
    }
    check_same(found[0], found[1]);
    check_same(found[0], found[2]);
  }
}

TEST_CASE("transforms of other dtypes and of nothing") {
  const Tensor x = ops::cast(random_tensor({3, 8}, -1, 1, 9), DType::BFloat16);
  CHECK(ops::rfft(x).first.dtype() == DType::BFloat16);
  CHECK(ops::rfft(Tensor::from<int32_t>({1, 2, 3})).first.dtype() == DType::Float32);
  CHECK(ops::rfft(ops::zeros({0, 8})).first.shape() == Shape{0, 5});
  CHECK(ops::extract_sequences(ops::zeros({2, 3}), 4, 1).shape() == Shape{2, 0, 4});
}

TEST_CASE("what transforms refuse") {
  const Tensor x = ops::zeros({2, 8});
  CHECK(refusal([&] {
          ops::fft({x, ops::zeros({2, 7})});
        }) ==
        "fft: expected a real and an imaginary part of one shape, got (2, 8) and "
        "(2, 7).");
  CHECK(refusal([&] {
          ops::rfft(ops::zeros({2, 0}));
        }) == "rfft: expected a last axis with elements, got shape (2, 0).");
  CHECK(refusal([&] { ops::rfft(x, 0); }) == "rfft: expected fft_length >= 1, got 0.");
  CHECK(refusal([&] {
          ops::irfft({ops::zeros({1}), ops::zeros({1})});
        }) == "irfft: expected fft_length >= 1, got 0.");
  CHECK(refusal([&] {
          ops::fft2({ops::zeros({4}), ops::zeros({4})});
        }) == "fft2: expected 2 axes or more, got shape (4,).");
  CHECK(refusal([&] { ops::stft(x, 9, 2, 8); }) ==
        "stft: expected 1 <= sequence_length <= fft_length and a sequence_stride "
        ">= 1, got 9, 8 and 2.");
  CHECK(refusal([&] { ops::stft(x, 8, 2, 16); }) ==
        "stft: expected more than 8 points, half of a frame, to reflect at the "
        "ends, got shape (2, 8). Give more, or center = false.");
  CHECK(refusal([&] { ops::stft(x, 4, 2, 8, {.window = "kaiser"}); }) ==
        "stft: unknown window 'kaiser'. Known: hann, hamming.");
  CHECK(refusal([&] { ops::stft(x, 4, 2, 8, {.window_values = ops::zeros({5})}); }) ==
        "stft: expected a window of shape (4,), got (5,).");
  CHECK(refusal([&] {
          ops::istft({ops::zeros({5}), ops::zeros({5})}, 8, 2, 8);
        }) == "istft: expected (..., frames, bins), got (5,).");
}

TEST_CASE("blocks of images: gradients, and what is refused") {
  const ops::FoldOptions options{.dilation = {1, 2}, .padding = 1, .stride = 2};
  check_smooth(
      [=](const Inputs& in) {
        return ops::unfold(in[0], {2, 3}, options);
      },
      {random_tensor({2, 2, 5, 6}, -1, 1, 1)});
  check_smooth(
      [=](const Inputs& in) {
        return ops::fold(in[0], {5, 6}, {2, 3}, options);
      },
      {random_tensor({2, 12, 6}, -1, 1, 1)});
  CHECK(refusal([&] {
          ops::unfold(ops::zeros({1, 1, 2, 2}), 3);
        }) ==
        "unfold: expected blocks that fit into an image of 2 x 2 (with its "
        "padding), got one of 3 along axis 0.");
  CHECK(refusal([&] {
          ops::fold(ops::zeros({1, 4, 5}), 3, 2);
        }) ==
        "fold: expected (batch, a multiple of 4, 4), the elements of a block and "
        "the number of blocks, got shape (1, 4, 5).");
}

TEST_CASE("choices, orders and divisors") {
  const Tensor x = Tensor::from<int32_t>({5, 1, 4, 2});
  CHECK(ops::select({x > 4, x > 1}, {x * 10, -x}, 7).to_vector<int32_t>() ==
        std::vector<int32_t>{50, 7, -4, -2});
  CHECK(ops::argpartition(x, 1).to_vector<int32_t>() == std::vector<int32_t>{1, 3, 2, 0});
  const Tensor square = ops::reshape(x, {2, 2});
  CHECK(ops::argpartition(square, 3, std::nullopt).to_vector<int32_t>() ==
        ops::argpartition(x, 3).to_vector<int32_t>());
  CHECK(refusal([&] { ops::argpartition(x, 4); }) ==
        "argpartition: expected kth in [-4, 4), got 4.");
  CHECK(refusal([&] { ops::select({}, {}); }) ==
        "select: expected as many choices as conditions, one at least, got 0 and "
        "0.");
  CHECK(refusal([&] { ops::gcd(Tensor::from<float>({1}), 2); }) ==
        "gcd: expected integers, got float32.");
  CHECK(refusal([&] { ops::correlate(ops::zeros({2}), ops::zeros({3})); }) ==
        "correlate: expected a second vector that isn't longer than the first, "
        "got 2 and 3. Exchange them, or take mode full.");
}

TEST_CASE("the transform of large numbers overflows only where the result does") {
  for (const int64_t length : {3, 4, 8, 100}) {
    CAPTURE(length);
    const auto check_kept = [&]<class T>(T large) {
      std::vector<T> numbers(static_cast<size_t>(length), 0);
      numbers[0] = large;
      const auto [real, imaginary] = ops::rfft(Tensor::from(numbers, {length}));
      for (const T bin : real.template to_vector<T>()) CHECK(bin == large);
      for (const T bin : imaginary.template to_vector<T>()) CHECK(bin == 0);
    };
    check_kept(3e38f);
    check_kept(1.5e308);
  }
}

}  // namespace
}  // namespace cornu::testing
