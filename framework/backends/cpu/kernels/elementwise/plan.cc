// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/kernels/elementwise/plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "framework/backends/cpu/kernels/elementwise/memory.h"

namespace cornu::cpu {
namespace {

// Working set of a tile: two thirds of a 48 KiB first-level cache, all of a smaller one.
constexpr size_t kTileBytes = size_t{32} << 10;
constexpr int64_t kSmallestTile = 512;
constexpr int64_t kMaxTile = 4096;
// A chain's block of float32, at most, and the longest tile made of several rows to have whole
// ones.
constexpr int64_t kChainBlock = 128;
constexpr int64_t kMaxTogether = 2048;
// Rows at least this long are processed as such: where operands are the same in each row; where
// they would be copied for every tile; and where one is constant along rows.
constexpr int64_t kLongSameRow = kMaxTogether / 2 + 1;
constexpr int64_t kLongRow = 512;
constexpr int64_t kLongConstantRow = 128;
// The least work per thread, and the cost of moving a byte, in nanoseconds.
constexpr double kThreadNanoseconds = 4000;
constexpr double kByteNanoseconds = 0.01;

class Planner {
 public:
  Planner(const KernelSpec& spec, TileCode& code, const BroadcastLayout& layout)
      : spec_(spec), code_(code), layout_(layout) {}

  TilePlan take() {
    choose_iteration();
    set_source_stages();
    simplify(code_);
    propagate_stages(code_);
    make_steps();
    place_sources();
    place_results();
    choose_tile();
    find_aliases();
    return std::move(plan_);
  }

 private:
  using Operand = TilePlan::Operand;

  static bool is_source(const TileValue& value) {
    return value.source == TileValue::Source::Input || value.source == TileValue::Source::Constant;
  }
  // The index of an input or constant in the layout.
  size_t shape_of(const TileValue& value) const {
    const auto index = static_cast<size_t>(value.index);
    return value.source == TileValue::Source::Input ? index : spec_.inputs.size() + index;
  }

  void choose_iteration() {
    bool partial = code_.columns > 1;
    bool constant = false;
    bool same = true;  // in every row
    for (const TileValue& value : code_.values) {
      if (!is_source(value) || !layout_.is_partial(shape_of(value))) continue;
      partial = true;
      constant = constant || !layout_.varies_inside(shape_of(value));
      same = same && layout_.is_periodic(shape_of(value), layout_.inner());
    }
    // Sums are in place: the elements of each row beyond its whole blocks would have to be copied.
    const bool is_ragged = has_sums() && layout_.inner() % kChainBlock != 0;
    const int64_t long_row = constant && !is_ragged ? kLongConstantRow
                             : same && !constant    ? kLongSameRow
                                                    : kLongRow;
    plan_.by_rows = partial && layout_.inner() >= long_row;
    if (!partial || plan_.by_rows) return;
    plan_.period = layout_.block(kSmallestTile);
  }

  bool has_sums() const {
    return std::ranges::any_of(code_.accumulators, [](int value) { return value >= 0; });
  }

  void set_source_stages() {
    for (TileValue& value : code_.values) {
      if (!is_source(value)) continue;
      const size_t shape = shape_of(value);
      if (layout_.is_scalar(shape)) {
        value.stage = TileStage::Run;
      } else if (layout_.is_full(shape)) {
        value.stage = TileStage::Tile;
      } else if (plan_.by_rows) {
        value.stage = layout_.varies_inside(shape) ? TileStage::Tile : TileStage::Row;
      } else {
        const bool periodic = layout_.is_periodic(shape, plan_.period);
        value.stage = periodic ? TileStage::Part : TileStage::Tile;
      }
    }
  }

  void make_steps() {
    TileSchedule scheduled = schedule(code_);
    last_read_ = std::move(scheduled.last_read);
    made_ = std::move(scheduled.made);
    for (TileStep& step : scheduled.steps) {
      if (step.stage == TileStage::Tile) cost_ += step.cost;
      plan_.steps[size_t(step.stage)].push_back(std::move(step));
    }
  }

  std::vector<bool> used_values() const {
    std::vector<bool> used(code_.values.size());
    for (const auto& steps : plan_.steps) {
      for (const TileStep& step : steps) {
        for (const int value : step.in) used[size_t(value)] = true;
      }
    }
    return used;
  }

  void place_sources() {
    const std::vector<bool> used = used_values();
    for (size_t i = 0; i < code_.values.size(); ++i) {
      const TileValue& value = code_.values[i];
      if (!is_source(value) || !used[i]) continue;
      Operand operand;
      operand.value = static_cast<int>(i);
      const bool is_input = value.source == TileValue::Source::Input;
      operand.source = is_input ? Operand::Source::Input : Operand::Source::Constant;
      operand.index = value.index;
      operand.element_bytes = size_of(value.dtype);
      operand.shape = shape_of(value);
      place_source(operand, value.stage);
    }
    for (size_t i = 0; i < code_.outputs.size(); ++i) {
      if (code_.is_sum(i)) {
        add_sum(i);
        continue;
      }
      Operand operand;
      operand.value = code_.outputs[i];
      operand.source = Operand::Source::Output;
      operand.index = static_cast<int>(i);
      operand.element_bytes = size_of(code_.values[size_t(operand.value)].dtype);
      plan_.in_place.push_back(operand);
      array_bytes_ += operand.element_bytes;
    }
  }

  void add_sum(size_t output) {
    TilePlan::Sum sum;
    sum.accumulator = code_.accumulators[output];
    sum.value = code_.outputs[output];
    sum.output = output;
    sum.columns = spec_.outputs[output].shape.num_elements();
    sum.dtype = code_.values[size_t(sum.value)].dtype;
    plan_.sums.push_back(sum);
  }

  void place_source(Operand& operand, TileStage stage) {
    if (stage == TileStage::Run) {
      operand.home = run_scalar(operand.value);
      plan_.scalars.push_back(operand);
    } else if (stage == TileStage::Row) {
      plan_.row_scalars.push_back(operand);
    } else if (layout_.is_full(operand.shape)) {
      plan_.in_place.push_back(operand);
      array_bytes_ += operand.element_bytes;
    } else if (plan_.by_rows) {
      plan_.row_arrays.push_back(operand);
      array_bytes_ += operand.element_bytes;
    } else {
      operand.span = layout_.span(operand.shape, plan_.period);
      (stage == TileStage::Part ? plan_.periodic : plan_.expanded).push_back(operand);
    }
  }

  size_t run_scalar(int value) {
    const size_t offset = plan_.run_bytes;
    plan_.run_homes.push_back({value, offset, 0});
    plan_.run_bytes += kScalarWidth * sizeof(double);
    return offset;
  }

  // A register holds a tile of elements of any dtype.
  int new_register() {
    if (!free_.empty()) {
      const int index = free_.back();
      free_.pop_back();
      return index;
    }
    return registers_++;
  }

  // Registers are reused after the last read of their value, except those of values that outlive a
  // tile.
  void place_results() {
    register_of_.assign(code_.values.size(), -1);
    for (const auto* list : {&plan_.periodic, &plan_.expanded}) {
      for (const Operand& operand : *list) register_of_[size_t(operand.value)] = registers_++;
    }
    if (!plan_.by_rows) {
      for (const TilePlan::Sum& sum : plan_.sums) {
        register_of_[size_t(sum.accumulator)] = register_of_[size_t(sum.value)] = registers_++;
      }
    }
    for (const TileStep& step : plan_.steps[size_t(TileStage::Run)]) run_scalar(step.out[0]);
    for (const TileStep& step : plan_.steps[size_t(TileStage::Part)]) {
      register_of_[size_t(step.out[0])] = registers_++;
    }
    const auto& steps = plan_.steps[size_t(TileStage::Tile)];
    std::vector<std::vector<int>> dying = last_readers(steps);
    for (size_t i = 0; i < steps.size(); ++i) {
      // A single operation may overwrite an operand with elements of the same size.
      const size_t bytes = value_bytes(steps[i].out[0]);
      if (!steps[i].chain) {
        std::erase_if(dying[i], [&](int value) {
          if (value_bytes(value) != bytes) return false;
          free_.push_back(register_of_[size_t(value)]);
          return true;
        });
      }
      for (const int value : steps[i].out) {
        if (!code_.is_output(value)) register_of_[size_t(value)] = new_register();
      }
      for (const int value : dying[i]) free_.push_back(register_of_[size_t(value)]);
    }
  }

  size_t value_bytes(int value) const { return size_of(code_.values[size_t(value)].dtype); }

  // By step: the intermediate values that it is the last to read.
  std::vector<std::vector<int>> last_readers(const std::vector<TileStep>& steps) const {
    std::vector<bool> temporary(code_.values.size());
    for (const TileStep& step : steps) {
      for (const int value : step.out) temporary[size_t(value)] = !code_.is_output(value);
    }
    std::vector<std::vector<int>> readers(steps.size());
    for (size_t i = steps.size(); i-- > 0;) {
      for (const int value : steps[i].in) {
        if (temporary[size_t(value)]) readers[i].push_back(value);
        temporary[size_t(value)] = false;
      }
    }
    return readers;
  }

  void choose_tile() {
    size_t widest = 1;
    for (const TileValue& value : code_.values) widest = std::max(widest, size_of(value.dtype));
    const size_t element = array_bytes_ + static_cast<size_t>(registers_) * widest;
    const auto fitting = static_cast<int64_t>(kTileBytes / std::max<size_t>(1, element) / 64 * 64);
    // Without intermediate results in memory, nothing needs to stay in the cache.
    const bool single_pass = plan_.steps[size_t(TileStage::Tile)].size() == 1 && plan_.sums.empty();
    int64_t tile = single_pass ? kMaxTile : std::clamp(fitting, kSmallestTile, kMaxTile);
    const double nanoseconds = cost_ + kByteNanoseconds * static_cast<double>(array_bytes_);
    const auto thread_elements =
        static_cast<int64_t>(std::ceil(kThreadNanoseconds / std::max(nanoseconds, 1e-3)));
    // Several tiles per thread, so that threads finish together.
    if (layout_.size() >= 2 * thread_elements) {
      const int64_t eighth = static_cast<int64_t>(round_up(size_t(layout_.size() / 8), 64));
      tile = std::clamp(eighth, kSmallestTile, tile);
    }
    if (plan_.by_rows) {
      divide_rows(tile);
    } else {
      if (plan_.period > 0) tile = whole_periods(tile);
      plan_.tile = std::max<int64_t>(1, tile);
      plan_.items = (layout_.size() + plan_.tile - 1) / plan_.tile;
    }
    plan_.grain = std::max<int64_t>(1, thread_elements / plan_.tile);
    place_homes(widest);
    if (!plan_.sums.empty()) choose_blocks();
  }

  // Divides rows that are longer than a tile, or puts several together.
  void divide_rows(int64_t tile) {
    const int64_t inner = layout_.inner();
    plan_.segments = (inner + tile - 1) / tile;
    if (plan_.segments == 1 && layout_.is_matrix()) {
      plan_.together = std::clamp<int64_t>(tile / inner, 1, std::max<int64_t>(layout_.rows(), 1));
    }
    const int64_t segment = (inner + plan_.segments - 1) / plan_.segments;
    plan_.tile = plan_.together > 1 ? plan_.together * inner
                                    : static_cast<int64_t>(round_up(size_t(segment), 64));
    plan_.items = (layout_.rows() + plan_.together - 1) / plan_.together * plan_.segments;
  }

  // A tile of whole periods, and of whole blocks of a chain where that isn't too long: elements
  // beyond the last whole block take as long as a block, and longer.
  int64_t whole_periods(int64_t tile) const {
    const int64_t blocks = std::lcm(plan_.period, kChainBlock);
    const int64_t unit = blocks <= kMaxTogether ? blocks : plan_.period;
    return std::max(tile, unit) / unit * unit;
  }

  void choose_blocks() {
    constexpr int64_t kMaxBlocks = 64;
    constexpr int64_t kTilesOfABlock = 16;  // at least, so that adding up their sums is cheap
    plan_.running = plan_.by_rows ? layout_.inner() : plan_.tile;
    const int64_t blocks =
        std::clamp<int64_t>(layout_.size() / (kTilesOfABlock * plan_.running), 1, kMaxBlocks);
    const int64_t units = plan_.items / plan_.segments;
    plan_.block_items = (units + blocks - 1) / blocks * plan_.segments;
    plan_.blocks = (plan_.items + plan_.block_items - 1) / plan_.block_items;
    for (TilePlan::Sum& sum : plan_.sums) {
      sum.partials = plan_.partial_bytes;
      const auto count = static_cast<size_t>(plan_.blocks * sum.columns);
      plan_.partial_bytes += round_up(count * size_of(sum.dtype), 64);
      if (plan_.by_rows) {
        sum.home = plan_.thread_bytes;
        plan_.thread_bytes += round_up(size_t(plan_.running) * size_of(sum.dtype), 64) + 64;
      } else {
        sum.home = home_of(sum.value);
      }
    }
  }

  size_t home_of(int value) const {
    const auto home = std::ranges::find(plan_.thread_homes, value, &TilePlan::Home::value);
    return home->offset;
  }

  // Gives a value of each row its places, from `offset` on; returns the end of them.
  size_t place_row_value(int value, bool is_computed, size_t offset) {
    TilePlan::RowValue row_value{value, value_bytes(value), offset, 0, is_computed, false};
    const auto bytes = static_cast<size_t>(plan_.together) * row_value.element_bytes;
    if (is_computed) offset += round_up(bytes, 64);
    const auto& steps = plan_.steps[size_t(TileStage::Tile)];
    row_value.is_widened = std::ranges::any_of(steps, [&](const TileStep& step) {
      return std::ranges::find(step.in, value) != step.in.end();
    });
    row_value.wide = offset;
    if (row_value.is_widened) offset += round_up(bytes * kScalarWidth, 64) + 64;
    plan_.row_values.push_back(row_value);
    return offset;
  }

  // Lays out a thread's memory: its operand table, values of rows, registers.
  void place_homes(size_t widest) {
    size_t offset = round_up(code_.values.size() * sizeof(TileOperand), 64);
    for (const Operand& operand : plan_.row_scalars) {
      offset = place_row_value(operand.value, false, offset);
    }
    for (const TileStep& step : plan_.steps[size_t(TileStage::Row)]) {
      offset = place_row_value(step.out[0], true, offset);
    }

    // Room for writes after an expanded operand's end; it also keeps registers from being a
    // multiple of 4096 bytes apart, which would make loads wait for unrelated stores.
    const size_t register_bytes = round_up(size_t(plan_.tile), 64) * widest + 64;
    for (size_t value = 0; value < register_of_.size(); ++value) {
      if (register_of_[value] < 0) continue;
      const size_t home = offset + static_cast<size_t>(register_of_[value]) * register_bytes;
      const auto inner = static_cast<size_t>(layout_.inner());
      plan_.thread_homes.push_back(
          {static_cast<int>(value), home, 1, inner * value_bytes(static_cast<int>(value))});
      for (auto* list : {&plan_.periodic, &plan_.expanded}) {
        for (Operand& operand : *list) {
          if (operand.value == static_cast<int>(value)) operand.home = home;
        }
      }
    }
    plan_.thread_bytes = offset + static_cast<size_t>(registers_) * register_bytes;
  }

  void find_aliases() {
    for (size_t i = 0; i < code_.values.size(); ++i) {
      const TileValue& value = code_.values[i];
      if (value.source != TileValue::Source::Input || value.stage != TileStage::Tile) continue;
      if (!layout_.is_full(shape_of(value))) continue;
      for (size_t j = 0; j < code_.outputs.size(); ++j) {
        if (code_.is_sum(j)) continue;
        if (!(spec_.inputs[size_t(value.index)] == spec_.outputs[j])) continue;
        if (last_read_[i] <= made_[size_t(code_.outputs[j])]) {
          plan_.aliases.emplace_back(value.index, static_cast<int>(j));
        }
      }
    }
  }

  const KernelSpec& spec_;
  TileCode& code_;
  const BroadcastLayout& layout_;
  TilePlan plan_;
  double cost_ = 0;                    // nanoseconds per element
  size_t array_bytes_ = 0;             // of arrays read and written in place, per element
  std::vector<int> last_read_, made_;  // as in TileSchedule
  std::vector<int> register_of_;
  std::vector<int> free_;
  int registers_ = 0;
};

}  // namespace

BroadcastLayout tile_layout(const KernelSpec& spec, const TileCode& code) {
  std::vector<Shape> shapes;
  for (const TensorType& type : spec.inputs) shapes.push_back(type.shape);
  for (const Tensor& constant : code.constants) shapes.push_back(constant.shape());
  if (code.columns > 1) {  // the last axis of more than one element
    Shape columns = code.shape;
    bool last = true;
    for (int64_t axis = columns.rank(); axis-- > 0;) {
      if (columns[axis] == 1) continue;
      if (!std::exchange(last, false)) columns[axis] = 1;
    }
    shapes.push_back(columns);
  }
  return BroadcastLayout(code.shape, shapes);
}

TilePlan plan_tiles(const KernelSpec& spec, TileCode& code, const BroadcastLayout& layout) {
  return Planner(spec, code, layout).take();
}

}  // namespace cornu::cpu
