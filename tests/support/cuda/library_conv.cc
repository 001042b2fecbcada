// SPDX-License-Identifier: Apache-2.0
// cuDNN's operations: convolutions and their gradients, all by one traversal of the products that
// make up a convolution.
#include <algorithm>
#include <array>

#include "framework/core/error.h"
#include "tests/support/cuda/libraries.h"
#include "tests/support/cuda/numbers.h"

namespace cornu::cuda::simulated {
namespace {

using Axes = std::array<int64_t, 3>;

// Values for the spatial axes; missing axes come first.
Axes axes_of(std::span<const int64_t> values, int64_t missing) {
  Axes axes;
  axes.fill(missing);
  std::ranges::copy_backward(values, axes.end());
  return axes;
}
Axes spatial(const std::vector<int64_t>& shape) {
  return axes_of(std::span(shape).subspan(1, shape.size() - 2), 1);
}

template <class F>
void for_each_place(const Axes& size, const F& f) {
  for (Axes at = {}; at[0] < size[0]; ++at[0]) {
    for (at[1] = 0; at[1] < size[1]; ++at[1]) {
      for (at[2] = 0; at[2] < size[2]; ++at[2]) f(at);
    }
  }
}

int64_t place(const Axes& at, const Axes& size) {
  return (at[0] * size[1] + at[1]) * size[2] + at[2];
}

// Calls f(x, w, y) for each product of x and w that is added to element y of the result.
template <class F>
void for_each_product(const ConvSpec& spec, const F& f) {
  const Axes x_size = spatial(spec.x), w_size = spatial(spec.filter), y_size = spatial(spec.y);
  const Axes strides = axes_of(spec.strides, 1), dilation = axes_of(spec.dilation, 1);
  const Axes low = axes_of(spec.low, 0);
  const int64_t channels = spec.filter.back();
  const int64_t filters = spec.y.back();
  const int64_t x_places = x_size[0] * x_size[1] * x_size[2];
  const int64_t w_places = w_size[0] * w_size[1] * w_size[2];
  const int64_t y_places = y_size[0] * y_size[1] * y_size[2];
  for (int64_t b = 0; b < spec.x[0]; ++b) {
    for_each_place(y_size, [&](const Axes& y) {
      for_each_place(w_size, [&](const Axes& w) {
        Axes x;
        for (size_t i = 0; i < 3; ++i) {
          x[i] = y[i] * strides[i] + w[i] * dilation[i] - low[i];
          if (x[i] < 0 || x[i] >= x_size[i]) return;
        }
        for (int64_t filter = 0; filter < filters; ++filter) {
          const int64_t first = filter / (filters / spec.groups) * channels;
          const int64_t y_at = (b * y_places + place(y, y_size)) * filters + filter;
          const int64_t w_at = (filter * w_places + place(w, w_size)) * channels;
          const int64_t x_at = (b * x_places + place(x, x_size)) * spec.x.back() + first;
          for (int64_t c = 0; c < channels; ++c) {
            f(static_cast<size_t>(x_at + c), static_cast<size_t>(w_at + c),
              static_cast<size_t>(y_at));
          }
        }
      });
    });
  }
}

void add_to_result(const ConvSpec& spec, std::span<void* const> operands, std::vector<double>& y) {
  const auto filters = static_cast<size_t>(spec.y.back());
  if (spec.residual) {
    const auto residual = read_numbers(operands[spec.bias ? 4 : 3], spec.dtype, y.size());
    for (size_t i = 0; i < y.size(); ++i) y[i] += residual[i];
  }
  if (spec.bias) {
    const auto bias = read_numbers(operands[3], spec.dtype, filters);
    for (size_t i = 0; i < y.size(); ++i) y[i] += bias[i % filters];
  }
  if (spec.relu)
    std::ranges::replace_if(
        y, [](double value) { return value < 0; }, 0.0);
}

void convolve(const ConvSpec& spec, std::span<void* const> operands) {
  const auto read = [&](size_t operand, const std::vector<int64_t>& shape) {
    return read_numbers(operands[operand], spec.dtype, elements_of(shape));
  };
  std::vector<double> sums;
  switch (spec.direction) {
    case ConvSpec::Direction::Forward: {
      const auto x = read(0, spec.x), w = read(1, spec.filter);
      sums.resize(elements_of(spec.y));
      for_each_product(spec, [&](size_t i, size_t j, size_t k) { sums[k] += x[i] * w[j]; });
      add_to_result(spec, operands, sums);
      break;
    }
    case ConvSpec::Direction::InputGradient: {
      const auto dy = read(0, spec.y), w = read(1, spec.filter);
      sums.resize(elements_of(spec.x));
      for_each_product(spec, [&](size_t i, size_t j, size_t k) { sums[i] += dy[k] * w[j]; });
      break;
    }
    case ConvSpec::Direction::FilterGradient: {
      const auto x = read(0, spec.x), dy = read(1, spec.y);
      sums.resize(elements_of(spec.filter));
      for_each_product(spec, [&](size_t i, size_t j, size_t k) { sums[j] += x[i] * dy[k]; });
      break;
    }
  }
  write_numbers(operands[2], spec.dtype, sums);
}

// Throws Internal when the shapes don't fit together.
void check_shapes(const ConvSpec& spec) {
  const Axes x = spatial(spec.x), w = spatial(spec.filter), y = spatial(spec.y);
  const Axes strides = axes_of(spec.strides, 1), dilation = axes_of(spec.dilation, 1);
  const Axes low = axes_of(spec.low, 0), high = axes_of(spec.high, 0);
  bool fits = spec.x.size() >= 3 && spec.x.size() <= 5 && spec.x[0] == spec.y[0] &&
              spec.filter[0] == spec.y.back() && spec.filter.back() * spec.groups == spec.x.back();
  for (size_t i = 0; i < 3; ++i) {
    const int64_t room = x[i] + low[i] + high[i] - (w[i] - 1) * dilation[i] - 1;
    fits = fits && low[i] >= 0 && high[i] >= 0 && room >= 0 && room / strides[i] + 1 == y[i];
  }
  check<Internal>(fits, "A ConvSpec's shapes don't belong together.");
}

std::vector<size_t> bytes_of(const ConvSpec& spec) {
  const size_t element = size_of(spec.dtype);
  const size_t x = elements_of(spec.x) * element;
  const size_t w = elements_of(spec.filter) * element;
  const size_t y = elements_of(spec.y) * element;
  if (spec.direction == ConvSpec::Direction::InputGradient) return {y, w, x};
  if (spec.direction == ConvSpec::Direction::FilterGradient) return {x, y, w};
  std::vector<size_t> bytes = {x, w, y};
  if (spec.bias) bytes.push_back(static_cast<size_t>(spec.y.back()) * element);
  if (spec.residual) bytes.push_back(y);
  return bytes;
}

}  // namespace

std::shared_ptr<SimulatedLibraryKernel> make_library_kernel(const ConvSpec& spec) {
  const bool is_known =
      spec.dtype == DType::Float32 || spec.dtype == DType::Float16 || spec.dtype == DType::BFloat16;
  const bool is_empty =
      elements_of(spec.x) == 0 || elements_of(spec.filter) == 0 || elements_of(spec.y) == 0;
  if (!is_known || is_empty) return nullptr;
  check_shapes(spec);
  return std::make_shared<SimulatedLibraryKernel>(
      "simulated convolution", bytes_of(spec),
      [spec](std::span<void* const> operands) { convolve(spec, operands); });
}

}  // namespace cornu::cuda::simulated
