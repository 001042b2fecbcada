// SPDX-License-Identifier: Apache-2.0
// Convolutions by plain loops: for float64 (gradient checks), integers, and sizes too large for
// oneDNN.
#include <algorithm>
#include <array>

#include "framework/backends/cpu/kernels/conv/conv.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

using Triple = std::array<int64_t, 3>;

Triple padded(const std::vector<int64_t>& values, int64_t fill) {
  Triple result = {fill, fill, fill};
  std::copy_backward(values.begin(), values.end(), result.end());
  return result;
}

int64_t product(const Triple& values) { return values[0] * values[1] * values[2]; }

Triple unravel(int64_t index, const Triple& sizes) {
  return {index / (sizes[1] * sizes[2]), index / sizes[2] % sizes[1], index % sizes[2]};
}

template <class T>
class PlainConv {
 public:
  explicit PlainConv(const ConvProblem& problem)
      : direction_(problem.direction),
        batch_(problem.batch),
        groups_(problem.groups),
        in_channels_(problem.c_in / problem.groups),
        out_channels_(problem.c_out / problem.groups),
        in_(padded(problem.in, 1)),
        taps_(padded(problem.taps, 1)),
        out_(padded(problem.out, 1)),
        strides_(padded(problem.strides, 1)),
        dilation_(padded(problem.dilation, 1)),
        low_(padded(problem.low, 0)) {}

  void operator()(const KernelArgs& args) const {
    if (direction_ == ConvDirection::FilterGrad) {
      filter_grad(args);
    } else {
      per_image(args);
    }
  }

 private:
  int64_t c_in() const { return in_channels_ * groups_; }
  int64_t c_out() const { return out_channels_ * groups_; }

  // Calls `visit(input position, output position)` for each output that `tap` reaches.
  template <class Visit>
  void each_position(int64_t tap, Visit visit) const {
    const Triple t = unravel(tap, taps_);
    for (int64_t position = 0; position < product(out_); ++position) {
      const Triple o = unravel(position, out_);
      int64_t input = 0;
      bool inside = true;
      for (size_t i = 0; i < 3; ++i) {
        const int64_t at = o[i] * strides_[i] + t[i] * dilation_[i] - low_[i];
        inside = inside && at >= 0 && at < in_[i];
        input = input * in_[i] + at;
      }
      if (inside) visit(input, position);
    }
  }

  // Calls `visit(x channel, filter row, first y channel)` for each row of a tap's matrices.
  template <class Visit>
  void each_row(Visit visit) const {
    for (int64_t g = 0; g < groups_; ++g) {
      for (int64_t i = 0; i < in_channels_; ++i) {
        visit(g * in_channels_ + i, i * c_out() + g * out_channels_, g * out_channels_);
      }
    }
  }

  void per_image(const KernelArgs& args) const {
    const bool forward = direction_ == ConvDirection::Forward;
    const int64_t x_size = product(in_) * c_in();
    const int64_t y_size = product(out_) * c_out();
    parallel_for(batch_, 1, [&](int64_t begin, int64_t end) {
      const T* w = static_cast<const T*>(args.in[1]);
      for (int64_t n = begin; n < end; ++n) {
        if (forward) {
          forward_image(static_cast<const T*>(args.in[0]) + n * x_size, w,
                        static_cast<T*>(args.out[0]) + n * y_size);
        } else {
          input_grad_image(static_cast<const T*>(args.in[0]) + n * y_size, w,
                           static_cast<T*>(args.out[0]) + n * x_size);
        }
      }
    });
  }

  void forward_image(const T* x, const T* w, T* y) const {
    std::fill_n(y, product(out_) * c_out(), T{0});
    for (int64_t tap = 0; tap < product(taps_); ++tap, w += in_channels_ * c_out()) {
      each_position(tap, [&](int64_t input, int64_t position) {
        const T* xs = x + input * c_in();
        T* ys = y + position * c_out();
        each_row([&](int64_t channel, int64_t row, int64_t first) {
          for (int64_t o = 0; o < out_channels_; ++o) ys[first + o] += xs[channel] * w[row + o];
        });
      });
    }
  }

  void input_grad_image(const T* dy, const T* w, T* dx) const {
    std::fill_n(dx, product(in_) * c_in(), T{0});
    for (int64_t tap = 0; tap < product(taps_); ++tap, w += in_channels_ * c_out()) {
      each_position(tap, [&](int64_t input, int64_t position) {
        T* xs = dx + input * c_in();
        const T* ys = dy + position * c_out();
        each_row([&](int64_t channel, int64_t row, int64_t first) {
          T sum{0};
          for (int64_t o = 0; o < out_channels_; ++o) sum += ys[first + o] * w[row + o];
          xs[channel] += sum;
        });
      });
    }
  }

  void filter_grad(const KernelArgs& args) const {
    const int64_t size = in_channels_ * c_out();  // of a tap's part of the filter
    parallel_for(product(taps_), 1, [&](int64_t begin, int64_t end) {
      for (int64_t tap = begin; tap < end; ++tap) {
        T* dw = static_cast<T*>(args.out[0]) + tap * size;
        std::fill_n(dw, size, T{0});
        for (int64_t n = 0; n < batch_; ++n) {
          const T* x = static_cast<const T*>(args.in[0]) + n * product(in_) * c_in();
          const T* dy = static_cast<const T*>(args.in[1]) + n * product(out_) * c_out();
          each_position(tap, [&](int64_t input, int64_t position) {
            const T* xs = x + input * c_in();
            const T* ys = dy + position * c_out();
            each_row([&](int64_t channel, int64_t row, int64_t first) {
              for (int64_t o = 0; o < out_channels_; ++o)
                dw[row + o] += xs[channel] * ys[first + o];
            });
          });
        }
      }
    });
  }

  ConvDirection direction_;
  int64_t batch_;
  int64_t groups_;
  int64_t in_channels_;   // of a group
  int64_t out_channels_;  // of a group
  Triple in_;
  Triple taps_;
  Triple out_;
  Triple strides_;
  Triple dilation_;
  Triple low_;
};

// y + bias, then the activation; y is (positions, channels).
template <class T>
void finish(const ConvProblem& problem, const T* bias, T* y) {
  const int64_t positions = problem.batch * product(padded(problem.out, 1));
  for (int64_t i = 0; i < positions; ++i, y += problem.c_out) {
    for (int64_t c = 0; c < problem.c_out; ++c) {
      y[c] = activated(problem.activation, static_cast<T>(y[c] + bias[c]));
    }
  }
}

}  // namespace

std::unique_ptr<Kernel> make_plain_conv(const ConvProblem& problem) {
  return dispatch_dtype(problem.dtype, [&]<class T>(T) -> std::unique_ptr<Kernel> {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> ||
                  std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t>) {
      return make_kernel([conv = PlainConv<T>(problem), problem](const KernelArgs& args) {
        conv(args);
        if (!problem.bias) return;
        finish(problem, static_cast<const T*>(args.in[2]), static_cast<T*>(args.out[0]));
      });
    } else {
      return nullptr;
    }
  });
}

}  // namespace cornu::cpu
