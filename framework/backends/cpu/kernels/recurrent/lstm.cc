// SPDX-License-Identifier: Apache-2.0
// Rows of the batch are independent: each thread takes some of them through all steps, so that
// threads synchronize once per sequence and not at every step. A step is a single-threaded oneDNN
// product with the recurrent kernel, packed once per run, and one pass over the gates. The gates
// may overwrite the inputs, and the gates' gradients the gates, which reduces memory traffic.
#include "framework/backends/cpu/kernels/recurrent/lstm.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "framework/backends/cpu/exit_gate.h"
#include "framework/backends/cpu/kernel.h"
#include "framework/backends/cpu/kernels/onednn.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

using namespace onednn;

struct LstmProblem {
  explicit LstmProblem(const KernelSpec& spec)
      : steps(spec.inputs[0].shape[0]),
        batch(spec.inputs[0].shape[1]),
        units(spec.inputs[0].shape[2] / 4),
        reverse(spec.attributes.get_bool("reverse")) {}

  int64_t states() const { return batch * units; }  // elements of one step's state

  int64_t steps;
  int64_t batch;
  int64_t units;
  bool reverse;
};

// Some rows of the batch, and their product with the kernel (units x 4 units), which is added to
// the existing values; or with its transpose, which replaces them.
class LstmRows {
 public:
  LstmRows(int64_t begin, int64_t count, int64_t units, bool transposed)
      : begin_(begin),
        count_(count),
        desc_(chosen(count, units, transposed)),
        pack_(reorder_step(plain_kernel(units, transposed), desc_.weights_desc())),
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
  static Desc plain_kernel(int64_t units, bool transposed) {
    return transposed ? Desc({4 * units, units}, Type::f32, Dims{1, 4 * units})
                      : Desc({units, 4 * units}, Type::f32, Dims{4 * units, 1});
  }
  static dnnl::matmul::primitive_desc chosen(int64_t rows, int64_t units, bool transposed) {
    const int64_t k = transposed ? 4 * units : units;
    const int64_t n = transposed ? units : 4 * units;
    const Desc x({rows, k}, Type::f32, Dims{k, 1});
    const Desc kernel({k, n}, Type::f32, Tag::any);
    const Desc out({rows, n}, Type::f32, Dims{n, 1});
    return choose<dnnl::matmul>(new_attributes(!transposed), x, kernel, out);
  }

  int64_t begin_;
  int64_t count_;
  dnnl::matmul::primitive_desc desc_;
  Step pack_;
  Step product_;
};

// The parts that both directions share.
class LstmKernel : public Kernel {
 public:
  LstmKernel(const LstmProblem& problem, bool transposed) : problem_(problem), simd_(simd_lstm()) {
    constexpr int64_t kFewestRows = 8;
    const int64_t most = std::max(compute_threads(), 1);
    const int64_t parts = std::clamp<int64_t>(problem.batch / kFewestRows, 1, most);
    const int64_t rows = (problem.batch + parts - 1) / parts;
    const ComputeThreadsScope alone(1);
    for (int64_t begin = 0; begin < problem.batch; begin += rows) {
      parts_.emplace_back(begin, std::min(rows, problem.batch - begin), problem.units, transposed);
      part_scratch_ = std::max(part_scratch_, parts_.back().scratch_bytes());
    }
  }
  size_t scratch_bytes() const override { return part_scratch_ * parts_.size(); }

 protected:
  // body(rows) -> whether oneDNN succeeded.
  template <class Body>
  void run_parts(const KernelArgs& args, Body body) {
    const KernelUse use;
    std::atomic<bool> failed = false;
    parallel_parts(static_cast<int>(parts_.size()), [&](int index) {
      LstmRows& rows = parts_[static_cast<size_t>(index)];
      auto* scratch =
          static_cast<std::byte*>(args.scratch) + static_cast<size_t>(index) * part_scratch_;
      if (!rows.pack(args.in[3], scratch) || !body(rows)) failed = true;
    });
    check<Internal>(!failed, "lstm: oneDNN failed.");
  }

  // The step that runs at position `turn`.
  int64_t step_at(int64_t turn) const {
    return problem_.reverse ? problem_.steps - 1 - turn : turn;
  }

  LstmProblem problem_;
  SimdLstm simd_;

 private:
  std::vector<LstmRows> parts_;
  size_t part_scratch_ = 0;
};

class LstmForward : public LstmKernel {
 public:
  explicit LstmForward(const LstmProblem& problem) : LstmKernel(problem, false) {
    set_may_alias({{0, 2}});
  }

  void run(const KernelArgs& args) override {
    const auto in = [&](size_t i) { return static_cast<const float*>(args.in[i]); };
    const auto out = [&](size_t i) { return static_cast<float*>(args.out[i]); };
    const int64_t units = problem_.units;
    run_parts(args, [&](LstmRows& rows) {
      const float* h = in(1) + rows.begin() * units;
      const float* c = in(2) + rows.begin() * units;
      for (int64_t turn = 0; turn < problem_.steps; ++turn) {
        const int64_t at = (step_at(turn) * problem_.batch + rows.begin()) * units;
        if (in(0) != out(2)) {
          const auto bytes = static_cast<size_t>(4 * rows.count() * units) * sizeof(float);
          std::memcpy(out(2) + 4 * at, in(0) + 4 * at, bytes);
        }
        if (!rows.multiply(h, out(2) + 4 * at)) return false;
        for (int64_t row = 0; row < rows.count(); ++row) {
          const int64_t own = row * units;
          simd_.forward({c + own, out(2) + 4 * (at + own), out(1) + at + own, out(0) + at + own},
                        units);
        }
        h = out(0) + at;
        c = out(1) + at;
      }
      return true;
    });
  }
};

class LstmBackward : public LstmKernel {
 public:
  explicit LstmBackward(const LstmProblem& problem) : LstmKernel(problem, true) {
    set_may_alias({{0, 0}});
  }

  void run(const KernelArgs& args) override {
    const auto in = [&](size_t i) { return static_cast<const float*>(args.in[i]); };
    const auto out = [&](size_t i) { return static_cast<float*>(args.out[i]); };
    const int64_t units = problem_.units;
    run_parts(args, [&](LstmRows& rows) {
      const int64_t begin = rows.begin() * units;
      const auto size = static_cast<size_t>(rows.count() * units) * sizeof(float);
      float* dh = out(1) + begin;
      float* dc = out(2) + begin;
      std::memset(dh, 0, size);
      std::memset(dc, 0, size);
      for (int64_t turn = problem_.steps - 1; turn >= 0; --turn) {
        const int64_t at = step_at(turn) * problem_.states() + begin;
        const float* c_before =
            turn == 0 ? in(2) + begin : in(1) + step_at(turn - 1) * problem_.states() + begin;
        for (int64_t row = 0; row < rows.count(); ++row) {
          const int64_t own = row * units;
          simd_.backward(
              {in(0) + 4 * (at + own), c_before + own, in(1) + at + own, in(4) + at + own,
               in(5) + at + own, dh + own, dc + own, out(0) + 4 * (at + own)},
              units);
        }
        if (!rows.multiply(out(0) + 4 * at, dh)) return false;
      }
      return true;
    });
  }
};

template <class Direction>
std::unique_ptr<Kernel> make_lstm(const KernelSpec& spec) {
  const LstmProblem problem(spec);
  if (problem.batch == 0) return make_kernel([](const KernelArgs&) {});
  return std::make_unique<Direction>(problem);
}

}  // namespace

void register_recurrent_kernels(KernelTable& table) {
  table.add("lstm", make_lstm<LstmForward>);
  table.add("lstm_grad", make_lstm<LstmBackward>);
}

}  // namespace cornu::cpu
