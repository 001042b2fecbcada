// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/kernels/elementwise/targets.h"
#include "framework/backends/cpu/kernels/recurrent/lstm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "framework/backends/cpu/kernels/recurrent/lstm_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "framework/backends/cpu/kernels/elementwise/math.inc"

HWY_BEFORE_NAMESPACE();
namespace cornu::cpu {
namespace HWY_NAMESPACE {
namespace {

struct Lstm {
  // Calls `visit(tag, first unit)` for vectors of units, then for single ones.
  template <class Visit>
  static HWY_INLINE void each_unit(int64_t units, Visit visit) {
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    int64_t unit = 0;
    for (; unit + lanes <= units; unit += lanes) visit(d, unit);
    for (; unit < units; ++unit) visit(hn::CappedTag<float, 1>(), unit);
  }

  static void forward(const LstmForwardRow& row, int64_t units) {
    each_unit(units, [&](auto d, int64_t at) HWY_ATTR {
      const auto sum = [&](int64_t gate)
                           HWY_ATTR { return hn::LoadU(d, row.gates + gate * units + at); };
      const auto i = vec_sigmoid(d, sum(0));
      const auto f = vec_sigmoid(d, sum(1));
      const auto g = vec_tanh(d, sum(2));
      const auto o = vec_sigmoid(d, sum(3));
      const auto c = hn::Add(hn::Mul(f, hn::LoadU(d, row.c_before + at)), hn::Mul(i, g));
      hn::StoreU(i, d, row.gates + at);
      hn::StoreU(f, d, row.gates + units + at);
      hn::StoreU(g, d, row.gates + 2 * units + at);
      hn::StoreU(o, d, row.gates + 3 * units + at);
      hn::StoreU(c, d, row.c + at);
      hn::StoreU(hn::Mul(o, vec_tanh(d, c)), d, row.h + at);
    });
  }

  static void backward(const LstmBackwardRow& row, int64_t units) {
    each_unit(units, [&](auto d, int64_t at) HWY_ATTR {
      const auto one = constant(d, 1);
      const auto of_sigmoid = [&](auto y) HWY_ATTR { return hn::Mul(y, hn::Sub(one, y)); };
      const auto of_tanh = [&](auto y) HWY_ATTR { return hn::Sub(one, hn::Mul(y, y)); };
      const auto i = hn::LoadU(d, row.gates + at);
      const auto f = hn::LoadU(d, row.gates + units + at);
      const auto g = hn::LoadU(d, row.gates + 2 * units + at);
      const auto o = hn::LoadU(d, row.gates + 3 * units + at);
      const auto tanh_c = vec_tanh(d, hn::LoadU(d, row.c + at));
      const auto dh = hn::Add(hn::LoadU(d, row.dh_outside + at), hn::LoadU(d, row.dh + at));
      const auto dc = hn::Add(hn::Add(hn::LoadU(d, row.dc_outside + at), hn::LoadU(d, row.dc + at)),
                              hn::Mul(hn::Mul(dh, o), of_tanh(tanh_c)));
      const auto di = hn::Mul(hn::Mul(dc, g), of_sigmoid(i));
      const auto df = hn::Mul(hn::Mul(dc, hn::LoadU(d, row.c_before + at)), of_sigmoid(f));
      const auto dg = hn::Mul(hn::Mul(dc, i), of_tanh(g));
      const auto d_o = hn::Mul(hn::Mul(dh, tanh_c), of_sigmoid(o));
      hn::StoreU(di, d, row.dgates + at);
      hn::StoreU(df, d, row.dgates + units + at);
      hn::StoreU(dg, d, row.dgates + 2 * units + at);
      hn::StoreU(d_o, d, row.dgates + 3 * units + at);
      hn::StoreU(hn::Mul(dc, f), d, row.dc + at);
    });
  }
};

SimdLstm lstm() { return {Lstm::forward, Lstm::backward}; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cornu::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornu::cpu {

HWY_EXPORT(lstm);

SimdLstm simd_lstm() { return HWY_DYNAMIC_DISPATCH(lstm)(); }

}  // namespace cornu::cpu
#endif
