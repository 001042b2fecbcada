// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cornu::test {

// With CORNU_TEST_DEVICE=GPU:0 a test program's tensors lie on a device whose memory the host can't
// read: by CORNU_TEST_BACKEND, "guarded" (the default: the CPU's kernels), "simulated" (the CUDA
// backend on simulated GPUs, CORNU_TEST_GPUS of them), "divided" (on the parts of one) or "cuda" (a
// GPU of this machine); with CORNU_TEST_DEVICE=TPU:0, "xla" (what the PJRT plugin serves that is
// found, that of CORNU_TEST_PJRT_PLUGIN where the environment names none). Ends a program as
// skipped where there is none.
void use_device_of_environment();

}  // namespace cornu::test
