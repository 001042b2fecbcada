// SPDX-License-Identifier: Apache-2.0
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>

#include <algorithm>
#include <tuple>
#include <type_traits>

#include "framework/backends/cpu/kernels/elementwise/memory.h"
#include "framework/backends/cpu/kernels/matmul/matmul.h"
#include "framework/backends/cpu/kernels/matmul/packed.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

constexpr int64_t kRowsAtOnce = 16;

// The offset of an operand in its array for product number `index`.
int64_t operand_offset(int64_t index, const std::vector<int64_t>& batch,
                       const std::vector<int64_t>& own, int64_t matrix) {
  int64_t offset = 0;
  int64_t step = matrix;
  for (size_t i = batch.size(); i-- > 0;) {
    if (own[i] != 1) offset += index % batch[i] * step;
    step *= own[i];
    index /= batch[i];
  }
  return offset;
}

// The arguments of one call: rows of op(a) times op(b).
template <class T>
struct RowsProduct {
  const T* a;
  const T* b;
  T* out;
  int64_t rows, n, k;
  int64_t a_row, a_column;  // distances between the elements of op(a)
  bool transpose_b;
};

// One instance for all transpositions: Eigen's templates take long to compile.
template <class T>
void multiply_floats(const RowsProduct<T>& p) {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Strides = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
  using Map = Eigen::Map<const Matrix, Eigen::Unaligned, Strides>;
  const Map left(p.a, p.rows, p.k, Strides(p.a_row, p.a_column));
  const Map right(p.b, p.k, p.n, p.transpose_b ? Strides(1, p.k) : Strides(p.n, 1));
  Eigen::Map<Matrix>(p.out, p.rows, p.n).noalias() = left * right;
}

// Sums wrap around, as they do in NumPy.
template <class T>
void multiply_integers(const RowsProduct<T>& p) {
  using Wide = std::conditional_t<sizeof(T) < sizeof(int), unsigned, std::make_unsigned_t<T>>;
  for (int64_t i = 0; i < p.rows; ++i) {
    T* out = p.out + i * p.n;
    if (!p.transpose_b) std::fill_n(out, p.n, T{0});
    for (int64_t j = 0; p.transpose_b && j < p.n; ++j) {
      Wide sum = 0;
      for (int64_t l = 0; l < p.k; ++l) {
        sum += static_cast<Wide>(p.a[i * p.a_row + l * p.a_column]) *
               static_cast<Wide>(p.b[j * p.k + l]);
      }
      out[j] = static_cast<T>(sum);
    }
    for (int64_t l = 0; !p.transpose_b && l < p.k; ++l) {
      const auto factor = static_cast<Wide>(p.a[i * p.a_row + l * p.a_column]);
      const T* b = p.b + l * p.n;
      for (int64_t j = 0; j < p.n; ++j) {
        out[j] = static_cast<T>(static_cast<Wide>(out[j]) + factor * static_cast<Wide>(b[j]));
      }
    }
  }
}

template <class T>
struct PlainMatmul {
  MatmulProblem problem;

  // Computes rows [begin, end) of product `index`.
  void rows(const KernelArgs& args, int64_t index, int64_t begin, int64_t end) const {
    const auto& [m, n, k] = std::tie(problem.m, problem.n, problem.k);
    const int64_t a_row = problem.transpose_a ? 1 : k;
    const T* a = static_cast<const T*>(args.in[0]) +
                 operand_offset(index, problem.batch, problem.a_batch, m * k);
    const T* b = static_cast<const T*>(args.in[1]) +
                 operand_offset(index, problem.batch, problem.b_batch, k * n);
    const RowsProduct<T> product{.a = a + begin * a_row,
                                 .b = b,
                                 .out = static_cast<T*>(args.out[0]) + (index * m + begin) * n,
                                 .rows = end - begin,
                                 .n = n,
                                 .k = k,
                                 .a_row = a_row,
                                 .a_column = problem.transpose_a ? m : 1,
                                 .transpose_b = problem.transpose_b};
    if constexpr (std::is_integral_v<T>) {
      multiply_integers(product);
    } else {
      multiply_floats(product);
    }
  }

  void operator()(const KernelArgs& args) const {
    const int64_t count = problem.batch_size();
    if (count > 1) {
      parallel_for(count, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) rows(args, i, 0, problem.m);
      });
    } else {
      parallel_for(problem.m, kRowsAtOnce,
                   [&](int64_t begin, int64_t end) { rows(args, 0, begin, end); });
    }
  }
};

// Packs both operands, which pays if each element is read often.
template <class T>
class PackedMatmul : public Kernel {
 public:
  explicit PackedMatmul(const MatmulProblem& problem) : problem_(problem) {
    const auto count = problem.batch_size();
    parts_ = static_cast<int>(count < compute_threads() ? 1 : compute_threads());
  }
  size_t scratch_bytes() const override {
    return static_cast<size_t>(parts_ * panels() * columns() * problem_.k) * sizeof(T);
  }

  void run(const KernelArgs& args) override {
    const int64_t count = problem_.batch_size();
    parallel_parts(parts_, [&](int part) {
      T* const memory = static_cast<T*>(args.scratch) + part * panels() * columns() * problem_.k;
      for (int64_t i = count * part / parts_; i < count * (part + 1) / parts_; ++i) {
        multiply(args, i, memory);
      }
    });
  }

 private:
  static constexpr int64_t kBlockRows = 96;  // of a, which stay in a second-level cache

  int64_t columns() const { return packed_product<T>().columns; }
  int64_t panels() const { return (problem_.n + columns() - 1) / columns(); }

  void multiply(const KernelArgs& args, int64_t index, T* panel_memory) const {
    const auto& p = problem_;
    const StridedMatrix<T> a{
        static_cast<const T*>(args.in[0]) + operand_offset(index, p.batch, p.a_batch, p.m * p.k),
        p.transpose_a ? 1 : p.k, p.transpose_a ? p.m : 1};
    const StridedMatrix<T> b{
        static_cast<const T*>(args.in[1]) + operand_offset(index, p.batch, p.b_batch, p.k * p.n),
        p.transpose_b ? 1 : p.n, p.transpose_b ? p.k : 1};
    T* const out = static_cast<T*>(args.out[0]) + index * p.m * p.n;
    const PackedProduct<T>& loops = packed_product<T>();
    parallel_for(panels(), std::max<int64_t>(1, 16'384 / (p.k * loops.columns)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t panel = begin; panel < end; ++panel) {
                     loops.pack_panel(b, p.k, p.n, panel,
                                      panel_memory + panel * loops.columns * p.k);
                   }
                 });
    parallel_for(p.m, loops.rows, [&](int64_t begin, int64_t end) {
      const int64_t most = std::min(kBlockRows, end - begin) + loops.rows;
      auto* memory =
          reinterpret_cast<T*>(thread_memory(static_cast<size_t>(most * kPackedDepth) * sizeof(T)));
      for (int64_t row = begin; row < end; row += kBlockRows) {
        loops.multiply({.a = a,
                        .panels = panel_memory,
                        .begin = row,
                        .end = std::min(end, row + kBlockRows),
                        .n = p.n,
                        .k = p.k,
                        .memory = memory,
                        .out = out,
                        .step = p.n});
      }
    });
  }

  MatmulProblem problem_;
  int parts_;
};

bool pays_packing(const MatmulProblem& p) {
  constexpr int64_t kMinSize = 8, kMinProducts = 8192;
  return p.m >= kMinSize && p.n >= kMinSize && p.m * p.n * p.k >= kMinProducts;
}

}  // namespace

std::unique_ptr<Kernel> make_plain_matmul(const MatmulProblem& problem) {
  return dispatch_dtype(problem.dtype, [&]<class T>(T) -> std::unique_ptr<Kernel> {
    using Integer = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
    using Packed = std::conditional_t<std::is_same_v<T, double>, double, Integer>;
    constexpr bool kIsWord = std::is_integral_v<T> && sizeof(T) >= 4;
    if constexpr (std::is_same_v<T, double> || kIsWord) {
      if (pays_packing(problem)) return std::make_unique<PackedMatmul<Packed>>(problem);
    }
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      return make_kernel(PlainMatmul<T>{problem});
    } else {
      return nullptr;
    }
  });
}

}  // namespace cornu::cpu
