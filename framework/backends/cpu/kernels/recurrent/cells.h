// SPDX-License-Identifier: Apache-2.0
// What the cells of recurrences compute in a step besides their products.
#pragma once

#include <cstdint>

namespace cornu::cpu {

// One row of the batch, in one step: arrays of `units`, or of as many for each gate, which are
// `stride` apart from gate to gate. The gates of an LSTM are i, f, g, o, and those of a GRU are z,
// r and the candidate. The last state of an LSTM is c, that of a GRU is h.
struct CellForwardRow {
  const float* before;  // the last state
  const float* inputs;  // by gate; of an LSTM, with the product of h and the recurrent kernel added
  const float* product;  // GRU: that product, by gate
  const float* bias;     // GRU: of the product, by gate
  float* gates;          // activated; may be `inputs`
  float* after[2];       // h; c of an LSTM
  float* kept;           // GRU: the candidate's product, with its bias
};

struct CellBackwardRow {
  const float* gates;
  const float* before;  // the last state
  const float* after;
  const float* kept;
  const float* outside[2];  // the gradients of h, and c, from outside the loop
  float* states[2];  // from the step behind; afterwards for the step before, except what passes
                     // through the product
  float* inputs;     // by gate; may be `gates`
  float* product;    // GRU: by gate
};

struct SimdCell {
  void (*forward)(const CellForwardRow& row, int64_t units, int64_t stride);
  void (*backward)(const CellBackwardRow& row, int64_t units, int64_t stride);
};

SimdCell simd_lstm();
SimdCell simd_gru();

}  // namespace cornu::cpu
