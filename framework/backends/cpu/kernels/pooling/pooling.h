// SPDX-License-Identifier: Apache-2.0
// The parameters of pooling, and the iteration over windows that all kernels share.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "framework/backends/cpu/kernel.h"

namespace cornu::cpu {

// x (batch, in..., channels), y (batch, out..., channels). One or two spatial axes get leading axes
// of size 1.
struct PoolProblem {
  using Triple = std::array<int64_t, 3>;

  PoolProblem(const Shape& x, const Shape& y, const Attributes& attributes);

  int64_t batch;
  int64_t channels;
  Triple in;
  Triple window;
  Triple out;
  Triple strides;
  Triple low;  // padding
  // Offsets of a window's positions from its first one, for windows entirely inside the image.
  std::vector<int64_t> inside;

  int64_t image() const { return in[0] * in[1] * in[2] * channels; }      // elements of x
  int64_t pooled() const { return out[0] * out[1] * out[2] * channels; }  // elements of y
};

// The part of one window inside the input. Iterates over its positions in row-major order:
//   for (auto at = window.positions(); at.more(); at.next()) … at.number, at.offset …
// (Plain inline functions, so that they can be inlined into code for any instruction set.)
class PoolWindow {
 public:
  PoolWindow(const PoolProblem& problem, int64_t o0, int64_t o1, int64_t o2) : problem_(&problem) {
    const PoolProblem::Triple o = {o0, o1, o2};
    for (size_t i = 0; i < 3; ++i) {
      first_[i] = o[i] * problem.strides[i] - problem.low[i];
      begin_[i] = std::max<int64_t>(0, -first_[i]);
      end_[i] = std::min(problem.window[i], problem.in[i] - first_[i]);
      empty_ |= begin_[i] >= end_[i];
    }
  }

  struct Positions {
    const PoolWindow* window;
    PoolProblem::Triple position;
    int64_t number;  // of the position within the whole window
    int64_t offset;  // of its first channel, from the start of the image

    bool more() const { return position[0] < window->end_[0]; }
    void next() {
      ++number;
      offset += window->problem_->channels;
      if (++position[2] < window->end_[2]) return;
      position[2] = window->begin_[2];
      if (++position[1] == window->end_[1]) {
        position[1] = window->begin_[1];
        ++position[0];
      }
      locate();
    }
    void locate() {
      const PoolProblem& problem = *window->problem_;
      const auto& [i, j, k] = position;
      number = (i * problem.window[1] + j) * problem.window[2] + k;
      const auto& [x, y, z] = window->first_;
      offset = (((x + i) * problem.in[1] + y + j) * problem.in[2] + z + k) * problem.channels;
    }
  };
  Positions positions() const {
    Positions at{this, begin_, 0, 0};
    if (empty_) {
      at.position[0] = end_[0];
    } else {
      at.locate();
    }
    return at;
  }

  // The number of positions.
  int64_t size() const {
    return empty_ ? 0 : (end_[0] - begin_[0]) * (end_[1] - begin_[1]) * (end_[2] - begin_[2]);
  }

 private:
  const PoolProblem* problem_;
  PoolProblem::Triple begin_;
  PoolProblem::Triple end_;
  PoolProblem::Triple first_;  // position of its first element in the image; may be negative
  bool empty_ = false;
};

// Iterates over the output positions of one image in row-major order.
struct PoolOutputs {
  const PoolProblem& problem;
  PoolProblem::Triple position = {0, 0, 0};
  int64_t offset = 0;  // of the position's first channel, from the start of the pooled image

  bool more() const { return offset < problem.pooled(); }
  void next() {
    offset += problem.channels;
    if (++position[2] < problem.out[2]) return;
    position[2] = 0;
    if (++position[1] < problem.out[1]) return;
    position[1] = 0;
    ++position[0];
  }
  PoolWindow window() const { return {problem, position[0], position[1], position[2]}; }
};

// float32, vectorized over channels. Each function works on images [begin, end).
struct SimdPooling {
  void (*max)(const PoolProblem&, const float* x, float* y, int64_t begin, int64_t end);
  void (*max_with_index)(const PoolProblem&, bool relu, const float* x, float* y, uint8_t* index,
                         int64_t begin, int64_t end);
  void (*max_scatter)(const PoolProblem&, const float* dy, const uint8_t* index, float* dx,
                      int64_t begin, int64_t end);
  void (*average)(const PoolProblem&, const float* x, float* y, int64_t begin, int64_t end);
  void (*average_grad)(const PoolProblem&, const float* dy, float* dx, int64_t begin, int64_t end);
};
SimdPooling simd_pooling();

}  // namespace cornu::cpu
