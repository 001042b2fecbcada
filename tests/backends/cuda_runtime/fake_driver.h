// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 with two GPUs whose memory is the host's, for tests of code that calls the driver.
// Enqueued work is done immediately, except that kernels do nothing.
#pragma once

#include <cstddef>

extern "C" {
// Makes a function fail with this CUresult from its `after`th call from now on (0: the next); a
// result of 0 ends it.
void fake_cuda_fail(const char* function, int result, int after);
// Returns the number of calls so far.
int fake_cuda_calls(const char* function);
// Returns the number of memory blocks that are allocated, on a GPU or page-locked.
int fake_cuda_blocks();
}
