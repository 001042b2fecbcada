// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "framework/backends/cpu/kernels/elementwise/targets.h"
#include "framework/backends/cpu/kernels/reduction/reduction.h"
#include "framework/backends/cpu/kernels/wrapping.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "framework/backends/cpu/kernels/reduction/simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "framework/backends/cpu/kernels/elementwise/arithmetic.inc"
#include "framework/backends/cpu/kernels/elementwise/simd.inc"

HWY_BEFORE_NAMESPACE();
namespace cornu::cpu {
namespace HWY_NAMESPACE {
namespace {

template <class T, Reduction kReduction>
struct Reducer {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;

  static constexpr T identity() {
    using Limits = std::numeric_limits<T>;
    if constexpr (kReduction == Reduction::Sum) return T{0};
    if constexpr (kReduction == Reduction::Product) return T{1};
    if constexpr (kReduction == Reduction::Maximum) {
      return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    }
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }

  static HWY_INLINE V join(V a, V b) {
    if constexpr (kReduction == Reduction::Sum) return hn::Add(a, b);
    if constexpr (kReduction == Reduction::Product) return hn::Mul(a, b);
    if constexpr (kReduction == Reduction::Maximum) {
      if constexpr (std::is_integral_v<T>)
        return hn::Max(a, b);
      else
        return Binary<TileOp::Maximum>()(D(), a, b);
    }
    if constexpr (kReduction == Reduction::Minimum) {
      if constexpr (std::is_integral_v<T>)
        return hn::Min(a, b);
      else
        return Binary<TileOp::Minimum>()(D(), a, b);
    }
  }

  // One vector from `count` (< lanes) elements; the identity in the other lanes.
  static HWY_INLINE V load_end(const T* from, size_t count) {
    const D d;
    const V loaded = load_tail(d, from, count);
    if constexpr (kReduction == Reduction::Sum) return loaded;
    return hn::IfThenElse(hn::FirstN(d, count), loaded, hn::Set(d, identity()));
  }

  static HWY_INLINE T lanes(V v) {
    const D d;
    if constexpr (kReduction == Reduction::Sum) return hn::GetLane(hn::SumOfLanes(d, v));
    if constexpr (kReduction == Reduction::Product) return product_of_lanes(v);
    if constexpr (!std::is_integral_v<T>) {
      if (HWY_UNLIKELY(!hn::AllFalse(d, hn::IsNaN(v)))) return std::numeric_limits<T>::quiet_NaN();
    }
    if constexpr (kReduction == Reduction::Maximum) return hn::GetLane(hn::MaxOfLanes(d, v));
    return hn::GetLane(hn::MinOfLanes(d, v));
  }
  // Multiplies halves by halves.
  static HWY_INLINE T product_of_lanes(V v) {
    const D d;
    HWY_ALIGN T values[hn::MaxLanes(D())];
    hn::Store(v, d, values);
    for (size_t half = hn::Lanes(d) / 2; half > 0; half /= 2) {
      for (size_t i = 0; i < half; ++i) {
        values[i] = static_cast<T>(static_cast<Wrapping<T>>(values[i]) *
                                   static_cast<Wrapping<T>>(values[i + half]));
      }
    }
    return values[0];
  }

  static HWY_INLINE T row(const T* in, size_t count) {
    const D d;
    const size_t width = hn::Lanes(d);
    if (count <= width) {
      return lanes(count == width ? hn::LoadU(d, in) : load_end(in, count));
    }
    V sum0 = hn::Set(d, identity());
    V sum1 = sum0, sum2 = sum0, sum3 = sum0;
    size_t i = 0;
    for (; i + 4 * width <= count; i += 4 * width) {
      sum0 = join(sum0, hn::LoadU(d, in + i));
      sum1 = join(sum1, hn::LoadU(d, in + i + width));
      sum2 = join(sum2, hn::LoadU(d, in + i + 2 * width));
      sum3 = join(sum3, hn::LoadU(d, in + i + 3 * width));
    }
    for (; i + width <= count; i += width) sum0 = join(sum0, hn::LoadU(d, in + i));
    if (i < count) sum1 = join(sum1, load_end(in + i, count - i));
    return lanes(join(join(sum0, sum1), join(sum2, sum3)));
  }

  static void rows(const void* in, size_t rows, size_t count, void* out) {
    const auto* from = static_cast<const T*>(in);
    auto* to = static_cast<T*>(out);
    for (size_t i = 0; i < rows; ++i) to[i] = row(from + i * count, count);
  }

  // `load(i)` returns the vector of row i.
  template <class Load>
  static HWY_INLINE V eight(Load load) {
    return join(join(join(load(0), load(1)), join(load(2), load(3))),
                join(join(load(4), load(5)), join(load(6), load(7))));
  }

  static void columns(const void* in, size_t rows, size_t stride, size_t width, void* out) {
    const D d;
    const auto* from = static_cast<const T*>(in);
    auto* to = static_cast<T*>(out);
    const size_t lanes = hn::Lanes(d);
    while (rows > 0) {
      const size_t group = rows >= 8 ? 8 : 1;
      size_t j = 0;
      for (; j + lanes <= width; j += lanes) {
        const T* column = from + j;
        const V sum = hn::LoadU(d, to + j);
        const V added =
            group == 8 ? eight([&](size_t i) HWY_ATTR { return hn::LoadU(d, column + i * stride); })
                       : hn::LoadU(d, column);
        hn::StoreU(join(sum, added), d, to + j);
      }
      if (j < width) {
        const size_t rest = width - j;
        const T* column = from + j;
        const V sum = load_tail(d, to + j, rest);
        const V added =
            group == 8
                ? eight([&](size_t i) HWY_ATTR { return load_tail(d, column + i * stride, rest); })
                : load_tail(d, column, rest);
        store_tail(d, join(sum, added), to + j, rest);
      }
      from += group * stride;
      rows -= group;
    }
  }

  static void fill(void* out, size_t count) {
    std::fill_n(static_cast<T*>(out), count, identity());
  }
};

template <class T>
ReduceFunctions functions(Reduction reduction) {
  const auto of = [](auto reducer) -> ReduceFunctions {
    using R = decltype(reducer);
    return {R::rows, R::columns, R::fill};
  };
  switch (reduction) {
    case Reduction::Sum:
      return of(Reducer<T, Reduction::Sum>());
    case Reduction::Product:
      return of(Reducer<T, Reduction::Product>());
    case Reduction::Maximum:
      return of(Reducer<T, Reduction::Maximum>());
    case Reduction::Minimum:
      return of(Reducer<T, Reduction::Minimum>());
  }
  return {};
}

ReduceFunctions find_functions(Reduction reduction, DType dtype) {
  switch (dtype) {
    case DType::Float32:
      return functions<float>(reduction);
    case DType::Float64:
      return functions<double>(reduction);
    case DType::Int32:
      return functions<int32_t>(reduction);
    case DType::Int64:
      return functions<int64_t>(reduction);
    default:
      return {};
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cornu::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornu::cpu {

HWY_EXPORT(find_functions);

ReduceFunctions vector_reduce_functions(Reduction reduction, DType dtype) {
  return HWY_DYNAMIC_DISPATCH(find_functions)(reduction, dtype);
}

}  // namespace cornu::cpu
#endif
