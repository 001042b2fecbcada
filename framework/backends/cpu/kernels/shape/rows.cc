// SPDX-License-Identifier: Apache-2.0
// sum_rows and put_rows: the rows of a table that are added to.
#include <algorithm>
#include <cstring>

#include "framework/backends/cpu/kernel.h"
#include "framework/backends/cpu/kernels/shape/distinct.h"
#include "framework/backends/cpu/kernels/shape/index.h"
#include "framework/backends/cpu/kernels/through_float32.h"

namespace cornu::cpu {
namespace {

// Threads divide the sums; each reads the numbers of all indices, in order.
template <class T>
std::unique_ptr<Kernel> make_sum_rows_of(const KernelSpec& spec) {
  const AxisView view(spec.attributes.get_shape("shape"), 0);
  const IndexReader reader(spec, spec.inputs[0], view);
  const DistinctIndices distinct(reader.count());
  const int64_t count = reader.count();
  const int64_t inner = view.inner;
  const int64_t first = spec.attributes.get_int("begin");
  const int64_t size = spec.attributes.get_int("size");
  auto run = [=](const KernelArgs& args) {
    auto* const number = static_cast<int64_t*>(args.scratch);
    reader.check(args.in[0]);
    reader.read(args.in[0], 0, count, number);
    auto* const rows = static_cast<int64_t*>(args.out[0]);
    const int64_t found = distinct.number(number, first, size, rows, number + count);
    if (found < count) rows[found] = -1;
    const T* const updates = static_cast<const T*>(args.in[1]);
    T* const sums = static_cast<T*>(args.out[1]);
    const int64_t bytes = (found + count) * inner * static_cast<int64_t>(sizeof(T));
    const int64_t grain = found * kGatherGrainBytes / std::max<int64_t>(1, bytes);
    parallel_for(found, grain, [&](int64_t begin, int64_t end) {
      std::fill(sums + begin * inner, sums + end * inner, T{});
      for (int64_t i = 0; i < count; ++i) {
        if (number[i] < begin || number[i] >= end) continue;
        add_row(updates + i * inner, sums + number[i] * inner, inner);
      }
    });
  };
  return make_kernel(run, static_cast<size_t>(count) * sizeof(int64_t) + distinct.bytes());
}

std::unique_ptr<Kernel> make_sum_rows(const KernelSpec& spec) {
  switch (spec.outputs[1].dtype) {
    case DType::Float32:
      return make_sum_rows_of<float>(spec);
    case DType::Float64:
      return make_sum_rows_of<double>(spec);
    default:
      return through_float32(spec, make_sum_rows);
  }
}

std::unique_ptr<Kernel> make_put_rows(const KernelSpec& spec) {
  const size_t bytes = spec.inputs[0].bytes();
  const int64_t count = spec.inputs[1].shape[0];
  const size_t row = bytes / static_cast<size_t>(spec.inputs[0].shape[0]);
  auto run = [=](const KernelArgs& args) {
    auto* const out = static_cast<std::byte*>(args.out[0]);
    if (out != args.in[0]) std::memcpy(out, args.in[0], bytes);
    const auto* const place = static_cast<const int64_t*>(args.in[1]);
    const auto* const values = static_cast<const std::byte*>(args.in[2]);
    const int64_t grain = kGatherGrainBytes / static_cast<int64_t>(std::max<size_t>(1, row));
    parallel_for(count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end && place[i] >= 0; ++i) {
        std::memcpy(out + static_cast<size_t>(place[i]) * row,
                    values + static_cast<size_t>(i) * row, row);
      }
    });
  };
  return make_kernel(run);
}

}  // namespace

void register_row_kernels(KernelTable& table) {
  table.add("sum_rows", make_sum_rows);
  table.add("put_rows", make_put_rows, {{0, 0}});
}

}  // namespace cornu::cpu
