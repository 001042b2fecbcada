// SPDX-License-Identifier: Apache-2.0
// The instruction sets that vectorized kernels are compiled for. Include before <hwy/...>.
#pragma once

#if defined(__x86_64__)
// oneDNN needs SSE4.1 as well: the CPU backend doesn't run on older CPUs.
#define HWY_BASELINE_TARGETS HWY_SSE4
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_EMU128 | HWY_SCALAR)
#elif defined(__aarch64__)
// NEON, which all have, and nothing else. The vectors of SVE, whose size the compiler doesn't know,
// can't be members of the kernels' structures.
#define HWY_DISABLED_TARGETS \
  (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_EMU128 | HWY_SCALAR)
// Keeps Highway from compiling NEON once more for processors with AES, as functions of a target of
// their own: GCC can't call them from constructors that it makes itself, of a structure of vectors.
#define TOOLCHAIN_MISS_SYS_AUXV_H
#endif
