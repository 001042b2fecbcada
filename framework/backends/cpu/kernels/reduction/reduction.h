// SPDX-License-Identifier: Apache-2.0
// The inner loops of reductions.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "framework/backends/cpu/kernel.h"

namespace cornu::cpu {

enum class Reduction { Sum, Product, Maximum, Minimum };

// The reduction of a graph op of this name ("reduce_sum", …).
std::optional<Reduction> reduction_of(std::string_view op);

// Floating-point sums use several vector accumulators; maxima and minima propagate NaN. The order
// depends on the counts only, not on the address.
struct ReduceFunctions {
  // out[i] = the reduction of row i, of `rows` rows of `count` elements.
  void (*rows)(const void* in, size_t rows, size_t count, void* out) = nullptr;
  // out[j] = the reduction of out[j] and in[i * stride + j] of all `rows` rows i, for j < `width`.
  void (*columns)(const void* in, size_t rows, size_t stride, size_t width, void* out) = nullptr;
  // Writes the identity element `count` times.
  void (*fill)(void* out, size_t count) = nullptr;
};

// For every dtype but 16-bit floating-point ones; bool has maximum ("any") and minimum ("all"). The
// functions are null for others.
ReduceFunctions reduce_functions(Reduction reduction, DType dtype);

// float32, float64, int32 and int64, compiled for several instruction sets.
ReduceFunctions vector_reduce_functions(Reduction reduction, DType dtype);

// argmax, argmin and cumsum.
void register_scan_kernels(KernelTable& table);
// argsort.
void register_sort_kernels(KernelTable& table);

}  // namespace cornu::cpu
