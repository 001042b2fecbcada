// SPDX-License-Identifier: Apache-2.0
// Until all families are there: registers those that are. A static library gives no member for a
// weak name, so that those whose file is where it is expected are named strongly. Touch this file
// after adding one.
#include "framework/backends/cuda/lowering.h"

namespace cornu::cuda {

#define WEAK(NAME) __attribute__((weak)) void register_##NAME(LoweringTable& table)
#if !__has_include(                                                              \
    "framework/backends/cuda/kernels/reduction/reduction.cc") &&                 \
    !__has_include("framework/backends/cuda/kernels/reduction/reductions.cc") && \
                   !__has_include("framework/backends/cuda/kernels/reductions/reductions.cc")
WEAK(reductions);
#endif
#if !__has_include("framework/backends/cuda/kernels/scan/scan.cc") &&                 \
                   !__has_include("framework/backends/cuda/kernels/scan/scans.cc") && \
                                  !__has_include("framework/backends/cuda/kernels/scans/scans.cc")
WEAK(scans);
#endif
#if !__has_include("framework/backends/cuda/kernels/softmax/softmax.cc")
WEAK(softmax);
#endif
#if !__has_include("framework/backends/cuda/kernels/conv/conv.cc")
WEAK(conv);
#endif
#if !__has_include("framework/backends/cuda/kernels/pooling/pooling.cc")
WEAK(pooling);
#endif
#if !__has_include("framework/backends/cuda/kernels/shape/shape.cc")
WEAK(shape);
#endif
#if !__has_include("framework/backends/cuda/kernels/index/index.cc")
WEAK(index);
#endif
#if !__has_include(                                                       \
    "framework/backends/cuda/kernels/segment/segment.cc") &&              \
    !__has_include("framework/backends/cuda/kernels/index/segment.cc") && \
                   !__has_include("framework/backends/cuda/kernels/reduction/segment.cc")
WEAK(segment);
#endif
#if !__has_include("framework/backends/cuda/kernels/attention/attention.cc")
WEAK(attention);
#endif
#if !__has_include("framework/backends/cuda/kernels/recurrent/recurrent.cc") && \
                   !__has_include("framework/backends/cuda/kernels/recurrent/lstm.cc")
WEAK(recurrent);
#endif
#if !__has_include("framework/backends/cuda/kernels/linalg/linalg.cc")
WEAK(linalg);
#endif

namespace {

using Register = void (*)(LoweringTable& table);

void add(LoweringTable& table, Register family) {
  if (family) family(table);
}

}  // namespace

const LoweringTable& lowering_table() {
  static const LoweringTable table = [] {
    LoweringTable made;
    for (const Register family :
         {register_elementwise, register_reductions, register_scans, register_softmax,
          register_matmul, register_conv, register_pooling, register_shape, register_index,
          register_segment, register_random, register_attention, register_recurrent, register_fft,
          register_linalg}) {
      add(made, family);
    }
    return made;
  }();
  return table;
}

}  // namespace cornu::cuda
