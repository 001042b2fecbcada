// SPDX-License-Identifier: Apache-2.0
// A block of 256 threads in groups of width * depth, both powers of two: `width` threads for
// adjacent elements along the inner axis, `depth` such rows along the axis that the group reduces.
// A group has one column of an array [outer, count, inner] per thread of its width, or one of the
// parts of these columns.
struct Group {
  int width;
  int depth;
  int column;  // of the thread within its group
  int row;
  i64 number;  // of the group in the grid

  __device__ __forceinline__ Group(i64 of_width, i64 of_depth)
      : width((int)of_width), depth((int)of_depth) {
    const int size = width * depth;
    column = threadIdx.x & (width - 1);
    row = (threadIdx.x & (size - 1)) / width;
    number = (i64)blockIdx.x * (256 / size) + threadIdx.x / size;
  }
};

template <class Value>
__device__ __forceinline__ Value of_lane(Value value, int distance) {
  return (Value)__shfl_xor_sync(0xffffffffu, value, distance);
}

// Joins the values of a column's threads; all of them get the result. Join::of must be commutative,
// bit for bit. All threads of the block must call this; `shared` has room for 256 values.
template <class Join, class Value>
__device__ __forceinline__ Value of_group(const Group& group, Value value, Value* shared) {
  const int size = group.width * group.depth;
  for (int distance = group.width; distance < size && distance < 32; distance *= 2) {
    value = Join::of(value, of_lane(value, distance));
  }
  if (size <= 32) return value;
  __syncthreads();
  const int lane = threadIdx.x & 31;
  if (lane < group.width) shared[threadIdx.x] = value;
  __syncthreads();
  const int first = (threadIdx.x & ~(size - 1)) + group.column;
  value = shared[first];
  for (int other = 32; other < size; other += 32) value = Join::of(value, shared[first + other]);
  return value;
}
