// SPDX-License-Identifier: Apache-2.0
// Kernels built from oneDNN primitives.
#pragma once

#include <oneapi/dnnl/dnnl_version.h>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "framework/backends/cpu/kernel.h"
#include "framework/backends/cpu/kernels/pooling/rectify.h"

namespace cornu::cpu::onednn {

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;
using Type = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;

// The one CPU engine. Throws FailedPrecondition while the process exits.
const dnnl::engine& engine();

// The instruction set of x86-64 that oneDNN uses; 0 on other processors. (There oneDNN returns
// numbers that its header doesn't name, and that mean others in it.)
dnnl_cpu_isa_t x86_instruction_set();

// oneDNN's type for `dtype`; nullopt if this CPU doesn't compute well with it.
std::optional<Type> compute_type(DType dtype);

// Attributes of every primitive: the caller provides scratch memory.
const dnnl::primitive_attr& attributes();
// A separate object that may be modified (copies of attributes() would share its object). `adds`:
// the result is added to the existing values; otherwise it is multiplied by `scale` before it is
// stored.
dnnl::primitive_attr new_attributes(bool adds, float scale = 1);

// `bytes` rounded up to whole cache lines.
size_t aligned(size_t bytes);

// The first implementation, from `chosen` on, whose name `skips` doesn't reject; empty if there is
// none. In oneDNN 2, what `chosen` was made from must still exist: it isn't copied.
template <class PrimitiveDesc, class Skips>
PrimitiveDesc first_unless(const Skips& skips, PrimitiveDesc chosen) {
  while (chosen && skips(chosen.impl_info_str())) {
    if (!chosen.next_impl()) return {};
  }
  return chosen;
}

// Chooses an implementation of a primitive: `arguments` are those of its constructor in oneDNN 3,
// from the operation's kind on, without attributes; oneDNN 2 takes them in a separate description.
// Empty if there is no implementation whose name `skips` doesn't reject.
template <class Primitive, class Skips, class... Arguments>
typename Primitive::primitive_desc choose_unless(const Skips& skips,
                                                 const dnnl::primitive_attr& attributes,
                                                 const Arguments&... arguments) {
  using PrimitiveDesc = typename Primitive::primitive_desc;
#if DNNL_VERSION_MAJOR >= 3
  return first_unless(skips, PrimitiveDesc{engine(), arguments..., attributes, true});
#else
  const typename Primitive::desc description(arguments...);
  return first_unless(skips, PrimitiveDesc{description, attributes, engine(), true});
#endif
}

// The same for a gradient of what `forward` computes.
template <class Primitive, class Skips, class Forward, class... Arguments>
typename Primitive::primitive_desc choose_gradient(const Skips& skips, const Forward& forward,
                                                   const Arguments&... arguments) {
  using PrimitiveDesc = typename Primitive::primitive_desc;
#if DNNL_VERSION_MAJOR >= 3
  return first_unless(skips, PrimitiveDesc{engine(), arguments..., forward, attributes(), true});
#else
  const typename Primitive::desc description(arguments...);
  return first_unless(skips, PrimitiveDesc{description, attributes(), engine(), forward, true});
#endif
}

// Like choose_unless, accepting any implementation.
template <class Primitive, class... Arguments>
typename Primitive::primitive_desc choose(const dnnl::primitive_attr& attributes,
                                          const Arguments&... arguments) {
  return choose_unless<Primitive>([](const char*) { return false; }, attributes, arguments...);
}

// A primitive with its arguments.
class Step {
 public:
  explicit Step(dnnl::primitive primitive) : primitive_(std::move(primitive)) {}

  void add(int argument, const Desc& desc);
  // Sets the memory of argument `index`, numbered in the order of `add`.
  void bind(size_t index, const void* data);
  // Runs on the calling thread's compute threads, within a parallel region on the calling thread
  // only. Throws Internal when oneDNN fails.
  void run();
  bool try_run();  // false when oneDNN fails

 private:
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;
  std::vector<const void*> data_;
  std::vector<dnnl_exec_arg_t> arguments_;
  bool has_run_ = false;
};

// Copies from its argument 0 to its argument 1.
Step reorder_step(const Desc& from, const Desc& to);

// A tensor of a kernel, with its layout in the graph (`outside`) and in the primitive (`inside`).
struct Operand {
  int argument;    // DNNL_ARG_…
  bool is_output;  // in KernelArgs::out, not in ::in
  size_t index;    // in that array
  Desc outside;
  Desc inside;
};

// Runs `primitive`, with reorders where the two layouts of an operand differ.
std::unique_ptr<Kernel> make_kernel(const dnnl::primitive& primitive, const Desc& scratchpad,
                                    std::span<const Operand> operands);

// Runs `kernel`, then an activation over the `count` elements of its first output.
std::unique_ptr<Kernel> rectified(std::unique_ptr<Kernel> kernel, DType dtype,
                                  Activation activation, int64_t count);

// Whether there is an implementation other than the slow reference.
template <class PrimitiveDesc>
bool is_fast(const PrimitiveDesc& desc) {
  return desc && !std::string_view(desc.impl_info_str()).starts_with("ref");
}

}  // namespace cornu::cpu::onednn
