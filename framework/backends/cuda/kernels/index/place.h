// SPDX-License-Identifier: Apache-2.0
// Shared by the lowerings of ops that take indices.
#pragma once

#include <string>
#include <string_view>

#include "framework/backends/cuda/lowering.h"

namespace cornu::cuda {

// An array as (outer, size, inner), around one of its axes.
struct IndexedAxis {
  IndexedAxis(const Shape& shape, int64_t axis)
      : outer(shape.slice(0, axis).num_elements()),
        size(shape[axis]),
        inner(shape.slice(axis + 1).num_elements()) {}
  int64_t outer;
  int64_t size;
  int64_t inner;
};

// Adds the check of indices of `dtype` for an axis of `shape`, and returns its number.
int64_t add_index_check(const KernelSpec& spec, DType dtype, const Shape& shape, int64_t axis,
                        Lowering& lowering);

// Checks the indices of input `input` without using them.
void add_index_check_alone(const KernelSpec& spec, size_t input, int64_t size, int64_t code,
                           Lowering& lowering);

// Launches a file that uses place_of (place.cu).
void launch_indexed(Lowering& lowering, const std::string& name, std::string_view file,
                    const std::string& definitions, Dim3 grid, Dim3 block,
                    std::vector<Argument> arguments);

bool lower_scatter_add(const KernelSpec& spec, Lowering& lowering);
bool lower_put_along_axis_add(const KernelSpec& spec, Lowering& lowering);
bool lower_sum_rows(const KernelSpec& spec, Lowering& lowering);
bool lower_gather_rows(const KernelSpec& spec, Lowering& lowering);
bool lower_put_rows(const KernelSpec& spec, Lowering& lowering);

}  // namespace cornu::cuda
