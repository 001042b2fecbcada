// SPDX-License-Identifier: Apache-2.0
// Reductions of rows: the ops of functions.cu, in the order determined by of_group in groups.cu.
#define CORNU_JOIN_ROWS(NAME)                                      \
  struct Join_##NAME {                                             \
    template <class Value>                                         \
    __device__ __forceinline__ static Value of(Value a, Value b) { \
      return op_##NAME(a, b);                                      \
    }                                                              \
  };

CORNU_JOIN_ROWS(add)
CORNU_JOIN_ROWS(maximum)
CORNU_JOIN_ROWS(minimum)
