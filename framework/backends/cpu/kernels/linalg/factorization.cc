// SPDX-License-Identifier: Apache-2.0
// lu, cholesky and triangular_solve.
#include "framework/backends/cpu/kernels/linalg/matrices.h"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <atomic>
#include <vector>

namespace cornu::cpu {
namespace {

// The lowest index of a matrix that failed, from any thread.
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

struct Lu {
  Doubles packed;
  std::vector<int32_t> rows;
};

Lu lu_of(const Doubles& x) {
  const Eigen::PartialPivLU<Doubles> lu(x);
  Lu result{lu.matrixLU(), std::vector<int32_t>(static_cast<size_t>(x.rows()))};
  // Eigen's permutation maps each row to its new position.
  const auto& place = lu.permutationP().indices();
  for (int64_t row = 0; row < x.rows(); ++row) {
    result.rows[static_cast<size_t>(place[row])] = static_cast<int32_t>(row);
  }
  return result;
}

template <class T>
std::unique_ptr<Kernel> make_lu_of(const Batch& batch) {
  return make_kernel([batch](const KernelArgs& args) {
    if (batch.size() == 0) return;
    batch.each([&](int64_t i) {
      const Lu lu = lu_of(read_matrix<T>(args.in[0], i, batch));
      write_matrix<T>(lu.packed, args.out[0], i, batch);
      std::copy(lu.rows.begin(), lu.rows.end(),
                static_cast<int32_t*>(args.out[1]) + i * batch.rows);
    });
  });
}

// Replaces x by its lower factor; false when x isn't positive definite.
bool factor_cholesky(Doubles& x) {
  const Eigen::LLT<Doubles, Eigen::Lower> llt(x);
  x = llt.matrixL();
  return llt.info() == Eigen::Success;
}

template <class T>
std::unique_ptr<Kernel> make_cholesky_of(const Batch& batch) {
  return make_kernel([batch](const KernelArgs& args) {
    FirstFailure failure;
    batch.each([&](int64_t i) {
      Doubles x = read_matrix<T>(args.in[0], i, batch);
      if (!factor_cholesky(x)) failure.note(i);
      write_matrix<T>(x, args.out[0], i, batch);
    });
    check<InvalidArgument>(!failure.any(),
                           "cholesky: expected symmetric positive definite matrices, but number {} "
                           "isn't one.",
                           failure.index());
  });
}

struct Triangle {
  explicit Triangle(const Attributes& attributes)
      : lower(attributes.get_bool("lower")),
        transposed(attributes.get_bool("transpose")),
        unit(attributes.get_bool("unit")) {}
  bool lower;
  bool transposed;
  bool unit;
};

// Replaces b by the solution; false if there is none. Reversing its rows and columns makes an upper
// triangle a lower one.
bool solve_triangle(Doubles& a, Doubles& b, const Triangle& triangle) {
  if (triangle.unit) a.diagonal().setOnes();
  if ((a.diagonal().array() == 0.0).any()) return false;
  if (triangle.transposed) a.transposeInPlace();
  const bool reversed = triangle.lower == triangle.transposed;
  if (reversed) {
    a = a.reverse().eval();
    b = b.colwise().reverse().eval();
  }
  a.triangularView<Eigen::Lower>().solveInPlace(b);
  if (reversed) b = b.colwise().reverse().eval();
  return true;
}

template <class T>
std::unique_ptr<Kernel> make_triangular_solve_of(const KernelSpec& spec) {
  const Batch a_batch(spec.inputs[0].shape);
  const Batch b_batch(spec.inputs[1].shape);
  const Triangle triangle(spec.attributes);
  const bool named = spec.attributes.find("who") != nullptr;
  const std::string who = named ? spec.attributes.get_string("who") : "solve";
  return make_kernel([=](const KernelArgs& args) {
    if (b_batch.size() == 0) return;
    FirstFailure failure;
    a_batch.each([&](int64_t i) {
      Doubles a = read_matrix<T>(args.in[0], i, a_batch);
      Doubles b = read_matrix<T>(args.in[1], i, b_batch);
      if (!solve_triangle(a, b, triangle)) failure.note(i);
      write_matrix<T>(b, args.out[0], i, b_batch);
    });
    check<InvalidArgument>(!failure.any(),
                           "{}: expected matrices that have an inverse, but number {} has none "
                           "(its triangular factor has a 0 on the diagonal).",
                           who, failure.index());
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
