// SPDX-License-Identifier: Apache-2.0
// Tile functions of two operands, for float32 and float64, and select.
#include "framework/backends/cpu/kernels/elementwise/ops.h"
#include "framework/backends/cpu/kernels/elementwise/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "framework/backends/cpu/kernels/elementwise/binary.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "framework/backends/cpu/kernels/elementwise/arithmetic.inc"
#include "framework/backends/cpu/kernels/elementwise/extended.inc"
#include "framework/backends/cpu/kernels/elementwise/math.inc"
#include "framework/backends/cpu/kernels/elementwise/simd.inc"

HWY_BEFORE_NAMESPACE();
namespace cornu::cpu {
namespace HWY_NAMESPACE {
namespace {

template <TileOp kOp>
struct LongBinary {
  static constexpr bool kLong = true;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    if constexpr (kOp == TileOp::Power && is_float32<D>) return vec_power_float32(d, a, b);
    if constexpr (kOp == TileOp::FloorDivide) return vec_floor_divide(d, a, b);
    if constexpr (kOp == TileOp::Mod) return vec_mod(d, a, b);
    if constexpr (kOp == TileOp::Atan2 && is_float32<D>) return vec_atan2_float32(d, a, b);
#if HWY_NATIVE_FMA
    if constexpr (kOp == TileOp::Power && !is_float32<D>) return vec_power_float64(d, a, b);
    if constexpr (kOp == TileOp::Atan2 && !is_float32<D>) return vec_atan2_float64(d, a, b);
#endif
  }
};

struct Squared {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Mul(x, x);
  }
};
struct Cubed {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Mul(hn::Mul(x, x), x);
  }
};

// Without fused multiply-adds the C library's functions of float64 are as fast as vectors.
template <class T>
inline constexpr bool has_power_and_angle = HWY_NATIVE_FMA || std::is_same_v<T, float>;

// Powers of 2 and 3 are products.
template <class T>
void power_tile(const TileArgs& args, size_t count) {
  if (args.operand[1].step == 0) {
    const T exponent = *static_cast<const T*>(args.operand[1].data);
    if (exponent == 2) return map_tile<T, Squared, 1>(args, count);
    if (exponent == 3) return map_tile<T, Cubed, 1>(args, count);
  }
  if constexpr (has_power_and_angle<T>) {
    map_tile<T, LongBinary<TileOp::Power>, 2>(args, count);
  } else {
    plain_tile(TileOp::Power, DType::Float64)(args, count);
  }
}

template <TileOp kOp>
struct CompareToBytes {
  template <class D, class V>
  HWY_INLINE auto operator()(D d, V a, V b) const {
    return mask_to_bytes(d, compare<kOp>(a, b));
  }
};

template <class T, TileOp kOp>
void compare_tile(const TileArgs& args, size_t count) {
  const hn::ScalableTag<T> d;
  map_readers(d, ByteTag<decltype(d)>(), args.out(), count, CompareToBytes<kOp>(),
              Reader<T>(args.operand[0]), Reader<T>(args.operand[1]));
}

// A reader of bytes that returns masks; bytes and elements advance together.
template <class T>
struct MaskReader {
  Reader<uint8_t> bytes;

  explicit MaskReader(const TileOperand& operand) : bytes(operand) {}
  template <class D>
  HWY_INLINE hn::Mask<D> load(D d, size_t ahead) const {
    return bytes_to_mask(d, bytes.load(ByteTag<D>(), ahead));
  }
  template <class D>
  HWY_INLINE hn::Mask<D> load_end(D d, size_t count) const {
    return bytes_to_mask(d, bytes.load_end(ByteTag<D>(), count));
  }
  HWY_INLINE void advance(size_t count) { bytes.advance(count); }
};

struct Choose {
  template <class D, class M, class V>
  HWY_INLINE V operator()(D, M mask, V a, V b) const {
    return hn::IfThenElse(mask, a, b);
  }
};

template <class T>
void choose_tile(const TileArgs& args, size_t count) {
  const hn::ScalableTag<T> d;
  map_readers(d, d, args.out(), count, Choose(), MaskReader<T>(args.operand[0]),
              Reader<T>(args.operand[1]), Reader<T>(args.operand[2]));
}

template <class T>
TileFn binary(TileOp op) {
  switch (op) {
    case TileOp::Add:
      return map_tile<T, Binary<TileOp::Add>, 2>;
    case TileOp::Subtract:
      return map_tile<T, Binary<TileOp::Subtract>, 2>;
    case TileOp::Multiply:
      return map_tile<T, Binary<TileOp::Multiply>, 2>;
    case TileOp::Divide:
      return map_tile<T, Binary<TileOp::Divide>, 2>;
    case TileOp::Maximum:
      return map_tile<T, Binary<TileOp::Maximum>, 2>;
    case TileOp::Minimum:
      return map_tile<T, Binary<TileOp::Minimum>, 2>;
    case TileOp::Power:
      return power_tile<T>;
    case TileOp::FloorDivide:
      return map_tile<T, LongBinary<TileOp::FloorDivide>, 2>;
    case TileOp::Mod:
      return map_tile<T, LongBinary<TileOp::Mod>, 2>;
    case TileOp::Atan2:
      if constexpr (has_power_and_angle<T>) return map_tile<T, LongBinary<TileOp::Atan2>, 2>;
      return nullptr;
    case TileOp::Equal:
      return compare_tile<T, TileOp::Equal>;
    case TileOp::NotEqual:
      return compare_tile<T, TileOp::NotEqual>;
    case TileOp::Less:
      return compare_tile<T, TileOp::Less>;
    case TileOp::LessEqual:
      return compare_tile<T, TileOp::LessEqual>;
    case TileOp::Greater:
      return compare_tile<T, TileOp::Greater>;
    case TileOp::GreaterEqual:
      return compare_tile<T, TileOp::GreaterEqual>;
    default:
      return nullptr;
  }
}

TileFn find_binary(TileOp op, DType dtype) {
  return dtype == DType::Float32 ? binary<float>(op) : binary<double>(op);
}

TileFn find_select(size_t bytes) {
  return bytes == 2   ? choose_tile<uint16_t>
         : bytes == 4 ? choose_tile<uint32_t>
                      : choose_tile<uint64_t>;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cornu::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornu::cpu {

HWY_EXPORT(find_binary);
HWY_EXPORT(find_select);

TileFn float_binary_tile(TileOp op, DType dtype) {
  if (dtype != DType::Float32 && dtype != DType::Float64) return nullptr;
  return HWY_DYNAMIC_DISPATCH(find_binary)(op, dtype);
}

TileFn select_tile(DType dtype) {
  if (size_of(dtype) < 2) return nullptr;
  return HWY_DYNAMIC_DISPATCH(find_select)(size_of(dtype));
}

}  // namespace cornu::cpu
#endif
