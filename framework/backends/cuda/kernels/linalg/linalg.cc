// SPDX-License-Identifier: Apache-2.0
// lu, cholesky, qr, triangular_solve, eigh and svd: README.md.
#include <algorithm>
#include <bit>

#include "framework/backends/cuda/lowering.h"
#include "framework/backends/cuda/sources.h"

namespace cornu::cuda {
namespace {

constexpr int64_t kLinalgSharedBytes = int64_t{40} << 10;  // for a matrix; kernels use some more
constexpr int64_t kLinalgScratchBytes = int64_t{256} << 20;
constexpr int64_t kLinalgBlocks = 2048;
constexpr int64_t kMaxRightHandSides = 32;  // per block: triangular_solve.cu

// The matrices in the last two axes of a shape.
struct LinalgBatch {
  explicit LinalgBatch(const Shape& shape)
      : count(shape.slice(0, shape.rank() - 2).num_elements()),
        rows(shape[shape.rank() - 2]),
        columns(shape.back()) {}
  int64_t count;
  int64_t rows;
  int64_t columns;
};

// Launches of blocks that each process several of `items`, using `work_items` float64 numbers of
// working memory.
class LinalgLaunch {
 public:
  LinalgLaunch(const KernelSpec& spec, int64_t items, int64_t work_items, int64_t largest_side,
               Lowering& to)
      : to_(to),
        dtype_(spec.inputs[0].dtype),
        work_items_(work_items),
        in_shared_(work_items * kNumberBytes <= kLinalgSharedBytes),
        threads_(largest_side <= 16   ? 32
                 : largest_side <= 64 ? 128
                                      : 512) {
    int64_t most = kLinalgBlocks;
    if (!in_shared_) {
      most = std::clamp<int64_t>(kLinalgScratchBytes / (work_items * kNumberBytes), 1, most);
    }
    blocks_ = std::min(items, most);
  }

  // `arguments` precede the working memory.
  void run(const std::string& name, std::vector<Argument> arguments) {
    const int64_t scratch_items = in_shared_ ? 0 : blocks_ * work_items_;
    arguments.emplace_back(to_.scratch(static_cast<size_t>(scratch_items * kNumberBytes)));
    arguments.emplace_back(work_items_);
    arguments.emplace_back(int64_t{in_shared_});
    to_.launch(name, fmt::format("kernels/linalg/{}.cu", name),
               define("T", type_name(dtype_)) + std::string(source("kernels/linalg/block.cu")),
               blocks_for(blocks_, 1), {threads_}, std::move(arguments),
               in_shared_ ? static_cast<uint32_t>(work_items_ * kNumberBytes) : 0);
  }

 private:
  static constexpr int64_t kNumberBytes = sizeof(double);

  Lowering& to_;
  DType dtype_;
  int64_t work_items_;
  bool in_shared_;
  uint32_t threads_;
  int64_t blocks_ = 0;
};

// Records for each matrix whether it failed: the first failure is reported.
class LinalgFailures {
 public:
  LinalgFailures(int64_t count, Lowering& to)
      : to_(to), count_(count), flags_(to.scratch(static_cast<size_t>(count) * sizeof(int32_t))) {}

  Slot flags() const { return flags_; }
  void report(std::function<void(int64_t index)> fail) {
    const int64_t check = to_.add_check(std::move(fail));
    to_.launch("linalg_failure", "kernels/linalg/failure.cu", "", {1}, {1024},
               {flags_, status(), check, count_});
  }

 private:
  Lowering& to_;
  int64_t count_;
  Slot flags_;
};

bool lower_lu(const KernelSpec& spec, Lowering& to) {
  const LinalgBatch x(spec.inputs[0].shape);
  const int64_t n = x.rows;
  if (n == 0) return true;
  LinalgLaunch(spec, x.count, n * n, n, to).run("lu", {in(0), out(0), out(1), x.count, n});
  return true;
}

bool lower_cholesky(const KernelSpec& spec, Lowering& to) {
  const LinalgBatch x(spec.inputs[0].shape);
  const int64_t n = x.rows;
  if (n * x.count == 0) return true;
  LinalgFailures failures(x.count, to);
  LinalgLaunch(spec, x.count, n * n + n, n, to)
      .run("cholesky", {in(0), out(0), failures.flags(), x.count, n});
  failures.report([](int64_t index) {
    raise<InvalidArgument>(
        "cholesky: expected symmetric positive definite matrices, but number {} isn't one.", index);
  });
  return true;
}

bool lower_triangular_solve(const KernelSpec& spec, Lowering& to) {
  const LinalgBatch b(spec.inputs[1].shape);
  const int64_t n = b.rows;
  if (b.count * n * b.columns == 0) return true;
  const bool named = spec.attributes.find("who") != nullptr;
  const std::string who = named ? spec.attributes.get_string("who") : "solve";
  const int64_t tile = std::min<int64_t>(
      kMaxRightHandSides, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(b.columns))));
  const int64_t tiles = (b.columns + tile - 1) / tile;
  LinalgFailures failures(b.count, to);
  LinalgLaunch(spec, b.count * tiles, n * tile, n, to)
      .run("triangular_solve", {in(0), in(1), out(0), failures.flags(), b.count, n, b.columns,
                                int64_t{spec.attributes.get_bool("lower")},
                                int64_t{spec.attributes.get_bool("transpose")},
                                int64_t{spec.attributes.get_bool("unit")}, tile});
  failures.report([who](int64_t index) {
    raise<InvalidArgument>(
        "{}: expected matrices that have an inverse, but number {} has none (its triangular factor "
        "has a 0 on the diagonal).",
        who, index);
  });
  return true;
}

bool lower_qr(const KernelSpec& spec, Lowering& to) {
  const LinalgBatch x(spec.inputs[0].shape);
  const int64_t columns = spec.outputs[0].shape.back();  // of q
  const int64_t work = x.rows * (x.columns + columns) + std::min(x.rows, x.columns);
  LinalgLaunch(spec, x.count, work, std::max(x.rows, x.columns), to)
      .run("qr", {in(0), out(0), out(1), x.count, x.rows, x.columns, columns});
  return true;
}

bool lower_eigh(const KernelSpec& spec, Lowering& to) {
  const LinalgBatch x(spec.inputs[0].shape);
  const int64_t n = x.rows;
  if (n == 0) return true;
  LinalgLaunch(spec, x.count, 2 * n * n + n + n % 2 + n, n, to)
      .run("eigh", {in(0), out(0), out(1), x.count, n});
  return true;
}

bool lower_svd(const KernelSpec& spec, Lowering& to) {
  const LinalgBatch x(spec.inputs[0].shape);
  const bool full = spec.attributes.get_bool("full");
  const bool vectors = spec.attributes.get_bool("vectors");
  const int64_t k = std::min(x.rows, x.columns);
  const int64_t length = std::max(x.rows, x.columns);
  const int64_t all = full && vectors ? length : k;
  LinalgLaunch(spec, x.count, all * length + k * k + 2 * (k + all), length, to)
      .run("svd", {in(0), out(0), out(1), out(2), x.count, x.rows, x.columns, int64_t{full},
                   int64_t{vectors}});
  return true;
}

}  // namespace

void register_linalg(LoweringTable& table) {
  table.add("lu", lower_lu);
  table.add("cholesky", lower_cholesky);
  table.add("triangular_solve", lower_triangular_solve);
  table.add("qr", lower_qr);
  table.add("eigh", lower_eigh);
  table.add("svd", lower_svd);
}

}  // namespace cornu::cuda
