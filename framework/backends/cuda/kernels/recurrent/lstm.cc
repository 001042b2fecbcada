// SPDX-License-Identifier: Apache-2.0
// lstm and lstm_grad: a single launch for few units, otherwise one per step: README.md.
#include <algorithm>

#include "framework/backends/cuda/lowering.h"
#include "framework/backends/cuda/sources.h"

namespace cornu::cuda {
namespace {

constexpr uint32_t kLstmBlock = 256;  // threads
constexpr int64_t kLstmEnough = 128;  // number of blocks that fills a GPU

constexpr int64_t kLstmFewUnits = 64;  // so that the recurrent kernel fits into a block's registers
constexpr int64_t kLstmFewRows = 256;  // batch size, with one block per row

// The part of a step's product computed by a block: product.cu.
struct LstmTile {
  int64_t rows;
  int64_t columns;
  int64_t micro;
};
constexpr LstmTile kLstmForwardTiles[] = {{64, 64, 4}, {32, 32, 4}, {16, 32, 2}};
constexpr LstmTile kLstmBackwardTiles[] = {{64, 64, 4}, {32, 32, 4}, {16, 16, 2}};

// The steps of one sequence, each with states of (batch, units).
class LstmLowering {
 public:
  LstmLowering(const KernelSpec& spec, Lowering& to)
      : to_(to),
        steps_(spec.inputs[0].shape[0]),
        batch_(spec.inputs[0].shape[1]),
        units_(spec.inputs[0].shape[2] / 4),
        reverse_(spec.attributes.get_bool("reverse")) {}

  void forward() {
    if (units_ <= kLstmFewUnits) {
      return launch_sequence("lstm_sequence", "sequence_forward",
                             {in(0), in(1), in(2), in(3), out(0), out(1), out(2)});
    }
    for (int64_t turn = 0; turn < steps_; ++turn) {
      const bool first = turn == 0;
      launch_step("lstm_step", "step_forward", kLstmForwardTiles, 4,
                  {gates(in(0), turn), first ? in(1) : states(out(0), turn - 1),
                   first ? in(2) : states(out(1), turn - 1), in(3), states(out(0), turn),
                   states(out(1), turn), gates(out(2), turn), batch_, units_});
    }
  }

  // Turn -1 precedes the first step: only the product is computed.
  void backward() {
    if (units_ <= kLstmFewUnits) {
      return launch_sequence("lstm_sequence_grad", "sequence_backward",
                             {in(0), in(1), in(2), in(3), in(4), in(5), out(0), out(1), out(2)});
    }
    for (int64_t turn = steps_ - 1; turn >= -1; --turn) {
      const int64_t own = turn < 0 ? 0 : turn;
      const bool has_behind = turn < steps_ - 1;
      launch_step("lstm_step_grad", "step_backward", kLstmBackwardTiles, 1,
                  {gates(in(0), own), own == 0 ? in(2) : states(in(1), own - 1), states(in(1), own),
                   states(in(4), own), states(in(5), own), in(3),
                   gates(out(0), has_behind ? turn + 1 : own), out(1), out(2), gates(out(0), own),
                   batch_, units_, int64_t{has_behind}, int64_t{turn >= 0}});
    }
  }

 private:
  // The step that runs as the `turn`th, in an array of all steps.
  Slot of_turn(Slot array, int64_t turn, int64_t elements) const {
    const int64_t step = reverse_ ? steps_ - 1 - turn : turn;
    array.offset += static_cast<size_t>(step * elements) * sizeof(float);
    return array;
  }
  Slot states(Slot array, int64_t turn) const { return of_turn(array, turn, batch_ * units_); }
  Slot gates(Slot array, int64_t turn) const { return of_turn(array, turn, 4 * batch_ * units_); }

  int64_t blocks(const LstmTile& tile, int64_t gates_of_unit) const {
    const int64_t units = tile.columns / gates_of_unit;
    return (batch_ + tile.rows - 1) / tile.rows * ((units_ + units - 1) / units);
  }

  static std::string text_before(std::string_view file) {
    return std::string(source(fmt::format("kernels/recurrent/{}.cu", file)));
  }

  void launch_sequence(const std::string& name, std::string_view file,
                       std::vector<Argument> arguments) {
    const int64_t units = units_ <= 16 ? 16 : units_ <= 32 ? 32 : kLstmFewUnits;
    const int64_t rows = batch_ <= kLstmFewRows ? 1 : 4;
    for (const int64_t one : {steps_, batch_, units_, int64_t{reverse_}}) {
      arguments.emplace_back(one);
    }
    to_.launch(name, fmt::format("kernels/recurrent/{}.cu", file),
               define("UNITS", fmt::to_string(units)) + define("ROWS", fmt::to_string(rows)) +
                   text_before("gates"),
               blocks_for(batch_, rows), {static_cast<uint32_t>(4 * units)}, std::move(arguments));
  }

  void launch_step(const std::string& name, std::string_view file, std::span<const LstmTile> tiles,
                   int64_t gates_of_unit, std::vector<Argument> arguments) {
    size_t chosen = 0;
    while (chosen + 1 < tiles.size() && blocks(tiles[chosen], gates_of_unit) < kLstmEnough) {
      ++chosen;
    }
    const LstmTile& tile = tiles[chosen];
    to_.launch(name, fmt::format("kernels/recurrent/{}.cu", file),
               define("ROWS", fmt::to_string(tile.rows)) +
                   define("COLUMNS", fmt::to_string(tile.columns)) +
                   define("MICRO", fmt::to_string(tile.micro)) + text_before("gates") +
                   text_before("product"),
               blocks_for(blocks(tile, gates_of_unit), 1), {kLstmBlock}, std::move(arguments));
  }

  Lowering& to_;
  int64_t steps_;
  int64_t batch_;
  int64_t units_;
  bool reverse_;
};

bool lower_lstm(const KernelSpec& spec, Lowering& to) {
  LstmLowering(spec, to).forward();
  return true;
}

bool lower_lstm_grad(const KernelSpec& spec, Lowering& to) {
  LstmLowering(spec, to).backward();
  return true;
}

}  // namespace

void register_recurrent(LoweringTable& table) {
  table.add("lstm", lower_lstm);
  table.add("lstm_grad", lower_lstm_grad);
}

}  // namespace cornu::cuda
