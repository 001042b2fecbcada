// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "framework/backends/cpu/kernels/elementwise/targets.h"
#include "framework/backends/cpu/kernels/reduction/softmax.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "framework/backends/cpu/kernels/reduction/softmax_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "framework/backends/cpu/kernels/elementwise/math.inc"
#include "framework/backends/cpu/kernels/elementwise/simd.inc"

HWY_BEFORE_NAMESPACE();
namespace cornu::cpu {
namespace HWY_NAMESPACE {
namespace {

template <class T>
class Softmax {
 public:
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;

  static void softmax(const void* logits, size_t rows, size_t count, void* out) {
    for (size_t i = 0; i < rows; ++i) {
      T* row = at(out, i * count);
      const Sum sum = exponentials(at(logits, i * count), count, row);
      scale(row, count, sum.exponentials, sum.last);
    }
  }

  static void log_softmax(const void* logits, size_t rows, size_t count, void* out) {
    for (size_t i = 0; i < rows; ++i) {
      const T* row = at(logits, i * count);
      T* to = at(out, i * count);
      const V max = maximum(row, count);
      V sum = hn::Zero(D());
      each(row, count, [&](V x, size_t, size_t) HWY_ATTR {
        sum = hn::Add(sum, vec_exp(D(), hn::Sub(x, max)));
      });
      const V log = vec_log(D(), hn::SumOfLanes(D(), sum));
      each(row, count, [&](V x, size_t at, size_t many) HWY_ATTR {
        store(hn::Sub(hn::Sub(x, max), log), to + at, many);
      });
    }
  }

  static void cross_entropy(const void* logits, const void* targets, size_t rows, size_t count,
                            void* losses, void* probabilities) {
    for (size_t i = 0; i < rows; ++i) {
      const T* row = at(logits, i * count);
      const T* target = at(targets, i * count);
      T* out = at(probabilities, i * count);
      const V max = maximum(row, count);
      V sum = hn::Zero(D());
      V weights = hn::Zero(D());
      V weighted = hn::Zero(D());
      V last = hn::Zero(D());
      each(row, count, [&](V x, size_t at, size_t many) HWY_ATTR {
        const V shifted = hn::Sub(x, max);
        const V t =
            many < lanes() ? load_tail(D(), target + at, many) : hn::LoadU(D(), target + at);
        const V e = vec_exp(D(), shifted);
        sum = hn::Add(sum, e);
        weights = hn::Add(weights, t);
        const auto counts = hn::Not(hn::Eq(t, hn::Zero(D())));
        weighted = hn::Add(weighted, hn::IfThenElseZero(counts, hn::Mul(t, shifted)));
        if (count > lanes()) store(e, out + at, many);
        last = e;
      });
      sum = hn::SumOfLanes(D(), sum);
      const V loss = hn::Sub(hn::Mul(vec_log(D(), sum), hn::SumOfLanes(D(), weights)),
                             hn::SumOfLanes(D(), weighted));
      *at(losses, i) = count > 0 ? hn::GetLane(loss) : T{0};
      scale(out, count, sum, last);
    }
  }

  static void sparse_cross_entropy(const void* logits, const int64_t* labels, size_t rows,
                                   size_t count, void* losses, void* probabilities) {
    for (size_t i = 0; i < rows; ++i) {
      const T* row = at(logits, i * count);
      T* out = at(probabilities, i * count);
      const T chosen = labels[i] >= 0 ? row[labels[i]] : T{0};
      const Sum sum = exponentials(row, count, out);
      const T loss = hn::GetLane(vec_log(D(), sum.exponentials)) - (chosen - hn::GetLane(sum.max));
      *at(losses, i) = labels[i] >= 0 ? loss : T{0};
      scale(out, count, sum.exponentials, sum.last);
    }
  }

  template <bool kLog>
  static void columns(const void* logits, size_t count, size_t stride, size_t width, void* work,
                      void* out) {
    T* const max = at(work, 0);
    T* const sum = at(work, width);
    for (size_t i = 0; i < count; ++i) {
      each(at(logits, i * stride), width, [&](V x, size_t at, size_t many) HWY_ATTR {
        store(i == 0 ? x : hn::Max(load(max + at, many), x), max + at, many);
      });
    }
    for (size_t i = 0; i < count; ++i) {
      T* const to = at(out, i * stride);
      each(at(logits, i * stride), width, [&](V x, size_t at, size_t many) HWY_ATTR {
        const V e = vec_exp(D(), hn::Sub(x, load(max + at, many)));
        store(i == 0 ? e : hn::Add(load(sum + at, many), e), sum + at, many);
        if constexpr (!kLog) store(e, to + at, many);
      });
    }
    each(sum, width, [&](V s, size_t at, size_t many) HWY_ATTR {
      store(kLog ? vec_log(D(), s) : hn::Div(constant(D(), 1), s), sum + at, many);
    });
    for (size_t i = 0; i < count; ++i) {
      T* const to = at(out, i * stride);
      each(kLog ? at(logits, i * stride) : to, width, [&](V x, size_t at, size_t many) HWY_ATTR {
        const V s = load(sum + at, many);
        const V shifted = kLog ? hn::Sub(x, load(max + at, many)) : x;
        store(kLog ? hn::Sub(shifted, s) : hn::Mul(shifted, s), to + at, many);
      });
    }
  }

 private:
  struct Sum {
    V max, exponentials;  // in all lanes
    V last;               // the last vector of exponentials
  };

  static HWY_INLINE size_t lanes() { return hn::Lanes(D()); }
  static HWY_INLINE const T* at(const void* data, size_t offset) {
    return static_cast<const T*>(data) + offset;
  }
  static HWY_INLINE T* at(void* data, size_t offset) { return static_cast<T*>(data) + offset; }

  // Missing elements are -infinity, which changes neither a maximum nor a sum of exponentials.
  static HWY_INLINE V load(const T* from, size_t many) {
    if (many == lanes()) return hn::LoadU(D(), from);
    return hn::IfThenElse(hn::FirstN(D(), many), load_tail(D(), from, many),
                          constant(D(), -std::numeric_limits<double>::infinity()));
  }
  static HWY_INLINE void store(V value, T* to, size_t many) {
    if (many == lanes()) {
      hn::StoreU(value, D(), to);
    } else {
      store_tail(D(), value, to, many);
    }
  }

  // Calls use(vector, index of its first element, number of its elements).
  template <class F>
  static HWY_INLINE void each(const T* row, size_t count, F use) {
    size_t i = 0;
    for (; i + lanes() <= count; i += lanes()) use(hn::LoadU(D(), row + i), i, lanes());
    if (i < count) use(load(row + i, count - i), i, count - i);
  }

  static HWY_INLINE V maximum(const T* row, size_t count) {
    V max = constant(D(), -std::numeric_limits<double>::infinity());
    each(row, count, [&](V x, size_t, size_t) HWY_ATTR { max = hn::Max(max, x); });
    return hn::MaxOfLanes(D(), max);
  }

  static HWY_INLINE Sum exponentials(const T* row, size_t count, T* out) {
    const V max = maximum(row, count);
    V sum = hn::Zero(D());
    V last = sum;
    each(row, count, [&](V x, size_t at, size_t many) HWY_ATTR {
      last = vec_exp(D(), hn::Sub(x, max));
      sum = hn::Add(sum, last);
      if (count > lanes()) store(last, out + at, many);
    });
    return {max, hn::SumOfLanes(D(), sum), last};
  }

  // `last` is the row's last vector: a short row isn't loaded again, which would have to wait for
  // its store.
  static HWY_INLINE void scale(T* row, size_t count, V sum, V last) {
    const V factor = hn::Div(constant(D(), 1), sum);
    if (count <= lanes()) return store(hn::Mul(last, factor), row, count);
    each(row, count,
         [&](V x, size_t at, size_t many) HWY_ATTR { store(hn::Mul(x, factor), row + at, many); });
  }
};

template <class T>
SoftmaxFunctions functions() {
  using S = Softmax<T>;
  return {S::softmax,
          S::log_softmax,
          S::cross_entropy,
          S::sparse_cross_entropy,
          S::template columns<false>,
          S::template columns<true>};
}

SoftmaxFunctions find_functions(bool is_double) {
  return is_double ? functions<double>() : functions<float>();
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cornu::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornu::cpu {

HWY_EXPORT(find_functions);

SoftmaxFunctions softmax_functions(DType dtype) {
  return HWY_DYNAMIC_DISPATCH(find_functions)(dtype == DType::Float64);
}

}  // namespace cornu::cpu
#endif
