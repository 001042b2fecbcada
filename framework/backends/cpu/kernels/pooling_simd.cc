// SPDX-License-Identifier: Apache-2.0
// Pooling in float32, vectorised over channels.
#include <cstring>
#include <limits>

#include "cornu/backends/cpu/kernels/elementwise_targets.h"
#include "cornu/backends/cpu/kernels/pooling.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cornu/backends/cpu/kernels/pooling_simd.cc"
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

// The mask of lanes where `value` comes out over `best`. NaN comes out over all.
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
    for (PoolOutputs out{problem}; out.more(); out.next()) {
      const PoolWindow window = out.window();
      each_channels(problem.channels, [&](auto d, int64_t c) HWY_ATTR {
        auto best = hn::Set(d, kLowest);
        for (auto at = window.walk(); at.more(); at.next()) {
          const auto value = hn::LoadU(d, image + at.offset + c);
          best = hn::IfThenElse(beats(value, best), value, best);
        }
        hn::StoreU(best, d, pooled + out.offset + c);
      });
    }
  }
}

void max_with_index(const PoolProblem& problem, bool with_relu, const float* x, float* y,
                    uint8_t* index, int64_t begin, int64_t end) {
  for (int64_t n = begin; n < end; ++n) {
    const float* image = x + n * problem.image();
    float* pooled = y + n * problem.pooled();
    uint8_t* numbers = index + n * problem.pooled();
    for (PoolOutputs out{problem}; out.more(); out.next()) {
      const PoolWindow window = out.window();
      each_channels(problem.channels, [&](auto d, int64_t c) HWY_ATTR {
        const hn::RebindToUnsigned<decltype(d)> du;
        auto at = window.walk();
        auto best = hn::Set(d, kLowest);
        auto number = hn::Set(du, static_cast<uint32_t>(at.number));
        for (; at.more(); at.next()) {
          const auto value = hn::LoadU(d, image + at.offset + c);
          const auto better = beats(value, best);
          best = hn::IfThenElse(better, value, best);
          number = hn::IfThenElse(hn::RebindMask(du, better),
                                  hn::Set(du, static_cast<uint32_t>(at.number)), number);
        }
        if (with_relu) best = relu(d, best);
        hn::StoreU(best, d, pooled + out.offset + c);
        const Bytes<decltype(d)> bytes;
        hn::StoreU(hn::TruncateTo(bytes, number), bytes, numbers + out.offset + c);
      });
    }
  }
}

// dx of one window: dy where the window's maximum was; added where windows overlap.
template <bool kAdd>
HWY_INLINE void scatter_window(const PoolProblem& problem, const PoolWindow& window,
                               const float* dy, const uint8_t* index, float* dx) {
  each_channels(problem.channels, [&](auto d, int64_t c) HWY_ATTR {
    const hn::RebindToUnsigned<decltype(d)> du;
    const auto number = hn::PromoteTo(du, hn::LoadU(Bytes<decltype(d)>(), index + c));
    const auto gradient = hn::LoadU(d, dy + c);
    for (auto at = window.walk(); at.more(); at.next()) {
      const auto here = hn::Eq(number, hn::Set(du, static_cast<uint32_t>(at.number)));
      auto value = hn::IfThenElseZero(hn::RebindMask(d, here), gradient);
      if constexpr (kAdd) value = hn::Add(value, hn::LoadU(d, dx + at.offset + c));
      hn::StoreU(value, d, dx + at.offset + c);
    }
  });
}

// Do the windows cover each element of the input exactly once?
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
    if (clear) std::memset(image, 0, static_cast<size_t>(problem.image()) * sizeof(float));
    for (PoolOutputs out{problem}; out.more(); out.next()) {
      const PoolWindow window = out.window();
      if (add) {
        scatter_window<true>(problem, window, gradient + out.offset, numbers + out.offset, image);
      } else {
        scatter_window<false>(problem, window, gradient + out.offset, numbers + out.offset, image);
      }
    }
  }
}

void average(const PoolProblem& problem, const float* x, float* y, int64_t begin, int64_t end) {
  for (int64_t n = begin; n < end; ++n) {
    const float* image = x + n * problem.image();
    float* pooled = y + n * problem.pooled();
    for (PoolOutputs out{problem}; out.more(); out.next()) {
      const PoolWindow window = out.window();
      const float count = static_cast<float>(std::max<int64_t>(1, window.size()));
      each_channels(problem.channels, [&](auto d, int64_t c) HWY_ATTR {
        auto sum = hn::Zero(d);
        for (auto at = window.walk(); at.more(); at.next()) {
          sum = hn::Add(sum, hn::LoadU(d, image + at.offset + c));
        }
        hn::StoreU(hn::Div(sum, hn::Set(d, count)), d, pooled + out.offset + c);
      });
    }
  }
}

void average_grad(const PoolProblem& problem, const float* dy, float* dx, int64_t begin,
                  int64_t end) {
  for (int64_t n = begin; n < end; ++n) {
    float* image = dx + n * problem.image();
    const float* gradient = dy + n * problem.pooled();
    std::memset(image, 0, static_cast<size_t>(problem.image()) * sizeof(float));
    for (PoolOutputs out{problem}; out.more(); out.next()) {
      const PoolWindow window = out.window();
      const float count = static_cast<float>(std::max<int64_t>(1, window.size()));
      each_channels(problem.channels, [&](auto d, int64_t c) HWY_ATTR {
        const auto part = hn::Div(hn::LoadU(d, gradient + out.offset + c), hn::Set(d, count));
        for (auto at = window.walk(); at.more(); at.next()) {
          float* to = image + at.offset + c;
          hn::StoreU(hn::Add(hn::LoadU(d, to), part), d, to);
        }
      });
    }
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
