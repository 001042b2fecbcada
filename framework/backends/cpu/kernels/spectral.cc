// SPDX-License-Identifier: Apache-2.0
// eigh and svd.
#include "cornu/backends/cpu/kernels/matrices.h"

#include <Eigen/Eigenvalues>
#include <Eigen/SVD>

namespace cornu::cpu {
namespace {

template <class T>
std::unique_ptr<Kernel> make_eigh_of(const Batch& batch) {
  return make_kernel([batch](const KernelArgs& args) {
    if (batch.size() == 0) return;
    batch.each([&](int64_t i) {
      const MatrixIn<T> x(static_cast<const T*>(args.in[0]) + i * batch.size(), batch.rows,
                          batch.columns);
      const Eigen::SelfAdjointEigenSolver<Matrix<T>> solver(x);
      VectorOut<T>(static_cast<T*>(args.out[0]) + i * batch.rows, batch.rows) =
          solver.eigenvalues();
      MatrixOut<T>(static_cast<T*>(args.out[1]) + i * batch.size(), batch.rows, batch.columns) =
          solver.eigenvectors();
    });
  });
}

// Jacobi's method, after Eigen's choice of sizes: small ones are exact to the last digits by it.
constexpr int64_t kSmall = 16;

template <class T>
std::unique_ptr<Kernel> make_svd_of(const KernelSpec& spec) {
  const Batch in(spec.inputs[0].shape);
  const Batch u_batch(spec.outputs[0].shape);
  const Batch v_batch(spec.outputs[2].shape);
  const int64_t k = std::min(in.rows, in.columns);
  const unsigned wanted = spec.attributes.get_bool("full")
                              ? Eigen::ComputeFullU | Eigen::ComputeFullV
                              : Eigen::ComputeThinU | Eigen::ComputeThinV;
  return make_kernel([=](const KernelArgs& args) {
    in.each([&](int64_t i) {
      MatrixOut<T> u(static_cast<T*>(args.out[0]) + i * u_batch.size(), u_batch.rows,
                     u_batch.columns);
      VectorOut<T> s(static_cast<T*>(args.out[1]) + i * k, k);
      MatrixOut<T> v(static_cast<T*>(args.out[2]) + i * v_batch.size(), v_batch.rows,
                     v_batch.columns);
      if (k == 0) {
        u.setIdentity();
        v.setIdentity();
        return;
      }
      const MatrixIn<T> x(static_cast<const T*>(args.in[0]) + i * in.size(), in.rows, in.columns);
      auto write = [&](const auto& solver) {
        u = solver.matrixU();
        s = solver.singularValues();
        v = solver.matrixV().transpose();
      };
      if (!x.allFinite()) {
        u.setConstant(std::numeric_limits<T>::quiet_NaN());
        s.setConstant(std::numeric_limits<T>::quiet_NaN());
        v.setConstant(std::numeric_limits<T>::quiet_NaN());
      } else if (k <= kSmall) {
        write(Eigen::JacobiSVD<Matrix<T>>(x, wanted));
      } else {
        write(Eigen::BDCSVD<Matrix<T>>(x, wanted));
      }
    });
  });
}

std::unique_ptr<Kernel> make_eigh(const KernelSpec& spec) {
  return by_real(
      spec, [&]<class T>(T) { return make_eigh_of<T>(Batch(spec.inputs[0].shape)); }, make_eigh);
}
std::unique_ptr<Kernel> make_svd(const KernelSpec& spec) {
  return by_real(
      spec, [&]<class T>(T) { return make_svd_of<T>(spec); }, make_svd);
}

}  // namespace

void register_spectral_kernels(KernelTable& table) {
  table.add("eigh", make_eigh);
  table.add("svd", make_svd);
}

}  // namespace cornu::cpu
