// SPDX-License-Identifier: Apache-2.0
// Chains: arithmetic of float32 or float64 in one pass over a tile, with intermediate results in
// vector registers. A chain is code for a machine with one accumulator, run on blocks of eight
// vectors, which makes interpreting it cheap. Its bits are those of the operations one after the
// other.
#pragma once

#include <cstdint>
#include <vector>

#include "framework/backends/cpu/kernels/elementwise/ops.h"

namespace cornu::cpu {

// a is the accumulator; x, y and z are operands.
enum class ChainOp : uint8_t {
  Load,            // a = x
  LoadSum,         // a = x + y; in operations with a sum or product, y isn't a scalar
  LoadDifference,  // a = x - y
  LoadProduct,     // a = x * y
  Add,             // a = a + x
  Subtract,
  SubtractFrom,  // a = x - a
  Multiply,
  Divide,
  DivideInto,       // a = x / a
  Maximum,          // of a and x: of 0 and -0 it is the second one
  ReversedMaximum,  // of x and a
  Minimum,
  ReversedMinimum,
  AddProduct,       // a = a + x * y
  SubtractProduct,  // a = a - x * y
  ProductMinus,     // a = x * y - a
  ProductOver,      // a = x * y / a
  Relu,
  Negate,
  Abs,
  Sqrt,
  Square,
  Rsqrt,
  Reciprocal,
  SelectEqual,  // a = a == x ? y : z
  SelectNotEqual,
  SelectLess,
  SelectLessEqual,
  SelectGreater,
  SelectGreaterEqual,
  SelectWithin,  // a = x < a && a <= y ? z : x
  Store,         // x = a
};

// Operations have a form for each kind of their operands.
enum class ChainOperand : uint8_t { Array, Local, Scalar };

struct ChainStep {
  ChainOp op = ChainOp::Load;
  uint8_t in[3] = {};  // operand numbers: x, y, z
  ChainOperand kinds[3] = {};
  void (*run)() = nullptr;  // set by prepare_chain
};

// Operands are numbered: those of the tile step first, the last `outputs` of which are written,
// then `locals` buffers for intermediate results.
struct Chain {
  std::vector<ChainStep> steps;
  int outputs = 0;
  int locals = 0;
};

inline constexpr int kMaxChainOperands = kMaxTileOperands;
inline constexpr int kMaxChainLocals = 8;
inline constexpr size_t kMaxChainSteps = 64;

bool has_chains(DType dtype);  // float32 and float64

// Prepares a chain of this dtype for the returned function.
TileFn prepare_chain(Chain& chain, DType dtype);

}  // namespace cornu::cpu
