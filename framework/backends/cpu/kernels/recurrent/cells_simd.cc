// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/kernels/elementwise/targets.h"
#include "framework/backends/cpu/kernels/recurrent/cells.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "framework/backends/cpu/kernels/recurrent/cells_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "framework/backends/cpu/kernels/elementwise/math.inc"

HWY_BEFORE_NAMESPACE();
namespace cornu::cpu {
namespace HWY_NAMESPACE {
namespace {

// Calls `visit(tag, first unit)` for parts of the units: for whole vectors, then for halves of one,
// quarters, and so on, down to single units.
template <size_t kLanes, class Visit>
HWY_INLINE void each_part(int64_t unit, int64_t units, Visit visit) {
  const hn::CappedTag<float, kLanes> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; unit + lanes <= units; unit += lanes) visit(d, unit);
  if constexpr (kLanes > 1) {
    if (unit < units) each_part<kLanes / 2>(unit, units, visit);
  }
}
template <class Visit>
HWY_INLINE void each_unit(int64_t units, Visit visit) {
  each_part<HWY_LANES(float)>(0, units, visit);
}

// The slopes of activations, by their results.
template <class D, class V>
HWY_INLINE V slope_of_sigmoid(D d, V y) {
  return hn::Mul(y, hn::Sub(constant(d, 1), y));
}
template <class D, class V>
HWY_INLINE V slope_of_tanh(D d, V y) {
  return hn::Sub(constant(d, 1), hn::Mul(y, y));
}

struct Lstm {
  static void forward(const CellForwardRow& row, int64_t units, int64_t stride) {
    each_unit(units, [&](auto d, int64_t at) HWY_ATTR {
      const auto sum = [&](int64_t gate)
                           HWY_ATTR { return hn::LoadU(d, row.inputs + gate * stride + at); };
      const auto i = vec_sigmoid(d, sum(0));
      const auto f = vec_sigmoid(d, sum(1));
      const auto g = vec_tanh(d, sum(2));
      const auto o = vec_sigmoid(d, sum(3));
      const auto c = hn::Add(hn::Mul(f, hn::LoadU(d, row.before + at)), hn::Mul(i, g));
      hn::StoreU(i, d, row.gates + at);
      hn::StoreU(f, d, row.gates + stride + at);
      hn::StoreU(g, d, row.gates + 2 * stride + at);
      hn::StoreU(o, d, row.gates + 3 * stride + at);
      hn::StoreU(c, d, row.after[1] + at);
      hn::StoreU(hn::Mul(o, vec_tanh(d, c)), d, row.after[0] + at);
    });
  }

  static void backward(const CellBackwardRow& row, int64_t units, int64_t stride) {
    each_unit(units, [&](auto d, int64_t at) HWY_ATTR {
      const auto i = hn::LoadU(d, row.gates + at);
      const auto f = hn::LoadU(d, row.gates + stride + at);
      const auto g = hn::LoadU(d, row.gates + 2 * stride + at);
      const auto o = hn::LoadU(d, row.gates + 3 * stride + at);
      const auto tanh_c = vec_tanh(d, hn::LoadU(d, row.after + at));
      const auto dh = hn::Add(hn::LoadU(d, row.outside[0] + at), hn::LoadU(d, row.states[0] + at));
      const auto dc =
          hn::Add(hn::Add(hn::LoadU(d, row.outside[1] + at), hn::LoadU(d, row.states[1] + at)),
                  hn::Mul(hn::Mul(dh, o), slope_of_tanh(d, tanh_c)));
      const auto di = hn::Mul(hn::Mul(dc, g), slope_of_sigmoid(d, i));
      const auto df = hn::Mul(hn::Mul(dc, hn::LoadU(d, row.before + at)), slope_of_sigmoid(d, f));
      const auto dg = hn::Mul(hn::Mul(dc, i), slope_of_tanh(d, g));
      const auto d_o = hn::Mul(hn::Mul(dh, tanh_c), slope_of_sigmoid(d, o));
      hn::StoreU(di, d, row.inputs + at);
      hn::StoreU(df, d, row.inputs + stride + at);
      hn::StoreU(dg, d, row.inputs + 2 * stride + at);
      hn::StoreU(d_o, d, row.inputs + 3 * stride + at);
      hn::StoreU(hn::Zero(d), d, row.states[0] + at);
      hn::StoreU(hn::Mul(dc, f), d, row.states[1] + at);
    });
  }
};

struct Gru {
  static void forward(const CellForwardRow& row, int64_t units, int64_t stride) {
    each_unit(units, [&](auto d, int64_t at) HWY_ATTR {
      const auto input = [&](int64_t gate)
                             HWY_ATTR { return hn::LoadU(d, row.inputs + gate * stride + at); };
      const auto product = [&](int64_t gate) HWY_ATTR {
        return hn::Add(hn::LoadU(d, row.product + gate * stride + at),
                       hn::LoadU(d, row.bias + gate * stride + at));
      };
      const auto z = vec_sigmoid(d, hn::Add(input(0), product(0)));
      const auto r = vec_sigmoid(d, hn::Add(input(1), product(1)));
      const auto p = product(2);
      const auto n = vec_tanh(d, hn::Add(input(2), hn::Mul(r, p)));
      const auto kept = hn::Mul(z, hn::LoadU(d, row.before + at));
      hn::StoreU(z, d, row.gates + at);
      hn::StoreU(r, d, row.gates + stride + at);
      hn::StoreU(n, d, row.gates + 2 * stride + at);
      hn::StoreU(p, d, row.kept + at);
      hn::StoreU(hn::Add(kept, hn::Mul(hn::Sub(constant(d, 1), z), n)), d, row.after[0] + at);
    });
  }

  static void backward(const CellBackwardRow& row, int64_t units, int64_t stride) {
    each_unit(units, [&](auto d, int64_t at) HWY_ATTR {
      const auto z = hn::LoadU(d, row.gates + at);
      const auto r = hn::LoadU(d, row.gates + stride + at);
      const auto n = hn::LoadU(d, row.gates + 2 * stride + at);
      const auto dh = hn::Add(hn::LoadU(d, row.outside[0] + at), hn::LoadU(d, row.states[0] + at));
      const auto dz =
          hn::Mul(hn::Mul(dh, hn::Sub(hn::LoadU(d, row.before + at), n)), slope_of_sigmoid(d, z));
      const auto dn = hn::Mul(hn::Mul(dh, hn::Sub(constant(d, 1), z)), slope_of_tanh(d, n));
      const auto dr = hn::Mul(hn::Mul(dn, hn::LoadU(d, row.kept + at)), slope_of_sigmoid(d, r));
      for (float* const gates : {row.inputs, row.product}) {
        hn::StoreU(dz, d, gates + at);
        hn::StoreU(dr, d, gates + stride + at);
      }
      hn::StoreU(dn, d, row.inputs + 2 * stride + at);
      hn::StoreU(hn::Mul(dn, r), d, row.product + 2 * stride + at);
      hn::StoreU(hn::Mul(dh, z), d, row.states[0] + at);
    });
  }
};

SimdCell lstm() { return {Lstm::forward, Lstm::backward}; }
SimdCell gru() { return {Gru::forward, Gru::backward}; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cornu::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornu::cpu {

HWY_EXPORT(lstm);
HWY_EXPORT(gru);

SimdCell simd_lstm() { return HWY_DYNAMIC_DISPATCH(lstm)(); }
SimdCell simd_gru() { return HWY_DYNAMIC_DISPATCH(gru)(); }

}  // namespace cornu::cpu
#endif
