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
    if (is_narrow(count)) return narrow<false>(at(logits, 0), rows, count, at(out, 0));
    for (size_t i = 0; i < rows; ++i) {
      T* row = at(out, i * count);
      const Sum sum = exponentials(at(logits, i * count), count, row);
      scale(row, count, sum.exponentials, sum.last);
    }
  }

  static void log_softmax(const void* logits, size_t rows, size_t count, void* out) {
    if (is_narrow(count)) return narrow<true>(at(logits, 0), rows, count, at(out, 0));
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
    if (is_narrow(count)) {
      return narrow_cross_entropy(at(logits, 0), at(targets, 0), rows, count, at(losses, 0),
                                  at(probabilities, 0));
    }
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
    if (is_narrow(count)) {
      return narrow_sparse_cross_entropy(at(logits, 0), labels, rows, count, at(losses, 0),
                                         at(probabilities, 0));
    }
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
    const Columns columns{count, stride, width};
    T* const max = at(work, 0);
    T* const sum = at(work, width);
    sums<!kLog>(columns, at(logits, 0), max, sum, at(out, 0));
    if constexpr (kLog) {
      subtract_logs(columns, at(logits, 0), max, sum, at(out, 0));
    } else {
      scale_columns(columns, sum, at(out, 0));
    }
  }

 private:
  // `count` rows of `width` elements, `stride` elements apart.
  struct Columns {
    size_t count, stride, width;
  };

  // The maxima of columns, and the sums of their exponentials, which are also written to `out`.
  template <bool kStore>
  static HWY_INLINE void sums(const Columns& columns, const T* logits, T* max, T* sum, T* out) {
    const auto& [count, stride, width] = columns;
    for (size_t i = 0; i < count; ++i) {
      each(logits + i * stride, width, [&](V x, size_t at, size_t many) HWY_ATTR {
        store(i == 0 ? x : greater(load(max + at, many), x), max + at, many);
      });
    }
    for (size_t i = 0; i < count; ++i) {
      T* const to = out + i * stride;
      each(logits + i * stride, width, [&](V x, size_t at, size_t many) HWY_ATTR {
        const V e = vec_exp(D(), hn::Sub(x, load(max + at, many)));
        store(i == 0 ? e : hn::Add(load(sum + at, many), e), sum + at, many);
        if constexpr (kStore) store(e, to + at, many);
      });
    }
  }

  static HWY_INLINE void scale_columns(const Columns& columns, T* sum, T* out) {
    each(sum, columns.width, [&](V s, size_t at, size_t many) HWY_ATTR {
      store(hn::Div(constant(D(), 1), s), sum + at, many);
    });
    for (size_t i = 0; i < columns.count; ++i) {
      T* const to = out + i * columns.stride;
      each(to, columns.width, [&](V e, size_t at, size_t many) HWY_ATTR {
        store(hn::Mul(e, load(sum + at, many)), to + at, many);
      });
    }
  }

  static HWY_INLINE void subtract_logs(const Columns& columns, const T* logits, const T* max,
                                       T* sum, T* out) {
    each(sum, columns.width,
         [&](V s, size_t at, size_t many) HWY_ATTR { store(vec_log(D(), s), sum + at, many); });
    for (size_t i = 0; i < columns.count; ++i) {
      T* const to = out + i * columns.stride;
      each(logits + i * columns.stride, columns.width, [&](V x, size_t at, size_t many) HWY_ATTR {
        const V shifted = hn::Sub(x, load(max + at, many));
        store(hn::Sub(shifted, load(sum + at, many)), to + at, many);
      });
    }
  }

  // Rows of at most half a vector: as many as a vector has lanes become the columns of a block, one
  // per lane. A row's results don't depend on its place in the block.
  static constexpr size_t kMaxLanes = hn::MaxLanes(D());
  static bool is_narrow(size_t count) { return count > 0 && 2 * count <= lanes(); }
  struct Block {
    HWY_ALIGN T logits[kMaxLanes / 2 * kMaxLanes];
    HWY_ALIGN T out[kMaxLanes / 2 * kMaxLanes];
    HWY_ALIGN T max[kMaxLanes];
    HWY_ALIGN T sum[kMaxLanes];
  };

  static HWY_INLINE auto places(size_t count) {
    const hn::RebindToSigned<D> d;
    return hn::Mul(hn::Iota(d, 0), hn::Set(d, static_cast<hn::TFromD<decltype(d)>>(count)));
  }
  static HWY_INLINE void to_columns(const T* rows, size_t many, size_t count, T* block) {
    for (size_t j = 0; j < count; ++j) {
      if (many == lanes()) {
        hn::StoreU(hn::GatherIndex(D(), rows + j, places(count)), D(), block + j * lanes());
        continue;
      }
      for (size_t i = 0; i < lanes(); ++i) {
        block[j * lanes() + i] = i < many ? rows[i * count + j] : T{0};
      }
    }
  }
  static HWY_INLINE void to_rows(const T* block, size_t many, size_t count, T* rows) {
    for (size_t j = 0; j < count; ++j) {
      if (many == lanes()) {
        hn::ScatterIndex(hn::LoadU(D(), block + j * lanes()), D(), rows + j, places(count));
        continue;
      }
      for (size_t i = 0; i < many; ++i) rows[i * count + j] = block[j * lanes() + i];
    }
  }

  // Calls use(block, first row, number of rows) with the logits of blocks of rows, then copies the
  // block's `out` to the rows of `out`.
  template <class F>
  static HWY_INLINE void each_block(const T* logits, size_t rows, size_t count, T* out, F use) {
    Block block;
    for (size_t i = 0; i < rows; i += lanes()) {
      const size_t many = HWY_MIN(lanes(), rows - i);
      to_columns(logits + i * count, many, count, block.logits);
      use(block, i, many);
      to_rows(block.out, many, count, out + i * count);
    }
  }
  static HWY_INLINE Columns block_columns(size_t count) { return {count, lanes(), lanes()}; }

  template <bool kLog>
  static void narrow(const T* logits, size_t rows, size_t count, T* out) {
    const Columns columns = block_columns(count);
    each_block(logits, rows, count, out, [&](Block& block, size_t, size_t) HWY_ATTR {
      sums<!kLog>(columns, block.logits, block.max, block.sum, block.out);
      if constexpr (kLog) {
        subtract_logs(columns, block.logits, block.max, block.sum, block.out);
      } else {
        scale_columns(columns, block.sum, block.out);
      }
    });
  }

  static void narrow_cross_entropy(const T* logits, const T* targets, size_t rows, size_t count,
                                   T* losses, T* probabilities) {
    const D d;
    const Columns columns = block_columns(count);
    HWY_ALIGN T wanted[kMaxLanes / 2 * kMaxLanes];
    each_block(logits, rows, count, probabilities,
               [&](Block& block, size_t i, size_t many) HWY_ATTR {
                 sums<true>(columns, block.logits, block.max, block.sum, block.out);
                 to_columns(targets + i * count, many, count, wanted);
                 V weights = hn::Zero(d);
                 V weighted = hn::Zero(d);
                 for (size_t j = 0; j < count; ++j) {
                   const V t = hn::Load(d, wanted + j * lanes());
                   const V shifted =
                       hn::Sub(hn::Load(d, block.logits + j * lanes()), hn::Load(d, block.max));
                   weights = hn::Add(weights, t);
                   const auto counts = hn::Not(hn::Eq(t, hn::Zero(d)));
                   weighted = hn::Add(weighted, hn::IfThenElseZero(counts, hn::Mul(t, shifted)));
                 }
                 const V log = vec_log(d, hn::Load(d, block.sum));
                 store(hn::Sub(hn::Mul(log, weights), weighted), losses + i, many);
                 scale_columns(columns, block.sum, block.out);
               });
  }

  static void narrow_sparse_cross_entropy(const T* logits, const int64_t* labels, size_t rows,
                                          size_t count, T* losses, T* probabilities) {
    const D d;
    const Columns columns = block_columns(count);
    each_block(logits, rows, count, probabilities,
               [&](Block& block, size_t i, size_t many) HWY_ATTR {
                 sums<true>(columns, block.logits, block.max, block.sum, block.out);
                 HWY_ALIGN T loss[kMaxLanes];
                 hn::Store(vec_log(d, hn::Load(d, block.sum)), d, loss);
                 for (size_t k = 0; k < many; ++k) {
                   const int64_t label = labels[i + k];
                   const T chosen = label < 0 ? T{0} : block.logits[size_t(label) * lanes() + k];
                   losses[i + k] = label < 0 ? T{0} : loss[k] - (chosen - block.max[k]);
                 }
                 scale_columns(columns, block.sum, block.out);
               });
  }

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
    each(row, count, [&](V x, size_t, size_t) HWY_ATTR { max = greater(max, x); });
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
