// SPDX-License-Identifier: Apache-2.0
// numbers[i]: at the start of a run of equal keys, its key minus `begin`, if that is below `size`;
// -1 elsewhere.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const K* __restrict__ keys, i64* __restrict__ numbers, i64 count, i64 begin, i64 size) {
  const i64 i = thread_number();
  if (i >= count) return;
  const i64 number = (i64)keys[i] - begin;
  const boolean is_first = i == 0 || keys[i - 1] != keys[i];
  numbers[i] = is_first && number >= 0 && number < size ? number : -1;
}
