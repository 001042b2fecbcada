// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <string>

#include "framework/backends/cpu/kernels/elementwise/targets.h"
#include "framework/backends/cpu/kernels/onednn.h"
#include "framework/graph/cpu_instructions.h"

#include <hwy/highway.h>

namespace cornu {
namespace {

// The lowest bit is the best.
std::string best_of(int64_t targets) { return hwy::TargetName(targets & -targets); }

std::string onednn_set() {
  const dnnl_cpu_isa_t set = cpu::onednn::x86_instruction_set();
  switch (set) {
    case dnnl_cpu_isa_t{}:  // not x86-64: it doesn't tell, but the machine's best is what it looks
                            // for
      return best_of(hwy::SupportedTargets() | HWY_STATIC_TARGET);
    case dnnl_cpu_isa_sse41:
      return "SSE4.1";
    case dnnl_cpu_isa_avx:
      return "AVX";
    case dnnl_cpu_isa_avx2:
      return "AVX2";
    case dnnl_cpu_isa_avx2_vnni:
      return "AVX2 with VNNI";
    case dnnl_cpu_isa_avx512_core:
      return "AVX-512";
    case dnnl_cpu_isa_avx512_core_vnni:
      return "AVX-512 with VNNI";
    case dnnl_cpu_isa_avx512_core_bf16:
      return "AVX-512 with bfloat16";
    case dnnl_cpu_isa_avx512_core_amx:
      return "AVX-512 with AMX";
    default:
      return fmt::format("{:#x}", static_cast<unsigned>(set));  // newer than these
  }
}

}  // namespace

std::string cpu_instruction_sets() {
  // What kernels choose: the best that they are compiled for, or what they were compiled to need.
  const int64_t targets = (hwy::SupportedTargets() & HWY_TARGETS) | HWY_STATIC_TARGET;
  return fmt::format("{} (oneDNN: {})", best_of(targets), onednn_set());
}

}  // namespace cornu
