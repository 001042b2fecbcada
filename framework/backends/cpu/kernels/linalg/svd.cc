// SPDX-License-Identifier: Apache-2.0
// svd: small matrices by Jacobi rotations, which are accurate for small singular values, too;
// larger ones by divide and conquer, which is many times faster.
#include "framework/backends/cpu/kernels/linalg/matrices.h"

#include <Eigen/SVD>
#include <limits>

namespace cornu::cpu {
namespace {

constexpr int64_t kSmall = 48;

struct Singular {
  Doubles u;
  Eigen::VectorXd s;
  Doubles vh;
};

template <class Solver>
Singular parts_of(const Solver& solver) {
  if (!solver.computeU()) return {{}, solver.singularValues(), {}};
  return {solver.matrixU(), solver.singularValues(), solver.matrixV().transpose()};
}

Singular singular_of(const Doubles& x, bool vectors, bool full, int64_t u_columns, int64_t v_rows) {
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
  const unsigned wanted = !vectors ? 0
                          : full   ? Eigen::ComputeFullU | Eigen::ComputeFullV
                                   : Eigen::ComputeThinU | Eigen::ComputeThinV;
  if (k <= kSmall) return parts_of(Eigen::JacobiSVD<Doubles>(x, wanted));
  return parts_of(Eigen::BDCSVD<Doubles>(x, wanted));
}

template <class T>
std::unique_ptr<Kernel> make_svd_of(const KernelSpec& spec) {
  const Batch in(spec.inputs[0].shape);
  const Batch u(spec.outputs[0].shape);
  const Batch v(spec.outputs[2].shape);
  const bool vectors = spec.attributes.get_bool("vectors");
  return make_kernel([=, full = spec.attributes.get_bool("full")](const KernelArgs& args) {
    in.each([&](int64_t i) {
      const Singular parts =
          singular_of(read_matrix<T>(args.in[0], i, in), vectors, full, u.columns, v.rows);
      write_vector<T>(parts.s, args.out[1], i);
      if (!vectors) return;
      write_matrix<T>(parts.u, args.out[0], i, u);
      write_matrix<T>(parts.vh, args.out[2], i, v);
    });
  });
}

}  // namespace

std::unique_ptr<Kernel> make_svd(const KernelSpec& spec) {
  return by_real(
      spec, [&]<class T>(T) { return make_svd_of<T>(spec); }, make_svd);
}

}  // namespace cornu::cpu
