// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/lowering.h"

namespace cornu::cuda {

const LoweringTable& lowering_table() {
  static const auto* table = [] {
    auto* made = new LoweringTable;
    register_elementwise(*made);
    register_groups(*made);
    register_reductions(*made);
    register_moments(*made);
    register_scans(*made);
    register_softmax(*made);
    register_rows(*made);
    register_matmul(*made);
    register_conv(*made);
    register_pooling(*made);
    register_shape(*made);
    register_index(*made);
    register_segment(*made);
    register_random(*made);
    register_attention(*made);
    register_recurrent(*made);
    register_fft(*made);
    register_linalg(*made);
    return made;
  }();
  return *table;
}

}  // namespace cornu::cuda
