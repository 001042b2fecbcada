// SPDX-License-Identifier: Apache-2.0
// What reductions join values of type C with: OP is SUM, PRODUCT, MAXIMUM or MINIMUM, U the type
// that sums and products are computed in, which is unsigned for integers: these wrap around.
struct Join {
  __device__ __forceinline__ static C of(C a, C b) {
#if OP == SUM
    return (C)((U)a + (U)b);
#elif OP == PRODUCT
    return (C)((U)a * (U)b);
#elif OP == MAXIMUM
    return a != a ? a : (b != b ? b : (a > b ? a : b));
#else
    return a != a ? a : (b != b ? b : (a < b ? a : b));
#endif
  }
};
