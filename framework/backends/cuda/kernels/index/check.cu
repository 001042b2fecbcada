// SPDX-License-Identifier: Apache-2.0
// Checks indices that aren't used for reading or writing, since the other axes are empty.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const N* __restrict__ indices, i64 count, i64 size, i64* status, i64 code) {
  const i64 i = thread_number();
  if (i < count) place_of(indices[i], size, status, code);
}
