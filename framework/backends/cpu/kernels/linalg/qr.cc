// SPDX-License-Identifier: Apache-2.0
// qr, by Householder reflections.
#include "framework/backends/cpu/kernels/linalg/matrices.h"

#include <Eigen/QR>

namespace cornu::cpu {
namespace {

struct Qr {
  Doubles q;
  Doubles r;
};

Qr qr_of(const Doubles& x, int64_t columns) {
  const Eigen::HouseholderQR<Doubles> decomposed(x);
  Doubles q = Doubles::Identity(x.rows(), columns);
  q.applyOnTheLeft(decomposed.householderQ());
  Doubles r = decomposed.matrixQR().topRows(columns);
  for (int64_t row = 0; row < r.rows(); ++row) {
    r.row(row).head(std::min<int64_t>(row, r.cols())).setZero();
  }
  return {std::move(q), std::move(r)};
}

template <class T>
std::unique_ptr<Kernel> make_qr_of(const KernelSpec& spec) {
  const Batch in(spec.inputs[0].shape);
  const Batch q(spec.outputs[0].shape);
  const Batch r(spec.outputs[1].shape);
  return make_kernel([=](const KernelArgs& args) {
    in.each([&](int64_t i) {
      const Qr parts = qr_of(read_matrix<T>(args.in[0], i, in), q.columns);
      write_matrix<T>(parts.q, args.out[0], i, q);
      write_matrix<T>(parts.r, args.out[1], i, r);
    });
  });
}

}  // namespace

std::unique_ptr<Kernel> make_qr(const KernelSpec& spec) {
  return by_real(
      spec, [&]<class T>(T) { return make_qr_of<T>(spec); }, make_qr);
}

}  // namespace cornu::cpu
