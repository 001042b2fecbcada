// SPDX-License-Identifier: Apache-2.0
// Where the values of a tile program lie, and how its output is walked.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "framework/backends/cpu/kernels/elementwise/code.h"
#include "framework/backends/cpu/kernels/elementwise/layout.h"
#include "framework/backends/cpu/kernels/elementwise/schedule.h"

namespace cornu::cpu {

struct TilePlan {
  // A value that comes from an array of the caller's or a constant, or goes to one.
  struct Operand {
    enum class Source : uint8_t { Input, Constant, Output };
    int value = 0;
    Source source = Source::Input;
    int index = 0;  // of the input, constant or output
    size_t element_bytes = 0;
    size_t shape = 0;  // its number in the layout; unused for those read in place
    size_t home = 0;   // where it is copied to, for those that are copied
  };

  // A value in working memory.
  struct Home {
    int value = 0;
    size_t offset = 0;
    size_t step = 0;
  };

  // A sum over the tiles of a block. `home` has `elements` running sums, which are added up behind
  // each block; the blocks' sums lie in the kernel's scratch memory from `partials` on.
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
  std::vector<Operand> scalars;                // copied once a run
  std::vector<Operand> periodic;               // copied once a thread
  std::vector<Operand> row_scalars;            // copied once a row
  std::vector<Operand> row_arrays;             // read in place, a row at a time
  std::vector<Operand> expanded;               // copied for each tile
  std::vector<Home> run_homes;                 // in the kernel's scratch memory
  std::vector<Home> thread_homes;              // in each thread's memory
  size_t run_bytes = 0;
  size_t thread_bytes = 0;

  // Rows longer than a tile are cut into `segments`, others are taken several at a time. An item of
  // work is a tile.
  bool by_rows = false;
  int64_t segments = 1;  // of a row
  int64_t tile = 0;      // elements
  int64_t period = 0;    // elements after which periodic operands repeat; divides `tile`
  int64_t items = 0;
  int64_t grain = 1;  // items that are worth a thread

  // Blocks of items, which depend on the shape alone: sums have one order at any number of threads.
  std::vector<Sum> sums;
  int64_t running = 0;      // elements of an accumulator: a tile, or a row
  int64_t block_items = 0;  // whole rows
  int64_t blocks = 0;
  size_t partial_bytes = 0;

  // Pairs (input, output) of one type that may be one array: no operation after the one that makes
  // the output reads the input.
  std::vector<std::pair<int, int>> aliases;
};

// The broadcast shape of a kernel with the shapes of its inputs, followed by those of constants.
// Its last axis is that of sums of columns.
BroadcastLayout tile_layout(const KernelSpec& spec, const TileCode& code);

// Sets the stages of values, schedules the instructions, and lays everything out.
TilePlan plan_tiles(const KernelSpec& spec, TileCode& code, const BroadcastLayout& layout);

}  // namespace cornu::cpu
