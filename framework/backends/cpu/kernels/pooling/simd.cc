// SPDX-License-Identifier: Apache-2.0
// Pooling in float32, vectorised over channels.
#include <algorithm>
#include <limits>

#include "framework/backends/cpu/kernels/elementwise/targets.h"
#include "framework/backends/cpu/kernels/pooling/pooling.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "framework/backends/cpu/kernels/pooling/simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cornu::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Vector = hn::ScalableTag<float>;
using Single = hn::CappedTag<float, 1>;
template <class D>
using Bytes = hn::Rebind<uint8_t, D>;

// Calls `visit(tag, first channel)` for vectors of channels, then for single ones.
template <class Visit>
HWY_INLINE void each_channels(int64_t channels, Visit visit) {
  const Vector d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) visit(d, c);
  for (; c < channels; ++c) visit(Single(), c);
}

// A window of 2 x 2 inside the input: the most common kind.
struct Square {
  int64_t first;   // offset of position 0
  int64_t second;  // of position 2
  int64_t channels;

  int64_t size() const { return 4; }
};

// Calls `visit(number, offset)` for each position of a window, in order.
template <class Visit>
HWY_INLINE void each_position(const Square& window, Visit visit) {
  visit(0u, window.first);
  visit(1u, window.first + window.channels);
  visit(2u, window.second);
  visit(3u, window.second + window.channels);
}
template <class Visit>
HWY_INLINE void each_position(const PoolWindow& window, Visit visit) {
  for (auto at = window.positions(); at.more(); at.next()) {
    visit(static_cast<uint32_t>(at.number), at.offset);
  }
}

uint32_t first_number(const Square&) { return 0; }
uint32_t first_number(const PoolWindow& window) {
  return static_cast<uint32_t>(window.positions().number);
}

// Calls `visit(window, offset in the pooled image)` for each window of an image, row-major.
template <class Visit>
HWY_INLINE void each_window(const PoolProblem& problem, Visit visit) {
  const auto& [batch, channels, in, window, out, strides, low] = problem;
  const bool squares = window == PoolProblem::Triple{1, 2, 2} && low == PoolProblem::Triple{};
  const int64_t whole = squares && in[2] >= 2 ? std::min(out[2], (in[2] - 2) / strides[2] + 1) : 0;
  const int64_t row = in[2] * channels;
  int64_t offset = 0;
  for (int64_t i = 0; i < out[0]; ++i) {
    for (int64_t j = 0; j < out[1]; ++j) {
      int64_t k = 0;
      if (i * strides[0] < in[0] && j * strides[1] + 2 <= in[1]) {
        int64_t first = (i * strides[0] * in[1] + j * strides[1]) * row;
        for (; k < whole; ++k, offset += channels) {
          visit(Square{first, first + row, channels}, offset);
          first += strides[2] * channels;
        }
      }
      for (; k < out[2]; ++k, offset += channels) {
        visit(PoolWindow(problem, i, j, k), offset);
      }
    }
  }
}

// The mask of lanes where `value` is greater than `best`, or NaN.
template <class V>
HWY_INLINE auto beats(V value, V best) {
  return hn::Or(hn::Gt(value, best), hn::IsNaN(value));
}

template <class D>
HWY_INLINE hn::Vec<D> relu(D d, hn::Vec<D> value) {
  const auto zero = hn::Zero(d);
  return hn::IfThenElse(hn::Lt(value, zero), zero, value);
}

constexpr float kLowest = -std::numeric_limits<float>::infinity();

void max(const PoolProblem& problem, const float* x, float* y, int64_t begin, int64_t end) {
  for (int64_t n = begin; n < end; ++n) {
    const float* image = x + n * problem.image();
    float* pooled = y + n * problem.pooled();
    each_window(problem, [&](const auto& window, int64_t to) HWY_ATTR {
      each_channels(problem.channels, [&](auto d, int64_t c) HWY_ATTR {
        auto best = hn::Set(d, kLowest);
        each_position(window, [&](uint32_t, int64_t offset) HWY_ATTR {
          const auto value = hn::LoadU(d, image + offset + c);
          best = hn::IfThenElse(beats(value, best), value, best);
        });
        hn::StoreU(best, d, pooled + to + c);
      });
    });
  }
}

void max_with_index(const PoolProblem& problem, bool with_relu, const float* x, float* y,
                    uint8_t* index, int64_t begin, int64_t end) {
  for (int64_t n = begin; n < end; ++n) {
    const float* image = x + n * problem.image();
    float* pooled = y + n * problem.pooled();
    uint8_t* numbers = index + n * problem.pooled();
    each_window(problem, [&](const auto& window, int64_t to) HWY_ATTR {
      each_channels(problem.channels, [&](auto d, int64_t c) HWY_ATTR {
        const hn::RebindToUnsigned<decltype(d)> du;
        auto best = hn::Set(d, kLowest);
        auto number = hn::Set(du, first_number(window));
        each_position(window, [&](uint32_t position, int64_t offset) HWY_ATTR {
          const auto value = hn::LoadU(d, image + offset + c);
          const auto better = beats(value, best);
          best = hn::IfThenElse(better, value, best);
          number = hn::IfThenElse(hn::RebindMask(du, better), hn::Set(du, position), number);
        });
        if (with_relu) best = relu(d, best);
        hn::StoreU(best, d, pooled + to + c);
        const Bytes<decltype(d)> bytes;
        hn::StoreU(hn::TruncateTo(bytes, number), bytes, numbers + to + c);
      });
    });
  }
}

// Writes dx of one window: dy at the window's maximum; added where windows overlap.
template <bool kAdd, class Window>
HWY_INLINE void scatter_window(int64_t channels, const Window& window, const float* dy,
                               const uint8_t* index, float* dx) {
  each_channels(channels, [&](auto d, int64_t c) HWY_ATTR {
    const hn::RebindToUnsigned<decltype(d)> du;
    const auto number = hn::PromoteTo(du, hn::LoadU(Bytes<decltype(d)>(), index + c));
    const auto gradient = hn::LoadU(d, dy + c);
    each_position(window, [&](uint32_t position, int64_t offset) HWY_ATTR {
      const auto here = hn::Eq(number, hn::Set(du, position));
      auto value = hn::IfThenElseZero(hn::RebindMask(d, here), gradient);
      if constexpr (kAdd) value = hn::Add(value, hn::LoadU(d, dx + offset + c));
      hn::StoreU(value, d, dx + offset + c);
    });
  });
}

// Whether the windows cover each element of the input exactly once.
bool covers_once(const PoolProblem& problem) {
  for (size_t i = 0; i < 3; ++i) {
    if (problem.strides[i] != problem.window[i]) return false;
    if (problem.out[i] * problem.strides[i] - problem.low[i] < problem.in[i]) return false;
  }
  return true;
}

bool overlap(const PoolProblem& problem) {
  for (size_t i = 0; i < 3; ++i) {
    if (problem.strides[i] < problem.window[i]) return true;
  }
  return false;
}

void max_scatter(const PoolProblem& problem, const float* dy, const uint8_t* index, float* dx,
                 int64_t begin, int64_t end) {
  const bool clear = !covers_once(problem);
  const bool add = overlap(problem);
  for (int64_t n = begin; n < end; ++n) {
    float* image = dx + n * problem.image();
    const float* gradient = dy + n * problem.pooled();
    const uint8_t* numbers = index + n * problem.pooled();
    if (clear) std::fill_n(image, problem.image(), 0.0F);
    each_window(problem, [&](const auto& window, int64_t to) HWY_ATTR {
      if (add) {
        scatter_window<true>(problem.channels, window, gradient + to, numbers + to, image);
      } else {
        scatter_window<false>(problem.channels, window, gradient + to, numbers + to, image);
      }
    });
  }
}

void average(const PoolProblem& problem, const float* x, float* y, int64_t begin, int64_t end) {
  for (int64_t n = begin; n < end; ++n) {
    const float* image = x + n * problem.image();
    float* pooled = y + n * problem.pooled();
    each_window(problem, [&](const auto& window, int64_t to) HWY_ATTR {
      const float count = static_cast<float>(std::max<int64_t>(1, window.size()));
      each_channels(problem.channels, [&](auto d, int64_t c) HWY_ATTR {
        auto sum = hn::Zero(d);
        each_position(window, [&](uint32_t, int64_t offset) HWY_ATTR {
          sum = hn::Add(sum, hn::LoadU(d, image + offset + c));
        });
        hn::StoreU(hn::Div(sum, hn::Set(d, count)), d, pooled + to + c);
      });
    });
  }
}

void average_grad(const PoolProblem& problem, const float* dy, float* dx, int64_t begin,
                  int64_t end) {
  for (int64_t n = begin; n < end; ++n) {
    float* image = dx + n * problem.image();
    const float* gradient = dy + n * problem.pooled();
    std::fill_n(image, problem.image(), 0.0F);
    each_window(problem, [&](const auto& window, int64_t to) HWY_ATTR {
      const float count = static_cast<float>(std::max<int64_t>(1, window.size()));
      each_channels(problem.channels, [&](auto d, int64_t c) HWY_ATTR {
        const auto part = hn::Div(hn::LoadU(d, gradient + to + c), hn::Set(d, count));
        each_position(window, [&](uint32_t, int64_t offset) HWY_ATTR {
          float* sum = image + offset + c;
          hn::StoreU(hn::Add(hn::LoadU(d, sum), part), d, sum);
        });
      });
    });
  }
}

SimdPooling functions() { return {max, max_with_index, max_scatter, average, average_grad}; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cornu::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornu::cpu {

HWY_EXPORT(functions);

SimdPooling simd_pooling() { return HWY_DYNAMIC_DISPATCH(functions)(); }

}  // namespace cornu::cpu
#endif
