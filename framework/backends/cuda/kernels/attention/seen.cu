// SPDX-License-Identifier: Apache-2.0
// y (batch, rows, heads, size): x, with zeros in rows that see no keys. y may alias x.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const Vector* x, Vector* y, const boolean* __restrict__ seen, i64 count, i64 rows,
           i64 heads, i64 vectors, i64 seen_b, i64 seen_h) {
  for (i64 i = thread_number(); i < count; i += thread_count()) {
    const i64 head = i / vectors % heads;
    const i64 row = i / vectors / heads % rows;
    const i64 batch = i / vectors / heads / rows;
    y[i] = seen[batch * seen_b + head * seen_h + row] ? x[i] : Vector{};
  }
}
