// SPDX-License-Identifier: Apache-2.0
// eigh and svd, both computed in float64: Eigen's templates for them take a minute to compile for
// each dtype.
#include "cornu/backends/cpu/kernels/matrices.h"

#include <Eigen/Eigenvalues>
#include <Eigen/SVD>
#include <limits>

namespace cornu::cpu {
namespace {

using Doubles = Eigen::MatrixXd;

template <class T>
Doubles read_matrix(const void* from, int64_t index, const Batch& batch) {
  return MatrixIn<T>(static_cast<const T*>(from) + index * batch.size(), batch.rows, batch.columns)
      .template cast<double>();
}

template <class T>
void write_matrix(const Doubles& matrix, void* to, int64_t index, const Batch& batch) {
  MatrixOut<T>(static_cast<T*>(to) + index * batch.size(), batch.rows, batch.columns) =
      matrix.cast<T>();
}

template <class T>
void write_vector(const Eigen::VectorXd& vector, void* to, int64_t index) {
  VectorOut<T>(static_cast<T*>(to) + index * vector.size(), vector.size()) = vector.cast<T>();
}

struct Symmetric {
  Eigen::VectorXd values;
  Doubles vectors;
};

Symmetric eigen_of(const Doubles& x) {
  const Eigen::SelfAdjointEigenSolver<Doubles> solver(x);
  return {solver.eigenvalues(), solver.eigenvectors()};
}

template <class T>
std::unique_ptr<Kernel> make_eigh_of(const Batch& batch) {
  return make_kernel([batch](const KernelArgs& args) {
    if (batch.size() == 0) return;
    batch.each([&](int64_t i) {
      const Symmetric parts = eigen_of(read_matrix<T>(args.in[0], i, batch));
      write_vector<T>(parts.values, args.out[0], i);
      write_matrix<T>(parts.vectors, args.out[1], i, batch);
    });
  });
}

struct Singular {
  Doubles u;
  Eigen::VectorXd s;
  Doubles vh;
};

Singular singular_of(const Doubles& x, bool full, int64_t u_columns, int64_t v_rows) {
  const int64_t k = std::min(x.rows(), x.cols());
  if (k == 0) {
    return {Doubles::Identity(x.rows(), u_columns), Eigen::VectorXd(0),
            Doubles::Identity(v_rows, x.cols())};
  }
  if (!x.allFinite()) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    return {Doubles::Constant(x.rows(), u_columns, nan), Eigen::VectorXd::Constant(k, nan),
            Doubles::Constant(v_rows, x.cols(), nan)};
  }
  const unsigned wanted =
      full ? Eigen::ComputeFullU | Eigen::ComputeFullV : Eigen::ComputeThinU | Eigen::ComputeThinV;
  const Eigen::BDCSVD<Doubles> solver(x, wanted);
  return {solver.matrixU(), solver.singularValues(), solver.matrixV().transpose()};
}

template <class T>
std::unique_ptr<Kernel> make_svd_of(const KernelSpec& spec) {
  const Batch in(spec.inputs[0].shape);
  const Batch u(spec.outputs[0].shape);
  const Batch v(spec.outputs[2].shape);
  return make_kernel([=, full = spec.attributes.get_bool("full")](const KernelArgs& args) {
    in.each([&](int64_t i) {
      const Singular parts =
          singular_of(read_matrix<T>(args.in[0], i, in), full, u.columns, v.rows);
      write_matrix<T>(parts.u, args.out[0], i, u);
      write_vector<T>(parts.s, args.out[1], i);
      write_matrix<T>(parts.vh, args.out[2], i, v);
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
