// SPDX-License-Identifier: Apache-2.0
// The code of a tile program: which tile function computes which value.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "framework/backends/cpu/kernel.h"
#include "framework/backends/cpu/kernels/elementwise/ops.h"

namespace cornu::cpu {

// How often a value is computed. Instructions run in the order of their stages.
enum class TileStage : uint8_t {
  Run,   // once per run: depends on scalars only
  Part,  // once per thread: periodic, the same in every tile
  Row,   // once per row: constant along the last axis
  Tile,  // for every tile
};

// An accumulator holds the partial sums of an output in a thread's memory, one for each element of
// a tile or row; they are added up at the end. Instructions read it and compute its new value.
struct TileValue {
  enum class Source : uint8_t { Input, Constant, Accumulator, Instruction };
  Source source = Source::Input;
  int index = 0;  // of the kernel's input or output, of TileCode::constants; -1 of instructions
  DType dtype = DType::Float32;
  TileStage stage = TileStage::Tile;
};

struct TileInstruction {
  TileFn run = nullptr;                  // null: chains only
  std::optional<TileOp> op;              // none: a cast
  DType operand_dtype = DType::Float32;  // of the last operand
  std::vector<int> in;                   // values
  int out = -1;                          // value
  double cost = 0;                       // nanoseconds per element
  std::optional<TileOp> compare;         // of select(compare(a, b), c, d), with four operands
  bool within = false;  // select(a > b, select(a <= c, d, b), b), with four operands
};

// In single static assignment form, in order.
struct TileCode {
  std::vector<TileValue> values;
  std::vector<TileInstruction> instructions;
  std::vector<Tensor> constants;
  // By output of the kernel: the value, each from a different instruction.
  std::vector<int> outputs;
  // By output: the accumulator of one that is a sum; -1 for arrays.
  std::vector<int> accumulators;
  Shape shape;          // of arrays
  int64_t columns = 1;  // of the widest sum: 1 if all sums are over all elements

  int add_value(TileValue value);
  int add_constant(const Tensor& tensor);
  bool is_output(int value) const;
  bool is_sum(size_t output) const { return accumulators[output] >= 0; }
};

// The code for one elementwise op, or for the body of "fused"; nullopt if an op has no tile
// function. Arithmetic of 16-bit floating-point numbers is done in float32 and rounded where a
// value is cast or leaves the program.
std::optional<TileCode> tile_code(const KernelSpec& spec);

// Sets the stages of instructions' values from those of inputs and constants.
void propagate_stages(TileCode& code);

// Removes instructions whose values nothing reads, and merges comparisons into a select or cast
// that is their only reader, and two such selects into one: the gradient of relu6. Inputs and
// constants have stages; propagate_stages is called again afterwards.
void simplify(TileCode& code);

}  // namespace cornu::cpu
