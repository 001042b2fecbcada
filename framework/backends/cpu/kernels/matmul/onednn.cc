// SPDX-License-Identifier: Apache-2.0
// A product of two matrices is divided into one tile per thread, each with a single-threaded
// primitive: that is up to twice as fast as oneDNN's own division of the work, and relu is applied
// to a tile while it is in the cache. Products of many matrices are left to oneDNN.
#include <algorithm>
#include <atomic>
#include <cmath>

#include "framework/backends/cpu/exit_gate.h"
#include "framework/backends/cpu/kernels/matmul/matmul.h"
#include "framework/backends/cpu/kernels/onednn.h"
#include "framework/backends/cpu/kernels/pooling/rectify.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

using namespace onednn;

// The types of the operands, and of the product and its bias.
struct OperandTypes {
  Type in;
  Type out;
};

// A plain array of matrices (rows x columns), or of their transposes.
Desc matrix_desc(const std::vector<int64_t>& batch, int64_t rows, int64_t columns, bool transposed,
                 Type type) {
  Dims dims = batch;
  dims.push_back(rows);
  dims.push_back(columns);
  Dims strides(dims.size());
  strides[dims.size() - 2] = transposed ? 1 : columns;
  strides[dims.size() - 1] = transposed ? rows : 1;
  int64_t step = rows * columns;
  for (size_t i = batch.size(); i-- > 0; step *= batch[i]) strides[i] = step;
  return Desc(dims, type, strides);
}

Desc bias_desc(size_t rank, int64_t n, Type type) {
  Dims dims(rank - 1, 1);
  Dims strides(rank - 1, n);
  dims.push_back(n);
  strides.push_back(1);
  return Desc(dims, type, strides);
}

// Empty if oneDNN has no implementation.
dnnl::matmul::primitive_desc matmul_desc(const Desc& a, const Desc& b, const Desc& bias,
                                         const Desc& out) {
  return bias.get_size() > 0 ? choose<dnnl::matmul>(attributes(), a, b, bias, out)
                             : choose<dnnl::matmul>(attributes(), a, b, out);
}

// How many tiles the rows and columns of the product are divided into.
struct Grid {
  int64_t rows = 1;
  int64_t columns = 1;
};

int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }
int64_t divide_up(int64_t value, int64_t parts) { return (value + parts - 1) / parts; }

constexpr int64_t kRowUnit = 8;
constexpr int64_t kColumnUnit = 16;

// The cost of a tile of m x n, in results: from measurements on one core of an AMD Zen 5, where
// packing a row of a or a column of b costs as much as computing pack_row or pack_column results.
double tile_cost(const MatmulProblem& problem, double m, double n) {
  const double pack_row = problem.transpose_a ? 5 : 0.5;
  const double pack_column = problem.transpose_b ? 13 : 2;
  return m * n + pack_row * m + pack_column * n;
}

// Like tile_cost, for 16-bit numbers, on a core of a Xeon with AMX: whole rows have a kernel that
// writes them directly. Parts of rows, and products of a transposed a, pass through float32 once
// per result, which matters less the more terms it has. Their cost of packing was measured on an
// AMD Zen 4.
double half_tile_cost(const MatmulProblem& problem, bool whole_rows, double m, double n) {
  if (whole_rows && !problem.transpose_a) return (m + 30) * n;
  return m * n * (1 + 200 / static_cast<double>(problem.k)) + 67 * m + 17 * n;
}

// The cheapest division for `threads`.
Grid choose_grid(const MatmulProblem& problem, int64_t threads) {
  constexpr int64_t kSmallest = 200000;  // fewer products use one thread
  Grid best;
  if (problem.m * problem.n * problem.k < kSmallest) return best;
  double least = INFINITY;
  for (int64_t rows = 1; rows <= threads; ++rows) {
    const Grid grid{rows, threads / rows};
    const auto m = static_cast<double>(round_up(divide_up(problem.m, grid.rows), kRowUnit));
    const auto n = static_cast<double>(round_up(divide_up(problem.n, grid.columns), kColumnUnit));
    const double cost = is_half(problem.dtype) ? half_tile_cost(problem, grid.columns == 1, m, n)
                                               : tile_cost(problem, m, n);
    if (cost < least) {
      least = cost;
      best = grid;
    }
  }
  return best;
}

// The maximum number of columns of a tile: oneDNN is slow for wide tiles of a transposed b in
// float32.
int64_t widest_tile(const MatmulProblem& problem) {
  return problem.transpose_b && !is_half(problem.dtype) ? 1024 : INT64_MAX / 2;
}

class TiledMatmul : public Kernel {
 public:
  TiledMatmul(const MatmulProblem& problem, OperandTypes types)
      : problem_(problem),
        types_(types),
        in_element_(problem.is_int8 ? 1 : size_of(problem.dtype)),
        element_(size_of(problem.dtype)),
        rectify_(simd_rectify(problem.dtype, problem.activation)) {
    const Grid grid = choose_grid(problem, compute_threads());
    const ComputeThreadsScope alone(1);
    const int64_t m = round_up(divide_up(problem.m, grid.rows), kRowUnit);
    const int64_t n = round_up(divide_up(problem.n, grid.columns), kColumnUnit);
    for (int64_t row = 0; row < problem.m; row += m) {
      for (int64_t column = 0; column < problem.n; column += n) {
        add_part(row, std::min(m, problem.m - row), column, std::min(n, problem.n - column));
      }
    }
    size_t scratch = 0;
    for (const Part& part : parts_) scratch = std::max(scratch, aligned(part.scratch));
    part_scratch_ = scratch;
  }

  // Whether oneDNN has primitives for all tiles.
  bool complete() const { return complete_; }

  size_t scratch_bytes() const override { return part_scratch_ * parts_.size(); }

  void run(const KernelArgs& args) override {
    const KernelUse use;
    std::atomic<bool> failed = false;
    parallel_parts(static_cast<int>(parts_.size()), [&](int index) {
      auto* scratch =
          static_cast<std::byte*>(args.scratch) + static_cast<size_t>(index) * part_scratch_;
      for (Tile& tile : parts_[static_cast<size_t>(index)].tiles) {
        if (!run_tile(tile, args, scratch)) failed = true;
      }
    });
    check<Internal>(!failed, "matmul: oneDNN failed.");
  }

 private:
  struct Tile {
    Step step;
    int64_t row;
    int64_t column;
    int64_t rows;
    int64_t columns;
  };
  struct Part {
    std::vector<Tile> tiles;
    size_t scratch = 0;
  };

  void add_part(int64_t row, int64_t rows, int64_t column, int64_t columns) {
    const int64_t count = divide_up(columns, widest_tile(problem_));
    const int64_t width = round_up(divide_up(columns, count), kColumnUnit);
    Part part;
    for (int64_t at = 0; at < columns && complete_; at += width) {
      add_tile(part, row, rows, column + at, std::min(width, columns - at));
    }
    parts_.push_back(std::move(part));
  }

  void add_tile(Part& part, int64_t row, int64_t rows, int64_t column, int64_t columns) {
    const MatmulProblem& p = problem_;
    const Desc a({rows, p.k}, types_.in, p.transpose_a ? Dims{1, p.m} : Dims{p.k, 1});
    const Desc b({p.k, columns}, types_.in, p.transpose_b ? Dims{1, p.k} : Dims{p.n, 1});
    const Desc out({rows, columns}, types_.out, Dims{p.n, 1});
    const Desc bias_row = p.bias ? bias_desc(2, columns, types_.out) : Desc();
    const auto chosen = matmul_desc(a, b, bias_row, out);
    complete_ = static_cast<bool>(chosen);
    if (!complete_) return;
    Tile tile{Step(dnnl::matmul(chosen)), row, column, rows, columns};
    tile.step.add(DNNL_ARG_SRC, a);
    tile.step.add(DNNL_ARG_WEIGHTS, b);
    tile.step.add(DNNL_ARG_DST, out);
    tile.step.add(DNNL_ARG_SCRATCHPAD, chosen.scratchpad_desc());
    if (p.bias) tile.step.add(DNNL_ARG_BIAS, bias_row);
    part.scratch = std::max(part.scratch, chosen.scratchpad_desc().get_size());
    part.tiles.push_back(std::move(tile));
  }

  static const std::byte* at(const void* base, int64_t element, size_t bytes) {
    return static_cast<const std::byte*>(base) + element * static_cast<int64_t>(bytes);
  }

  bool run_tile(Tile& tile, const KernelArgs& args, void* scratch) const {
    const MatmulProblem& p = problem_;
    auto* out = static_cast<std::byte*>(args.out[0]) +
                (tile.row * p.n + tile.column) * static_cast<int64_t>(element_);
    tile.step.bind(0, at(args.in[0], tile.row * (p.transpose_a ? 1 : p.k), in_element_));
    tile.step.bind(1, at(args.in[1], tile.column * (p.transpose_b ? p.k : 1), in_element_));
    tile.step.bind(2, out);
    tile.step.bind(3, scratch);
    if (p.bias) tile.step.bind(4, at(args.in[2], tile.column, element_));
    const bool ok = tile.step.try_run();
    if (ok && rectify_) rectify_(out, tile.rows, tile.columns, p.n);
    return ok;
  }

  MatmulProblem problem_;
  OperandTypes types_;
  size_t in_element_;
  size_t element_;  // of the result
  Rectify rectify_;
  std::vector<Part> parts_;
  size_t part_scratch_ = 0;
  bool complete_ = true;
};

std::unique_ptr<Kernel> make_batched(const MatmulProblem& p, OperandTypes types) {
  const Desc a = matrix_desc(p.a_batch, p.m, p.k, p.transpose_a, types.in);
  const Desc b = matrix_desc(p.b_batch, p.k, p.n, p.transpose_b, types.in);
  const Desc out = matrix_desc(p.batch, p.m, p.n, false, types.out);
  const Desc bias = p.bias ? bias_desc(p.batch.size() + 2, p.n, types.out) : Desc();
  const auto chosen = matmul_desc(a, b, bias, out);
  if (!chosen) return nullptr;
  std::vector<Operand> operands = {{DNNL_ARG_SRC, false, 0, a, a},
                                   {DNNL_ARG_WEIGHTS, false, 1, b, b},
                                   {DNNL_ARG_DST, true, 0, out, out}};
  if (p.bias) operands.push_back({DNNL_ARG_BIAS, false, 2, bias, bias});
  auto kernel = make_kernel(dnnl::matmul(chosen), chosen.scratchpad_desc(), operands);
  return rectified(std::move(kernel), p.dtype, p.activation, p.batch_size() * p.m * p.n);
}

// Without VNNI, pairs of products of int8 are added up in 16 bits, which saturate. On processors
// other than x86-64 oneDNN has no vectorized loops for them.
bool multiplies_int8() {
  constexpr unsigned kVnni = (dnnl_cpu_isa_avx2_vnni & ~dnnl_cpu_isa_avx2) |
                             (dnnl_cpu_isa_avx512_core_vnni & ~dnnl_cpu_isa_avx512_core);
  return (static_cast<unsigned>(x86_instruction_set()) & kVnni) != 0;
}

}  // namespace

std::unique_ptr<Kernel> make_onednn_matmul(const MatmulProblem& problem) {
  if (problem.is_int8 && !multiplies_int8()) return nullptr;
  const auto type = problem.is_int8 ? Type::s8 : compute_type(problem.dtype);
  if (!type) return nullptr;
  const OperandTypes types{*type, problem.is_int8 ? Type::s32 : *type};
  if (!problem.batch.empty()) return make_batched(problem, types);
  auto kernel = std::make_unique<TiledMatmul>(problem, types);
  if (!kernel->complete()) return nullptr;
  return kernel;
}

}  // namespace cornu::cpu
