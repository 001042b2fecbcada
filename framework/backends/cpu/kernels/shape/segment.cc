// SPDX-License-Identifier: Apache-2.0
// segment_reduce: maxima, minima and products of slices by segment.
#include <algorithm>
#include <limits>
#include <string>

#include "framework/backends/cpu/kernel.h"
#include "framework/backends/cpu/kernels/through_float32.h"
#include "framework/core/threads.h"
#include "framework/graph/refusals.h"

namespace cornu::cpu {
namespace {

constexpr int64_t kSegmentGrain = 16384;  // elements per thread, at least

struct Largest {
  template <class T>
  static T start() {
    return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::lowest();
  }
  template <class T>
  static T join(T a, T b) {
    return a < b || b != b ? b : a;  // NaN wins
  }
};
struct Smallest {
  template <class T>
  static T start() {
    return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::max();
  }
  template <class T>
  static T join(T a, T b) {
    return b < a || b != b ? b : a;
  }
};
struct Product {
  template <class T>
  static T start() {
    return T{1};
  }
  template <class T>
  static T join(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));  // wraps around
    } else {
      return a * b;
    }
  }
};

struct SegmentSizes {
  int64_t segments;
  int64_t slices;
  int64_t inner;
};

// Reduces in the order of the slices; threads divide the elements of a slice.
template <class T, class I, class Join>
std::unique_ptr<Kernel> make_typed(const SegmentSizes& sizes) {
  return make_kernel([sizes](const KernelArgs& args) {
    const auto* ids = static_cast<const I*>(args.in[0]);
    for (int64_t i = 0; i < sizes.slices; ++i) {
      if (static_cast<uint64_t>(ids[i]) >= static_cast<uint64_t>(sizes.segments)) {
        refuse_segment(ids[i], sizes.segments);
      }
    }
    const auto* data = static_cast<const T*>(args.in[1]);
    auto* out = static_cast<T*>(args.out[0]);
    const int64_t grain = std::max<int64_t>(16, kSegmentGrain / std::max<int64_t>(1, sizes.slices));
    parallel_for(sizes.inner, grain, [&](int64_t begin, int64_t end) {
      for (int64_t s = 0; s < sizes.segments; ++s) {
        std::fill(out + s * sizes.inner + begin, out + s * sizes.inner + end,
                  Join::template start<T>());
      }
      for (int64_t i = 0; i < sizes.slices; ++i) {
        const T* from = data + i * sizes.inner;
        T* to = out + static_cast<int64_t>(ids[i]) * sizes.inner;
        for (int64_t j = begin; j < end; ++j) to[j] = Join::join(to[j], from[j]);
      }
    });
  });
}

template <class T, class I>
std::unique_ptr<Kernel> make_joined(const std::string& reduction, const SegmentSizes& sizes) {
  if (reduction == "max") return make_typed<T, I, Largest>(sizes);
  if (reduction == "min") return make_typed<T, I, Smallest>(sizes);
  return make_typed<T, I, Product>(sizes);
}

std::unique_ptr<Kernel> make_segment_reduce(const KernelSpec& spec) {
  const SegmentSizes sizes{.segments = spec.attributes.get_int("count"),
                           .slices = spec.inputs[0].shape.num_elements(),
                           .inner = spec.inputs[1].shape.slice(1).num_elements()};
  const std::string& reduction = spec.attributes.get_string("reduction");
  return dispatch_dtype(spec.inputs[1].dtype, [&]<class T>(T) -> std::unique_ptr<Kernel> {
    if constexpr (std::is_same_v<T, bool>) {
      return nullptr;
    } else if constexpr (!std::is_arithmetic_v<T>) {
      return through_float32(spec, make_segment_reduce);
    } else if (spec.inputs[0].dtype == DType::Int32) {
      return make_joined<T, int32_t>(reduction, sizes);
    } else if (spec.inputs[0].dtype == DType::Int64) {
      return make_joined<T, int64_t>(reduction, sizes);
    }
    return nullptr;
  });
}

}  // namespace

void register_segment_kernels(KernelTable& table) {
  table.add("segment_reduce", make_segment_reduce);
}

}  // namespace cornu::cpu
