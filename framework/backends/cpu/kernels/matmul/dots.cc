// SPDX-License-Identifier: Apache-2.0
// Many small products of a matrix and a vector, such as those of pairs of vectors, for which oneDNN
// takes longer to begin than to compute.
#include <algorithm>

#include "framework/backends/cpu/kernels/matmul/matmul.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

constexpr int64_t kFewestDots = 64;         // matrices
constexpr int64_t kMostDotElements = 4096;  // of a matrix
constexpr int64_t kDotGrain = 16384;        // elements that a thread reads, at least

float dot(const float* a, const float* b, int64_t count) {
  constexpr int kSums = 16;
  float sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (int j = 0; j < kSums; ++j) sums[j] += a[i + j] * b[i + j];
  }
  for (int half = kSums / 2; half > 0; half /= 2) {
    for (int j = 0; j < half; ++j) sums[j] += sums[j + half];
  }
  for (; i < count; ++i) sums[0] += a[i] * b[i];
  return sums[0];
}

}  // namespace

std::unique_ptr<Kernel> make_dots(const MatmulProblem& problem) {
  const auto& p = problem;
  const int64_t count = p.batch_size();
  const bool is_vector = p.n == 1 && (p.m == 1 || !p.transpose_a);
  const bool is_plain = p.batch.size() == 1 && p.a_batch == p.batch && p.b_batch == p.batch;
  if (p.dtype != DType::Float32 || p.bias || !is_vector || !is_plain || count < kFewestDots ||
      p.m * p.k > kMostDotElements) {
    return nullptr;
  }
  return make_kernel([count, m = p.m, k = p.k](const KernelArgs& args) {
    const auto* a = static_cast<const float*>(args.in[0]);
    const auto* b = static_cast<const float*>(args.in[1]);
    auto* out = static_cast<float*>(args.out[0]);
    parallel_for(count, kDotGrain / (m * k), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t row = 0; row < m; ++row) {
          out[i * m + row] = dot(a + (i * m + row) * k, b + i * k, k);
        }
      }
    });
  });
}

}  // namespace cornu::cpu
