// SPDX-License-Identifier: Apache-2.0
// argsort: along one axis, by the digits of keys whose unsigned order is that of the elements.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "framework/backends/cpu/kernels/elementwise/memory.h"
#include "framework/backends/cpu/kernels/reduction/reduction.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

constexpr int64_t kSortGrain = 1024;  // elements per thread, at least
constexpr int64_t kShortRow = 64;     // which comparisons sort sooner than digits
constexpr size_t kDigits = 256;       // values of a digit, which is a byte

template <size_t kBytes>
using Unsigned = std::conditional_t<
    kBytes == 1, uint8_t,
    std::conditional_t<kBytes == 2, uint16_t, std::conditional_t<kBytes == 4, uint32_t, uint64_t>>>;

// A number in the order of T: -0 is 0, and NaN comes behind all others.
template <class T>
Unsigned<sizeof(T)> key_of(T value) {
  using Bits = Unsigned<sizeof(T)>;
  constexpr auto kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1));
  const auto bits = std::bit_cast<Bits>(value);
  if constexpr (std::is_integral_v<T>) {
    return std::is_signed_v<T> ? static_cast<Bits>(bits ^ kSign) : bits;
  } else {
    if (value != value) return std::numeric_limits<Bits>::max();
    if (bits == kSign) return kSign;
    return static_cast<Bits>(bits & kSign ? ~bits : bits ^ kSign);
  }
}

template <class Bits>
struct Item {
  Bits key;
  int32_t index;
};

// Sorts by one digit after the other, the last one first, but for those that all have in common;
// each of these sorts is stable. Returns where the sorted items are: in `items` or in `other`.
template <class Bits>
Item<Bits>* sort_by_digits(Item<Bits>* items, Item<Bits>* other, int64_t count) {
  std::array<std::array<uint32_t, kDigits>, sizeof(Bits)> counts{};
  for (int64_t i = 0; i < count; ++i) {
    for (size_t d = 0; d < sizeof(Bits); ++d) ++counts[d][(items[i].key >> (8 * d)) & 0xff];
  }
  for (size_t d = 0; d < sizeof(Bits); ++d) {
    auto& places = counts[d];
    if (places[(items[0].key >> (8 * d)) & 0xff] == static_cast<uint32_t>(count)) continue;
    uint32_t next = 0;
    for (uint32_t& place : places) next += std::exchange(place, next);
    for (int64_t i = 0; i < count; ++i) {
      other[places[(items[i].key >> (8 * d)) & 0xff]++] = items[i];
    }
    std::swap(items, other);
  }
  return items;
}

// Comparing indices makes it stable: std::stable_sort would allocate.
template <class Bits>
void sort_short(Item<Bits>* items, int64_t count) {
  std::sort(items, items + count, [](const Item<Bits>& a, const Item<Bits>& b) {
    return a.key < b.key || (a.key == b.key && a.index < b.index);
  });
}

template <class T>
std::unique_ptr<Kernel> make_argsort(const KernelSpec& spec) {
  using Bits = Unsigned<sizeof(T)>;
  const Shape& shape = spec.inputs[0].shape;
  if (shape.num_elements() == 0) return make_kernel([](const KernelArgs&) {});
  const int64_t axis = spec.attributes.get_int("axis");
  const int64_t count = shape[axis];
  const int64_t inner = shape.slice(axis + 1).num_elements();
  const int64_t rows = shape.num_elements() / count;
  const Bits flipped =
      spec.attributes.get_bool("descending") ? std::numeric_limits<Bits>::max() : Bits{0};
  return make_kernel([=](const KernelArgs& args) {
    parallel_for(rows, kSortGrain / count, [&](int64_t begin, int64_t end) {
      const auto size = static_cast<size_t>(count);
      auto* items = reinterpret_cast<Item<Bits>*>(thread_memory(2 * size * sizeof(Item<Bits>)));
      for (int64_t row = begin; row < end; ++row) {
        const int64_t offset = row / inner * count * inner + row % inner;
        const T* in = static_cast<const T*>(args.in[0]) + offset;
        auto* out = static_cast<int32_t*>(args.out[0]) + offset;
        for (int64_t i = 0; i < count; ++i) {
          items[i] = {static_cast<Bits>(key_of(in[i * inner]) ^ flipped), static_cast<int32_t>(i)};
        }
        const Item<Bits>* sorted = items;
        if (count < kShortRow) {
          sort_short(items, count);
        } else {
          sorted = sort_by_digits(items, items + count, count);
        }
        for (int64_t i = 0; i < count; ++i) out[i * inner] = sorted[i].index;
      }
    });
  });
}

}  // namespace

void register_sort_kernels(KernelTable& table) {
  table.add("argsort", [](const KernelSpec& spec) {
    return dispatch_dtype(spec.inputs[0].dtype, [&]<class T>(T) { return make_argsort<T>(spec); });
  });
}

}  // namespace cornu::cpu
