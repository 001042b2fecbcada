// SPDX-License-Identifier: Apache-2.0
// Pooling in float32, vectorized over channels.
#include <algorithm>
#include <limits>
#include <span>

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

// A window inside the input: all such windows have the same offsets from their first position.
// kSize is the number of positions for the most common kinds, whose loops are unrolled, else 0.
template <size_t kSize>
struct Inside {
  int64_t first;
  std::span<const int64_t> offsets;

  int64_t size() const { return static_cast<int64_t>(offsets.size()); }
};

// Calls `visit(number, offset)` for each position of a window, in order.
template <size_t kSize, class Visit>
HWY_INLINE void each_position(const Inside<kSize>& window, Visit visit) {
  const int64_t* const offsets = window.offsets.data();
  const size_t size = kSize > 0 ? kSize : window.offsets.size();
  for (size_t i = 0; i < size; ++i) visit(static_cast<uint32_t>(i), window.first + offsets[i]);
}
template <class Visit>
HWY_INLINE void each_position(const PoolWindow& window, Visit visit) {
  for (auto at = window.positions(); at.more(); at.next()) {
    visit(static_cast<uint32_t>(at.number), at.offset);
  }
}

template <size_t kSize>
uint32_t first_number(const Inside<kSize>&) {
  return 0;
}
uint32_t first_number(const PoolWindow& window) {
  return static_cast<uint32_t>(window.positions().number);
}

// The outputs [begin, end) along an axis whose windows are inside the input there.
struct InsideRange {
  InsideRange(const PoolProblem& problem, size_t axis) {
    const int64_t low = problem.low[axis];
    const int64_t stride = problem.strides[axis];
    const int64_t room = problem.in[axis] + low - problem.window[axis];
    const int64_t first = (low + stride - 1) / stride;
    begin = std::min(problem.out[axis], first);
    end = std::max(begin, room < 0 ? 0 : std::min(problem.out[axis], room / stride + 1));
  }
  bool has(int64_t i) const { return i >= begin && i < end; }

  int64_t begin;
  int64_t end;
};

// Calls `visit(window, offset in the pooled image)` for each window of an image, row-major.
template <size_t kSize, class Visit>
HWY_INLINE void each_window_of(const PoolProblem& problem, Visit visit) {
  const int64_t channels = problem.channels;
  const PoolProblem::Triple& in = problem.in;
  const PoolProblem::Triple& strides = problem.strides;
  const PoolProblem::Triple& low = problem.low;
  const InsideRange inside[] = {{problem, 0}, {problem, 1}, {problem, 2}};
  int64_t offset = 0;
  for (int64_t i = 0; i < problem.out[0]; ++i) {
    for (int64_t j = 0; j < problem.out[1]; ++j) {
      const bool inside_rows = inside[0].has(i) && inside[1].has(j);
      const int64_t begin = inside_rows ? inside[2].begin : problem.out[2];
      const int64_t end = inside_rows ? inside[2].end : problem.out[2];
      int64_t k = 0;
      for (; k < begin; ++k, offset += channels) visit(PoolWindow(problem, i, j, k), offset);
      const int64_t row = (i * strides[0] - low[0]) * in[1] + j * strides[1] - low[1];
      int64_t first = (row * in[2] + k * strides[2] - low[2]) * channels;
      for (; k < end; ++k, offset += channels, first += strides[2] * channels) {
        visit(Inside<kSize>{first, problem.inside}, offset);
      }
      for (; k < problem.out[2]; ++k, offset += channels) {
        visit(PoolWindow(problem, i, j, k), offset);
      }
    }
  }
}

template <class Visit>
HWY_INLINE void each_window(const PoolProblem& problem, Visit visit) {
  switch (problem.inside.size()) {
    case 2:
      return each_window_of<2>(problem, visit);
    case 4:
      return each_window_of<4>(problem, visit);
    default:
      return each_window_of<0>(problem, visit);
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

// Writes dx of one window: dy at the window's maximum; adds it where windows overlap.
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
