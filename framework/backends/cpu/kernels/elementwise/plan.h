// SPDX-License-Identifier: Apache-2.0
// The memory of a tile program's values, and the division of its output into tiles.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "framework/backends/cpu/kernels/elementwise/code.h"
#include "framework/backends/cpu/kernels/elementwise/layout.h"
#include "framework/backends/cpu/kernels/elementwise/schedule.h"

namespace cornu::cpu {

struct TilePlan {
  // A value that is read from an input or a constant, or written to an output.
  struct Operand {
    enum class Source : uint8_t { Input, Constant, Output };
    int value = 0;
    Source source = Source::Input;
    int index = 0;  // of the input, constant or output
    size_t element_bytes = 0;
    size_t shape = 0;  // its index in the layout; unused if read in place
    size_t home = 0;   // offset of its copy, if it is copied
    int64_t span = 0;  // of expanded ones: elements within which each period is the same
  };

  // The location of a value in scratch memory.
  struct Home {
    int value = 0;
    size_t offset = 0;
    size_t step = 0;
    size_t row_bytes = 0;  // of a register, in tiles of several rows
  };

  // A value with one element per row. Those that are computed are at `home`, others are read in
  // place; for the instructions of tiles, each element is repeated, from `wide` on.
  struct RowValue {
    int value = 0;
    size_t element_bytes = 0;
    size_t home = 0;
    size_t wide = 0;
    bool is_computed = false;
    bool is_widened = false;
  };

  // A sum over the tiles of a block. At `home` are the running sums, which are added up after each
  // block; the sums of blocks are in the kernel's scratch memory from `partials` on.
  struct Sum {
    int accumulator = 0;  // the values before and after adding a tile
    int value = 0;
    size_t output = 0;
    int64_t columns = 1;
    DType dtype = DType::Float32;
    size_t home = 0;
    size_t partials = 0;
  };

  std::array<std::vector<TileStep>, 4> steps;  // by TileStage
  std::vector<Operand> in_place;               // of the full shape
  std::vector<Operand> scalars;                // copied once per run
  std::vector<Operand> periodic;               // copied once per thread
  std::vector<Operand> row_scalars;            // one element per row
  std::vector<Operand> row_arrays;             // read in place, row by row
  std::vector<Operand> expanded;               // copied for each tile that differs
  std::vector<Home> run_homes;                 // in the kernel's scratch memory
  std::vector<Home> thread_homes;              // in each thread's memory
  std::vector<RowValue> row_values;
  size_t run_bytes = 0;
  size_t thread_bytes = 0;

  // Rows longer than a tile are divided into `segments`; of shorter ones, a tile has `together`. An
  // item of work is a tile.
  bool by_rows = false;
  int64_t segments = 1;  // of a row
  int64_t together = 1;  // rows of a tile
  int64_t tile = 0;      // elements
  int64_t period = 0;    // elements after which periodic operands repeat; divides `tile`
  int64_t items = 0;
  int64_t grain = 1;  // items per thread, at least

  // Blocks of items depend on the shape only, so that sums have one order for any number of
  // threads.
  std::vector<Sum> sums;
  int64_t running = 0;      // elements of an accumulator: a tile, or a row
  int64_t block_items = 0;  // whole rows
  int64_t blocks = 0;
  size_t partial_bytes = 0;

  // Pairs (input, output) of one type that may be one array: no operation after the one that
  // computes the output reads the input.
  std::vector<std::pair<int, int>> aliases;
};

// The broadcast layout of a kernel's inputs, followed by its constants. Its last axis is that of
// column sums.
BroadcastLayout tile_layout(const KernelSpec& spec, const TileCode& code);

// Sets the stages of values, schedules the instructions, and assigns memory to all values.
TilePlan plan_tiles(const KernelSpec& spec, TileCode& code, const BroadcastLayout& layout);

}  // namespace cornu::cpu
