// SPDX-License-Identifier: Apache-2.0
// Rows of the batch are independent: each thread takes some of them through all steps, so that
// threads synchronize once per sequence and not at every step. A step is a single-threaded oneDNN
// product with the recurrent kernel, packed once per run, and one pass over the gates. The gates
// may overwrite the inputs, and the inputs' gradients the gates, which reduces memory traffic.
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

// Some rows of the batch, and their product with the kernel (units x gates), or with its transpose,
// which is added to the existing values or replaces them.
class RecurrentRows {
 public:
  RecurrentRows(const RecurrenceProblem& problem, int64_t begin, int64_t count, bool transposed,
                bool adds)
      : begin_(begin),
        count_(count),
        desc_(chosen(problem, count, transposed, adds)),
        pack_(reorder_step(plain_kernel(problem, transposed), desc_.weights_desc())),
        product_(dnnl::matmul(desc_)) {
    product_.add(DNNL_ARG_SRC, desc_.src_desc());
    product_.add(DNNL_ARG_WEIGHTS, desc_.weights_desc());
    product_.add(DNNL_ARG_DST, desc_.dst_desc());
    product_.add(DNNL_ARG_SCRATCHPAD, desc_.scratchpad_desc());
  }

  int64_t begin() const { return begin_; }
  int64_t count() const { return count_; }
  size_t scratch_bytes() const {
    return aligned(desc_.weights_desc().get_size()) + aligned(desc_.scratchpad_desc().get_size());
  }

  // Packs a kernel for the products that follow.
  bool pack(const void* kernel, void* scratch) {
    pack_.bind(0, kernel);
    pack_.bind(1, scratch);
    product_.bind(1, scratch);
    product_.bind(3, static_cast<std::byte*>(scratch) + aligned(desc_.weights_desc().get_size()));
    return pack_.try_run();
  }
  bool multiply(const float* x, float* out) {
    product_.bind(0, x);
    product_.bind(2, out);
    return product_.try_run();
  }

 private:
  static Desc plain_kernel(const RecurrenceProblem& p, bool transposed) {
    return transposed ? Desc({p.gates, p.units}, Type::f32, Dims{1, p.gates})
                      : Desc({p.units, p.gates}, Type::f32, Dims{p.gates, 1});
  }
  static dnnl::matmul::primitive_desc chosen(const RecurrenceProblem& p, int64_t rows,
                                             bool transposed, bool adds) {
    const int64_t k = transposed ? p.gates : p.units;
    const int64_t n = transposed ? p.units : p.gates;
    const Desc x({rows, k}, Type::f32, Dims{k, 1});
    const Desc kernel({k, n}, Type::f32, Tag::any);
    const Desc out({rows, n}, Type::f32, Dims{n, 1});
    return choose<dnnl::matmul>(new_attributes(adds), x, kernel, out);
  }

  int64_t begin_;
  int64_t count_;
  dnnl::matmul::primitive_desc desc_;
  Step pack_;
  Step product_;
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
  bool any_takes(int64_t step, const RecurrentRows& rows) const {
    if (mask_ == nullptr) return true;
    const bool* first = mask_ + step * batch_ + rows.begin();
    return std::find(first, first + rows.count(), true) != first + rows.count();
  }

 private:
  const KernelArgs& args_;
  int64_t batch_;
  const bool* mask_;
};

// The parts that both directions share.
class RecurrentKernel : public Kernel {
 public:
  // `kernel`: the operand that is the recurrent kernel.
  RecurrentKernel(const RecurrenceProblem& problem, size_t kernel, bool transposed, bool adds)
      : problem_(problem), simd_(problem.cell.simd()), kernel_(kernel) {
    constexpr int64_t kFewestRows = 8;
    const int64_t most = std::max(compute_threads(), 1);
    const int64_t parts = std::clamp<int64_t>(problem.batch / kFewestRows, 1, most);
    const int64_t rows = (problem.batch + parts - 1) / parts;
    const ComputeThreadsScope alone(1);
    size_t packed = 0;
    for (int64_t begin = 0; begin < problem.batch; begin += rows) {
      parts_.emplace_back(problem, begin, std::min(rows, problem.batch - begin), transposed, adds);
      packed = std::max(packed, parts_.back().scratch_bytes());
    }
    const auto products = static_cast<size_t>(rows * problem.gates) * sizeof(float);
    part_scratch_ = packed + (adds ? 0 : aligned(products));
    products_ = packed;
  }
  size_t scratch_bytes() const override { return part_scratch_ * parts_.size(); }

 protected:
  // body(rows, memory for their products unless these are added) -> whether oneDNN succeeded.
  template <class Body>
  void run_parts(const KernelArgs& args, Body body) {
    const KernelUse use;
    std::atomic<bool> failed = false;
    parallel_parts(static_cast<int>(parts_.size()), [&](int index) {
      RecurrentRows& rows = parts_[static_cast<size_t>(index)];
      auto* scratch =
          static_cast<std::byte*>(args.scratch) + static_cast<size_t>(index) * part_scratch_;
      auto* products = reinterpret_cast<float*>(scratch + products_);
      if (!rows.pack(args.in[kernel_], scratch) || !body(rows, products)) failed = true;
    });
    check<Internal>(!failed, "recurrence: oneDNN failed.");
  }

  RecurrenceProblem problem_;
  SimdCell simd_;

 private:
  size_t kernel_;
  std::vector<RecurrentRows> parts_;
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
    run_parts(args, [&](RecurrentRows& rows, float* products) {
      const float* before[2];
      for (size_t i = 0; i < problem_.cell.states; ++i) {
        before[i] = arrays.in(1 + i) + rows.begin() * problem_.units;
      }
      for (int64_t turn = 0; turn < problem_.steps; ++turn) {
        const int64_t step = problem_.step_at(turn);
        if (!run_step(arrays, rows, step, before, products)) return false;
        for (size_t i = 0; i < problem_.cell.states; ++i) {
          before[i] = arrays.out(i) + (step * problem_.batch + rows.begin()) * problem_.units;
        }
      }
      return true;
    });
  }

 private:
  // `before`: the states before the step.
  bool run_step(const RecurrentArrays& arrays, RecurrentRows& rows, int64_t step,
                const float* const* before, float* products) const {
    const Cell& cell = problem_.cell;
    const int64_t units = problem_.units;
    const int64_t first = step * problem_.batch + rows.begin();
    const float* inputs = arrays.in(0) + first * problem_.gates;
    float* gates = arrays.out(cell.states) + first * problem_.gates;
    if (arrays.any_takes(step, rows)) {
      if (!cell.keeps && inputs != gates) {
        std::memcpy(gates, inputs,
                    static_cast<size_t>(rows.count() * problem_.gates) * sizeof(float));
      }
      if (!rows.multiply(before[0], cell.keeps ? products : gates)) return false;
    }
    for (int64_t row = 0; row < rows.count(); ++row) {
      const int64_t own = row * units;
      const int64_t of_gates = row * problem_.gates;
      CellForwardRow at{.before = before[cell.states - 1] + own,
                        .inputs = (cell.keeps ? inputs : gates) + of_gates,
                        .product = products + of_gates,
                        .bias = cell.keeps ? arrays.in(cell.states + 2) : nullptr,
                        .gates = gates + of_gates,
                        .after = {},
                        .kept = nullptr};
      for (size_t i = 0; i < cell.states; ++i) at.after[i] = arrays.out(i) + first * units + own;
      if (cell.keeps) at.kept = arrays.out(cell.states + 1) + first * units + own;
      if (arrays.takes(step, rows.begin() + row)) {
        simd_.forward(at, units);
      } else {
        skip(at, before, own);
      }
    }
    return true;
  }

  void skip(const CellForwardRow& at, const float* const* before, int64_t own) const {
    for (size_t i = 0; i < problem_.cell.states; ++i) {
      std::copy_n(before[i] + own, problem_.units, at.after[i]);
    }
    zero(at.gates, problem_.gates);
    if (at.kept != nullptr) zero(at.kept, problem_.units);
  }
};

class RecurrentBackward : public RecurrentKernel {
 public:
  explicit RecurrentBackward(const RecurrenceProblem& problem)
      : RecurrentKernel(problem, 3, true, true) {
    set_may_alias({{0, 0}});
  }

  void run(const KernelArgs& args) override {
    const RecurrentArrays arrays(args, problem_);
    run_parts(args, [&](RecurrentRows& rows, float*) {
      const int64_t begin = rows.begin() * problem_.units;
      for (size_t i = 0; i < problem_.cell.states; ++i) {
        zero(arrays.out(1 + i) + begin, rows.count() * problem_.units);
      }
      const int64_t of_step = problem_.batch * problem_.units;
      for (int64_t turn = problem_.steps - 1; turn >= 0; --turn) {
        const float* before =
            turn == 0 ? arrays.in(2) : arrays.in(1) + problem_.step_at(turn - 1) * of_step;
        if (!run_step(arrays, rows, problem_.step_at(turn), before + begin)) return false;
      }
      return true;
    });
  }

 private:
  // `before`: the last state before the step.
  bool run_step(const RecurrentArrays& arrays, RecurrentRows& rows, int64_t step,
                const float* before) const {
    const Cell& cell = problem_.cell;
    const int64_t units = problem_.units;
    const int64_t first = step * problem_.batch + rows.begin();
    float* products = arrays.out(cell.keeps ? 1 + cell.states : 0) + first * problem_.gates;
    for (int64_t row = 0; row < rows.count(); ++row) {
      const int64_t own = (first + row) * units;
      const int64_t of_gates = (first + row) * problem_.gates;
      CellBackwardRow at{.gates = arrays.in(0) + of_gates,
                         .before = before + row * units,
                         .after = arrays.in(1) + own,
                         .kept = cell.keeps ? arrays.in(4 + cell.states) + own : nullptr,
                         .outside = {},
                         .states = {},
                         .inputs = arrays.out(0) + of_gates,
                         .product = products + row * problem_.gates};
      for (size_t i = 0; i < cell.states; ++i) {
        at.outside[i] = arrays.in(4 + i) + own;
        at.states[i] = arrays.out(1 + i) + (rows.begin() + row) * units;
      }
      if (arrays.takes(step, rows.begin() + row)) {
        simd_.backward(at, units);
      } else {
        skip(at);
      }
    }
    if (!arrays.any_takes(step, rows)) return true;
    return rows.multiply(products, arrays.out(1) + rows.begin() * units);
  }

  void skip(const CellBackwardRow& at) const {
    for (size_t i = 0; i < problem_.cell.states; ++i) {
      for (int64_t unit = 0; unit < problem_.units; ++unit) {
        at.states[i][unit] += at.outside[i][unit];
      }
    }
    zero(at.inputs, problem_.gates);
    zero(at.product, problem_.gates);
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
