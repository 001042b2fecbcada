// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 of two GPUs whose memory is the host's, for tests of what calls the driver. What
// is enqueued is done at once, but that kernels do nothing.
#pragma once

#include <cstddef>

extern "C" {
// From its `after`th call from now on (0: the next), a function fails with this CUresult; 0 ends
// it.
void fake_cuda_fail(const char* function, int result, int after);
// Calls so far.
int fake_cuda_calls(const char* function);
// How many blocks of memory are allocated, a GPU's or page-locked.
int fake_cuda_blocks();
}
