// SPDX-License-Identifier: Apache-2.0
// What a step of an LSTM computes besides its products.
#pragma once

#include <cstdint>

namespace cornu::cpu {

// One row of the batch, in one step; arrays of `units`, or 4 * units for gates (i, f, g, o).
struct LstmForwardRow {
  const float* c_before;
  float* gates;  // 4 * units: the sums; the activated gates afterwards
  float* c;
  float* h;
};

struct LstmBackwardRow {
  const float* gates;
  const float* c_before;
  const float* c;
  const float* dh_outside;  // the gradient of h from outside the loop, and of c
  const float* dc_outside;
  const float* dh;  // from the following step
  float* dc;        // from the step behind; afterwards for the step before
  float* dgates;    // 4 * units: the gradient before activation; may be `gates`
};

struct SimdLstm {
  void (*forward)(const LstmForwardRow& row, int64_t units);
  void (*backward)(const LstmBackwardRow& row, int64_t units);
};

SimdLstm simd_lstm();

}  // namespace cornu::cpu
