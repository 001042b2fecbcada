// SPDX-License-Identifier: Apache-2.0
// y (batch, rows, heads, size): keys or values x, with zeros in rows hidden by a mask of keys.
// KEEPS_AVERAGED: except if a query sees no keys, since it then averages all of them. `seen`: for
// the first query of each batch element and head; if that one sees a key, all do.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const Vector* __restrict__ x, Vector* __restrict__ y, const boolean* __restrict__ mask,
           const boolean* __restrict__ seen, i64 count, i64 rows, i64 heads, i64 vectors,
           i64 mask_b, i64 mask_h, i64 seen_b, i64 seen_h) {
  for (i64 i = thread_number(); i < count; i += thread_count()) {
    const i64 head = i / vectors % heads;
    const i64 row = i / vectors / heads % rows;
    const i64 batch = i / vectors / heads / rows;
    const boolean hides = !mask[batch * mask_b + head * mask_h + row] &&
                          !(KEEPS_AVERAGED && !seen[batch * seen_b + head * seen_h]);
    y[i] = hides ? Vector{} : x[i];
  }
}
