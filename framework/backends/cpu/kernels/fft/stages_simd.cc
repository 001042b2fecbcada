// SPDX-License-Identifier: Apache-2.0
// Loops that the compiler turns into vectors, for several instruction sets.
#include "framework/backends/cpu/kernels/elementwise/targets.h"
#include "framework/backends/cpu/kernels/fft/stages.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "framework/backends/cpu/kernels/fft/stages_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cornu::cpu {
namespace HWY_NAMESPACE {
namespace {

template <class T>
struct Complex {
  T re, im;
};
template <class T>
HWY_INLINE Complex<T> operator+(Complex<T> a, Complex<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
HWY_INLINE Complex<T> operator-(Complex<T> a, Complex<T> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class T>
HWY_INLINE Complex<T> operator*(Complex<T> a, Complex<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class T>
HWY_INLINE Complex<T> scaled(Complex<T> a, T by) {
  return {a.re * by, a.im * by};
}
template <class T>
HWY_INLINE Complex<T> times_minus_i(Complex<T> a) {
  return {a.im, -a.re};
}

// The transform of a[0], …, a[kRadix - 1], in place.
template <int kRadix, class T>
HWY_INLINE void butterfly(Complex<T> (&a)[kRadix]) {
  if constexpr (kRadix == 2) {
    const Complex<T> first = a[0];
    a[0] = first + a[1];
    a[1] = first - a[1];
  } else if constexpr (kRadix == 3) {
    constexpr T kSine = T(0.866025403784438646763723170752936183);
    const Complex<T> sum = a[1] + a[2];
    const Complex<T> turned = scaled(times_minus_i(a[1] - a[2]), kSine);
    const Complex<T> middle = a[0] - scaled(sum, T(0.5));
    a[0] = a[0] + sum;
    a[1] = middle + turned;
    a[2] = middle - turned;
  } else if constexpr (kRadix == 4) {
    const Complex<T> even = a[0] + a[2], even_off = a[0] - a[2];
    const Complex<T> odd = a[1] + a[3], odd_off = times_minus_i(a[1] - a[3]);
    a[0] = even + odd;
    a[1] = even_off + odd_off;
    a[2] = even - odd;
    a[3] = even_off - odd_off;
  } else {
    static_assert(kRadix == 5);
    constexpr T kCosine[] = {T(0.309016994374947424102293417182819059),
                             T(-0.809016994374947424102293417182819059)};
    constexpr T kSine[] = {T(0.951056516295153572116439333379382143),
                           T(0.587785252292473129168705954639072769)};
    const Complex<T> near = a[1] + a[4], far = a[2] + a[3];
    const Complex<T> near_off = times_minus_i(a[1] - a[4]), far_off = times_minus_i(a[2] - a[3]);
    const Complex<T> one = a[0] + scaled(near, kCosine[0]) + scaled(far, kCosine[1]);
    const Complex<T> two = a[0] + scaled(near, kCosine[1]) + scaled(far, kCosine[0]);
    const Complex<T> one_off = scaled(near_off, kSine[0]) + scaled(far_off, kSine[1]);
    const Complex<T> two_off = scaled(near_off, kSine[1]) - scaled(far_off, kSine[0]);
    a[0] = a[0] + near + far;
    a[1] = one + one_off;
    a[2] = two + two_off;
    a[3] = two - two_off;
    a[4] = one - one_off;
  }
}

template <int kRadix, class T>
void run_radix(const FftStage<T>& stage, int64_t lanes, const T* HWY_RESTRICT from_real,
               const T* HWY_RESTRICT from_imaginary, T* HWY_RESTRICT to_real,
               T* HWY_RESTRICT to_imaginary) {
  const int64_t width = stage.stride * lanes;  // of consecutive elements with the same twiddles
  const int64_t apart = stage.rest * width;
  for (int64_t i = 0; i < stage.rest; ++i) {
    Complex<T> twiddle[kRadix];
    for (int k = 0; k < kRadix; ++k) {
      twiddle[k] = {stage.real[i * kRadix + k], stage.imaginary[i * kRadix + k]};
    }
    const int64_t source = i * width, target = i * kRadix * width;
    for (int64_t j = 0; j < width; ++j) {
      Complex<T> a[kRadix];
      for (int k = 0; k < kRadix; ++k) {
        a[k] = {from_real[source + k * apart + j], from_imaginary[source + k * apart + j]};
      }
      butterfly(a);
      for (int k = 0; k < kRadix; ++k) {
        const Complex<T> result = k == 0 ? a[0] : a[k] * twiddle[k];
        to_real[target + k * width + j] = result.re;
        to_imaginary[target + k * width + j] = result.im;
      }
    }
  }
}

// Of any radix, by its definition.
template <class T>
void run_any(const FftStage<T>& stage, int64_t lanes, const T* HWY_RESTRICT from_real,
             const T* HWY_RESTRICT from_imaginary, T* HWY_RESTRICT to_real,
             T* HWY_RESTRICT to_imaginary) {
  const int64_t width = stage.stride * lanes;
  const int64_t apart = stage.rest * width;
  for (int64_t i = 0; i < stage.rest; ++i) {
    for (int64_t k = 0; k < stage.radix; ++k) {
      T* real = to_real + (i * stage.radix + k) * width;
      T* imaginary = to_imaginary + (i * stage.radix + k) * width;
      for (int64_t j = 0; j < width; ++j) real[j] = imaginary[j] = 0;
      for (int64_t l = 0; l < stage.radix; ++l) {
        const auto power = static_cast<size_t>(k * l % stage.radix);
        const Complex<T> root = {stage.root_real[power], stage.root_imaginary[power]};
        const int64_t source = i * width + l * apart;
        for (int64_t j = 0; j < width; ++j) {
          const Complex<T> term =
              Complex<T>{from_real[source + j], from_imaginary[source + j]} * root;
          real[j] += term.re;
          imaginary[j] += term.im;
        }
      }
      const auto place = static_cast<size_t>(i * stage.radix + k);
      const Complex<T> twiddle = {stage.real[place], stage.imaginary[place]};
      for (int64_t j = 0; j < width; ++j) {
        const Complex<T> result = Complex<T>{real[j], imaginary[j]} * twiddle;
        real[j] = result.re;
        imaginary[j] = result.im;
      }
    }
  }
}

template <class T>
void run_typed(const FftStage<T>& stage, int64_t lanes, const ComplexRows<const T>& from,
               const ComplexRows<T>& to) {
  auto* const run = stage.radix == 2   ? run_radix<2, T>
                    : stage.radix == 3 ? run_radix<3, T>
                    : stage.radix == 4 ? run_radix<4, T>
                    : stage.radix == 5 ? run_radix<5, T>
                                       : run_any<T>;
  run(stage, lanes, from.real, from.imaginary, to.real, to.imaginary);
}

void run_float32(const FftStage<float>& stage, int64_t lanes, const ComplexRows<const float>& from,
                 const ComplexRows<float>& to) {
  run_typed(stage, lanes, from, to);
}
void run_float64(const FftStage<double>& stage, int64_t lanes,
                 const ComplexRows<const double>& from, const ComplexRows<double>& to) {
  run_typed(stage, lanes, from, to);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cornu::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornu::cpu {

HWY_EXPORT(run_float32);
HWY_EXPORT(run_float64);

void run_stage(const FftStage<float>& stage, int64_t lanes, const ComplexRows<const float>& from,
               const ComplexRows<float>& to) {
  HWY_DYNAMIC_DISPATCH(run_float32)(stage, lanes, from, to);
}
void run_stage(const FftStage<double>& stage, int64_t lanes, const ComplexRows<const double>& from,
               const ComplexRows<double>& to) {
  HWY_DYNAMIC_DISPATCH(run_float64)(stage, lanes, from, to);
}

}  // namespace cornu::cpu
#endif
