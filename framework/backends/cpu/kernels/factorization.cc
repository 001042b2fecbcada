// SPDX-License-Identifier: Apache-2.0
// lu, cholesky, qr and triangular_solve.
#include "cornu/backends/cpu/kernels/matrices.h"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <Eigen/QR>
#include <atomic>

namespace cornu::cpu {
namespace {

// The number of the first matrix that failed, from any thread.
class FirstFailure {
 public:
  void note(int64_t index) {
    int64_t known = first_.load();
    while (index < known && !first_.compare_exchange_weak(known, index)) {
    }
  }
  bool any() const { return first_.load() != kNone; }
  int64_t index() const { return first_.load(); }

 private:
  static constexpr int64_t kNone = INT64_MAX;
  std::atomic<int64_t> first_{kNone};
};

template <class T>
std::unique_ptr<Kernel> make_lu_of(const Batch& batch) {
  return make_kernel([batch](const KernelArgs& args) {
    if (batch.size() == 0) return;
    batch.each([&](int64_t i) {
      const MatrixIn<T> x(static_cast<const T*>(args.in[0]) + i * batch.size(), batch.rows,
                          batch.columns);
      const Eigen::PartialPivLU<Matrix<T>> lu(x);
      MatrixOut<T>(static_cast<T*>(args.out[0]) + i * batch.size(), batch.rows, batch.columns) =
          lu.matrixLU();
      auto* rows = static_cast<int32_t*>(args.out[1]) + i * batch.rows;
      // Eigen's says where each row goes.
      const auto& place = lu.permutationP().indices();
      for (int64_t row = 0; row < batch.rows; ++row) rows[place[row]] = static_cast<int32_t>(row);
    });
  });
}

template <class T>
std::unique_ptr<Kernel> make_cholesky_of(const Batch& batch) {
  return make_kernel([batch](const KernelArgs& args) {
    FirstFailure failure;
    batch.each([&](int64_t i) {
      const MatrixIn<T> x(static_cast<const T*>(args.in[0]) + i * batch.size(), batch.rows,
                          batch.columns);
      const Eigen::LLT<Matrix<T>, Eigen::Lower> llt(x);
      if (llt.info() != Eigen::Success) failure.note(i);
      MatrixOut<T>(static_cast<T*>(args.out[0]) + i * batch.size(), batch.rows, batch.columns) =
          llt.matrixL();
    });
    check<InvalidArgument>(!failure.any(),
                           "cholesky: expected symmetric positive definite matrices, but number {} "
                           "isn't one.",
                           failure.index());
  });
}

template <class T>
std::unique_ptr<Kernel> make_qr_of(const KernelSpec& spec) {
  const Batch in(spec.inputs[0].shape);
  const Batch q_batch(spec.outputs[0].shape);
  const Batch r_batch(spec.outputs[1].shape);
  return make_kernel([=](const KernelArgs& args) {
    in.each([&](int64_t i) {
      const MatrixIn<T> x(static_cast<const T*>(args.in[0]) + i * in.size(), in.rows, in.columns);
      const Eigen::HouseholderQR<Matrix<T>> decomposed(x);
      MatrixOut<T> q(static_cast<T*>(args.out[0]) + i * q_batch.size(), q_batch.rows,
                     q_batch.columns);
      MatrixOut<T> r(static_cast<T*>(args.out[1]) + i * r_batch.size(), r_batch.rows,
                     r_batch.columns);
      q = decomposed.householderQ() * Matrix<T>::Identity(q_batch.rows, q_batch.columns);
      r = decomposed.matrixQR().topRows(r_batch.rows).template triangularView<Eigen::Upper>();
    });
  });
}

template <class T, int kTriangle>
void solve_in_place(const MatrixIn<T>& a, bool transposed, MatrixOut<T>& x) {
  if (transposed) {
    x = a.transpose()
            .template triangularView<(kTriangle & Eigen::UnitDiag) |
                                     ((kTriangle & Eigen::Lower) ? Eigen::Upper : Eigen::Lower)>()
            .solve(x);
  } else {
    x = a.template triangularView<kTriangle>().solve(x);
  }
}

template <class T>
std::unique_ptr<Kernel> make_triangular_solve_of(const KernelSpec& spec) {
  const Batch a_batch(spec.inputs[0].shape);
  const Batch b_batch(spec.inputs[1].shape);
  const bool lower = spec.attributes.get_bool("lower");
  const bool transposed = spec.attributes.get_bool("transpose");
  const bool unit = spec.attributes.get_bool("unit");
  return make_kernel([=](const KernelArgs& args) {
    if (b_batch.size() == 0) return;
    FirstFailure failure;
    a_batch.each([&](int64_t i) {
      const MatrixIn<T> a(static_cast<const T*>(args.in[0]) + i * a_batch.size(), a_batch.rows,
                          a_batch.columns);
      const MatrixIn<T> b(static_cast<const T*>(args.in[1]) + i * b_batch.size(), b_batch.rows,
                          b_batch.columns);
      MatrixOut<T> x(static_cast<T*>(args.out[0]) + i * b_batch.size(), b_batch.rows,
                     b_batch.columns);
      if (!unit && (a.diagonal().array() == T{0}).any()) failure.note(i);
      x = b;
      if (unit) {
        lower ? solve_in_place<T, Eigen::UnitLower>(a, transposed, x)
              : solve_in_place<T, Eigen::UnitUpper>(a, transposed, x);
      } else {
        lower ? solve_in_place<T, Eigen::Lower>(a, transposed, x)
              : solve_in_place<T, Eigen::Upper>(a, transposed, x);
      }
    });
    check<InvalidArgument>(!failure.any(),
                           "solve: expected matrices that have an inverse, but number {} has none "
                           "(its triangular factor has a 0 on the diagonal).",
                           failure.index());
  });
}

std::unique_ptr<Kernel> make_lu(const KernelSpec& spec) {
  return by_real(
      spec, [&]<class T>(T) { return make_lu_of<T>(Batch(spec.inputs[0].shape)); }, make_lu);
}
std::unique_ptr<Kernel> make_cholesky(const KernelSpec& spec) {
  return by_real(
      spec, [&]<class T>(T) { return make_cholesky_of<T>(Batch(spec.inputs[0].shape)); },
      make_cholesky);
}
std::unique_ptr<Kernel> make_qr(const KernelSpec& spec) {
  return by_real(
      spec, [&]<class T>(T) { return make_qr_of<T>(spec); }, make_qr);
}
std::unique_ptr<Kernel> make_triangular_solve(const KernelSpec& spec) {
  return by_real(
      spec, [&]<class T>(T) { return make_triangular_solve_of<T>(spec); }, make_triangular_solve);
}

}  // namespace

void register_factorization_kernels(KernelTable& table) {
  table.add("lu", make_lu);
  table.add("cholesky", make_cholesky);
  table.add("qr", make_qr);
  table.add("triangular_solve", make_triangular_solve);
}

}  // namespace cornu::cpu
