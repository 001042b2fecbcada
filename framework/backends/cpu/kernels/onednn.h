// SPDX-License-Identifier: Apache-2.0
// Kernels made of oneDNN primitives.
#pragma once

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "framework/backends/cpu/kernel.h"

namespace cornu::cpu::onednn {

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;
using Type = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;

// The one CPU engine.
const dnnl::engine& engine();

// oneDNN's name of `dtype`, where this CPU computes with it well.
std::optional<Type> compute_type(DType dtype);

// Attributes of every primitive: scratch memory is ours.
const dnnl::primitive_attr& attributes();

// `bytes` rounded up to whole cache lines.
size_t aligned(size_t bytes);

// A primitive with its arguments.
class Step {
 public:
  explicit Step(dnnl::primitive primitive) : primitive_(std::move(primitive)) {}

  void add(int argument, const Desc& desc);
  // Where argument number `index` lies, in the order they were added.
  void bind(size_t index, const void* data);
  // On the calling thread's compute threads, or on the caller alone within a parallel region.
  // Internal when oneDNN fails.
  void run();
  bool try_run();  // false when oneDNN fails

 private:
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;
  std::vector<const void*> data_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

// Copies from its argument 0 to its argument 1.
Step reorder_step(const Desc& from, const Desc& to);

// A tensor of a kernel: how it lies outside, and how the primitive wants it.
struct Operand {
  int argument;    // DNNL_ARG_…
  bool is_output;  // of KernelArgs::out, not in
  size_t index;    // there
  Desc outside;
  Desc inside;
};

// Runs `primitive`, reordering where the two layouts of an operand differ.
std::unique_ptr<Kernel> make_kernel(const dnnl::primitive& primitive, const Desc& scratchpad,
                                    std::span<const Operand> operands);

// Runs `kernel`, then relu over the `count` elements of its first output. (oneDNN's own relu makes
// zeros of NaN.)
std::unique_ptr<Kernel> rectified(std::unique_ptr<Kernel> kernel, DType dtype, int64_t count);

// Is there an implementation other than the slow reference?
template <class PrimitiveDesc>
bool is_fast(const PrimitiveDesc& desc) {
  return desc && !std::string_view(desc.impl_info_str()).starts_with("ref");
}

}  // namespace cornu::cpu::onednn
