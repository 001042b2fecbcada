// SPDX-License-Identifier: Apache-2.0
#include <dnnl.h>
#include <fmt/core.h>

#include <string>

#include "framework/backends/cpu/kernels/elementwise/targets.h"
#include "framework/graph/cpu_instructions.h"

#include <hwy/highway.h>

namespace cornu {
namespace {

std::string onednn_set() {
  const dnnl_cpu_isa_t set = dnnl_get_effective_cpu_isa();
  switch (set) {
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
  // The lowest bit is the best of those that kernels are compiled for: what they choose.
  const int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  return fmt::format("{} (oneDNN: {})", hwy::TargetName(targets & -targets), onednn_set());
}

}  // namespace cornu
