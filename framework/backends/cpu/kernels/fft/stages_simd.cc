// SPDX-License-Identifier: Apache-2.0
// Loops over rows in vectors, for several instruction sets.
#include "framework/backends/cpu/kernels/elementwise/targets.h"
#include "framework/backends/cpu/kernels/fft/stages.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "framework/backends/cpu/kernels/fft/stages_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "framework/backends/cpu/kernels/shape/transpose.inc"

HWY_BEFORE_NAMESPACE();
namespace cornu::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Calls visit(d, i) for i in [0, count), step by step, with vectors d of as many numbers as a step
// has, the largest first. An element's result must not depend on its vector.
template <class T, class Visit>
HWY_INLINE void each_vector(int64_t count, Visit visit) {
  const hn::ScalableTag<T> whole;
  const hn::CappedTag<T, 4> four;
  const hn::CappedTag<T, 1> one;
  int64_t i = 0;
  for (; i + static_cast<int64_t>(hn::Lanes(whole)) <= count; i += hn::Lanes(whole)) {
    visit(whole, i);
  }
  for (; i + static_cast<int64_t>(hn::Lanes(four)) <= count; i += hn::Lanes(four)) visit(four, i);
  for (; i < count; ++i) visit(one, i);
}

template <class V>
struct Complex {
  V re, im;
};
template <class V>
HWY_INLINE Complex<V> operator+(Complex<V> a, Complex<V> b) {
  return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}
template <class V>
HWY_INLINE Complex<V> operator-(Complex<V> a, Complex<V> b) {
  return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}
template <class V>
HWY_INLINE Complex<V> operator*(Complex<V> a, Complex<V> b) {
  return {hn::MulSub(a.re, b.re, hn::Mul(a.im, b.im)), hn::MulAdd(a.re, b.im, hn::Mul(a.im, b.re))};
}
// a + b * c.
template <class V>
HWY_INLINE Complex<V> plus_product(Complex<V> a, Complex<V> b, Complex<V> c) {
  return {hn::NegMulAdd(b.im, c.im, hn::MulAdd(b.re, c.re, a.re)),
          hn::MulAdd(b.im, c.re, hn::MulAdd(b.re, c.im, a.im))};
}
// a + b * by.
template <class V>
HWY_INLINE Complex<V> plus_scaled(Complex<V> a, Complex<V> b, V by) {
  return {hn::MulAdd(b.re, by, a.re), hn::MulAdd(b.im, by, a.im)};
}
template <class V>
HWY_INLINE Complex<V> scaled(Complex<V> a, V by) {
  return {hn::Mul(a.re, by), hn::Mul(a.im, by)};
}
template <class V>
HWY_INLINE Complex<V> plus_i_times(Complex<V> a, Complex<V> b) {
  return {hn::Sub(a.re, b.im), hn::Add(a.im, b.re)};
}
template <class V>
HWY_INLINE Complex<V> minus_i_times(Complex<V> a, Complex<V> b) {
  return {hn::Add(a.re, b.im), hn::Sub(a.im, b.re)};
}

template <class D, class T>
HWY_INLINE Complex<hn::VFromD<D>> load(D d, const T* real, const T* imaginary) {
  return {hn::LoadU(d, real), hn::LoadU(d, imaginary)};
}
template <class D, class T>
HWY_INLINE Complex<hn::VFromD<D>> broadcast(D d, T real, T imaginary) {
  return {hn::Set(d, real), hn::Set(d, imaginary)};
}
template <class D, class T>
HWY_INLINE void store(D d, Complex<hn::VFromD<D>> x, T* real, T* imaginary) {
  hn::StoreU(x.re, d, real);
  hn::StoreU(x.im, d, imaginary);
}

// The transform of a[0], …, a[kRadix - 1], in place.
template <int kRadix, class D, class C>
HWY_INLINE void butterfly(D d, C (&a)[kRadix]) {
  using T = hn::TFromD<D>;
  const auto number = [d](double x) { return hn::Set(d, static_cast<T>(x)); };
  if constexpr (kRadix == 2) {
    const C first = a[0];
    a[0] = first + a[1];
    a[1] = first - a[1];
  } else if constexpr (kRadix == 3) {
    const C sum = a[1] + a[2];
    const C turned = scaled(a[1] - a[2], number(0.866025403784438646763723170752936183));
    const C middle = plus_scaled(a[0], sum, number(-0.5));
    a[0] = a[0] + sum;
    a[1] = minus_i_times(middle, turned);
    a[2] = plus_i_times(middle, turned);
  } else if constexpr (kRadix == 4) {
    const C even = a[0] + a[2], even_off = a[0] - a[2];
    const C odd = a[1] + a[3], odd_off = a[1] - a[3];
    a[0] = even + odd;
    a[1] = minus_i_times(even_off, odd_off);
    a[2] = even - odd;
    a[3] = plus_i_times(even_off, odd_off);
  } else {
    static_assert(kRadix == 5);
    const auto cosine1 = number(0.309016994374947424102293417182819059);
    const auto cosine2 = number(-0.809016994374947424102293417182819059);
    const auto sine1 = number(0.951056516295153572116439333379382143);
    const auto sine2 = number(0.587785252292473129168705954639072769);
    const C near = a[1] + a[4], far = a[2] + a[3];
    const C near_off = a[1] - a[4], far_off = a[2] - a[3];
    const C one = plus_scaled(plus_scaled(a[0], near, cosine1), far, cosine2);
    const C two = plus_scaled(plus_scaled(a[0], near, cosine2), far, cosine1);
    const C one_off = plus_scaled(scaled(near_off, sine1), far_off, sine2);
    const C two_off = plus_scaled(scaled(near_off, sine2), far_off, hn::Neg(sine1));
    a[0] = a[0] + near + far;
    a[1] = minus_i_times(one, one_off);
    a[2] = minus_i_times(two, two_off);
    a[3] = plus_i_times(two, two_off);
    a[4] = plus_i_times(one, one_off);
  }
}

template <int kRadix, class T>
void run_radix(const FftStage<T>& stage, int64_t lanes, const ComplexRows<const T>& from,
               const ComplexRows<T>& to) {
  const int64_t width = stage.stride * lanes;  // of consecutive elements with the same twiddles
  const int64_t apart = stage.rest * width;
  for (int64_t i = 0; i < stage.rest; ++i) {
    const T* const real = stage.real.data() + i * kRadix;
    const T* const imaginary = stage.imaginary.data() + i * kRadix;
    const int64_t source = i * width, target = i * kRadix * width;
    each_vector<T>(width, [&](auto d, int64_t j) HWY_ATTR {
      Complex<hn::VFromD<decltype(d)>> a[kRadix];
      for (int k = 0; k < kRadix; ++k) {
        const int64_t place = source + k * apart + j;
        a[k] = load(d, from.real + place, from.imaginary + place);
      }
      butterfly(d, a);
      store(d, a[0], to.real + target + j, to.imaginary + target + j);
      for (int k = 1; k < kRadix; ++k) {
        const int64_t place = target + k * width + j;
        store(d, a[k] * broadcast(d, real[k], imaginary[k]), to.real + place, to.imaginary + place);
      }
    });
  }
}

// Any radix, by the definition of the transform.
template <class T>
void run_any(const FftStage<T>& stage, int64_t lanes, const ComplexRows<const T>& from,
             const ComplexRows<T>& to) {
  const int64_t width = stage.stride * lanes;
  const int64_t apart = stage.rest * width;
  for (int64_t i = 0; i < stage.rest; ++i) {
    for (int64_t k = 0; k < stage.radix; ++k) {
      const int64_t source = i * width, target = (i * stage.radix + k) * width;
      const auto twiddle = static_cast<size_t>(i * stage.radix + k);
      each_vector<T>(width, [&](auto d, int64_t j) HWY_ATTR {
        auto sum = broadcast(d, T{0}, T{0});
        int64_t power = 0;
        for (int64_t l = 0; l < stage.radix; ++l) {
          const auto at = static_cast<size_t>(power);
          const int64_t place = source + l * apart + j;
          sum = plus_product(sum, load(d, from.real + place, from.imaginary + place),
                             broadcast(d, stage.root_real[at], stage.root_imaginary[at]));
          power += k;
          if (power >= stage.radix) power -= stage.radix;
        }
        store(d, sum * broadcast(d, stage.real[twiddle], stage.imaginary[twiddle]),
              to.real + target + j, to.imaginary + target + j);
      });
    }
  }
}

template <class T>
void run_stage(const FftStage<T>& stage, int64_t lanes, const ComplexRows<const T>& from,
               const ComplexRows<T>& to) {
  auto* const run = stage.radix == 2   ? run_radix<2, T>
                    : stage.radix == 3 ? run_radix<3, T>
                    : stage.radix == 4 ? run_radix<4, T>
                    : stage.radix == 5 ? run_radix<5, T>
                                       : run_any<T>;
  run(stage, lanes, from, to);
}

HWY_INLINE void transpose_square(const float* from, int64_t from_step, float* to, int64_t to_step) {
  transpose_4x4(from, from_step, to, to_step);
}
// Transposes 2 x 2 elements of eight bytes.
HWY_INLINE void transpose_square(const double* from, int64_t from_step, double* to,
                                 int64_t to_step) {
  const hn::FixedTag<double, 2> d;
  const auto r0 = hn::LoadU(d, from);
  const auto r1 = hn::LoadU(d, from + from_step);
  hn::StoreU(hn::InterleaveLower(d, r0, r1), d, to);
  hn::StoreU(hn::InterleaveUpper(d, r0, r1), d, to + to_step);
}

template <class T>
void transpose_block(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t rows,
                     int64_t columns) {
  constexpr int64_t kSide = 16 / sizeof(T);
  const auto elements = [&](int64_t row, int64_t row_end, int64_t column) {
    for (; row < row_end; ++row) {
      for (int64_t j = column; j < columns; ++j) to[j * to_step + row] = from[row * from_step + j];
    }
  };
  int64_t row = 0;
  for (; row + kSide <= rows; row += kSide) {
    int64_t column = 0;
    for (; column + kSide <= columns; column += kSide) {
      transpose_square(from + row * from_step + column, from_step, to + column * to_step + row,
                       to_step);
    }
    elements(row, row + kSide, column);
  }
  elements(row, rows, 0);
}

// In blocks whose cache lines stay in a cache until they are complete.
template <class T>
void transpose(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t rows,
               int64_t columns) {
  constexpr int64_t kBlock = 32;
  const auto least = [](int64_t a, int64_t b) { return a < b ? a : b; };
  for (int64_t row = 0; row < rows; row += kBlock) {
    for (int64_t column = 0; column < columns; column += kBlock) {
      transpose_block(from + row * from_step + column, from_step, to + column * to_step + row,
                      to_step, least(kBlock, rows - row), least(kBlock, columns - column));
    }
  }
}

template <class T>
void multiply(const ComplexRows<const T>& a, const ComplexRows<const T>& b, int64_t count,
              const ComplexRows<T>& to) {
  each_vector<T>(count, [&](auto d, int64_t i) HWY_ATTR {
    store(d, load(d, a.real + i, a.imaginary + i) * load(d, b.real + i, b.imaginary + i),
          to.real + i, to.imaginary + i);
  });
}

template <class T>
void multiply_tile(const ComplexRows<const T>& from, int64_t rows, int64_t lanes,
                   const ComplexRows<const T>& by_lane, const ComplexRows<const T>& by_row,
                   int64_t step, const ComplexRows<T>& to) {
  for (int64_t i = 0; i < rows; ++i) {
    each_vector<T>(lanes, [&](auto d, int64_t l) HWY_ATTR {
      const int64_t place = i * step + l, source = i * lanes + l;
      const auto root = load(d, by_lane.real + place, by_lane.imaginary + place) *
                        broadcast(d, by_row.real[i], by_row.imaginary[i]);
      store(d, load(d, from.real + source, from.imaginary + source) * root, to.real + place,
            to.imaginary + place);
    });
  }
}

template <class T>
void pairs_of(const T* from, int64_t count, const ComplexRows<T>& to) {
  each_vector<T>(count, [&](auto d, int64_t i) HWY_ATTR {
    Complex<hn::VFromD<decltype(d)>> pairs;
    hn::LoadInterleaved2(d, from + 2 * i, pairs.re, pairs.im);
    store(d, pairs, to.real + i, to.imaginary + i);
  });
}

template <class T>
void bins_of_pairs(const ComplexRows<const T>& z, int64_t half, const ComplexRows<const T>& roots,
                   const ComplexRows<T>& bins) {
  bins.real[0] = z.real[0] + z.imaginary[0];
  bins.imaginary[0] = 0;
  bins.real[half] = z.real[0] - z.imaginary[0];
  bins.imaginary[half] = 0;
  each_vector<T>(half - 1, [&](auto d, int64_t i) HWY_ATTR {
    const int64_t place = i + 1;
    const int64_t mirrored = half - i - static_cast<int64_t>(hn::Lanes(d));
    // Halved before they are added, so that no sum is larger than what it is a part of.
    const auto half_of = [&](const auto& x) HWY_ATTR { return scaled(x, hn::Set(d, T(0.5))); };
    const auto a = half_of(load(d, z.real + place, z.imaginary + place));
    const decltype(a) mirror = {hn::Reverse(d, hn::LoadU(d, z.real + mirrored)),
                                hn::Neg(hn::Reverse(d, hn::LoadU(d, z.imaginary + mirrored)))};
    const auto b = half_of(mirror);
    // The transforms of the even and of the odd numbers.
    const auto even = a + b;
    const auto difference = a - b;
    const decltype(a) odd = {difference.im, hn::Neg(difference.re)};
    const auto root = load(d, roots.real + place, roots.imaginary + place);
    store(d, plus_product(even, odd, root), bins.real + place, bins.imaginary + place);
  });
}

template <class T>
constexpr FftFunctions<T> kFunctions = {run_stage<T>,     transpose<T>, multiply<T>,
                                        multiply_tile<T>, pairs_of<T>,  bins_of_pairs<T>};

const FftFunctions<float>* functions_float32() { return &kFunctions<float>; }
const FftFunctions<double>* functions_float64() { return &kFunctions<double>; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cornu::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornu::cpu {

HWY_EXPORT(functions_float32);
HWY_EXPORT(functions_float64);

template <>
const FftFunctions<float>& fft_functions() {
  return *HWY_DYNAMIC_DISPATCH(functions_float32)();
}
template <>
const FftFunctions<double>& fft_functions() {
  return *HWY_DYNAMIC_DISPATCH(functions_float64)();
}

}  // namespace cornu::cpu
#endif
