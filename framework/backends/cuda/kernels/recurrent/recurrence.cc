// SPDX-License-Identifier: Apache-2.0
// lstm, gru and their gradients: a single launch for few units, otherwise one per step: README.md.
#include <algorithm>

#include "framework/backends/cuda/lowering.h"
#include "framework/backends/cuda/sources.h"
#include "framework/graph/recurrent_cell.h"

namespace cornu::cuda {
namespace {

constexpr int64_t kRecurrentEnough = 128;  // number of blocks that fills a GPU

// Few units: the recurrent kernel fits into a block's registers.
constexpr int64_t kRecurrentFewUnits = 64;
constexpr int64_t kRecurrentFewRows = 256;  // batch size, with one block per row

// The part of a step's product computed by a block, of so many rows and units: product.cu.
struct RecurrentTile {
  int64_t rows;
  int64_t units;
  int64_t micro;
};
constexpr RecurrentTile kForwardTiles[] = {{64, 16, 4}, {32, 8, 4}, {16, 8, 2}};
constexpr RecurrentTile kBackwardTiles[] = {{64, 64, 4}, {32, 32, 4}, {16, 16, 2}};

// The steps of one sequence, each with states of (batch, units).
class RecurrenceLowering {
 public:
  RecurrenceLowering(const RecurrentCell& cell, const KernelSpec& spec, Lowering& to)
      : cell_(cell),
        operands_(spec.inputs.size()),
        to_(to),
        steps_(spec.inputs[0].shape[0]),
        batch_(spec.inputs[0].shape[1]),
        units_(spec.inputs[0].shape[2] / cell.gates),
        reverse_(spec.attributes.get_bool("reverse")) {}

  void forward() {
    masked_ = operands_ > cell_.operands();
    const size_t last = cell_.states - 1;
    const Slot kernel = in(cell_.states + 1);
    const Slot bias = in(cell_.keeps ? cell_.states + 2 : 0);
    const Slot all_gates = out(cell_.states);
    const Slot kept = out(cell_.keeps ? cell_.states + 1 : 0);
    if (units_ <= kRecurrentFewUnits) {
      return launch_sequence(
          "", "sequence_forward", cell_.gates,
          {in(0), in(1), in(1 + last), kernel, bias, mask(), out(0), out(last), all_gates, kept});
    }
    for (int64_t turn = 0; turn < steps_; ++turn) {
      const bool first = turn == 0;
      launch_step("", "step_forward", kForwardTiles, cell_.gates, 64 * cell_.gates,
                  {gates(in(0), turn), first ? in(1) : states(out(0), turn - 1),
                   first ? in(1 + last) : states(out(last), turn - 1), kernel, bias, mask(turn),
                   states(out(0), turn), states(out(last), turn), gates(all_gates, turn),
                   states(kept, turn), batch_, units_});
    }
  }

  // Turn -1 precedes the first step: only the product is computed.
  void backward() {
    masked_ = operands_ > cell_.gradient_operands();
    const size_t last = cell_.states - 1;
    const Slot kept = in(cell_.keeps ? 4 + cell_.states : 0);
    const Slot of_products = out(cell_.keeps ? 1 + cell_.states : 0);
    if (units_ <= kRecurrentFewUnits) {
      return launch_sequence("_grad", "sequence_backward", 4,
                             {in(0), in(1), in(2), in(3), in(4), in(4 + last), kept, mask(), out(0),
                              out(1), out(1 + last), of_products});
    }
    for (int64_t turn = steps_ - 1; turn >= -1; --turn) {
      const int64_t own = turn < 0 ? 0 : turn;
      const bool has_behind = turn < steps_ - 1;
      launch_step("_grad", "step_backward", kBackwardTiles, 1, 256,
                  {gates(in(0), own), own == 0 ? in(2) : states(in(1), own - 1), states(in(1), own),
                   states(in(4), own), states(in(4 + last), own), in(3), states(kept, own),
                   mask(own), gates(of_products, has_behind ? turn + 1 : own), out(1),
                   out(1 + last), gates(out(0), own), gates(of_products, own), batch_, units_,
                   int64_t{has_behind}, int64_t{turn >= 0}});
    }
  }

 private:
  // The step that runs as the `turn`th, in an array of all steps.
  Slot of_turn(Slot array, int64_t turn, int64_t bytes) const {
    const int64_t step = reverse_ ? steps_ - 1 - turn : turn;
    array.offset += static_cast<size_t>(step * bytes);
    return array;
  }
  Slot states(Slot array, int64_t turn) const {
    return of_turn(array, turn, batch_ * units_ * int64_t{sizeof(float)});
  }
  Slot gates(Slot array, int64_t turn) const {
    return of_turn(array, turn, cell_.gates * batch_ * units_ * int64_t{sizeof(float)});
  }
  // The mask, or that of a step; without one, an array that isn't read.
  Slot mask() const { return in(masked_ ? operands_ - 1 : 0); }
  Slot mask(int64_t turn) const { return masked_ ? of_turn(mask(), turn, batch_) : mask(); }

  int64_t blocks(const RecurrentTile& tile) const {
    return (batch_ + tile.rows - 1) / tile.rows * ((units_ + tile.units - 1) / tile.units);
  }

  static std::string text_before(std::string_view file) {
    return std::string(source(fmt::format("kernels/recurrent/{}.cu", file)));
  }
  std::string cell_text() const {
    return define("GATES", cell_.gates) + define("STATES", static_cast<int64_t>(cell_.states)) +
           define("KEEPS", int64_t{cell_.keeps}) + define("MASKED", int64_t{masked_}) +
           text_before("cell") + text_before(fmt::format("{}_cell", cell_.name));
  }

  // `threads`: of each unit.
  void launch_sequence(std::string_view suffix, std::string_view file, int64_t threads,
                       std::vector<Argument> arguments) {
    const int64_t units = units_ <= 16 ? 16 : units_ <= 32 ? 32 : kRecurrentFewUnits;
    const int64_t rows = batch_ <= kRecurrentFewRows ? 1 : cell_.gates;
    for (const int64_t one : {steps_, batch_, units_, int64_t{reverse_}}) {
      arguments.emplace_back(one);
    }
    to_.launch(fmt::format("{}_sequence{}", cell_.name, suffix),
               fmt::format("kernels/recurrent/{}.cu", file),
               define("UNITS", units) + define("ROWS", rows) + cell_text(),
               blocks_for(batch_, rows), {static_cast<uint32_t>(threads * units)},
               std::move(arguments));
  }

  // `gates`: of each unit, in a tile's columns.
  void launch_step(std::string_view suffix, std::string_view file,
                   std::span<const RecurrentTile> tiles, int64_t gates, int64_t block,
                   std::vector<Argument> arguments) {
    size_t chosen = 0;
    while (chosen + 1 < tiles.size() && blocks(tiles[chosen]) < kRecurrentEnough) ++chosen;
    const RecurrentTile& tile = tiles[chosen];
    to_.launch(fmt::format("{}_step{}", cell_.name, suffix),
               fmt::format("kernels/recurrent/{}.cu", file),
               define("ROWS", tile.rows) + define("COLUMNS", tile.units * gates) +
                   define("MICRO", tile.micro) + define("BLOCK", block) + cell_text() +
                   text_before("product"),
               blocks_for(blocks(tile), 1), {static_cast<uint32_t>(block)}, std::move(arguments));
  }

  RecurrentCell cell_;
  size_t operands_;
  bool masked_ = false;
  Lowering& to_;
  int64_t steps_;
  int64_t batch_;
  int64_t units_;
  bool reverse_;
};

}  // namespace

void register_recurrent(LoweringTable& table) {
  const auto add = [&](const char* op, const char* gradient, const RecurrentCell& cell) {
    table.add(op, [cell](const KernelSpec& spec, Lowering& to) {
      RecurrenceLowering(cell, spec, to).forward();
      return true;
    });
    table.add(gradient, [cell](const KernelSpec& spec, Lowering& to) {
      RecurrenceLowering(cell, spec, to).backward();
      return true;
    });
  };
  add("lstm", "lstm_grad", kLstmCell);
  add("gru", "gru_grad", kGruCell);
}

}  // namespace cornu::cuda
