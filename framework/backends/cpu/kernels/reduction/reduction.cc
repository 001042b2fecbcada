// SPDX-License-Identifier: Apache-2.0
// Reductions over any axes.
//
// Axes are merged where they are all kept or all reduced; the rest is done in passes, the last
// reduced axes first, except where that would be many short rows. A pass reduces an array [outer,
// reduced, inner] to [outer, inner]. Its sums have a fixed order, whatever the number of threads:
// within blocks of a fixed size, then pairs of blocks, then pairs of pairs, and so on.
#include "framework/backends/cpu/kernels/reduction/reduction.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>

#include "framework/backends/cpu/kernel.h"
#include "framework/backends/cpu/kernels/elementwise/memory.h"
#include "framework/backends/cpu/kernels/elementwise/ops.h"
#include "framework/backends/cpu/kernels/through_float32.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

constexpr int64_t kRowBlock = 4096;      // elements of a row that are reduced at once
constexpr int64_t kColumnBlock = 32768;  // elements of a block of rows
constexpr int64_t kColumnTile = 2048;    // columns that are processed together
constexpr int64_t kRowGroup = 8;         // rows that are converted together
constexpr int64_t kNarrow = 64;          // narrower rows are processed several at a time
constexpr int64_t kReduceGrain = 32768;  // elements per thread, at least

// The loops of simd.cc without vectors, for the other dtypes.
template <class T, Reduction kReduction>
struct PlainReducer {
  static T identity() {
    if constexpr (kReduction == Reduction::Sum) return T{0};
    if constexpr (kReduction == Reduction::Product) return T{1};
    if constexpr (kReduction == Reduction::Maximum) return std::numeric_limits<T>::lowest();
    return std::numeric_limits<T>::max();
  }
  static T join(T a, T b) {
    if constexpr (kReduction == Reduction::Sum) {
      return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    }
    if constexpr (kReduction == Reduction::Product) {
      return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    }
    if constexpr (std::is_same_v<T, bool>) return kReduction == Reduction::Maximum ? a | b : a & b;
    return kReduction == Reduction::Maximum ? std::max(a, b) : std::min(a, b);
  }
  static T row(const T* from, size_t count) {
    if constexpr (std::is_same_v<T, bool>) {  // looks for the byte that decides
      if constexpr (kReduction == Reduction::Maximum) return std::memchr(from, 1, count) != nullptr;
      if constexpr (kReduction == Reduction::Minimum) return std::memchr(from, 0, count) == nullptr;
    }
    return std::accumulate(from, from + count, identity(), join);
  }
  static void rows(const void* in, size_t rows, size_t count, void* out) {
    const auto* from = static_cast<const T*>(in);
    for (size_t i = 0; i < rows; ++i) static_cast<T*>(out)[i] = row(from + i * count, count);
  }
  static void columns(const void* in, size_t rows, size_t stride, size_t width, void* out) {
    const auto* from = static_cast<const T*>(in);
    auto* to = static_cast<T*>(out);
    for (size_t i = 0; i < rows; ++i) {
      for (size_t j = 0; j < width; ++j) to[j] = join(to[j], from[i * stride + j]);
    }
  }
  static void fill(void* out, size_t count) {
    std::fill_n(static_cast<T*>(out), count, identity());
  }
};

template <class T>
ReduceFunctions plain_functions(Reduction reduction) {
  const auto of = [](auto reducer) -> ReduceFunctions {
    using R = decltype(reducer);
    return {R::rows, R::columns, R::fill};
  };
  switch (reduction) {
    case Reduction::Sum:
      return of(PlainReducer<T, Reduction::Sum>());
    case Reduction::Product:
      return of(PlainReducer<T, Reduction::Product>());
    case Reduction::Maximum:
      return of(PlainReducer<T, Reduction::Maximum>());
    case Reduction::Minimum:
      return of(PlainReducer<T, Reduction::Minimum>());
  }
  return {};
}

// ---- one pass ----

struct Pass {
  int64_t outer = 1;
  int64_t reduced = 1;
  int64_t inner = 1;
  int64_t block = 1;     // rows (of `inner` elements) of a block
  int64_t blocks = 1;    // of an outer index
  int64_t together = 1;  // narrow rows that are processed as one
  int64_t tile = 1;      // columns of an item of work
  int64_t tiles = 1;

  Pass(int64_t outer_count, int64_t reduced_count, int64_t inner_count)
      : outer(outer_count), reduced(reduced_count), inner(inner_count) {
    if (inner == 1) {
      block = kRowBlock;
    } else {
      if (inner < kNarrow) {
        // Several whole vectors of 16 elements.
        together = 16 / std::gcd(inner, int64_t{16});
        together *= (kNarrow + together * inner - 1) / (together * inner);
      }
      block = std::max<int64_t>(16, kColumnBlock / inner);
      block = (block + 8 * together - 1) / (8 * together) * (8 * together);
    }
    blocks = (reduced + block - 1) / block;
    tile = std::min(inner, kColumnTile);
    tiles = (inner + tile - 1) / tile;
  }
  int64_t results() const { return outer * inner; }
  int64_t partials() const { return blocks > 1 ? outer * blocks * inner : 0; }
};

// The elements of a pass. Without `convert` they have the size `bytes`.
struct Elements {
  ReduceFunctions functions;
  size_t bytes;
  TileFn convert = nullptr;  // to the dtype of the functions
  size_t stored_bytes;       // of an element before conversion
};

// `count` elements in the dtype of the functions; in `memory` if they must be converted.
const std::byte* converted(const Elements& elements, const std::byte* in, int64_t count,
                           std::byte* memory) {
  if (!elements.convert) return in;
  TileArgs args;
  args.operand[0] = {in, 1};
  args.operand[1] = {memory, 1};
  args.count = 2;
  elements.convert(args, static_cast<size_t>(count));
  return memory;
}

// Rows of contiguous elements.
void reduce_rows(const Pass& pass, const Elements& elements, const std::byte* in, std::byte* out) {
  const int64_t chunk = std::max<int64_t>(1, kRowBlock / pass.reduced);
  const int64_t grain = std::max<int64_t>(1, kReduceGrain / pass.reduced);
  parallel_for(pass.outer, grain, [&](int64_t begin, int64_t end) {
    std::byte* memory = thread_memory(size_t(chunk * pass.reduced) * elements.bytes);
    const int64_t step = elements.convert ? chunk : end - begin;
    for (int64_t row = begin; row < end; row += step) {
      const int64_t rows = std::min(step, end - row);
      const std::byte* from = in + size_t(row * pass.reduced) * elements.stored_bytes;
      elements.functions.rows(converted(elements, from, rows * pass.reduced, memory), size_t(rows),
                              size_t(pass.reduced), out + size_t(row) * elements.bytes);
    }
  });
}

void reduce_row_blocks(const Pass& pass, const Elements& elements, const std::byte* in,
                       std::byte* partials) {
  parallel_for(pass.outer * pass.blocks, kReduceGrain / kRowBlock, [&](int64_t begin, int64_t end) {
    std::byte* memory = thread_memory(size_t(kRowBlock) * elements.bytes);
    for (int64_t item = begin; item < end; ++item) {
      const int64_t first = item % pass.blocks * pass.block;
      const int64_t count = std::min(pass.block, pass.reduced - first);
      const int64_t position = item / pass.blocks * pass.reduced + first;
      const std::byte* from = in + size_t(position) * elements.stored_bytes;
      elements.functions.rows(converted(elements, from, count, memory), 1, size_t(count),
                              partials + size_t(item) * elements.bytes);
    }
  });
}

// Contiguous rows of fewer than kNarrow elements: `together` of them form a row of whole vectors.
void reduce_narrow(const Pass& pass, const Elements& elements, const std::byte* in, int64_t rows,
                   std::byte* memory, std::byte* out) {
  const int64_t width = pass.together * pass.inner;
  const auto columns = elements.functions.columns;
  elements.functions.fill(memory, size_t(width));
  columns(in, size_t(rows / pass.together), size_t(width), size_t(width), memory);
  columns(memory, size_t(pass.together), size_t(pass.inner), size_t(pass.inner), out);
  const int64_t done = rows / pass.together * pass.together;
  columns(in + size_t(done * pass.inner) * elements.bytes, size_t(rows - done), size_t(pass.inner),
          size_t(pass.inner), out);
}

// One item of work: the columns of a tile from `column` on, of block `block`, counted over all
// outer indices.
void reduce_columns(const Pass& pass, const Elements& elements, const std::byte* in, int64_t block,
                    int64_t column, std::byte* memory, std::byte* out) {
  const int64_t first = block % pass.blocks * pass.block;
  const int64_t rows = std::min(pass.block, pass.reduced - first);
  const int64_t width = std::min(pass.tile, pass.inner - column);
  const int64_t position = (block / pass.blocks * pass.reduced + first) * pass.inner + column;
  const std::byte* from = in + size_t(position) * elements.stored_bytes;
  elements.functions.fill(out, size_t(width));
  if (pass.together > 1) {
    std::byte* const after = memory + size_t(pass.together * pass.inner) * elements.bytes;
    reduce_narrow(pass, elements, converted(elements, from, rows * pass.inner, after), rows, memory,
                  out);
  } else if (!elements.convert) {
    elements.functions.columns(from, size_t(rows), size_t(pass.inner), size_t(width), out);
  } else {
    for (int64_t row = 0; row < rows; row += kRowGroup) {
      const int64_t group = std::min(kRowGroup, rows - row);
      for (int64_t i = 0; i < group; ++i) {
        converted(elements, from + size_t((row + i) * pass.inner) * elements.stored_bytes, width,
                  memory + size_t(i * width) * elements.bytes);
      }
      elements.functions.columns(memory, size_t(group), size_t(width), size_t(width), out);
    }
  }
}

void reduce_column_blocks(const Pass& pass, const Elements& elements, const std::byte* in,
                          std::byte* out) {
  const int64_t work = std::min(pass.block, pass.reduced) * pass.tile;
  const int64_t memory_elements =
      pass.together > 1 ? (pass.together + pass.block) * pass.inner : kRowGroup * pass.tile;
  parallel_for(pass.outer * pass.blocks * pass.tiles, std::max<int64_t>(1, kReduceGrain / work),
               [&](int64_t begin, int64_t end) {
                 std::byte* memory = thread_memory(size_t(memory_elements) * elements.bytes);
                 for (int64_t item = begin; item < end; ++item) {
                   const int64_t block = item / pass.tiles;
                   const int64_t column = item % pass.tiles * pass.tile;
                   reduce_columns(pass, elements, in, block, column, memory,
                                  out + size_t(block * pass.inner + column) * elements.bytes);
                 }
               });
}

// Combines the blocks' results, pairs first.
void join_blocks(const Pass& pass, const Elements& elements, std::byte* partials, std::byte* out) {
  const auto row_bytes = size_t(pass.inner) * elements.bytes;
  const int64_t work = pass.blocks * pass.tile;
  parallel_for(
      pass.outer * pass.tiles, std::max<int64_t>(1, kReduceGrain / work),
      [&](int64_t begin, int64_t end) {
        for (int64_t item = begin; item < end; ++item) {
          const int64_t outer = item / pass.tiles;
          const int64_t column = item % pass.tiles * pass.tile;
          const auto width = size_t(std::min(pass.tile, pass.inner - column));
          const size_t offset = size_t(column) * elements.bytes;
          std::byte* const rows = partials + size_t(outer * pass.blocks) * row_bytes + offset;
          for (int64_t step = 1; step < pass.blocks; step *= 2) {
            for (int64_t i = 0; i + step < pass.blocks; i += 2 * step) {
              elements.functions.columns(rows + size_t(i + step) * row_bytes, 1, width, width,
                                         rows + size_t(i) * row_bytes);
            }
          }
          std::copy_n(rows, width * elements.bytes, out + size_t(outer) * row_bytes + offset);
        }
      });
}

void run_pass(const Pass& pass, const Elements& elements, const std::byte* in, std::byte* partials,
              std::byte* out) {
  if (pass.inner == 1 && pass.blocks == 1) return reduce_rows(pass, elements, in, out);
  std::byte* const results = pass.blocks == 1 ? out : partials;
  if (pass.inner == 1) {
    reduce_row_blocks(pass, elements, in, results);
  } else {
    reduce_column_blocks(pass, elements, in, results);
  }
  if (pass.blocks > 1) join_blocks(pass, elements, partials, out);
}

// ---- the kernel ----

class ReduceKernel : public Kernel {
 public:
  ReduceKernel(const KernelSpec& spec, const ReduceFunctions& functions, DType accumulator)
      : functions_(functions),
        bytes_(size_of(accumulator)),
        count_(spec.outputs[0].shape.num_elements()) {
    const TensorType& in = spec.inputs[0];
    stored_bytes_ = size_of(in.dtype);
    if (in.dtype != accumulator) {
      convert_ = cast_tile(in.dtype, accumulator);
      round_ = cast_tile(accumulator, in.dtype);
    }
    empty_ = in.shape.num_elements() == 0;
    if (!empty_) {
      plan_passes(in.shape, spec.attributes.get_ints("axes"));
    } else if (round_) {
      result_bytes_ = round_up(size_t(count_) * bytes_, 64);  // filled, then rounded
    }
  }

  size_t scratch_bytes() const override { return 2 * result_bytes_ + partial_bytes_; }

  void run(const KernelArgs& args) override {
    auto* scratch = static_cast<std::byte*>(args.scratch);
    std::byte* const partials = scratch + 2 * result_bytes_;
    auto* out = static_cast<std::byte*>(args.out[0]);
    std::byte* const last = round_ ? scratch : out;
    if (copies_) {
      std::copy_n(static_cast<const std::byte*>(args.in[0]), size_t(count_) * stored_bytes_, out);
      return;
    }
    if (empty_) functions_.fill(last, size_t(count_));
    const auto* in = static_cast<const std::byte*>(args.in[0]);
    for (size_t i = 0; i < passes_.size(); ++i) {
      const bool first = i == 0;
      const Elements elements{functions_, bytes_, first ? convert_ : nullptr,
                              first ? stored_bytes_ : bytes_};
      // Intermediate results alternate between the two halves of scratch memory.
      std::byte* const to =
          i + 1 == passes_.size() ? last : scratch + (passes_.size() - 1 - i) % 2 * result_bytes_;
      run_pass(passes_[i], elements, in, partials, to);
      in = to;
    }
    if (round_) round(last, out);
  }

 private:
  void plan_passes(const Shape& shape, const std::vector<int64_t>& axes) {
    // Merged axes, alternately kept and reduced; the first one is kept (maybe of size 1).
    std::vector<int64_t> sizes = {1};
    for (int64_t axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] == 1) continue;
      const bool reduced = std::binary_search(axes.begin(), axes.end(), axis);
      if (reduced == (sizes.size() % 2 == 0)) {
        sizes.back() *= shape[axis];
      } else {
        sizes.push_back(shape[axis]);
      }
    }
    if (sizes.size() % 2 == 0) sizes.push_back(1);
    copies_ = sizes.size() == 1;
    while (sizes.size() >= 3) {
      auto at = sizes.end() - 2;  // the axis to reduce
      const bool short_rows = sizes.back() == 1 && *at < kNarrow;
      if (short_rows && sizes.size() >= 5 && at[-2] >= *at) at -= 2;
      const auto product = [](auto begin, auto end) {
        return std::accumulate(begin, end, int64_t{1}, std::multiplies<>());
      };
      passes_.emplace_back(product(sizes.begin(), at), *at, product(at + 1, sizes.end()));
      at[-1] *= at[1];
      sizes.erase(at, at + 2);
      partial_bytes_ = std::max(partial_bytes_, size_t(passes_.back().partials()) * bytes_);
      result_bytes_ = std::max(result_bytes_, size_t(passes_.back().results()) * bytes_);
    }
    if (passes_.size() == 1 && !round_) result_bytes_ = 0;
    result_bytes_ = round_up(result_bytes_, 64);
  }

  void round(const std::byte* from, std::byte* to) const {
    parallel_for(count_, kReduceGrain, [&](int64_t begin, int64_t end) {
      TileArgs args;
      args.operand[0] = {from + size_t(begin) * bytes_, 1};
      args.operand[1] = {to + size_t(begin) * stored_bytes_, 1};
      args.count = 2;
      round_(args, size_t(end - begin));
    });
  }

  ReduceFunctions functions_;
  size_t bytes_;         // of an element during the reduction
  size_t stored_bytes_;  // of an element of the input and output
  int64_t count_;        // of results
  bool empty_ = false;   // there is nothing to reduce
  bool copies_ = false;  // all reduced axes have one element
  TileFn convert_ = nullptr;
  TileFn round_ = nullptr;
  std::vector<Pass> passes_;
  size_t result_bytes_ = 0;   // of the largest intermediate result
  size_t partial_bytes_ = 0;  // of the blocks' results
};

std::unique_ptr<Kernel> make_reduction(const KernelSpec& spec) {
  const DType dtype = spec.inputs[0].dtype;
  const DType accumulator = is_half(dtype) ? DType::Float32 : dtype;
  const ReduceFunctions functions = reduce_functions(*reduction_of(spec.op.name), accumulator);
  if (!functions.rows) return nullptr;
  return std::make_unique<ReduceKernel>(spec, functions, accumulator);
}

}  // namespace

std::optional<Reduction> reduction_of(std::string_view op) {
  if (op == "reduce_sum") return Reduction::Sum;
  if (op == "reduce_prod") return Reduction::Product;
  if (op == "reduce_max") return Reduction::Maximum;
  if (op == "reduce_min") return Reduction::Minimum;
  return std::nullopt;
}

ReduceFunctions reduce_functions(Reduction reduction, DType dtype) {
  if (const ReduceFunctions found = vector_reduce_functions(reduction, dtype); found.rows)
    return found;
  switch (dtype) {
    case DType::Bool:
      if (reduction == Reduction::Sum || reduction == Reduction::Product) return {};
      return plain_functions<bool>(reduction);
    case DType::UInt8:
      return plain_functions<uint8_t>(reduction);
    case DType::Int8:
      return plain_functions<int8_t>(reduction);
    case DType::Int64:
      return plain_functions<int64_t>(reduction);
    case DType::UInt32:
      return plain_functions<uint32_t>(reduction);
    case DType::UInt64:
      return plain_functions<uint64_t>(reduction);
    default:
      return {};
  }
}

void register_reduction_kernels(KernelTable& table) {
  for (const char* op : {"reduce_sum", "reduce_prod", "reduce_max", "reduce_min"}) {
    table.add(op, make_reduction);
  }
  register_scan_kernels(table);
  register_sort_kernels(table);
}

}  // namespace cornu::cpu
