// SPDX-License-Identifier: Apache-2.0
// argsort: along one axis, by keys whose unsigned order is that of the elements: Highway's sort of
// vectors, or by the keys' digits. If few places are wanted, these are selected first.
#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <type_traits>
#include <utility>

#include "framework/backends/cpu/kernels/elementwise/memory.h"
#include "framework/backends/cpu/kernels/reduction/reduction.h"
#include "framework/core/per_thread.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

constexpr int64_t kSortGrain = 1024;     // elements per thread, at least
constexpr int64_t kShortRow = 48;        // sorted fastest by comparisons
constexpr int64_t kShortDigits = 64;     // sorted faster by comparisons than by digits
constexpr int64_t kSelectGrain = 16384;  // elements per thread, at least
constexpr int64_t kCandidates = 128;     // for which there is room, besides as many as are wanted
constexpr int64_t kInserted = 16;        // places that are kept in order while they are selected
constexpr size_t kDigits = 256;          // values of a digit, which is a byte

template <size_t kBytes>
using Unsigned = std::conditional_t<
    kBytes == 1, uint8_t,
    std::conditional_t<kBytes == 2, uint16_t, std::conditional_t<kBytes == 4, uint32_t, uint64_t>>>;

// A number in the order of T: -0 equals 0, and NaN comes after all others.
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

// A key and the index of its element, in the order of keys, then of indices: so it doesn't matter
// whether a sort is stable.
template <class Bits>
class Item {
 public:
  Item() = default;
  Item(Bits key, int64_t index)
      : both_(uint64_t{key} << 32 | static_cast<uint64_t>(index)) {}  // below 2^31
  Bits key() const { return static_cast<Bits>(both_ >> 32); }
  int32_t index() const { return static_cast<int32_t>(both_); }
  bool operator<(const Item& other) const { return both_ < other.both_; }

 private:
  uint64_t both_;
};
template <>
class Item<uint64_t> {
 public:
  Item() = default;
  Item(uint64_t key, int64_t index) : key_(key), index_(static_cast<int32_t>(index)) {}
  uint64_t key() const { return key_; }
  int32_t index() const { return index_; }
  bool operator<(const Item& other) const {
    return key_ < other.key_ || (key_ == other.key_ && index_ < other.index_);
  }

 private:
  uint64_t key_;
  int32_t index_;
};

// Sorts by one digit after another, the last one first, skipping those that all keys have in
// common; each of these sorts is stable. Returns where the sorted items are: in `items` or in
// `other`.
template <class Bits>
Item<Bits>* sort_by_digits(Item<Bits>* items, Item<Bits>* other, int64_t count) {
  const auto digit = [](const Item<Bits>& item, size_t d) {
    return (item.key() >> (8 * d)) & 0xff;
  };
  std::array<std::array<uint32_t, kDigits>, sizeof(Bits)> counts{};
  for (int64_t i = 0; i < count; ++i) {
    for (size_t d = 0; d < sizeof(Bits); ++d) ++counts[d][digit(items[i], d)];
  }
  for (size_t d = 0; d < sizeof(Bits); ++d) {
    auto& places = counts[d];
    if (places[digit(items[0], d)] == static_cast<uint32_t>(count)) continue;
    uint32_t next = 0;
    for (uint32_t& place : places) next += std::exchange(place, next);
    for (int64_t i = 0; i < count; ++i) {
      other[places[digit(items[i], d)]++] = items[i];
    }
    std::swap(items, other);
  }
  return items;
}

template <class Bits>
void sort_items(Item<Bits>* items, int64_t count) {
  if constexpr (sizeof(Item<Bits>) == sizeof(uint64_t)) {
    if (count >= kShortRow) {
      const hwy::Sorter& sorter = per_thread([] { return hwy::Sorter(); });
      sorter(reinterpret_cast<uint64_t*>(items), static_cast<size_t>(count), hwy::SortAscending());
      return;
    }
  }
  std::sort(items, items + count);
}

// The order of the rows of an array [outer, count, inner], or the first places of it.
struct RowOrder {
  int64_t count, inner, rows, first;
  bool descending;
  int64_t fewest;  // of so many, one is wanted, where places are selected

  explicit RowOrder(const KernelSpec& spec) {
    const Shape& shape = spec.inputs[0].shape;
    const int64_t axis = spec.attributes.get_int("axis");
    count = shape[axis];
    inner = shape.slice(axis + 1).num_elements();
    rows = shape.num_elements() / count;
    first = spec.outputs[0].shape[axis];
    descending = spec.attributes.get_bool("descending");
    const bool sorts_slowly = size_of(spec.inputs[0].dtype) == 8;
    fewest = first <= kInserted || sorts_slowly ? 8 : 32;
  }
  // Selecting few places takes one comparison for most elements.
  bool is_selection() const { return first <= count / fewest; }
  size_t items() const {
    return static_cast<size_t>(is_selection() ? 2 * first + kCandidates : 2 * count);
  }
  int64_t grain() const { return (is_selection() ? kSelectGrain : kSortGrain) / count; }
};

template <class T>
class RowSorter {
 public:
  using Bits = Unsigned<sizeof(T)>;

  RowSorter(const RowOrder& order, Item<Bits>* items)
      : order_(order),
        items_(items),
        flipped_(order.descending ? std::numeric_limits<Bits>::max() : Bits{0}) {}

  // The items of the row that begins at `in`, as many as are wanted, in order.
  const Item<Bits>* sorted(const T* in) const {
    if (order_.is_selection()) {
      if (order_.descending) {
        select<true>(in);
      } else {
        select<false>(in);
      }
      return items_;
    }
    for (int64_t i = 0; i < order_.count; ++i) items_[i] = item(in, i);
    // Highway's sort takes less time than two passes over the digits.
    constexpr bool kByDigits = sizeof(Bits) == 1 || sizeof(Bits) == 8;
    if (kByDigits && order_.count >= kShortDigits) {
      return sort_by_digits(items_, items_ + order_.count, order_.count);
    }
    sort_items(items_, order_.count);
    return items_;
  }

 private:
  Item<Bits> item(const T* in, int64_t i) const {
    return {static_cast<Bits>(key_of(in[i * order_.inner]) ^ flipped_), i};
  }

  // Returns false if `value` certainly doesn't come before `bound`.
  template <bool kDescending>
  static bool may_precede(T value, T bound) {
    if constexpr (!std::is_arithmetic_v<T>) return true;
    if constexpr (kDescending) return !(value <= bound);
    return !(value >= bound);
  }

  // Takes the row's first items, in order; then passes `insert` each later item that precedes the
  // last of those wanted so far; `insert` returns the new last one. Items after the last one are no
  // longer wanted; nor are equal ones, since their indices are higher.
  template <bool kDescending, class Insert>
  void select(const T* in, Insert insert) const {
    for (int64_t i = 0; i < order_.first; ++i) items_[i] = item(in, i);
    sort_items(items_, order_.first);
    Item<Bits> last = items_[order_.first - 1];
    T bound = in[last.index() * order_.inner];
    for (int64_t i = order_.first; i < order_.count; ++i) {
      if (!may_precede<kDescending>(in[i * order_.inner], bound)) [[likely]]
        continue;
      const Item<Bits> next = item(in, i);
      if (next.key() >= last.key()) continue;
      last = insert(next);
      bound = in[last.index() * order_.inner];
    }
  }

  template <bool kDescending>
  void select(const T* in) const {
    const int64_t first = order_.first, room = static_cast<int64_t>(order_.items());
    if (first <= kInserted) {
      return select<kDescending>(in, [&](const Item<Bits>& next) {
        int64_t place = first - 1;
        for (; place > 0 && items_[place - 1].key() > next.key(); --place) {
          items_[place] = items_[place - 1];
        }
        items_[place] = next;
        return items_[first - 1];
      });
    }
    // Candidates are gathered; whenever there is no room for more, only the first ones are kept.
    int64_t candidates = first;
    select<kDescending>(in, [&](const Item<Bits>& next) {
      items_[candidates++] = next;
      if (candidates == room) {
        std::nth_element(items_, items_ + first - 1, items_ + candidates);
        candidates = first;
      }
      return items_[first - 1];
    });
    sort_items(items_, candidates);
  }

  const RowOrder& order_;
  Item<Bits>* items_;
  Bits flipped_;
};

template <class T>
std::unique_ptr<Kernel> make_argsort(const KernelSpec& spec) {
  using Bits = Unsigned<sizeof(T)>;
  if (spec.outputs[0].shape.num_elements() == 0) return make_kernel([](const KernelArgs&) {});
  const RowOrder order(spec);
  return make_kernel([order](const KernelArgs& args) {
    parallel_for(order.rows, order.grain(), [&](int64_t begin, int64_t end) {
      const RowSorter<T> sorter(
          order, reinterpret_cast<Item<Bits>*>(thread_memory(order.items() * sizeof(Item<Bits>))));
      for (int64_t row = begin; row < end; ++row) {
        const int64_t outer = row / order.inner, column = row % order.inner;
        const int64_t block = outer * order.inner;
        const auto* sorted =
            sorter.sorted(static_cast<const T*>(args.in[0]) + block * order.count + column);
        auto* out = static_cast<int32_t*>(args.out[0]) + block * order.first + column;
        for (int64_t i = 0; i < order.first; ++i) out[i * order.inner] = sorted[i].index();
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
