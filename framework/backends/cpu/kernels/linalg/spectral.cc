// SPDX-License-Identifier: Apache-2.0
// eigh, and the registration of svd.
#include "framework/backends/cpu/kernels/linalg/matrices.h"

#include <Eigen/Eigenvalues>

namespace cornu::cpu {
namespace {

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

std::unique_ptr<Kernel> make_eigh(const KernelSpec& spec) {
  return by_real(
      spec, [&]<class T>(T) { return make_eigh_of<T>(Batch(spec.inputs[0].shape)); }, make_eigh);
}
}  // namespace

void register_spectral_kernels(KernelTable& table) {
  table.add("eigh", make_eigh);
  table.add("svd", make_svd);
}

}  // namespace cornu::cpu
