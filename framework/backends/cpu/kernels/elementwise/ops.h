// SPDX-License-Identifier: Apache-2.0
// Tile functions: one elementwise operation on one tile, a range of elements short enough to stay
// in the first-level cache. Tile programs (program.h) are lists of them.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "framework/core/dtype.h"

namespace cornu::cpu {

enum class TileOp : uint8_t {
  // unary, same dtype out
  Copy,
  Negate,
  Abs,
  Sign,
  Exp,
  Exp2,
  Expm1,
  Log,
  Log1p,
  Sqrt,
  Rsqrt,
  Square,
  Reciprocal,
  Sin,
  Cos,
  Tan,
  Asin,
  Acos,
  Atan,
  Sinh,
  Cosh,
  Tanh,
  Erf,
  Erfc,
  ErfInv,
  Floor,
  Ceil,
  Round,
  Relu,
  Sigmoid,
  LogicalNot,
  // unary to bool
  IsNan,
  IsInf,
  IsFinite,
  // binary, same dtype out
  Add,
  Subtract,
  Multiply,
  Divide,
  Maximum,
  Minimum,
  Power,
  FloorDivide,
  Mod,
  Atan2,
  LogicalAnd,
  LogicalOr,
  LogicalXor,
  BitwiseAnd,
  BitwiseOr,
  BitwiseXor,
  LeftShift,
  RightShift,
  // binary to bool
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  // (condition, a, b)
  Select,
};

constexpr bool is_binary(TileOp op) { return op >= TileOp::Add && op <= TileOp::GreaterEqual; }
constexpr bool is_compare(TileOp op) { return op >= TileOp::Equal && op <= TileOp::GreaterEqual; }
constexpr bool gives_bool(TileOp op) {
  return is_compare(op) || (op >= TileOp::IsNan && op <= TileOp::IsFinite);
}

// The operation of the graph op of this name; nullopt for "cast" and for ops that aren't
// elementwise.
std::optional<TileOp> tile_op(std::string_view name);
std::vector<std::string_view> tile_op_names();

// An operand: `step` is 1 for consecutive elements, 0 for a scalar, whose value is repeated at
// least kScalarWidth times at `data`.
struct TileOperand {
  const void* data = nullptr;
  size_t step = 1;
  bool streams = false;  // the next tile's elements follow in memory
  // In tiles of several rows: whether their elements are consecutive, or a scalar of all; the bytes
  // from one row's elements to the next one's.
  bool continues = true;
  size_t row_bytes = 0;
};
inline constexpr size_t kScalarWidth = 64;

inline constexpr int kMaxTileOperands = 32;

struct Chain;

struct TileArgs {
  TileOperand operand[kMaxTileOperands];  // inputs, then outputs
  int count = 0;
  const Chain* chain = nullptr;  // the code, for the function that runs chains
  size_t rows = 1;               // for that function, too: `count` elements each

  void* out() const { return const_cast<void*>(operand[count - 1].data); }
};

// Computes elements [0, count) of the outputs. An element's bits don't depend on its position in
// the tile. An output may be one of the inputs (the same address): each element is read before it
// is written. (A chain's outputs: where the plan says so.)
using TileFn = void (*)(const TileArgs& args, size_t count);

// Each of these returns null if there is no such function. 16-bit floating-point numbers support
// casts only: arithmetic on them is done in float32.
TileFn tile_function(TileOp op, DType operand_dtype);
TileFn cast_tile(DType from, DType to);

// By op, for float32 and float64 (compiled for several instruction sets).
TileFn float_unary_tile(TileOp op, DType dtype);
TileFn float_binary_tile(TileOp op, DType dtype);  // comparisons too
TileFn select_tile(DType dtype);                   // of 2, 4 and 8 bytes
TileFn float_cast_tile(DType from, DType to);
// For all dtypes but floating ones; bool included.
TileFn plain_tile(TileOp op, DType dtype);
TileFn plain_select_tile(DType dtype);
TileFn plain_cast_tile(DType from, DType to);

// Runs a cast over `count` consecutive elements, on this thread.
void convert(TileFn cast, const void* from, void* to, int64_t count);

// Writes `times` copies of each of `count` elements, which are `stride` bytes apart. May write up
// to 64 bytes after them.
void repeat_elements(const void* values, size_t stride, size_t element_bytes, size_t count,
                     size_t times, void* out);

// Rough cost of an element, in nanoseconds, for choosing the number of threads.
double tile_cost(TileOp op, DType dtype);

}  // namespace cornu::cpu
