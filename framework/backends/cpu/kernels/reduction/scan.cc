// SPDX-License-Identifier: Apache-2.0
// argmax, argmin, cumsum and cumprod: along one axis of an array [outer, count, inner].
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "framework/backends/cpu/kernels/elementwise/memory.h"
#include "framework/backends/cpu/kernels/reduction/reduction.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

constexpr int64_t kScanGrain = 16384;  // elements per thread, at least
constexpr int64_t kScanTile = 512;     // columns that are processed together

struct Axis {
  int64_t outer = 1;
  int64_t count = 1;
  int64_t inner = 1;

  explicit Axis(const KernelSpec& spec) {
    const Shape& shape = spec.inputs[0].shape;
    const int64_t axis = spec.attributes.get_int("axis");
    outer = shape.slice(0, axis).num_elements();
    count = shape[axis];
    inner = shape.slice(axis + 1).num_elements();
  }
  int64_t size() const { return outer * count * inner; }
};

// 16-bit floating-point numbers are compared as float.
template <class T>
using Key = std::conditional_t<std::is_arithmetic_v<T>, T, float>;

template <class K>
bool is_nan(K key) {
  if constexpr (std::is_floating_point_v<K>) return std::isnan(key);
  return false;
}

// Orders NaN after everything else.
template <class K>
bool comes_before(K a, K b) {
  if constexpr (std::is_floating_point_v<K>) return a < b || (is_nan(b) && !is_nan(a));
  return a < b;
}

// ---- argmax, argmin ----

// Whether `a` is more extreme than `b`; NaN is the most extreme.
template <bool kMax, class K>
bool better(K a, K b) {
  if constexpr (kMax) return comes_before(b, a);
  return (a < b && !is_nan(b)) || (is_nan(a) && !is_nan(b));
}

template <bool kMax, class T>
int32_t arg_of_row(const T* row, int64_t count) {
  Key<T> best = row[0];
  int64_t index = 0;
  for (int64_t i = 1; i < count; ++i) {
    const Key<T> key = row[i];
    if (better<kMax>(key, best)) {
      best = key;
      index = i;
    }
  }
  return static_cast<int32_t>(index);
}

// Finds the extreme with vectors, then its first position.
template <class T>
int32_t arg_of_long_row(const T* row, int64_t count, const ReduceFunctions& extreme) {
  T best;
  extreme.rows(row, 1, static_cast<size_t>(count), &best);
  const T* place =
      is_nan(best) ? std::find_if(row, row + count, is_nan<T>) : std::find(row, row + count, best);
  return static_cast<int32_t>(place - row);
}

template <bool kMax, class T>
void arg_of_columns(const T* in, const Axis& axis, int64_t first, int64_t width, int32_t* out) {
  auto* best = reinterpret_cast<Key<T>*>(thread_memory(size_t(width) * sizeof(Key<T>)));
  for (int64_t j = 0; j < width; ++j) best[j] = in[first + j];
  std::fill_n(out, width, 0);
  for (int64_t i = 1; i < axis.count; ++i) {
    const T* row = in + i * axis.inner + first;
    for (int64_t j = 0; j < width; ++j) {
      const Key<T> key = row[j];
      const bool replaces = better<kMax>(key, best[j]);
      best[j] = replaces ? key : best[j];
      out[j] = replaces ? static_cast<int32_t>(i) : out[j];
    }
  }
}

template <class T, bool kMax>
std::unique_ptr<Kernel> make_arg(const KernelSpec& spec) {
  const Axis axis(spec);
  if (axis.size() == 0) return make_kernel([](const KernelArgs&) {});
  constexpr int64_t kLongRow = 64;
  ReduceFunctions extreme;
  if (axis.inner == 1 && axis.count >= kLongRow) {
    extreme = vector_reduce_functions(kMax ? Reduction::Maximum : Reduction::Minimum, dtype_of<T>);
  }
  const int64_t tile = std::min(axis.inner, kScanTile);
  const int64_t tiles = (axis.inner + tile - 1) / tile;
  const int64_t grain = std::max<int64_t>(1, kScanGrain / (axis.count * tile));
  return make_kernel([=](const KernelArgs& args) {
    const auto* in = static_cast<const T*>(args.in[0]);
    auto* out = static_cast<int32_t*>(args.out[0]);
    parallel_for(axis.outer * tiles, grain, [&](int64_t begin, int64_t end) {
      for (int64_t item = begin; item < end; ++item) {
        const int64_t outer = item / tiles;
        const T* rows = in + outer * axis.count * axis.inner;
        if (axis.inner == 1) {
          out[outer] = extreme.rows ? arg_of_long_row(rows, axis.count, extreme)
                                    : arg_of_row<kMax>(rows, axis.count);
          continue;
        }
        const int64_t first = item % tiles * tile;
        arg_of_columns<kMax>(rows, axis, first, std::min(tile, axis.inner - first),
                             out + outer * axis.inner + first);
      }
    });
  });
}

// ---- cumsum, cumprod ----

template <class T>
T from_total(auto total) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<T>(total);
  else
    return T(static_cast<float>(total));
}

// Integers wrap around. Float sums are accumulated in double, so that long ones stay accurate;
// products aren't, as they are to overflow where NumPy's do.
struct RunningSum {
  template <class T>
  using Total = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;
  template <class Total>
  static constexpr Total kStart = 0;
  static auto join(auto total, auto value) { return total + value; }
};
struct RunningProduct {
  template <class T>
  using Total = std::conditional_t<std::is_integral_v<T>, uint64_t, Key<T>>;
  template <class Total>
  static constexpr Total kStart = 1;
  static auto join(auto total, auto value) { return total * value; }
};

template <class Scan, class T>
auto to_total(T value) {
  using Total = typename Scan::template Total<T>;
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<Total>(value);
  else
    return static_cast<Total>(static_cast<float>(value));
}

struct ScanOptions {
  bool exclusive;
  bool reverse;
};

template <class Scan, class T>
void scan_columns(const T* in, T* out, const Axis& axis, int64_t width, ScanOptions options) {
  using Total = typename Scan::template Total<T>;
  auto* totals = reinterpret_cast<Total*>(thread_memory(size_t(width) * sizeof(Total)));
  std::fill_n(totals, width, Scan::template kStart<Total>);
  for (int64_t i = 0; i < axis.count; ++i) {
    const int64_t row = (options.reverse ? axis.count - 1 - i : i) * axis.inner;
    for (int64_t j = 0; j < width; ++j) {
      const Total before = totals[j];
      totals[j] = Scan::join(before, to_total<Scan>(in[row + j]));
      out[row + j] = from_total<T>(options.exclusive ? before : totals[j]);
    }
  }
}

// Several rows of consecutive elements at once, since each total waits for the one before it.
template <class Scan, int kRows, class T>
void scan_rows(const T* in, T* out, int64_t count, ScanOptions options) {
  using Total = typename Scan::template Total<T>;
  Total totals[kRows];
  std::fill_n(totals, kRows, Scan::template kStart<Total>);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = options.reverse ? count - 1 - i : i;
    for (int row = 0; row < kRows; ++row) {
      const Total before = totals[row];
      totals[row] = Scan::join(before, to_total<Scan>(in[row * count + at]));
      out[row * count + at] = from_total<T>(options.exclusive ? before : totals[row]);
    }
  }
}

template <class Scan, class T>
void scan_all_rows(const T* in, T* out, int64_t rows, int64_t count, ScanOptions options) {
  constexpr int kTogether = 4;  // whose cache lines hardly evict each other
  int64_t row = 0;
  for (; row + kTogether <= rows; row += kTogether) {
    scan_rows<Scan, kTogether>(in + row * count, out + row * count, count, options);
  }
  for (; row < rows; ++row) scan_rows<Scan, 1>(in + row * count, out + row * count, count, options);
}

template <class Scan, class T>
std::unique_ptr<Kernel> make_running_of(const KernelSpec& spec) {
  const Axis axis(spec);
  if (axis.size() == 0) return make_kernel([](const KernelArgs&) {});
  const ScanOptions options{spec.attributes.get_bool("exclusive"),
                            spec.attributes.get_bool("reverse")};
  const int64_t tile = std::min(axis.inner, kScanTile);
  const int64_t tiles = (axis.inner + tile - 1) / tile;
  const int64_t grain = std::max<int64_t>(1, kScanGrain / (axis.count * tile));
  return make_kernel([=](const KernelArgs& args) {
    parallel_for(axis.outer * tiles, grain, [&](int64_t begin, int64_t end) {
      if (axis.inner == 1) {
        const int64_t offset = begin * axis.count;
        scan_all_rows<Scan>(static_cast<const T*>(args.in[0]) + offset,
                            static_cast<T*>(args.out[0]) + offset, end - begin, axis.count,
                            options);
        return;
      }
      for (int64_t item = begin; item < end; ++item) {
        const int64_t first = item % tiles * tile;
        const int64_t offset = item / tiles * axis.count * axis.inner + first;
        scan_columns<Scan>(static_cast<const T*>(args.in[0]) + offset,
                           static_cast<T*>(args.out[0]) + offset, axis,
                           std::min(tile, axis.inner - first), options);
      }
    });
  });
}

template <class Scan>
std::unique_ptr<Kernel> make_running(const KernelSpec& spec) {
  if (spec.inputs[0].dtype == DType::Bool) return nullptr;
  return dispatch_dtype(spec.inputs[0].dtype,
                        [&]<class T>(T) { return make_running_of<Scan, T>(spec); });
}

}  // namespace

void register_scan_kernels(KernelTable& table) {
  table.add("argmax", [](const KernelSpec& spec) {
    return dispatch_dtype(spec.inputs[0].dtype,
                          [&]<class T>(T) { return make_arg<T, true>(spec); });
  });
  table.add("argmin", [](const KernelSpec& spec) {
    return dispatch_dtype(spec.inputs[0].dtype,
                          [&]<class T>(T) { return make_arg<T, false>(spec); });
  });
  table.add("cumsum", make_running<RunningSum>);
  table.add("cumprod", make_running<RunningProduct>);
}

}  // namespace cornu::cpu
