// SPDX-License-Identifier: Apache-2.0
// searchsorted: the number of a sorted vector's elements that come before each of some values.
#include <type_traits>

#include "framework/backends/cpu/kernel.h"
#include "framework/backends/cpu/kernels/shape/index.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

constexpr int64_t kSearchGrain = 1024;  // values per thread, at least
constexpr int64_t kSearched = 8;        // at once, since each step of a search waits for the last

// Whether `element` comes before the place of `value`: that of the first equal element, or (kRight)
// behind the last one. NaN comes last.
template <bool kRight, class T>
bool precedes(T element, T value) {
  const bool is_nan = value != value;
  if constexpr (kRight) return (element <= value) | is_nan;
  return (element < value) | (is_nan & (element == element));
}

template <bool kRight, int64_t kCount, class T>
void search(const T* sorted, int64_t size, const T* values, int32_t* places) {
  int64_t first[kCount] = {};  // all before it precede the value
  int64_t left = size;         // among so many is the first element that doesn't
  for (; left > 0; left /= 2) {
    const int64_t step = (left + 1) / 2;
    for (int64_t i = 0; i < kCount; ++i) {
      // By a mask: which way a search goes is as likely as not, so that branches would cost most.
      first[i] +=
          step & -static_cast<int64_t>(precedes<kRight>(sorted[first[i] + step - 1], values[i]));
    }
  }
  for (int64_t i = 0; i < kCount; ++i) places[i] = static_cast<int32_t>(first[i]);
}

template <bool kRight, class T>
std::unique_ptr<Kernel> make_search(int64_t size, int64_t count) {
  return make_kernel([=](const KernelArgs& args) {
    const T* sorted = static_cast<const T*>(args.in[0]);
    const T* values = static_cast<const T*>(args.in[1]);
    auto* places = static_cast<int32_t*>(args.out[0]);
    parallel_for(count, kSearchGrain, [&](int64_t begin, int64_t end) {
      for (; begin + kSearched <= end; begin += kSearched) {
        search<kRight, kSearched>(sorted, size, values + begin, places + begin);
      }
      for (; begin < end; ++begin) {
        search<kRight, 1>(sorted, size, values + begin, places + begin);
      }
    });
  });
}

}  // namespace

std::unique_ptr<Kernel> make_searchsorted(const KernelSpec& spec) {
  const int64_t size = spec.inputs[0].shape[0], count = spec.inputs[1].shape.num_elements();
  const bool right = spec.attributes.get_bool("right");
  return dispatch_dtype(spec.inputs[0].dtype, [&]<class T>(T) -> std::unique_ptr<Kernel> {
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      return right ? make_search<true, T>(size, count) : make_search<false, T>(size, count);
    } else {
      return nullptr;
    }
  });
}

}  // namespace cornu::cpu
