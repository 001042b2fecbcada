// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda/libraries.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "framework/core/error.h"

namespace cornu::cuda::simulated {
namespace {

int64_t product(const std::vector<int64_t>& sizes) {
  int64_t result = 1;
  for (const int64_t size : sizes) result *= size;
  return result;
}

template <class T>
double load(const void* array, int64_t index) {
  const T value = static_cast<const T*>(array)[index];
  if constexpr (std::is_same_v<T, double>) return value;
  return static_cast<double>(static_cast<float>(value));
}
template <class T>
void store(void* array, int64_t index, double value) {
  if constexpr (std::is_same_v<T, double>) {
    static_cast<T*>(array)[index] = value;
  } else {
    static_cast<T*>(array)[index] = T(static_cast<float>(value));
  }
}

// Calls use(T()) for a floating-point dtype.
template <class F>
void for_float(DType dtype, F use) {
  dispatch_dtype(dtype, [&]<class T>(T value) {
    if constexpr (!std::is_integral_v<T>) use(value);
  });
}

// ---- matrices ----

template <class T>
void multiply(const MatmulSpec& s, std::span<void* const> operands) {
  const int64_t a_row = s.transpose_a ? 1 : s.k;
  const int64_t a_column = s.transpose_a ? s.m : 1;
  const int64_t b_row = s.transpose_b ? 1 : s.n;
  const int64_t b_column = s.transpose_b ? s.k : 1;
  for (int64_t i = 0; i < s.batch * s.m * s.n; ++i) {
    const int64_t matrix = i / (s.m * s.n);
    const int64_t row = i / s.n % s.m;
    const int64_t column = i % s.n;
    double sum = 0;
    for (int64_t k = 0; k < s.k; ++k) {
      sum += load<T>(operands[0], matrix * s.a_stride + row * a_row + k * a_column) *
             load<T>(operands[1], matrix * s.b_stride + k * b_row + column * b_column);
    }
    if (s.bias) sum += load<T>(operands[3], column);
    if (s.relu) sum = std::max(sum, 0.0);
    store<T>(operands[2], i, sum);
  }
}

// Elements of an operand whose matrices lie `stride` apart.
size_t matrix_elements(int64_t batch, int64_t stride, int64_t rows, int64_t columns) {
  return static_cast<size_t>((batch - 1) * stride + rows * columns);
}

// ---- convolutions ----

// The positions of a convolution that meet: of an output, a filter and the input below them.
class Positions {
 public:
  explicit Positions(const ConvSpec& spec) : spec_(spec), axes_(spec.strides.size()) {}

  // Calls use(y position, filter position, x position) where the last one lies in the input.
  template <class F>
  void each(F use) const {
    for (int64_t y = 0; y < count(spec_.y); ++y) {
      for (int64_t f = 0; f < count(spec_.filter); ++f) {
        int64_t x = 0;
        if (meets(y, f, x)) use(y, f, x);
      }
    }
  }

 private:
  int64_t count(const std::vector<int64_t>& shape) const {
    int64_t result = 1;
    for (size_t axis = 0; axis < axes_; ++axis) result *= shape[axis + 1];
    return result;
  }

  bool meets(int64_t y, int64_t f, int64_t& x) const {
    int64_t scale = 1;
    for (size_t axis = axes_; axis-- > 0;) {
      const int64_t y_at = y % spec_.y[axis + 1];
      const int64_t f_at = f % spec_.filter[axis + 1];
      const int64_t at = y_at * spec_.strides[axis] + f_at * spec_.dilation[axis] - spec_.low[axis];
      if (at < 0 || at >= spec_.x[axis + 1]) return false;
      x += at * scale;
      scale *= spec_.x[axis + 1];
      y /= spec_.y[axis + 1];
      f /= spec_.filter[axis + 1];
    }
    return true;
  }

  const ConvSpec& spec_;
  size_t axes_;
};

template <class T>
void convolve(const ConvSpec& s, std::span<void* const> operands) {
  using Direction = ConvSpec::Direction;
  const int64_t channels = s.x.back();
  const int64_t filters = s.filter.front();
  const int64_t of_group = channels / s.groups;
  const int64_t filters_of_group = filters / s.groups;
  const int64_t x_size = product(s.x) / s.x.front() / channels;
  const int64_t y_size = product(s.y) / s.y.front() / filters;
  const int64_t f_size = product(s.filter) / filters / of_group;
  const auto& result_shape = s.direction == Direction::Forward         ? s.y
                             : s.direction == Direction::InputGradient ? s.x
                                                                       : s.filter;
  std::vector<double> sums(static_cast<size_t>(product(result_shape)), 0.0);
  Positions(s).each([&](int64_t y_at, int64_t f_at, int64_t x_at) {
    for (int64_t n = 0; n < s.x.front(); ++n) {
      for (int64_t filter = 0; filter < filters; ++filter) {
        const int64_t y = (n * y_size + y_at) * filters + filter;
        for (int64_t c = 0; c < of_group; ++c) {
          const int64_t x =
              (n * x_size + x_at) * channels + filter / filters_of_group * of_group + c;
          const int64_t f = (filter * f_size + f_at) * of_group + c;
          if (s.direction == Direction::Forward) {
            sums[static_cast<size_t>(y)] += load<T>(operands[0], x) * load<T>(operands[1], f);
          } else if (s.direction == Direction::InputGradient) {
            sums[static_cast<size_t>(x)] += load<T>(operands[0], y) * load<T>(operands[1], f);
          } else {
            sums[static_cast<size_t>(f)] += load<T>(operands[0], x) * load<T>(operands[1], y);
          }
        }
      }
    }
  });
  for (size_t i = 0; i < sums.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    double value = sums[i];
    if (s.bias) value += load<T>(operands[3], at % filters);
    if (s.residual) value += load<T>(operands[s.bias ? 4 : 3], at);
    if (s.relu) value = std::max(value, 0.0);
    store<T>(operands[2], at, value);
  }
}

// ---- attention ----

// One row of scores, and what comes of it.
template <class T>
class Attention {
 public:
  Attention(const AttentionSpec& spec, std::span<void* const> operands)
      : s_(spec), operands_(operands), row_(static_cast<size_t>(spec.keys)) {}

  void forward() {
    each_row([&](int64_t b, int64_t h, int64_t q) {
      const double log_sum = weigh(b, h, q);
      static_cast<float*>(operands_[4])[(b * s_.heads + h) * s_.queries + q] =
          static_cast<float>(log_sum);
      for (int64_t d = 0; d < s_.size; ++d) {
        double sum = 0;
        for (int64_t k = 0; k < s_.keys; ++k) sum += row_[at(k)] * key(2, b, h, k, d);
        store<T>(operands_[3], query_at(b, h, q, d), sum);
      }
    });
  }

  void gradient() {
    const auto count = static_cast<size_t>(s_.batch * s_.key_heads * s_.keys * s_.size);
    std::vector<double> dkey(count, 0.0);
    std::vector<double> dvalue(count, 0.0);
    each_row([&](int64_t b, int64_t h, int64_t q) {
      weigh(b, h, q);
      double weighted = 0;  // dy . y
      for (int64_t d = 0; d < s_.size; ++d) {
        weighted += query(5, b, h, q, d) * query(3, b, h, q, d);
      }
      std::vector<double> dscores(row_.size(), 0.0);
      for (int64_t k = 0; k < s_.keys; ++k) {
        double dweight = 0;
        for (int64_t d = 0; d < s_.size; ++d) {
          dweight += query(5, b, h, q, d) * key(2, b, h, k, d);
          dvalue[at(key_at(b, h, k, d))] += row_[at(k)] * query(5, b, h, q, d);
        }
        dscores[at(k)] = row_[at(k)] * (dweight - weighted) * s_.scale;
      }
      for (int64_t d = 0; d < s_.size; ++d) {
        double sum = 0;
        for (int64_t k = 0; k < s_.keys; ++k) {
          sum += dscores[at(k)] * key(1, b, h, k, d);
          dkey[at(key_at(b, h, k, d))] += dscores[at(k)] * query(0, b, h, q, d);
        }
        store<T>(operands_[6], query_at(b, h, q, d), sum);
      }
    });
    for (size_t i = 0; i < count; ++i) {
      store<T>(operands_[7], static_cast<int64_t>(i), dkey[i]);
      store<T>(operands_[8], static_cast<int64_t>(i), dvalue[i]);
    }
  }

 private:
  static size_t at(int64_t index) { return static_cast<size_t>(index); }
  int64_t query_at(int64_t b, int64_t h, int64_t q, int64_t d) const {
    return ((b * s_.queries + q) * s_.heads + h) * s_.size + d;
  }
  int64_t key_at(int64_t b, int64_t h, int64_t k, int64_t d) const {
    return ((b * s_.keys + k) * s_.key_heads + h / (s_.heads / s_.key_heads)) * s_.size + d;
  }
  double query(size_t operand, int64_t b, int64_t h, int64_t q, int64_t d) const {
    return load<T>(operands_[operand], query_at(b, h, q, d));
  }
  double key(size_t operand, int64_t b, int64_t h, int64_t k, int64_t d) const {
    return load<T>(operands_[operand], key_at(b, h, k, d));
  }

  template <class F>
  void each_row(F use) {
    for (int64_t b = 0; b < s_.batch; ++b) {
      for (int64_t h = 0; h < s_.heads; ++h) {
        for (int64_t q = 0; q < s_.queries; ++q) use(b, h, q);
      }
    }
  }

  // The weights of a row of scores; returns the logarithm of the sum of exponentials.
  double weigh(int64_t b, int64_t h, int64_t q) {
    double most = -INFINITY;
    for (int64_t k = 0; k < s_.keys; ++k) {
      double score = 0;
      for (int64_t d = 0; d < s_.size; ++d) score += query(0, b, h, q, d) * key(1, b, h, k, d);
      row_[at(k)] = s_.causal && k > q ? -INFINITY : score * s_.scale;
      most = std::max(most, row_[at(k)]);
    }
    double sum = 0;
    for (double& score : row_) sum += score = std::exp(score - most);
    for (double& weight : row_) weight /= sum;
    return most + std::log(sum);
  }

  const AttentionSpec& s_;
  std::span<void* const> operands_;
  std::vector<double> row_;
};

}  // namespace

std::shared_ptr<SimulatedLibraryKernel> make_library_kernel(const MatmulSpec& spec) {
  if (!is_floating(spec.dtype)) return nullptr;
  const size_t element = size_of(spec.dtype);
  std::vector<size_t> bytes = {matrix_elements(spec.batch, spec.a_stride, spec.m, spec.k) * element,
                               matrix_elements(spec.batch, spec.b_stride, spec.k, spec.n) * element,
                               static_cast<size_t>(spec.batch * spec.m * spec.n) * element};
  if (spec.bias) bytes.push_back(static_cast<size_t>(spec.n) * element);
  return std::make_shared<SimulatedLibraryKernel>(
      "matmul", std::move(bytes), [spec](std::span<void* const> operands) {
        for_float(spec.dtype, [&]<class T>(T) { multiply<T>(spec, operands); });
      });
}

std::shared_ptr<SimulatedLibraryKernel> make_library_kernel(const ConvSpec& spec) {
  if (!is_floating(spec.dtype)) return nullptr;
  const size_t element = size_of(spec.dtype);
  const auto bytes_of = [&](const std::vector<int64_t>& shape) {
    return static_cast<size_t>(product(shape)) * element;
  };
  std::vector<size_t> bytes;
  switch (spec.direction) {
    case ConvSpec::Direction::Forward:
      bytes = {bytes_of(spec.x), bytes_of(spec.filter), bytes_of(spec.y)};
      break;
    case ConvSpec::Direction::InputGradient:
      bytes = {bytes_of(spec.y), bytes_of(spec.filter), bytes_of(spec.x)};
      break;
    case ConvSpec::Direction::FilterGradient:
      bytes = {bytes_of(spec.x), bytes_of(spec.y), bytes_of(spec.filter)};
      break;
  }
  if (spec.bias) bytes.push_back(static_cast<size_t>(spec.filter.front()) * element);
  if (spec.residual) bytes.push_back(bytes_of(spec.y));
  return std::make_shared<SimulatedLibraryKernel>(
      "conv", std::move(bytes), [spec](std::span<void* const> operands) {
        for_float(spec.dtype, [&]<class T>(T) { convolve<T>(spec, operands); });
      });
}

std::shared_ptr<SimulatedLibraryKernel> make_library_kernel(const AttentionSpec& spec) {
  if (spec.dtype != DType::Float16 && spec.dtype != DType::BFloat16) return nullptr;
  const auto array = [&](int64_t length, int64_t heads) {
    return static_cast<size_t>(spec.batch * length * heads * spec.size) * size_of(spec.dtype);
  };
  const size_t query = array(spec.queries, spec.heads);
  const size_t key = array(spec.keys, spec.key_heads);
  const size_t statistics =
      static_cast<size_t>(spec.batch * spec.heads * spec.queries) * sizeof(float);
  std::vector<size_t> bytes = {query, key, key, query, statistics};
  if (spec.gradient) bytes.insert(bytes.end(), {query, query, key, key});
  return std::make_shared<SimulatedLibraryKernel>(
      "attention", std::move(bytes), [spec](std::span<void* const> operands) {
        for_float(spec.dtype, [&]<class T>(T) {
          Attention<T> attention(spec, operands);
          spec.gradient ? attention.gradient() : attention.forward();
        });
      });
}

}  // namespace cornu::cuda::simulated
