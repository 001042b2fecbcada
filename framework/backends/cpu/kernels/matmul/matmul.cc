// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/kernels/matmul/matmul.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include "framework/backends/cpu/kernels/through_float32.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

// The batch axes of `shape`, padded with leading ones to `rank`.
std::vector<int64_t> batch_axes(const Shape& shape, size_t rank) {
  const size_t own = static_cast<size_t>(shape.rank()) - 2;
  std::vector<int64_t> axes(rank - own, 1);
  axes.insert(axes.end(), shape.begin(), shape.end() - 2);
  return axes;
}

// Merges neighboring axes along which both operands iterate, or are broadcast, alike.
void merge_batch(MatmulProblem& problem) {
  MatmulProblem merged = problem;
  merged.batch.clear();
  merged.a_batch.clear();
  merged.b_batch.clear();
  for (size_t i = 0; i < problem.batch.size(); ++i) {
    if (problem.batch[i] == 1) continue;
    const bool a_full = problem.a_batch[i] != 1;
    const bool b_full = problem.b_batch[i] != 1;
    const bool alike = !merged.batch.empty() && (merged.a_batch.back() != 1) == a_full &&
                       (merged.b_batch.back() != 1) == b_full;
    if (alike) {
      merged.batch.back() *= problem.batch[i];
      if (a_full) merged.a_batch.back() *= problem.batch[i];
      if (b_full) merged.b_batch.back() *= problem.batch[i];
    } else {
      merged.batch.push_back(problem.batch[i]);
      merged.a_batch.push_back(problem.a_batch[i]);
      merged.b_batch.push_back(problem.b_batch[i]);
    }
  }
  // Many a's and one b: one tall product.
  if (merged.batch.size() == 1 && merged.b_batch[0] == 1 && !merged.transpose_a) {
    merged.m *= merged.batch[0];
    merged.batch.clear();
    merged.a_batch.clear();
    merged.b_batch.clear();
  }
  problem = std::move(merged);
}

// A product of no terms: zero, plus bias.
std::unique_ptr<Kernel> make_empty_sum(const MatmulProblem& problem) {
  const size_t row = static_cast<size_t>(problem.n) * size_of(problem.dtype);
  const int64_t rows = problem.batch_size() * problem.m;
  return make_kernel([row, rows, problem](const KernelArgs& args) {
    auto* out = static_cast<std::byte*>(args.out[0]);
    for (int64_t i = 0; i < rows; ++i, out += row) {
      if (problem.bias) {
        std::memcpy(out, args.in[2], row);
      } else {
        std::memset(out, 0, row);
      }
    }
    if (problem.activation == Activation::None) return;
    auto* values = static_cast<float*>(args.out[0]);
    for (int64_t i = 0; i < rows * problem.n; ++i) {
      values[i] = activated(problem.activation, values[i]);
    }
  });
}

// Computes products of int8 as products of int32.
class WidenedMatmul : public Kernel {
 public:
  WidenedMatmul(const MatmulProblem& problem, const KernelSpec& spec)
      : counts_{spec.inputs[0].shape.num_elements(), spec.inputs[1].shape.num_elements()} {
    MatmulProblem wide = problem;
    wide.is_int8 = false;
    inner_ = make_plain_matmul(wide);
    operand_bytes_ = aligned(counts_[0]) + aligned(counts_[1]);
  }

  size_t scratch_bytes() const override { return operand_bytes_ + inner_->scratch_bytes(); }

  void run(const KernelArgs& args) override {
    auto* const memory = static_cast<std::byte*>(args.scratch);
    const void* const wide[] = {memory, memory + aligned(counts_[0])};
    for (const size_t operand : {0, 1}) {
      const auto* from = static_cast<const int8_t*>(args.in[operand]);
      auto* to = static_cast<int32_t*>(const_cast<void*>(wide[operand]));
      parallel_for(counts_[operand], kWidenGrain, [&](int64_t begin, int64_t end) {
        std::copy(from + begin, from + end, to + begin);
      });
    }
    KernelArgs own = args;
    own.in = wide;
    own.scratch = memory + operand_bytes_;
    inner_->run(own);
  }

 private:
  static constexpr int64_t kWidenGrain = 16384;  // elements

  static size_t aligned(int64_t count) {
    return (static_cast<size_t>(count) * sizeof(int32_t) + 63) / 64 * 64;
  }

  int64_t counts_[2];
  size_t operand_bytes_;
  std::unique_ptr<Kernel> inner_;
};

std::unique_ptr<Kernel> make_matmul(const KernelSpec& spec) {
  const MatmulProblem problem(spec);
  if (problem.batch_size() * problem.m * problem.n == 0)
    return make_kernel([](const KernelArgs&) {});
  if (problem.k > 0) {
    if (spec.attributes.find("banded") != nullptr) {
      if (auto kernel = make_banded_matmul(problem)) return kernel;
    }
    if (auto kernel = make_dots(problem)) return kernel;
    if (auto kernel = make_onednn_matmul(problem)) return kernel;
  }
  if (auto kernel = through_float32(spec, make_matmul)) return kernel;
  if (problem.bias && problem.dtype != DType::Float32) return nullptr;
  if (problem.k == 0) return make_empty_sum(problem);
  if (problem.is_int8) return std::make_unique<WidenedMatmul>(problem, spec);
  return make_plain_matmul(problem);
}

}  // namespace

MatmulProblem::MatmulProblem(const KernelSpec& spec) {
  const Shape& a = spec.inputs[0].shape;
  const Shape& b = spec.inputs[1].shape;
  const Shape& out = spec.outputs[0].shape;
  dtype = spec.outputs[0].dtype;
  is_int8 = spec.inputs[0].dtype == DType::Int8;
  transpose_a = spec.attributes.get_bool("transpose_a");
  transpose_b = spec.attributes.get_bool("transpose_b");
  m = out[out.rank() - 2];
  n = out[out.rank() - 1];
  k = a[a.rank() - (transpose_a ? 2 : 1)];
  const size_t rank = static_cast<size_t>(out.rank()) - 2;
  batch = batch_axes(out, rank);
  a_batch = batch_axes(a, rank);
  b_batch = batch_axes(b, rank);
  bias = spec.inputs.size() > 2;
  if (bias) activation = activation_named(spec.attributes.get_string("activation"));
  merge_batch(*this);
}

int64_t MatmulProblem::batch_size() const {
  return std::accumulate(batch.begin(), batch.end(), int64_t{1}, std::multiplies<>());
}

void register_matmul_kernels(KernelTable& table) {
  table.add("matmul", make_matmul);
  table.add("matmul_bias_act", make_matmul);
}

}  // namespace cornu::cpu
