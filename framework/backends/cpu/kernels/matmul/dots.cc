// SPDX-License-Identifier: Apache-2.0
// Products of matrices and a vector, such as those of pairs of vectors: one dot product per row,
// which costs as much as reading the matrix. oneDNN takes longer to start, and doesn't divide them.
#include <algorithm>

#include "framework/backends/cpu/kernels/elementwise/targets.h"
#include "framework/backends/cpu/kernels/matmul/matmul.h"
#include "framework/core/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "framework/backends/cpu/kernels/matmul/dots.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cornu::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
T dot(const T* a, const T* b, int64_t count) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto sum0 = hn::Zero(d), sum1 = hn::Zero(d), sum2 = hn::Zero(d), sum3 = hn::Zero(d);
  int64_t i = 0;
  const auto add = [&](auto& sum, int64_t at) HWY_ATTR {
    sum = hn::MulAdd(hn::LoadU(d, a + at), hn::LoadU(d, b + at), sum);
  };
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    add(sum0, i);
    add(sum1, i + lanes);
    add(sum2, i + 2 * lanes);
    add(sum3, i + 3 * lanes);
  }
  for (; i + lanes <= count; i += lanes) add(sum0, i);
  const auto sum = hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3));
  T total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < count; ++i) total += a[i] * b[i];
  return total;
}

float dot_float32(const float* a, const float* b, int64_t count) { return dot(a, b, count); }
double dot_float64(const double* a, const double* b, int64_t count) { return dot(a, b, count); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cornu::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornu::cpu {

HWY_EXPORT(dot_float32);
HWY_EXPORT(dot_float64);

namespace {

constexpr int64_t kFewestDots = 64;        // matrices that are small
constexpr int64_t kMaxDotElements = 4096;  // of a small one
constexpr int64_t kLongDot = 64;           // elements of the rows of others, at least
constexpr int64_t kDotGrain = 16384;       // elements that a thread reads, at least
constexpr int64_t kDotPart = 16384;        // elements of a row that are summed by themselves

template <class T, class Dot>
std::unique_ptr<Kernel> make_dots_by(const MatmulProblem& p, Dot dot) {
  const int64_t parts = (p.k + kDotPart - 1) / kDotPart;
  const int64_t rows = p.batch_size() * p.m;
  const auto run = [dot, parts, rows, m = p.m, k = p.k](const KernelArgs& args) {
    const auto* a = static_cast<const T*>(args.in[0]);
    const auto* b = static_cast<const T*>(args.in[1]);
    auto* out = static_cast<T*>(args.out[0]);
    auto* sums = parts == 1 ? out : static_cast<T*>(args.scratch);
    const int64_t grain = std::max<int64_t>(1, kDotGrain / std::min(k, kDotPart));
    parallel_for(rows * parts, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = i / parts, first = i % parts * kDotPart;
        sums[i] = dot(a + row * k + first, b + row / m * k + first, std::min(kDotPart, k - first));
      }
    });
    for (int64_t row = 0; parts > 1 && row < rows; ++row) {
      out[row] = 0;
      for (int64_t part = 0; part < parts; ++part) out[row] += sums[row * parts + part];
    }
  };
  return make_kernel(run, parts == 1 ? 0 : static_cast<size_t>(rows * parts) * sizeof(T));
}

}  // namespace

std::unique_ptr<Kernel> make_dots(const MatmulProblem& problem) {
  const auto& p = problem;
  const bool is_vector = p.n == 1 && (p.m == 1 || !p.transpose_a);
  const bool is_plain =
      p.batch.empty() || (p.batch.size() == 1 && p.a_batch == p.batch && p.b_batch == p.batch);
  const bool are_small = p.batch_size() >= kFewestDots && p.m * p.k <= kMaxDotElements;
  if (p.bias || !is_vector || !is_plain || !(are_small || p.k >= kLongDot)) return nullptr;
  if (p.dtype == DType::Float32) return make_dots_by<float>(p, HWY_DYNAMIC_DISPATCH(dot_float32));
  if (p.dtype == DType::Float64) return make_dots_by<double>(p, HWY_DYNAMIC_DISPATCH(dot_float64));
  return nullptr;
}

}  // namespace cornu::cpu
#endif
