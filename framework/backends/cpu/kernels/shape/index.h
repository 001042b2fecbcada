// SPDX-License-Identifier: Apache-2.0
// Common parts of kernels that read or write by index.
#pragma once

#include <algorithm>
#include <atomic>
#include <string>

#include "framework/backends/cpu/kernels/wrapping.h"
#include "framework/core/threads.h"
#include "framework/graph/kernel_spec.h"
#include "framework/graph/refusals.h"

namespace cornu::cpu {

constexpr int64_t kGatherGrainBytes = 16384;  // of rows, per thread, at least

// An array as [outer, size, inner], around one of its axes.
struct AxisView {
  AxisView(const Shape& whole, int64_t axis_index)
      : shape(whole),
        axis(axis_index),
        outer(whole.slice(0, axis_index).num_elements()),
        size(whole[axis_index]),
        inner(whole.slice(axis_index + 1).num_elements()) {}

  Shape shape;
  int64_t axis;
  int64_t outer;
  int64_t size;
  int64_t inner;
};

// Converts indices of any integer dtype to int64 and checks them against the axis; negative ones
// count from its end.
class IndexReader {
 public:
  IndexReader(const KernelSpec& spec, const TensorType& indices, AxisView view)
      : op_(indexing_name(spec)),
        dtype_(indices.dtype),
        count_(indices.shape.num_elements()),
        view_(std::move(view)) {}

  size_t bytes() const { return static_cast<size_t>(count_) * sizeof(int64_t); }
  int64_t count() const { return count_; }

  const int64_t* read(const void* indices, void* scratch) const {
    auto* out = static_cast<int64_t*>(scratch);
    dispatch_dtype(dtype_, [&]<class T>(T) {
      if constexpr (std::is_integral_v<T>) {
        const T* values = static_cast<const T*>(indices);
        checked(values, [&](int64_t i) { return out[i] = place(values[i]); });
      }
    });
    return out;
  }

  // Calls visit(values) with the checked indices; place(value) is the place that each refers to.
  template <class Visit>
  void visit(const void* indices, Visit visit) const {
    dispatch_dtype(dtype_, [&]<class T>(T) {
      if constexpr (std::is_integral_v<T>) {
        const T* values = static_cast<const T*>(indices);
        checked(values, [&](int64_t i) { return place(values[i]); });
        visit(values);
      }
    });
  }
  template <class T>
  int64_t place(T value) const {
    const auto index = static_cast<int64_t>(value);
    return std::is_signed_v<T> && index < 0 ? index + view_.size : index;
  }

 private:
  static constexpr int64_t kGrain = 16384;  // indices that a thread reads, at least

  // Rejects the first of `values` that is outside of the axis according to place_of(i).
  template <class T, class PlaceOf>
  void checked(const T* values, PlaceOf place_of) const {
    const auto size = static_cast<uint64_t>(view_.size);
    std::atomic<bool> valid = true;
    parallel_for(count_, kGrain, [&](int64_t begin, int64_t end) {
      bool all = true;
      for (int64_t i = begin; i < end; ++i) all &= static_cast<uint64_t>(place_of(i)) < size;
      if (!all) valid = false;
    });
    if (valid) return;
    const auto outside = [&](T value) { return static_cast<uint64_t>(place(value)) >= size; };
    fail(fmt::to_string(*std::find_if(values, values + count_, outside)));
  }

  [[noreturn]] void fail(const std::string& index) const {
    refuse_index(op_, index, view_.axis, view_.shape);
  }

  std::string op_;
  DType dtype_;
  int64_t count_;
  AxisView view_;
};

template <class T>
void add_row(const T* __restrict from, T* __restrict to, int64_t count) {
  using Sum = Wrapping<T>;
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(Sum(to[i]) + Sum(from[i]));
}

}  // namespace cornu::cpu
