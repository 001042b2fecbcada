// SPDX-License-Identifier: Apache-2.0
// Products with a matrix whose rows are zero except for a band, such as the weights by which images
// are resized.
#include <algorithm>

#include "framework/backends/cpu/kernels/elementwise/memory.h"
#include "framework/backends/cpu/kernels/elementwise/targets.h"
#include "framework/backends/cpu/kernels/matmul/matmul.h"
#include "framework/core/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "framework/backends/cpu/kernels/matmul/banded.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cornu::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class Visit>
HWY_INLINE void each_vector_of_row(int64_t count, Visit visit) {
  const hn::ScalableTag<float> whole;
  const hn::CappedTag<float, 1> one;
  int64_t i = 0;
  const auto lanes = static_cast<int64_t>(hn::Lanes(whole));
  for (; i + lanes <= count; i += lanes) visit(whole, i);
  for (; i < count; ++i) visit(one, i);
}

// out[j] = the sum of weights[l] * rows[l * step + j], l < taps.
void weighted_rows(const float* weights, const float* rows, int64_t taps, int64_t step,
                   int64_t count, float* out) {
  each_vector_of_row(count, [&](auto d, int64_t j) HWY_ATTR {
    auto sum = hn::Zero(d);
    for (int64_t l = 0; l < taps; ++l) {
      sum = hn::MulAdd(hn::Set(d, weights[l]), hn::LoadU(d, rows + l * step + j), sum);
    }
    hn::StoreU(sum, d, out + j);
  });
}

// out[j] = the sum of weights[l * count + j] * row[places[l * count + j]], l < taps.
void weighted_places(const float* weights, const int32_t* places, int64_t taps, int64_t count,
                     const float* row, float* out) {
  each_vector_of_row(count, [&](auto d, int64_t j) HWY_ATTR {
    const hn::RebindToSigned<decltype(d)> di;
    auto sum = hn::Zero(d);
    for (int64_t at = j; at < taps * count; at += count) {
      const auto found = hn::GatherIndex(d, row, hn::LoadU(di, places + at));
      sum = hn::MulAdd(hn::LoadU(d, weights + at), found, sum);
    }
    hn::StoreU(sum, d, out + j);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cornu::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornu::cpu {

HWY_EXPORT(weighted_rows);
HWY_EXPORT(weighted_places);

namespace {

constexpr int64_t kBandedGrain = 16384;  // multiplications of a thread, at least
constexpr int64_t kNarrow = 16;          // columns of b that don't fill vectors
constexpr int64_t kMaxPlaces = 1 << 24;  // recorded per thread, at most
static_assert(sizeof(float) == sizeof(int32_t));

// The columns [first, end) of a row of a; the others are zero.
struct Band {
  int32_t first, end;
};

struct BandedMatmul {
  MatmulProblem problem;

  void operator()(const KernelArgs& args) const {
    const auto& p = problem;
    const auto* a = static_cast<const float*>(args.in[0]);
    const auto* b = static_cast<const float*>(args.in[1]);
    auto* out = static_cast<float*>(args.out[0]);
    auto* bands = static_cast<Band*>(args.scratch);
    const int64_t taps = find_bands(a, bands);
    if (p.n < kNarrow && taps * p.m * p.n <= kMaxPlaces) {
      multiply_narrow(a, b, out, bands, taps);
      return;
    }
    const auto weighted = HWY_DYNAMIC_DISPATCH(weighted_rows);
    const int64_t grain = std::max<int64_t>(1, kBandedGrain / (taps * p.n));
    parallel_for(p.batch_size() * p.m, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = i % p.m, matrix = i / p.m * p.k * p.n;
        const auto [first, last] = bands[row];
        weighted(a + row * p.k + first, b + matrix + first * p.n, last - first, p.n, p.n,
                 out + i * p.n);
      }
    });
  }

  // Returns the width of the widest band, or 1.
  int64_t find_bands(const float* a, Band* bands) const {
    const auto is_zero = [](float x) { return x == 0; };
    const auto k = static_cast<int32_t>(problem.k);
    parallel_for(problem.m, std::max<int64_t>(1, kBandedGrain / k),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     const float* row = a + i * k;
                     int32_t first = 0, last = k;
                     while (first < k && is_zero(row[first])) ++first;
                     while (last > first && is_zero(row[last - 1])) --last;
                     bands[i] = {first, last};
                   }
                 });
    int64_t widest = 1;
    for (int64_t i = 0; i < problem.m; ++i) {
      widest = std::max<int64_t>(widest, bands[i].end - bands[i].first);
    }
    return widest;
  }

  // Rows of few columns, side by side, are treated as one row, each of whose elements has its own
  // weights and places.
  void multiply_narrow(const float* a, const float* b, float* out, const Band* bands,
                       int64_t taps) const {
    const auto& p = problem;
    const int64_t count = p.m * p.n;
    const auto size = static_cast<size_t>(taps * count);
    auto* weights = reinterpret_cast<float*>(thread_memory(2 * size * sizeof(float)));
    auto* places = reinterpret_cast<int32_t*>(weights + size);
    for (int64_t tap = 0; tap < taps; ++tap) {
      for (int64_t j = 0; j < count; ++j) {
        const auto [first, end] = bands[j / p.n];
        const bool counts = first + tap < end;
        const int64_t column = counts ? first + tap : std::min<int64_t>(first, p.k - 1);
        weights[tap * count + j] = counts ? a[j / p.n * p.k + column] : 0;
        places[tap * count + j] = static_cast<int32_t>(column * p.n + j % p.n);
      }
    }
    const auto weighted = HWY_DYNAMIC_DISPATCH(weighted_places);
    const int64_t grain = std::max<int64_t>(1, kBandedGrain / (taps * count));
    parallel_for(p.batch_size(), grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        weighted(weights, places, taps, count, b + i * p.k * p.n, out + i * count);
      }
    });
  }
};

}  // namespace

std::unique_ptr<Kernel> make_banded_matmul(const MatmulProblem& problem) {
  const auto& p = problem;
  const bool shared =
      std::all_of(p.a_batch.begin(), p.a_batch.end(), [](int64_t size) { return size == 1; }) &&
      p.b_batch == p.batch;
  if (p.dtype != DType::Float32 || p.bias || p.transpose_a || p.transpose_b || !shared ||
      p.k * p.n > INT32_MAX) {
    return nullptr;
  }
  return make_kernel(BandedMatmul{problem}, static_cast<size_t>(p.m) * sizeof(Band));
}

}  // namespace cornu::cpu
#endif
