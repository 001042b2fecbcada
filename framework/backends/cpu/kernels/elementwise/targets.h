// SPDX-License-Identifier: Apache-2.0
// The instruction sets that vectorized kernels are compiled for. Include before <hwy/...>.
#pragma once

#if defined(__x86_64__)
// oneDNN needs SSE4.1 as well: the CPU backend doesn't run on older CPUs.
#define HWY_BASELINE_TARGETS HWY_SSE4
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_EMU128 | HWY_SCALAR)
#endif
