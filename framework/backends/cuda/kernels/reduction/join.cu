// SPDX-License-Identifier: Apache-2.0
// How reductions join values of type C: OP is SUM, PRODUCT, MAXIMUM or MINIMUM; U is the type that
// sums and products are computed in, unsigned for integers, so that they wrap around.
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
