// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <limits>

#include "framework/backends/cpu/kernels/attention/rows.h"
#include "framework/backends/cpu/kernels/elementwise/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "framework/backends/cpu/kernels/attention/rows_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "framework/backends/cpu/kernels/elementwise/bfloat16.inc"
#include "framework/backends/cpu/kernels/elementwise/math.inc"
#include "framework/backends/cpu/kernels/elementwise/simd.inc"

HWY_BEFORE_NAMESPACE();
namespace cornu::cpu {
namespace HWY_NAMESPACE {
namespace {

template <class S>
class Rows {
 public:
  using T = Computed<S>;
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;

  static T largest(const T* row, size_t count) {
    V max = constant(D(), -std::numeric_limits<double>::infinity());
    const V least = max;
    each(row, count, [&](V x, size_t, size_t many) HWY_ATTR {
      const V present = many < lanes() ? hn::IfThenElse(hn::FirstN(D(), many), x, least) : x;
      max = hn::IfThenElse(hn::Gt(present, max), present, max);
    });
    return hn::GetLane(hn::MaxOfLanes(D(), max));
  }

  static T exponentials(T* row, size_t count, T shift, T factor) {
    const V shifts = hn::Set(D(), shift), factors = hn::Set(D(), factor);
    V sum = hn::Zero(D());
    each(row, count, [&](V x, size_t at, size_t many) HWY_ATTR {
      const V e = hn::Mul(vec_exp(D(), hn::Sub(x, shifts)), factors);
      store(e, row + at, many);
      sum = hn::Add(sum, many < lanes() ? hn::IfThenElseZero(hn::FirstN(D(), many), e) : e);
    });
    return hn::GetLane(hn::SumOfLanes(D(), sum));
  }

  static T dot(const S* a, const S* b, size_t count) {
    V sum = hn::Zero(D());
    for (size_t at = 0; at < count; at += lanes()) {
      const size_t many = std::min(count - at, lanes());
      sum = hn::MulAdd(load(a + at, many), load(b + at, many), sum);
    }
    return hn::GetLane(hn::SumOfLanes(D(), sum));
  }

  static void add(T* row, const S* values, size_t count) {
    for (size_t at = 0; at < count; at += lanes()) {
      const size_t many = std::min(count - at, lanes());
      store(hn::Add(load(row + at, many), load(values + at, many)), row + at, many);
    }
  }

  static void scale(T* row, size_t count, T factor) {
    const V factors = hn::Set(D(), factor);
    each(row, count,
         [&](V x, size_t at, size_t many) HWY_ATTR { store(hn::Mul(x, factors), row + at, many); });
  }

  static void drop(T* row, const bool* kept, size_t count, T factor) {
    const V factors = hn::Set(D(), factor);
    const auto* bytes = reinterpret_cast<const uint8_t*>(kept);
    size_t i = 0;
    for (; i + lanes() <= count; i += lanes()) {
      const auto some = bytes_to_mask(D(), hn::LoadU(ByteTag<D>(), bytes + i));
      hn::StoreU(hn::IfThenElseZero(some, hn::Mul(hn::LoadU(D(), row + i), factors)), D(), row + i);
    }
    for (; i < count; ++i) row[i] = kept[i] ? row[i] * factor : 0;
  }

  static void differentiate(const T* probabilities, T* gradients, size_t count, T shift, T factor) {
    const V shifts = hn::Set(D(), shift), factors = hn::Set(D(), factor);
    each(gradients, count, [&](V x, size_t at, size_t many) HWY_ATTR {
      const V p = load(probabilities + at, many);
      store(hn::Mul(hn::Mul(p, hn::Sub(x, shifts)), factors), gradients + at, many);
    });
  }

  static void store(const T* row, size_t count, S* to) {
    if constexpr (std::is_same_v<S, T>) {
      std::memcpy(to, row, count * sizeof(T));
    } else {
      const hn::Rebind<uint16_t, D> bits;
      auto* out = reinterpret_cast<uint16_t*>(to);
      each(row, count, [&](V x, size_t at, size_t many) HWY_ATTR {
        const auto narrow = FloatToBFloat16()(D(), x);
        if (many == lanes()) {
          hn::StoreU(narrow, bits, out + at);
        } else {
          store_tail(bits, narrow, out + at, many);
        }
      });
    }
  }

 private:
  static HWY_INLINE size_t lanes() { return hn::Lanes(D()); }
  static HWY_INLINE V load(const T* from, size_t many) {
    return many == lanes() ? hn::LoadU(D(), from) : load_tail(D(), from, many);
  }
  static HWY_INLINE V load(const bfloat16* from, size_t many) {
    const hn::Rebind<uint16_t, D> bits;
    const auto* words = reinterpret_cast<const uint16_t*>(from);
    return BFloat16ToFloat()(
        D(), many == lanes() ? hn::LoadU(bits, words) : load_tail(bits, words, many));
  }
  static HWY_INLINE void store(V value, T* to, size_t many) {
    if (many == lanes()) {
      hn::StoreU(value, D(), to);
    } else {
      store_tail(D(), value, to, many);
    }
  }
  // Calls use(vector, index of its first element, number of its elements); the other lanes are
  // zeros.
  template <class F>
  static HWY_INLINE void each(const T* row, size_t count, F use) {
    size_t i = 0;
    for (; i + lanes() <= count; i += lanes()) use(hn::LoadU(D(), row + i), i, lanes());
    if (i < count) use(load(row + i, count - i), i, count - i);
  }
};

template <class S>
AttentionRows<S> rows_of() {
  using R = Rows<S>;
  return {R::largest, R::exponentials, R::dot,           R::add,
          R::scale,   R::drop,         R::differentiate, R::store};
}
AttentionRows<float> rows_of_floats() { return rows_of<float>(); }
AttentionRows<double> rows_of_doubles() { return rows_of<double>(); }
AttentionRows<bfloat16> rows_of_bfloat16s() { return rows_of<bfloat16>(); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cornu::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornu::cpu {

HWY_EXPORT(rows_of_floats);
HWY_EXPORT(rows_of_doubles);
HWY_EXPORT(rows_of_bfloat16s);

template <>
AttentionRows<float> attention_rows() {
  return HWY_DYNAMIC_DISPATCH(rows_of_floats)();
}
template <>
AttentionRows<double> attention_rows() {
  return HWY_DYNAMIC_DISPATCH(rows_of_doubles)();
}
template <>
AttentionRows<bfloat16> attention_rows() {
  return HWY_DYNAMIC_DISPATCH(rows_of_bfloat16s)();
}

}  // namespace cornu::cpu
#endif
