// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/kernels/conv/pool.h"

#include <array>
#include <utility>

#include "framework/backends/cpu/kernels/elementwise/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "framework/backends/cpu/kernels/conv/pool_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cornu::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Calls `body(std::integral_constant<size_t, i>)` for i < kCount, unrolled, so that arrays indexed
// by i stay in registers.
template <class Body, size_t... kIndex>
HWY_INLINE void unroll(Body body, std::index_sequence<kIndex...>) {
  (body(std::integral_constant<size_t, kIndex>()), ...);
}
template <size_t kCount, class Body>
HWY_INLINE void unroll(Body body) {
  unroll(body, std::make_index_sequence<kCount>());
}

// Calls `visit(tag, first channel)` for vectors of channels, then for single ones.
template <class Visit>
HWY_INLINE void each_channels(int64_t channels, Visit visit) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) visit(d, c);
  for (; c < channels; ++c) visit(hn::CappedTag<float, 1>(), c);
}

template <size_t kTaps, size_t kWindow>
struct ConvPool {
  static constexpr size_t kFilter = kTaps * kTaps;
  static constexpr size_t kPositions = kWindow * kWindow;

  // The convolution outputs at the positions of a window, for a vector of channels.
  template <class D, class V>
  static HWY_INLINE std::array<V, kPositions> products(D d, const float* patch, int64_t width,
                                                       const std::array<V, kFilter>& filter,
                                                       V bias) {
    std::array<V, kPositions> sums;
    sums.fill(bias);
    unroll<kFilter>([&](auto tap) HWY_ATTR {
      unroll<kPositions>([&](auto at) HWY_ATTR {
        constexpr size_t kRow = tap / kTaps + at / kWindow;
        constexpr size_t kColumn = tap % kTaps + at % kWindow;
        const V x = hn::Set(d, patch[static_cast<int64_t>(kRow) * width + kColumn]);
        sums[at] = hn::MulAdd(filter[tap], x, sums[at]);
      });
    });
    return sums;
  }

  template <class D>
  static HWY_INLINE void forward_channels(D d, const ConvPoolProblem& problem, const float* x,
                                          const float* filter, const float* bias, float* y,
                                          uint8_t* index) {
    using V = hn::Vec<D>;
    const hn::RebindToUnsigned<D> du;
    const hn::Rebind<uint8_t, D> bytes;
    std::array<V, kFilter> taps;
    unroll<kFilter>([&](auto tap) HWY_ATTR {
      taps[tap] = hn::LoadU(d, filter + static_cast<int64_t>(tap.value) * problem.channels);
    });
    const V offset = hn::LoadU(d, bias);
    const V zero = hn::Zero(d);
    for (int64_t i = 0; i < problem.pooled_h; ++i) {
      const float* patch = x + i * static_cast<int64_t>(kWindow) * problem.width;
      for (int64_t j = 0; j < problem.pooled_w; ++j, patch += kWindow) {
        const auto sums = products(d, patch, problem.width, taps, offset);
        V best = sums[0];
        auto number = hn::Zero(du);
        unroll<kPositions - 1>([&](auto before) HWY_ATTR {
          constexpr size_t kAt = before + 1;
          const auto better = hn::Or(hn::Gt(sums[kAt], best), hn::IsNaN(sums[kAt]));
          best = hn::IfThenElse(better, sums[kAt], best);
          number = hn::IfThenElse(hn::RebindMask(du, better), hn::Set(du, kAt), number);
        });
        if (problem.relu) best = hn::IfThenElse(hn::Lt(best, zero), zero, best);
        hn::StoreU(best, d, y);
        hn::StoreU(hn::TruncateTo(bytes, number), bytes, index);
        y += problem.channels;
        index += problem.channels;
      }
    }
  }

  static void forward(const ConvPoolProblem& problem, const float* x, const float* filter,
                      const float* bias, float* y, uint8_t* index, int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      const float* image = x + n * problem.height * problem.width;
      const int64_t pooled = n * problem.pooled();
      each_channels(problem.channels, [&](auto d, int64_t c) HWY_ATTR {
        forward_channels(d, problem, image, filter + c, bias + c, y + pooled + c,
                         index + pooled + c);
      });
    }
  }

  // Adds the gradients of one window, whose maxima are at `numbers`, to `sums`.
  template <class D, class V, class VU>
  static HWY_INLINE void add_window(D d, const float* patch, int64_t width, V gradient, VU numbers,
                                    std::array<V, kFilter>& sums) {
    const hn::RebindToUnsigned<D> du;
    constexpr size_t kSide = kTaps + kWindow - 1;
    if constexpr (hn::MaxLanes(D()) == 16 && kSide == 4 && kWindow == 2) {
      // The whole patch fits in a vector: each lane looks up the inputs of its maximum.
      const hn::Half<D> d8;
      const hn::Half<hn::Half<D>> d4;
      const auto rows01 = hn::Combine(d8, hn::LoadU(d4, patch + width), hn::LoadU(d4, patch));
      const auto rows23 =
          hn::Combine(d8, hn::LoadU(d4, patch + 3 * width), hn::LoadU(d4, patch + 2 * width));
      const V table = hn::Combine(d, rows23, rows01);
      // Positions 0, 1, 2, 3 of the window start at elements 0, 1, 4, 5 of the patch.
      const VU start = hn::Add(numbers, hn::And(numbers, hn::Set(du, 2)));
      unroll<kFilter>([&](auto tap) HWY_ATTR {
        constexpr uint32_t kOffset = tap / kTaps * kSide + tap % kTaps;
        const auto lanes = hn::IndicesFromVec(d, hn::Add(start, hn::Set(du, kOffset)));
        sums[tap] = hn::MulAdd(gradient, hn::TableLookupLanes(table, lanes), sums[tap]);
      });
    } else {
      unroll<kPositions>([&](auto at) HWY_ATTR {
        const auto here = hn::RebindMask(d, hn::Eq(numbers, hn::Set(du, uint32_t{at})));
        const V part = hn::IfThenElseZero(here, gradient);
        unroll<kFilter>([&](auto tap) HWY_ATTR {
          constexpr size_t kRow = tap / kTaps + at / kWindow;
          constexpr size_t kColumn = tap % kTaps + at % kWindow;
          const V x = hn::Set(d, patch[static_cast<int64_t>(kRow) * width + kColumn]);
          sums[tap] = hn::MulAdd(part, x, sums[tap]);
        });
      });
    }
  }

  template <class D>
  static HWY_INLINE void grad_channels(D d, const ConvPoolProblem& problem, const float* x,
                                       const float* dy, const uint8_t* index, float* gradients,
                                       int64_t begin, int64_t end) {
    using V = hn::Vec<D>;
    const hn::RebindToUnsigned<D> du;
    const hn::Rebind<uint8_t, D> bytes;
    std::array<V, kFilter> sums;
    sums.fill(hn::Zero(d));
    V bias_sum = hn::Zero(d);
    dy += begin * problem.pooled();
    index += begin * problem.pooled();
    for (int64_t n = begin; n < end; ++n) {
      const float* image = x + n * problem.height * problem.width;
      for (int64_t i = 0; i < problem.pooled_h; ++i) {
        const float* patch = image + i * static_cast<int64_t>(kWindow) * problem.width;
        for (int64_t j = 0; j < problem.pooled_w; ++j, patch += kWindow) {
          const V gradient = hn::LoadU(d, dy);
          bias_sum = hn::Add(bias_sum, gradient);
          add_window(d, patch, problem.width, gradient, hn::PromoteTo(du, hn::LoadU(bytes, index)),
                     sums);
          dy += problem.channels;
          index += problem.channels;
        }
      }
    }
    unroll<kFilter>([&](auto tap) HWY_ATTR {
      hn::StoreU(sums[tap], d, gradients + static_cast<int64_t>(tap.value) * problem.channels);
    });
    hn::StoreU(bias_sum, d, gradients + static_cast<int64_t>(kFilter) * problem.channels);
  }

  static void filter_grad(const ConvPoolProblem& problem, const float* x, const float* dy,
                          const uint8_t* index, float* gradients, int64_t begin, int64_t end) {
    each_channels(problem.channels, [&](auto d, int64_t c) HWY_ATTR {
      grad_channels(d, problem, x, dy + c, index + c, gradients + c, begin, end);
    });
  }

  static constexpr SimdConvPool functions() { return {forward, filter_grad}; }
};

SimdConvPool conv_pool(int64_t taps, int64_t window) {
  if (taps == 3 && window == 2) return ConvPool<3, 2>::functions();
  if (taps == 5 && window == 2) return ConvPool<5, 2>::functions();
  return {nullptr, nullptr};
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cornu::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornu::cpu {

HWY_EXPORT(conv_pool);

SimdConvPool simd_conv_pool(int64_t taps, int64_t window) {
  return HWY_DYNAMIC_DISPATCH(conv_pool)(taps, window);
}

}  // namespace cornu::cpu
#endif
