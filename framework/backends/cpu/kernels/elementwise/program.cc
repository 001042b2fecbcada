// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/kernels/elementwise/program.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "framework/backends/cpu/kernels/elementwise/memory.h"
#include "framework/backends/cpu/kernels/reduction/reduction.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

// Runs a step on `rows` rows of `count` elements each.
void execute_rows(const TileStep& step, TileArgs& args, size_t count, size_t rows) {
  if (step.chain) {
    args.rows = rows;
    step.run(args, count);
    args.rows = 1;
    return;
  }
  const std::span operands(args.operand, static_cast<size_t>(args.count));
  if (std::ranges::all_of(operands, &TileOperand::continues)) return step.run(args, rows * count);
  for (size_t row = 0; row < rows; ++row) {
    step.run(args, count);
    for (TileOperand& operand : operands) {
      operand.data = static_cast<const std::byte*>(operand.data) + operand.row_bytes;
    }
  }
}

// `args` is overwritten: a caller with many tiles makes it once.
void execute(const std::vector<TileStep>& steps, const TileOperand* slots, size_t count,
             TileArgs& args, size_t rows = 1) {
  for (const TileStep& step : steps) {
    args.count = 0;
    for (const int value : step.in) args.operand[args.count++] = slots[value];
    for (const int value : step.out) args.operand[args.count++] = slots[value];
    args.chain = step.chain.get();
    execute_rows(step, args, count, rows);
  }
}

void execute(const std::vector<TileStep>& steps, const TileOperand* slots, size_t count) {
  if (steps.empty()) return;
  TileArgs args;
  execute(steps, slots, count, args);
}

void advance(const std::vector<TilePlan::Operand>& operands, TileOperand* slots, int64_t count) {
  for (const TilePlan::Operand& operand : operands) {
    const void*& data = slots[operand.value].data;
    data = static_cast<const std::byte*>(data) + static_cast<size_t>(count) * operand.element_bytes;
  }
}

void advance_sums(const std::vector<TilePlan::Sum>& sums, TileOperand* slots, int64_t count) {
  for (const TilePlan::Sum& sum : sums) {
    const void*& data = slots[sum.value].data;
    data = static_cast<const std::byte*>(data) + static_cast<size_t>(count) * size_of(sum.dtype);
    slots[sum.accumulator].data = data;
  }
}

void set_homes(const std::vector<TilePlan::Home>& homes, std::byte* memory, TileOperand* slots) {
  for (const TilePlan::Home& home : homes) {
    slots[home.value] = {memory + home.offset, home.step, false, true, home.row_bytes};
  }
}

}  // namespace

std::unique_ptr<TileProgram> TileProgram::make(const KernelSpec& spec) {
  std::optional<TileCode> code = tile_code(spec);
  if (!code) return nullptr;
  return std::unique_ptr<TileProgram>(new TileProgram(spec, std::move(*code)));
}

TileProgram::TileProgram(const KernelSpec& spec, TileCode code)
    : code_(std::move(code)),
      layout_(tile_layout(spec, code_)),
      plan_(plan_tiles(spec, code_, layout_)),
      table_bytes_(round_up(code_.values.size() * sizeof(TileOperand), 64)),
      partials_(round_up(table_bytes_ + plan_.run_bytes, 64)) {
  set_may_alias(plan_.aliases);
}

const std::byte* TileProgram::data(const TilePlan::Operand& operand, const KernelArgs& args) const {
  const auto index = static_cast<size_t>(operand.index);
  switch (operand.source) {
    case TilePlan::Operand::Source::Input:
      return static_cast<const std::byte*>(args.in[index]);
    case TilePlan::Operand::Source::Output:
      return static_cast<const std::byte*>(args.out[index]);
    case TilePlan::Operand::Source::Constant:
      return code_.constants[index].raw();
  }
  return nullptr;
}

void TileProgram::run(const KernelArgs& args) {
  if (plan_.items == 0) return;
  auto* slots = static_cast<TileOperand*>(args.scratch);
  prepare(args, slots);
  if (plan_.sums.empty()) {
    parallel_for(plan_.items, plan_.grain,
                 [&](int64_t begin, int64_t end) { run_part(args, slots, begin, end); });
    return;
  }
  const int64_t grain = std::max<int64_t>(1, plan_.grain / plan_.block_items);
  parallel_for(plan_.blocks, grain,
               [&](int64_t begin, int64_t end) { run_part(args, slots, begin, end); });
  join_blocks(args);
}

// Computes scalars, and values that depend on them only.
void TileProgram::prepare(const KernelArgs& args, TileOperand* slots) const {
  std::byte* memory = static_cast<std::byte*>(args.scratch) + table_bytes_;
  std::fill_n(slots, code_.values.size(), TileOperand());
  set_homes(plan_.run_homes, memory, slots);
  for (const TilePlan::Operand& operand : plan_.scalars) {
    repeat_elements(data(operand, args), 0, operand.element_bytes, 1, kScalarWidth,
                    memory + operand.home);
  }
  execute(plan_.steps[size_t(TileStage::Run)], slots, kScalarWidth);
}

// [begin, end) are items, or blocks if there are sums.
void TileProgram::run_part(const KernelArgs& args, const TileOperand* shared, int64_t begin,
                           int64_t end) const {
  std::byte* memory = thread_memory(plan_.thread_bytes);
  auto* slots = reinterpret_cast<TileOperand*>(memory);
  std::memcpy(slots, shared, code_.values.size() * sizeof(TileOperand));
  start_part(args, memory, slots);
  if (plan_.sums.empty()) return run_items(args, memory, slots, begin, end);
  for (int64_t block = begin; block < end; ++block) run_block(args, memory, slots, block);
}

void TileProgram::run_items(const KernelArgs& args, std::byte* memory, TileOperand* slots,
                            int64_t begin, int64_t end) const {
  point_to_arrays(args, slots);
  if (plan_.by_rows) {
    run_rows(args, memory, slots, begin, end);
  } else {
    run_tiles(args, memory, slots, begin, end);
  }
}

std::byte* TileProgram::partials(const KernelArgs& args, const TilePlan::Sum& sum,
                                 int64_t block) const {
  return static_cast<std::byte*>(args.scratch) + partials_ + sum.partials +
         static_cast<size_t>(block * sum.columns) * size_of(sum.dtype);
}

void TileProgram::run_block(const KernelArgs& args, std::byte* memory, TileOperand* slots,
                            int64_t block) const {
  for (const TilePlan::Sum& sum : plan_.sums) {
    std::memset(memory + sum.home, 0, static_cast<size_t>(plan_.running) * size_of(sum.dtype));
  }
  const int64_t first = block * plan_.block_items;
  run_items(args, memory, slots, first, std::min(first + plan_.block_items, plan_.items));
  for (const TilePlan::Sum& sum : plan_.sums) {
    const ReduceFunctions functions = vector_reduce_functions(Reduction::Sum, sum.dtype);
    std::byte* const to = partials(args, sum, block);
    if (sum.columns == 1) {
      functions.rows(memory + sum.home, 1, static_cast<size_t>(plan_.running), to);
      continue;
    }
    const auto columns = static_cast<size_t>(sum.columns);
    functions.fill(to, columns);
    functions.columns(memory + sum.home, static_cast<size_t>(plan_.running) / columns, columns,
                      columns, to);
  }
}

// Adds pairs of blocks, then pairs of pairs, and so on.
void TileProgram::join_blocks(const KernelArgs& args) const {
  for (const TilePlan::Sum& sum : plan_.sums) {
    const ReduceFunctions functions = vector_reduce_functions(Reduction::Sum, sum.dtype);
    const auto columns = static_cast<size_t>(sum.columns);
    for (int64_t step = 1; step < plan_.blocks; step *= 2) {
      for (int64_t i = 0; i + step < plan_.blocks; i += 2 * step) {
        functions.columns(partials(args, sum, i + step), 1, columns, columns,
                          partials(args, sum, i));
      }
    }
    std::memcpy(args.out[sum.output], partials(args, sum, 0), columns * size_of(sum.dtype));
  }
}

void TileProgram::start_part(const KernelArgs& args, std::byte* memory, TileOperand* slots) const {
  set_homes(plan_.thread_homes, memory, slots);
  for (const TilePlan::Operand& operand : plan_.periodic) {
    std::byte* home = memory + operand.home;
    layout_.expand(operand.shape, data(operand, args), operand.element_bytes, 0,
                   plan_.period / layout_.inner(), home);
    const auto whole = static_cast<size_t>(plan_.tile) * operand.element_bytes;
    auto done = static_cast<size_t>(plan_.period) * operand.element_bytes;
    while (done < whole) {
      const size_t bytes = std::min(done, whole - done);
      std::memcpy(home + done, home, bytes);
      done += bytes;
    }
  }
  execute(plan_.steps[size_t(TileStage::Part)], slots, static_cast<size_t>(plan_.tile));
}

void TileProgram::point_to_arrays(const KernelArgs& args, TileOperand* slots) const {
  const auto inner = static_cast<size_t>(layout_.inner());
  for (const TilePlan::Operand& operand : plan_.in_place) {
    slots[operand.value] = {data(operand, args), 1, true, true, inner * operand.element_bytes};
  }
}

void TileProgram::run_tiles(const KernelArgs& args, std::byte* memory, TileOperand* slots,
                            int64_t begin, int64_t end) const {
  TileArgs tile;
  int64_t position = begin * plan_.tile;
  const int64_t stop = std::min(end * plan_.tile, layout_.size());
  advance(plan_.in_place, slots, position);
  while (position < stop) {
    const int64_t count = std::min(plan_.tile, stop - position);
    for (const TilePlan::Operand& operand : plan_.expanded) {
      const int64_t last = (position + count - 1) / operand.span;
      const bool is_there =
          position > begin * plan_.tile && (position - plan_.tile) / operand.span == last;
      if (is_there) continue;
      layout_.expand(operand.shape, data(operand, args), operand.element_bytes,
                     position / layout_.inner(), count / layout_.inner(), memory + operand.home);
    }
    execute(plan_.steps[size_t(TileStage::Tile)], slots, static_cast<size_t>(count), tile);
    advance(plan_.in_place, slots, count);
    position += count;
  }
}

// Prepares the operands of `rows` rows from `row` on.
void TileProgram::start_rows(const KernelArgs& args, int64_t row, int64_t rows, std::byte* memory,
                             TileOperand* slots) const {
  const auto of_row = [&](const TilePlan::Operand& operand) {
    const auto offset = static_cast<size_t>(layout_.row_offset(operand.shape, row));
    return data(operand, args) + offset * operand.element_bytes;
  };
  for (const TilePlan::Operand& operand : plan_.row_arrays) {
    slots[operand.value] = {of_row(operand), 1, false, false, 0};
  }
  for (const TilePlan::Operand& operand : plan_.row_scalars) {
    slots[operand.value] = {of_row(operand), 1};
  }
  for (const TilePlan::Sum& sum : plan_.sums) {
    slots[sum.accumulator] = slots[sum.value] = {memory + sum.home, 1, false, false, 0};
  }
  for (const TilePlan::RowValue& value : plan_.row_values) {
    if (value.is_computed) slots[value.value] = {memory + value.home, 1};
  }
  execute(plan_.steps[size_t(TileStage::Row)], slots, static_cast<size_t>(rows));
  for (const TilePlan::RowValue& value : plan_.row_values) {
    if (!value.is_widened) continue;
    std::byte* const wide = memory + value.wide;
    repeat_elements(slots[value.value].data, value.element_bytes, value.element_bytes,
                    static_cast<size_t>(rows), kScalarWidth, wide);
    slots[value.value] = {wide, 0, false, false, kScalarWidth * value.element_bytes};
  }
}

void TileProgram::run_rows(const KernelArgs& args, std::byte* memory, TileOperand* slots,
                           int64_t begin, int64_t end) const {
  TileArgs tile;
  const int64_t inner = layout_.inner();
  int64_t row = begin / plan_.segments * plan_.together;
  int64_t column = begin % plan_.segments * plan_.tile;
  const auto rows = [&] { return std::min(plan_.together, layout_.rows() - row); };
  start_rows(args, row, rows(), memory, slots);
  advance(plan_.row_arrays, slots, column);
  advance(plan_.in_place, slots, row * inner + column);
  for (int64_t item = begin; item < end; ++item) {
    if (column >= inner) {
      column = 0;
      row += plan_.together;
      start_rows(args, row, rows(), memory, slots);
    }
    const int64_t count = std::min(plan_.tile, inner - column);
    execute(plan_.steps[size_t(TileStage::Tile)], slots, static_cast<size_t>(count), tile,
            static_cast<size_t>(rows()));
    advance(plan_.in_place, slots, rows() * count);
    advance(plan_.row_arrays, slots, count);
    advance_sums(plan_.sums, slots, count);
    column += count;
  }
}

}  // namespace cornu::cpu
