// SPDX-License-Identifier: Apache-2.0
// Tile functions that change the dtype, and repeating.
#include <type_traits>

#include "framework/backends/cpu/kernels/elementwise/ops.h"
#include "framework/backends/cpu/kernels/elementwise/targets.h"
#include "framework/core/convert_number.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "framework/backends/cpu/kernels/elementwise/cast.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "framework/backends/cpu/kernels/elementwise/bfloat16.inc"
#include "framework/backends/cpu/kernels/elementwise/simd.inc"

HWY_BEFORE_NAMESPACE();
namespace cornu::cpu {
namespace HWY_NAMESPACE {
namespace {

// A reader of From that returns vectors of the requested tag.
template <class From, class Convert>
struct ConvertingReader {
  Reader<From> elements;

  explicit ConvertingReader(const TileOperand& operand) : elements(operand) {}
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, size_t ahead) const {
    return Convert()(d, elements.load(hn::Rebind<From, D>(), ahead));
  }
  template <class D>
  HWY_INLINE hn::Vec<D> load_end(D d, size_t count) const {
    return Convert()(d, elements.load_end(hn::Rebind<From, D>(), count));
  }
  HWY_INLINE void advance(size_t count) { elements.advance(count); }
};

struct Same {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return x;
  }
};

// Widening: the result's vectors are full ones.
template <class From, class To, class Convert>
void widen_tile(const TileArgs& args, size_t count) {
  const hn::ScalableTag<To> d;
  map_readers(d, d, args.out(), count, Same(), ConvertingReader<From, Convert>(args.operand[0]));
}
// Narrowing or same size: the operand's vectors are full ones.
template <class From, class To, class Convert>
void narrow_tile(const TileArgs& args, size_t count) {
  const hn::ScalableTag<From> d;
  map_readers(d, hn::Rebind<To, decltype(d)>(), args.out(), count, Convert(),
              Reader<From>(args.operand[0]));
}

struct BytesToFloat {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D d, V x) const {
    return hn::ConvertTo(d, hn::PromoteTo(hn::Rebind<int32_t, D>(), x));
  }
};
struct FloatToDouble {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D d, V x) const {
    return hn::PromoteTo(d, x);
  }
};
struct Float16ToFloat {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D d, V x) const {
    return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), x));
  }
};
struct Int32ToFloat {
  template <class D, class V>
  HWY_INLINE auto operator()(D, V x) const {
    return hn::ConvertTo(hn::RebindToFloat<D>(), x);
  }
};
// Out of range: the nearest number; NaN: 0.
struct FloatToInt32 {
  template <class D, class V>
  HWY_INLINE auto operator()(D d, V x) const {
    const hn::RebindToSigned<D> di;
    const auto truncated = hn::ConvertTo(di, hn::IfThenZeroElse(hn::IsNaN(x), x));
    const auto too_large = hn::Ge(x, hn::Set(d, 2147483648.0f));
    return hn::IfThenElse(hn::RebindMask(di, too_large), hn::Set(di, 2147483647), truncated);
  }
};
// Like FloatToInt32.
template <class To>
struct FloatToBytes {
  template <class D, class V>
  HWY_INLINE auto operator()(D d, V x) const {
    return hn::DemoteTo(hn::Rebind<To, D>(), FloatToInt32()(d, x));
  }
};
struct FloatToBool {
  template <class D, class V>
  HWY_INLINE auto operator()(D d, V x) const {
    return mask_to_bytes(d, hn::Not(hn::Eq(x, hn::Zero(d))));  // NaN is true
  }
};
struct DoubleToFloat {
  template <class D, class V>
  HWY_INLINE auto operator()(D, V x) const {
    return hn::DemoteTo(hn::Rebind<float, D>(), x);
  }
};
struct FloatToFloat16 {
  template <class D, class V>
  HWY_INLINE auto operator()(D, V x) const {
    return hn::BitCast(hn::Rebind<uint16_t, D>(), hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), x));
  }
};

TileFn find_cast(DType from, DType to) {
  if (from == DType::Float32) {
    switch (to) {
      case DType::Bool:
        return narrow_tile<float, uint8_t, FloatToBool>;
      case DType::Int8:
        return narrow_tile<float, int8_t, FloatToBytes<int8_t>>;
      case DType::UInt8:
        return narrow_tile<float, uint8_t, FloatToBytes<uint8_t>>;
      case DType::Int32:
        return narrow_tile<float, int32_t, FloatToInt32>;
      case DType::Float64:
        return widen_tile<float, double, FloatToDouble>;
      case DType::BFloat16:
        return narrow_tile<float, uint16_t, FloatToBFloat16>;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3  // with instructions for it
      case DType::Float16:
        return narrow_tile<float, uint16_t, FloatToFloat16>;
#endif
      default:
        return nullptr;
    }
  }
  if (from == DType::Float64 && to == DType::Float32) {
    return narrow_tile<double, float, DoubleToFloat>;
  }
  if (to != DType::Float32) return nullptr;
  switch (from) {
    case DType::Bool:
    case DType::UInt8:
      return widen_tile<uint8_t, float, BytesToFloat>;
    case DType::Int8:
      return widen_tile<int8_t, float, BytesToFloat>;
    case DType::Int32:
      return narrow_tile<int32_t, float, Int32ToFloat>;
    case DType::BFloat16:
      return widen_tile<uint16_t, float, BFloat16ToFloat>;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
    case DType::Float16:
      return widen_tile<uint16_t, float, Float16ToFloat>;
#endif
    default:
      return nullptr;
  }
}

template <class T>
void repeat(const std::byte* values, size_t stride, size_t count, size_t times, T* out) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  for (size_t k = 0; k < count; ++k) {
    const auto value = hn::Set(d, *reinterpret_cast<const T*>(values + k * stride));
    for (size_t i = 0; i < times; i += lanes) hn::StoreU(value, d, out + i);
    out += times;
  }
}

void repeat_bytes(const void* values, size_t stride, size_t element_bytes, size_t count,
                  size_t times, void* out) {
  const auto* from = static_cast<const std::byte*>(values);
  switch (element_bytes) {
    case 1:
      return repeat(from, stride, count, times, static_cast<uint8_t*>(out));
    case 2:
      return repeat(from, stride, count, times, static_cast<uint16_t*>(out));
    case 4:
      return repeat(from, stride, count, times, static_cast<uint32_t*>(out));
    default:
      return repeat(from, stride, count, times, static_cast<uint64_t*>(out));
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cornu::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornu::cpu {
namespace {

HWY_EXPORT(find_cast);
HWY_EXPORT(repeat_bytes);

template <class From, class To>
void convert_tile(const TileArgs& args, size_t count) {
  const auto* in = static_cast<const From*>(args.operand[0].data);
  auto* out = static_cast<To*>(args.out());
  const size_t step = args.operand[0].step;
  for (size_t i = 0; i < count; ++i) out[i] = convert_number<From, To>(in[i * step]);
}

template <class T>
inline constexpr bool is_small_float = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

}  // namespace

TileFn float_cast_tile(DType from, DType to) { return HWY_DYNAMIC_DISPATCH(find_cast)(from, to); }

TileFn plain_cast_tile(DType from, DType to) {
  return dispatch_dtype(from, [to](auto source) {
    return dispatch_dtype(to, [](auto target) -> TileFn {
      using From = decltype(source);
      using To = decltype(target);
      // 16-bit floating-point numbers convert to and from float32 only.
      if constexpr ((is_small_float<From> && !std::is_same_v<To, float>) ||
                    (is_small_float<To> && !std::is_same_v<From, float>)) {
        return nullptr;
      } else {
        return convert_tile<From, To>;
      }
    });
  });
}

void repeat_elements(const void* values, size_t stride, size_t element_bytes, size_t count,
                     size_t times, void* out) {
  HWY_DYNAMIC_DISPATCH(repeat_bytes)(values, stride, element_bytes, count, times, out);
}

}  // namespace cornu::cpu
#endif
