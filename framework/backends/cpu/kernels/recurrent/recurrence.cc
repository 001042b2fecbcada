// SPDX-License-Identifier: Apache-2.0
// Each thread takes some rows of the batch through all steps, so that threads synchronize once per
// sequence, or some units through each step. A step is a single-threaded oneDNN product with the
// recurrent kernel, packed once per run, and one pass over the gates. The gates may overwrite the
// inputs, and the inputs' gradients the gates, which reduces memory traffic.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "framework/backends/cpu/exit_gate.h"
#include "framework/backends/cpu/kernel.h"
#include "framework/backends/cpu/kernels/onednn.h"
#include "framework/backends/cpu/kernels/recurrent/cells.h"
#include "framework/core/threads.h"
#include "framework/graph/recurrent_cell.h"

namespace cornu::cpu {
namespace {

using namespace onednn;

struct Cell : RecurrentCell {
  SimdCell (*simd)();
};
constexpr Cell kLstm{kLstmCell, simd_lstm};
constexpr Cell kGru{kGruCell, simd_gru};

struct RecurrenceProblem {
  RecurrenceProblem(const Cell& cell, size_t operands, const KernelSpec& spec)
      : cell(cell),
        mask(spec.inputs.size() > operands ? operands : 0),
        steps(spec.inputs[0].shape[0]),
        batch(spec.inputs[0].shape[1]),
        gates(spec.inputs[0].shape[2]),
        units(gates / cell.gates),
        reverse(spec.attributes.get_bool("reverse")) {}

  // The step that runs at position `turn`.
  int64_t step_at(int64_t turn) const { return reverse ? steps - 1 - turn : turn; }

  Cell cell;
  size_t mask;  // its operand; 0: none
  int64_t steps;
  int64_t batch;
  int64_t gates;  // of all units
  int64_t units;
  bool reverse;
};

// What a thread computes of each step: some rows of the batch, for some of the units.
struct Share {
  int64_t row;  // the first
  int64_t rows;
  int64_t unit;  // the first
  int64_t units;
};

// Rows are independent of each other, so that their division is preferred: threads that take units
// must wait for each other at every step, since a unit needs all others of the step before. Units
// are divided if there are too few rows for all threads, and the kernel is large: each thread then
// keeps its part of it in its core's cache, instead of reading all of it for few rows.
std::vector<Share> divide(const RecurrenceProblem& p) {
  constexpr int64_t kFewestRows = 8;
  constexpr int64_t kFewestUnits = 16;
  constexpr int64_t kLargeKernel = 1 << 18;  // elements
  const int64_t threads = std::max(compute_threads(), 1);
  std::vector<Share> shares;
  if (p.batch / kFewestRows < threads && p.units * p.gates >= kLargeKernel) {
    const int64_t parts = std::clamp<int64_t>(p.units / kFewestUnits, 1, threads);
    const int64_t units = (p.units + parts - 1) / parts;
    for (int64_t unit = 0; unit < p.units; unit += units) {
      shares.push_back({0, p.batch, unit, std::min(units, p.units - unit)});
    }
  } else {
    const int64_t parts = std::clamp<int64_t>(p.batch / kFewestRows, 1, threads);
    const int64_t rows = (p.batch + parts - 1) / parts;
    for (int64_t row = 0; row < p.batch; row += rows) {
      shares.push_back({row, std::min(rows, p.batch - row), 0, p.units});
    }
  }
  return shares;
}

// A share, and its product with the kernel (units x gates), or with its transpose, which is added
// to the existing values or replaces them.
class RecurrentPart {
 public:
  RecurrentPart(const RecurrenceProblem& problem, const Share& share, bool transposed, bool adds)
      : share_(share),
        blocks_(transposed || share.units == problem.units ? 1 : problem.cell.gates),
        first_(transposed ? share.unit * problem.gates : share.unit),
        units_(problem.units),
        desc_(chosen(problem, transposed, adds)),
        pack_(reorder_step(plain_kernel(problem, transposed), desc_.weights_desc())),
        product_(dnnl::matmul(desc_)) {
    product_.add(DNNL_ARG_SRC, desc_.src_desc());
    product_.add(DNNL_ARG_WEIGHTS, desc_.weights_desc());
    product_.add(DNNL_ARG_DST, desc_.dst_desc());
    product_.add(DNNL_ARG_SCRATCHPAD, desc_.scratchpad_desc());
  }

  const Share& share() const { return share_; }
  size_t scratch_bytes() const {
    return packed_bytes() * static_cast<size_t>(blocks_) +
           aligned(desc_.scratchpad_desc().get_size());
  }

  // Packs a kernel for the products that follow.
  bool pack(const void* kernel, void* scratch) {
    packed_ = static_cast<std::byte*>(scratch);
    product_.bind(3, packed_ + packed_bytes() * static_cast<size_t>(blocks_));
    for (int64_t i = 0; i < blocks_; ++i) {
      pack_.bind(0, static_cast<const float*>(kernel) + first_ + i * units_);
      pack_.bind(1, packed(i));
      if (!pack_.try_run()) return false;
    }
    return true;
  }
  // `x`: the share's rows, with all units or gates. `out`: its first row and unit.
  bool multiply(const float* x, float* out) {
    product_.bind(0, x);
    for (int64_t i = 0; i < blocks_; ++i) {
      product_.bind(1, packed(i));
      product_.bind(2, out + i * units_);
      if (!product_.try_run()) return false;
    }
    return true;
  }

 private:
  size_t packed_bytes() const { return aligned(desc_.weights_desc().get_size()); }
  std::byte* packed(int64_t block) const {
    return packed_ + packed_bytes() * static_cast<size_t>(block);
  }
  // The share's part of the kernel: of one gate, unless there is one block.
  Desc plain_kernel(const RecurrenceProblem& p, bool transposed) const {
    return transposed ? Desc({p.gates, share_.units}, Type::f32, Dims{1, p.gates})
                      : Desc({p.units, columns(p)}, Type::f32, Dims{p.gates, 1});
  }
  int64_t columns(const RecurrenceProblem& p) const {
    return blocks_ == 1 ? p.gates : share_.units;
  }
  dnnl::matmul::primitive_desc chosen(const RecurrenceProblem& p, bool transposed,
                                      bool adds) const {
    const int64_t k = transposed ? p.gates : p.units;
    const int64_t n = transposed ? share_.units : columns(p);
    const Desc x({share_.rows, k}, Type::f32, Dims{k, 1});
    const Desc kernel({k, n}, Type::f32, Tag::any);
    const Desc out({share_.rows, n}, Type::f32, Dims{transposed ? p.units : p.gates, 1});
    return choose<dnnl::matmul>(new_attributes(adds), x, kernel, out);
  }

  Share share_;
  int64_t blocks_;  // products of a step: one, or one for each gate
  int64_t first_;   // element of the kernel
  int64_t units_;   // of the problem
  dnnl::matmul::primitive_desc desc_;
  Step pack_;
  Step product_;
  std::byte* packed_ = nullptr;
};

void zero(float* values, int64_t count) {
  std::memset(values, 0, static_cast<size_t>(count) * sizeof(float));
}

// Arrays of one run, and which of its rows take a step.
class RecurrentArrays {
 public:
  RecurrentArrays(const KernelArgs& args, const RecurrenceProblem& problem)
      : args_(args),
        batch_(problem.batch),
        mask_(problem.mask == 0 ? nullptr : static_cast<const bool*>(args.in[problem.mask])) {}

  const float* in(size_t i) const { return static_cast<const float*>(args_.in[i]); }
  float* out(size_t i) const { return static_cast<float*>(args_.out[i]); }
  bool takes(int64_t step, int64_t row) const {
    return mask_ == nullptr || mask_[step * batch_ + row];
  }
  bool any_takes(int64_t step, const Share& share) const {
    if (mask_ == nullptr) return true;
    const bool* first = mask_ + step * batch_ + share.row;
    return std::find(first, first + share.rows, true) != first + share.rows;
  }

 private:
  const KernelArgs& args_;
  int64_t batch_;
  const bool* mask_;
};

// What both directions have in common.
class RecurrentKernel : public Kernel {
 public:
  // `kernel`: the operand that is the recurrent kernel.
  RecurrentKernel(const RecurrenceProblem& problem, size_t kernel, bool transposed, bool adds)
      : problem_(problem), simd_(problem.cell.simd()), kernel_(kernel) {
    const std::vector<Share> shares = divide(problem);
    by_units_ = shares.front().units < problem.units;
    const ComputeThreadsScope alone(1);
    for (const Share& share : shares) {
      parts_.emplace_back(problem, share, transposed, adds);
      products_ = std::max(products_, parts_.back().scratch_bytes());
    }
    const auto products = static_cast<size_t>(shares.front().rows * problem.gates) * sizeof(float);
    part_scratch_ = products_ + (adds ? 0 : aligned(products));
  }
  size_t scratch_bytes() const override { return part_scratch_ * parts_.size(); }

 protected:
  // Calls body(turn, part, memory for the products of its rows, unless these are added) -> whether
  // oneDNN succeeded. What a turn has written is there for the next one: in the same part if rows
  // are divided, in all parts if units are.
  template <class Body>
  void run_turns(const KernelArgs& args, int64_t turns, Body body) {
    const KernelUse use;
    std::atomic<bool> failed = false;
    const int64_t at_once = by_units_ ? 1 : turns;
    for (int64_t first = 0; first < turns; first += at_once) {
      parallel_parts(static_cast<int>(parts_.size()), [&](int index) {
        RecurrentPart& part = parts_[static_cast<size_t>(index)];
        auto* scratch =
            static_cast<std::byte*>(args.scratch) + static_cast<size_t>(index) * part_scratch_;
        auto* products = reinterpret_cast<float*>(scratch + products_);
        bool done = first > 0 || part.pack(args.in[kernel_], scratch);
        for (int64_t turn = first; done && turn < first + at_once; ++turn) {
          done = body(turn, part, products);
        }
        if (!done) failed = true;
      });
      check<Internal>(!failed, "recurrence: oneDNN failed.");
    }
  }

  // Zeros of the share's units in each gate.
  void zero_gates(float* gates, const Share& share) const {
    for (int64_t gate = 0; gate < problem_.cell.gates; ++gate) {
      zero(gates + gate * problem_.units, share.units);
    }
  }

  RecurrenceProblem problem_;
  SimdCell simd_;

 private:
  size_t kernel_;
  bool by_units_ = false;
  std::vector<RecurrentPart> parts_;
  size_t part_scratch_ = 0;
  size_t products_ = 0;  // within a part's scratch memory
};

class RecurrentForward : public RecurrentKernel {
 public:
  explicit RecurrentForward(const RecurrenceProblem& problem)
      : RecurrentKernel(problem, problem.cell.states + 1, false, !problem.cell.keeps) {
    set_may_alias({{0, static_cast<int>(problem.cell.states)}});
  }

  void run(const KernelArgs& args) override {
    const RecurrentArrays arrays(args, problem_);
    run_turns(args, problem_.steps, [&](int64_t turn, RecurrentPart& part, float* products) {
      const int64_t of_step = problem_.batch * problem_.units;
      const float* before[2];  // the states before the step
      for (size_t i = 0; i < problem_.cell.states; ++i) {
        before[i] =
            turn == 0 ? arrays.in(1 + i) : arrays.out(i) + problem_.step_at(turn - 1) * of_step;
        before[i] += part.share().row * problem_.units;
      }
      return run_step(arrays, part, problem_.step_at(turn), before, products);
    });
  }

 private:
  // `before`: the states of the part's rows before the step.
  bool run_step(const RecurrentArrays& arrays, RecurrentPart& part, int64_t step,
                const float* const* before, float* products) const {
    const Cell& cell = problem_.cell;
    const Share& share = part.share();
    const int64_t first = step * problem_.batch + share.row;
    const int64_t first_gate = first * problem_.gates + share.unit;
    const int64_t first_unit = first * problem_.units + share.unit;
    const float* inputs = arrays.in(0) + first_gate;
    float* gates = arrays.out(cell.states) + first_gate;
    products += share.unit;
    if (arrays.any_takes(step, share)) {
      if (!cell.keeps && inputs != gates) copy_gates(inputs, share, gates);
      if (!part.multiply(before[0], cell.keeps ? products : gates)) return false;
    }
    for (int64_t row = 0; row < share.rows; ++row) {
      const int64_t own = row * problem_.units;
      const int64_t of_gates = row * problem_.gates;
      CellForwardRow at{.before = before[cell.states - 1] + own + share.unit,
                        .inputs = (cell.keeps ? inputs : gates) + of_gates,
                        .product = products + of_gates,
                        .bias = cell.keeps ? arrays.in(cell.states + 2) + share.unit : nullptr,
                        .gates = gates + of_gates,
                        .after = {},
                        .kept = nullptr};
      for (size_t i = 0; i < cell.states; ++i) at.after[i] = arrays.out(i) + first_unit + own;
      if (cell.keeps) at.kept = arrays.out(cell.states + 1) + first_unit + own;
      if (arrays.takes(step, share.row + row)) {
        simd_.forward(at, share.units, problem_.units);
      } else {
        skip(at, share, before, own + share.unit);
      }
    }
    return true;
  }

  void copy_gates(const float* inputs, const Share& share, float* gates) const {
    for (int64_t row = 0; row < share.rows; ++row) {
      for (int64_t gate = 0; gate < problem_.cell.gates; ++gate) {
        const int64_t at = row * problem_.gates + gate * problem_.units;
        std::copy_n(inputs + at, share.units, gates + at);
      }
    }
  }

  void skip(const CellForwardRow& at, const Share& share, const float* const* before,
            int64_t own) const {
    for (size_t i = 0; i < problem_.cell.states; ++i) {
      std::copy_n(before[i] + own, share.units, at.after[i]);
    }
    zero_gates(at.gates, share);
    if (at.kept != nullptr) zero(at.kept, share.units);
  }
};

class RecurrentBackward : public RecurrentKernel {
 public:
  explicit RecurrentBackward(const RecurrenceProblem& problem)
      : RecurrentKernel(problem, 3, true, true) {
    set_may_alias({{0, 0}});
  }

  // A turn adds what comes through the product of the step behind, then takes its own step: all
  // gradients of a step's gates are needed for each unit of the step before.
  void run(const KernelArgs& args) override {
    const RecurrentArrays arrays(args, problem_);
    run_turns(args, problem_.steps + 1, [&](int64_t turn, RecurrentPart& part, float*) {
      const int64_t position = problem_.steps - 1 - turn;
      if (turn == 0) {
        zero_states(arrays, part.share());
      } else if (!add_product(arrays, part, problem_.step_at(position + 1))) {
        return false;
      }
      if (position < 0) return true;
      const int64_t of_step = problem_.batch * problem_.units;
      const float* before =
          position == 0 ? arrays.in(2) : arrays.in(1) + problem_.step_at(position - 1) * of_step;
      run_step(arrays, part.share(), problem_.step_at(position), before);
      return true;
    });
  }

 private:
  void zero_states(const RecurrentArrays& arrays, const Share& share) const {
    for (size_t i = 0; i < problem_.cell.states; ++i) {
      for (int64_t row = 0; row < share.rows; ++row) {
        zero(arrays.out(1 + i) + (share.row + row) * problem_.units + share.unit, share.units);
      }
    }
  }

  // The gradients of the products.
  float* products(const RecurrentArrays& arrays) const {
    return arrays.out(problem_.cell.keeps ? 1 + problem_.cell.states : 0);
  }

  bool add_product(const RecurrentArrays& arrays, RecurrentPart& part, int64_t step) const {
    const Share& share = part.share();
    if (!arrays.any_takes(step, share)) return true;
    return part.multiply(products(arrays) + (step * problem_.batch + share.row) * problem_.gates,
                         arrays.out(1) + share.row * problem_.units + share.unit);
  }

  // `before`: the last state before the step.
  void run_step(const RecurrentArrays& arrays, const Share& share, int64_t step,
                const float* before) const {
    const Cell& cell = problem_.cell;
    for (int64_t row = share.row; row < share.row + share.rows; ++row) {
      const int64_t of_row = row * problem_.units + share.unit;
      const int64_t own = step * problem_.batch * problem_.units + of_row;
      const int64_t of_gates = (step * problem_.batch + row) * problem_.gates + share.unit;
      CellBackwardRow at{.gates = arrays.in(0) + of_gates,
                         .before = before + of_row,
                         .after = arrays.in(1) + own,
                         .kept = cell.keeps ? arrays.in(4 + cell.states) + own : nullptr,
                         .outside = {},
                         .states = {},
                         .inputs = arrays.out(0) + of_gates,
                         .product = products(arrays) + of_gates};
      for (size_t i = 0; i < cell.states; ++i) {
        at.outside[i] = arrays.in(4 + i) + own;
        at.states[i] = arrays.out(1 + i) + of_row;
      }
      if (arrays.takes(step, row)) {
        simd_.backward(at, share.units, problem_.units);
      } else {
        skip(at, share);
      }
    }
  }

  void skip(const CellBackwardRow& at, const Share& share) const {
    for (size_t i = 0; i < problem_.cell.states; ++i) {
      for (int64_t unit = 0; unit < share.units; ++unit) {
        at.states[i][unit] += at.outside[i][unit];
      }
    }
    zero_gates(at.inputs, share);
    zero_gates(at.product, share);
  }
};

// `operands`: those of the op without a mask.
template <class Direction>
std::unique_ptr<Kernel> make_recurrence(const Cell& cell, size_t operands, const KernelSpec& spec) {
  const RecurrenceProblem problem(cell, operands, spec);
  if (problem.batch == 0) return make_kernel([](const KernelArgs&) {});
  return std::make_unique<Direction>(problem);
}

}  // namespace

void register_recurrent_kernels(KernelTable& table) {
  const auto add = [&](const char* op, const char* gradient, const Cell& cell) {
    table.add(op, [cell](const KernelSpec& spec) {
      return make_recurrence<RecurrentForward>(cell, cell.operands(), spec);
    });
    table.add(gradient, [cell](const KernelSpec& spec) {
      return make_recurrence<RecurrentBackward>(cell, cell.gradient_operands(), spec);
    });
  };
  add("lstm", "lstm_grad", kLstm);
  add("gru", "gru_grad", kGru);
}

}  // namespace cornu::cpu
