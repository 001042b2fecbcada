// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/kernels/onednn.h"

#include <mutex>
#include <string_view>
#include <utility>

#include "framework/backends/cpu/exit_gate.h"
#include "framework/backends/cpu/kernels/pooling/rectify.h"
#include "framework/core/blocked_signals.h"
#include "framework/core/per_thread.h"
#include "framework/core/threads.h"

namespace cornu::cpu::onednn {
namespace {

// One per thread: streams can't be shared. A thread that ends returns its stream for reuse; none is
// destroyed, as threads may outlive oneDNN.
class ThreadStream {
 public:
  ThreadStream() {
    use_compute_threads();
    const std::lock_guard lock(mutex());
    if (spare().empty()) {
      stream_ = make();
    } else {
      stream_ = spare().back();
      spare().pop_back();
    }
  }
  ~ThreadStream() {
    const std::lock_guard lock(mutex());
    spare().push_back(stream_);
  }
  ThreadStream(const ThreadStream&) = delete;
  ThreadStream& operator=(const ThreadStream&) = delete;

  dnnl_stream_t get() const { return stream_->get(); }

 private:
  static dnnl::stream* make() {
    try {
      return new dnnl::stream(engine());
    } catch (const dnnl::error& error) {
      raise<ResourceExhausted>("oneDNN: {}.", error.what());
    }
  }
  static std::mutex& mutex() {
    static auto* mutex = new std::mutex;
    return *mutex;
  }
  static std::vector<dnnl::stream*>& spare() {
    static auto* streams = new std::vector<dnnl::stream*>;
    return *streams;
  }

  dnnl::stream* stream_;
};

dnnl_stream_t stream() {
  return per_thread([] { return ThreadStream(); }).get();
}

class PrimitiveKernel : public Kernel {
 public:
  PrimitiveKernel(const dnnl::primitive& primitive, const Desc& scratchpad,
                  std::span<const Operand> operands)
      : main_(primitive) {
    for (const Operand& operand : operands) {
      Slot slot{operand.is_output, operand.index, 0, std::nullopt};
      main_.add(operand.argument, operand.inside);
      if (operand.inside != operand.outside) {
        slot.offset = allocate(operand.inside.get_size());
        slot.reorder = make_reorder(operand);
      }
      slots_.push_back(std::move(slot));
    }
    if (scratchpad.get_size() > 0) {
      main_.add(DNNL_ARG_SCRATCHPAD, scratchpad);
      has_scratchpad_ = true;
      scratchpad_offset_ = allocate(scratchpad.get_size());
    }
  }

  size_t scratch_bytes() const override { return bytes_; }

  void run(const KernelArgs& args) override {
    const KernelUse use;
    auto* scratch = static_cast<std::byte*>(args.scratch);
    for (size_t i = 0; i < slots_.size(); ++i) {
      Slot& slot = slots_[i];
      void* tensor = slot.is_output ? args.out[slot.index] : const_cast<void*>(args.in[slot.index]);
      if (!slot.reorder) {
        main_.bind(i, tensor);
        continue;
      }
      void* inside = scratch + slot.offset;
      main_.bind(i, inside);
      slot.reorder->bind(0, slot.is_output ? inside : tensor);
      slot.reorder->bind(1, slot.is_output ? tensor : inside);
      if (!slot.is_output) slot.reorder->run();
    }
    if (has_scratchpad_) main_.bind(slots_.size(), scratch + scratchpad_offset_);
    main_.run();
    for (Slot& slot : slots_) {
      if (slot.is_output && slot.reorder) slot.reorder->run();
    }
  }

 private:
  struct Slot {
    bool is_output;
    size_t index;
    size_t offset;                // in scratch memory, of the inner layout
    std::optional<Step> reorder;  // if the layouts differ
  };

  static Step make_reorder(const Operand& operand) {
    return operand.is_output ? reorder_step(operand.inside, operand.outside)
                             : reorder_step(operand.outside, operand.inside);
  }

  size_t allocate(size_t bytes) {
    const size_t offset = bytes_;
    bytes_ += aligned(bytes);
    return offset;
  }

  Step main_;
  std::vector<Slot> slots_;
  bool has_scratchpad_ = false;
  size_t scratchpad_offset_ = 0;
  size_t bytes_ = 0;
};

class Rectified : public Kernel {
 public:
  Rectified(std::unique_ptr<Kernel> inner, DType dtype, Activation activation, int64_t count)
      : inner_(std::move(inner)),
        rectify_(simd_rectify(dtype, activation)),
        element_(static_cast<int64_t>(size_of(dtype))),
        count_(count) {}

  size_t scratch_bytes() const override { return inner_->scratch_bytes(); }

  void run(const KernelArgs& args) override {
    constexpr int64_t kGrain = 16384;
    inner_->run(args);
    parallel_for(count_, kGrain, [&](int64_t begin, int64_t end) {
      rectify_(static_cast<std::byte*>(args.out[0]) + begin * element_, 1, end - begin, 0);
    });
  }

 private:
  std::unique_ptr<Kernel> inner_;
  Rectify rectify_;
  int64_t element_;
  int64_t count_;
};

// The name of its implementation.
std::string_view implementation(const dnnl::primitive& primitive) {
  const char* name = "";
  const_dnnl_primitive_desc_t desc{};
  if (dnnl_primitive_get_primitive_desc(primitive.get(), &desc) == dnnl_success) {
    dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &name);
  }
  return name;
}

}  // namespace

size_t aligned(size_t bytes) {
  constexpr size_t kAlignment = 64;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

void Step::add(int argument, const Desc& desc) {
  memories_.emplace_back(desc, engine(), nullptr);
  data_.push_back(nullptr);
  arguments_.push_back({argument, memories_.back().get()});
}

void Step::bind(size_t index, const void* data) {
  if (data_[index] == data) return;
  check<Internal>(
      dnnl_memory_set_data_handle(memories_[index].get(), const_cast<void*>(data)) == dnnl_success,
      "oneDNN: an argument can't be set.");
  data_[index] = data;
}

bool Step::try_run() {
  const BlockedSignals blocked;
  const bool ok =
      dnnl_primitive_execute(primitive_.get(), stream(), static_cast<int>(arguments_.size()),
                             arguments_.data()) == dnnl_success;
  if (!std::exchange(has_run_, true)) exit_before(implementation(primitive_));
  return ok;
}

void Step::run() { check<Internal>(try_run(), "oneDNN: a primitive failed."); }

Step reorder_step(const Desc& from, const Desc& to) {
  const dnnl::reorder::primitive_desc desc(engine(), from, engine(), to, attributes());
  check<Internal>(
      desc.scratchpad_desc().get_size() == 0,
      "oneDNN: expected a reorder without scratch memory, got {}, which needs {} bytes.",
      desc.impl_info_str(), desc.scratchpad_desc().get_size());
  Step step{dnnl::reorder(desc)};
  step.add(DNNL_ARG_FROM, from);
  step.add(DNNL_ARG_TO, to);
  return step;
}

const dnnl::engine& engine() {
  use_compute_threads();  // primitives are made for that number
  static const auto* engine = [] {
    auto* made = new dnnl::engine(dnnl::engine::kind::cpu, 0);
    exit_before("");  // any implementation
    return made;
  }();
  check<FailedPrecondition>(!process_exits(),
                            "oneDNN: kernels can't be made while the process exits. Destructors of "
                            "static objects can only run steps and functions that were compiled, "
                            "for the same shapes, before main returned.");
  return *engine;
}

dnnl_cpu_isa_t x86_instruction_set() {
#ifdef __x86_64__
  return dnnl_get_effective_cpu_isa();
#else
  return dnnl_cpu_isa_t{};
#endif
}

namespace {

// Intel's processors multiply bfloat16 with AVX-512 at half the rate of AMD's, which is slower than
// converting to float32, multiplying and converting back.
bool multiplies_bfloat16() {
#ifdef __x86_64__
  const auto has = [isa = static_cast<unsigned>(x86_instruction_set())](dnnl_cpu_isa_t wanted) {
    return (isa & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
  };
  return has(dnnl_cpu_isa_avx512_core_amx) ||
         (has(dnnl_cpu_isa_avx512_core_bf16) && !__builtin_cpu_is("intel"));
#else
  return false;
#endif
}

}  // namespace

std::optional<Type> compute_type(DType dtype) {
  if (dtype == DType::Float32) return Type::f32;
  if (dtype == DType::BFloat16 && multiplies_bfloat16()) return Type::bf16;
  return std::nullopt;
}

const dnnl::primitive_attr& attributes() {
  static const auto* result = new dnnl::primitive_attr(new_attributes(false));
  return *result;
}

dnnl::primitive_attr new_attributes(bool adds, float scale) {
  check<Internal>(!adds || scale == 1, "oneDNN: sums aren't scaled.");
  dnnl::primitive_attr made;
  made.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::post_ops after;
  if (adds) {
    after.append_sum();
  } else if (scale != 1) {
#if DNNL_VERSION_MAJOR >= 3
    after.append_eltwise(dnnl::algorithm::eltwise_linear, scale, 0);
#else
    made.set_output_scales(0, {scale});
#endif
  }
  made.set_post_ops(after);
  return made;
}

std::unique_ptr<Kernel> rectified(std::unique_ptr<Kernel> kernel, DType dtype,
                                  Activation activation, int64_t count) {
  if (activation == Activation::None) return kernel;
  return std::make_unique<Rectified>(std::move(kernel), dtype, activation, count);
}

std::unique_ptr<Kernel> make_kernel(const dnnl::primitive& primitive, const Desc& scratchpad,
                                    std::span<const Operand> operands) {
  return std::make_unique<PrimitiveKernel>(primitive, scratchpad, operands);
}

}  // namespace cornu::cpu::onednn
