// SPDX-License-Identifier: Apache-2.0
// Common parts of kernels that read or write by index.
#pragma once

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "framework/backends/cpu/kernel.h"
#include "framework/backends/cpu/kernels/reduction/reduction.h"
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

// Reads indices of any integer dtype as places along the axis, against which it checks them;
// negative ones count from its end.
class IndexReader {
 public:
  IndexReader(const KernelSpec& spec, const TensorType& indices, AxisView view)
      : op_(indexing_name(spec)),
        dtype_(indices.dtype),
        count_(indices.shape.num_elements()),
        view_(std::move(view)),
        least_(vector_reduce_functions(Reduction::Minimum, dtype_)),
        most_(vector_reduce_functions(Reduction::Maximum, dtype_)) {}

  int64_t count() const { return count_; }

  // Indices that are within the axis.
  struct Indices {
    const IndexReader& reader;
    const void* values;
    bool are_places;  // int32 or int64, and none is negative

    // Calls visit(first, count, places) for the indices [begin, end), in order. Numbers that aren't
    // places themselves are converted a few at a time, so that they stay in a first-level cache.
    template <class Visit>
    void each(int64_t begin, int64_t end, Visit visit) const {
      if (are_places && reader.dtype_ == DType::Int32) {
        visit(begin, end - begin, static_cast<const int32_t*>(values) + begin);
        return;
      }
      if (are_places) {
        visit(begin, end - begin, static_cast<const int64_t*>(values) + begin);
        return;
      }
      constexpr int64_t kTogether = 512;
      int64_t places[kTogether];
      for (int64_t first = begin; first < end; first += kTogether) {
        const int64_t count = std::min(kTogether, end - first);
        reader.read(values, first, count, places);
        visit(first, count, static_cast<const int64_t*>(places));
      }
    }
  };

  // Throws, naming the first one, if any of the indices is outside of the axis.
  Indices check(const void* indices) const {
    const bool has_negative = dispatch_dtype(dtype_, [&]<class T>(T) {
      if constexpr (std::is_integral_v<T>) return check_values(static_cast<const T*>(indices));
      return false;
    });
    const bool is_plain = dtype_ == DType::Int32 || dtype_ == DType::Int64;
    return {*this, indices, is_plain && !has_negative};
  }

  // The places that `count` indices from number `first` on refer to.
  void read(const void* indices, int64_t first, int64_t count, int64_t* places) const {
    dispatch_dtype(dtype_, [&]<class T>(T) {
      if constexpr (std::is_integral_v<T>) {
        const T* values = static_cast<const T*>(indices) + first;
        for (int64_t i = 0; i < count; ++i) places[i] = place(values[i], view_.size);
      }
    });
  }

 private:
  static constexpr int64_t kGrain = 16384;  // indices that a thread reads, at least

  template <class T>
  static int64_t place(T value, int64_t size) {
    const auto index = static_cast<int64_t>(value);
    return std::is_signed_v<T> && index < 0 ? index + size : index;
  }

  // The least and the largest one.
  template <class T>
  std::pair<T, T> extremes(const T* values, int64_t count) const {
    T least = values[0], most = least;
    if (least_.rows) {
      least_.rows(values, 1, static_cast<size_t>(count), &least);
      most_.rows(values, 1, static_cast<size_t>(count), &most);
      return {least, most};
    }
    for (int64_t i = 1; i < count; ++i) {
      least = std::min(least, values[i]);
      most = std::max(most, values[i]);
    }
    return {least, most};
  }

  // Returns whether any is negative.
  template <class T>
  bool check_values(const T* values) const {
    const auto outside = [size = view_.size](T value) {
      return static_cast<uint64_t>(place(value, size)) >= static_cast<uint64_t>(size);
    };
    std::atomic<bool> valid = true, has_negative = false;
    parallel_for(count_, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t first = begin; first < end; first += kGrain) {
        const auto [least, most] = extremes(values + first, std::min(kGrain, end - first));
        if (outside(least) || outside(most)) valid = false;
        if (std::is_signed_v<T> && least < T{0}) has_negative = true;
      }
    });
    if (valid) return has_negative;
    const T value = *std::find_if(values, values + count_, outside);
    refuse_index(op_, fmt::to_string(value), view_.axis, view_.shape);
  }

  std::string op_;
  DType dtype_;
  int64_t count_;
  AxisView view_;
  ReduceFunctions least_, most_;  // null for some dtypes
};

template <class T>
T sum_of(T a, T b) {
  return static_cast<T>(Wrapping<T>(a) + Wrapping<T>(b));
}

template <class T>
void add_row(const T* __restrict from, T* __restrict to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = sum_of(to[i], from[i]);
}

std::unique_ptr<Kernel> make_searchsorted(const KernelSpec& spec);

}  // namespace cornu::cpu
