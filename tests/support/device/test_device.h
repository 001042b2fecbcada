// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cornu::test {

// With CORNU_TEST_DEVICE=GPU:0, a test program's tensors are placed on a device whose memory the
// host can't read. CORNU_TEST_BACKEND selects it: "guarded" (the default: the CPU's kernels),
// "simulated" (the CUDA backend on simulated GPUs, CORNU_TEST_GPUS of them), "divided" (on the
// parts of one) or "cuda" (a GPU of this machine); with CORNU_TEST_DEVICE=TPU:0, "xla" (the devices
// of the PJRT plugin that is found, or of CORNU_TEST_PJRT_PLUGIN when the environment names none).
// Ends the program as skipped when there is no such device.
void use_device_of_environment();

}  // namespace cornu::test
