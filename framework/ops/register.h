// SPDX-License-Identifier: Apache-2.0
// Registration of all op definitions: the vocabulary of graphs, which every backend serves.
//
// Axes in attributes count from the front; lists of them are sorted. Layout is channels-last. All
// inputs of an op must have the same dtype unless noted otherwise. Name(inputs) {attributes}:
//
// Elementwise: negate abs sign exp expm1 log log1p sqrt rsqrt square reciprocal sin cos tan asin
//     acos atan sinh cosh tanh erf erfc erf_inv floor ceil round relu sigmoid identity
//     stop_gradient(x);
//   is_nan is_inf is_finite logical_not(x) -> bool; cast(x) {dtype};
//   add subtract multiply divide maximum minimum power floor_divide mod atan2(a, b), broadcast;
//   bitwise_and bitwise_or bitwise_xor left_shift right_shift(a, b) for integers: shifts by more
//     bits than there are, and negative ones, shift all of them out;
//   equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor(a, b)
//     -> bool; select(condition: bool, a, b).
//   maximum, minimum, relu and sign propagate NaN; an integer divided by 0 is 0; mod has b's sign.
// Reductions: reduce_sum reduce_prod reduce_max reduce_min(x) {axes, keepdims};
//   argmax argmin(x) {axis} -> int32, the first extreme; NaN counts as the largest;
//   cumsum(x) {axis, exclusive, reverse}; argsort(x) {axis, descending} -> int32, stable.
// Linear: matmul(a, b) {transpose_a, transpose_b}, leading axes broadcast;
//   conv(x, filter) {strides, padding: (low, high) by axis, dilation, groups};
//   conv_input_grad(dy, filter) {…, input_shape}; conv_filter_grad(x, dy) {…, filter_shape};
//   max_pool(x) {window, strides, padding}; max_pool_grad(x, y, dy): dy at the first maximum;
//   max_pool_select(x, y, g): g at the first maximum; avg_pool(x), padding not counted;
//   avg_pool_grad(dy) {…, input_shape}.
// Softmax: softmax log_softmax(x) {axis};
//   softmax_cross_entropy(logits, targets) -> loss, probabilities;
//   sparse_softmax_cross_entropy(logits, labels: integers) {ignore_class: INT64_MIN for none} ->
//     the same outputs.
// Recurrent, float32; mask: bool, where it is false a row keeps its state, and gates are 0:
//   lstm(inputs, h, c, recurrent_kernel, [mask]) {reverse} -> h of all steps, c of all, gates;
//   lstm_grad(gates, c of all, c, recurrent_kernel, dh, dc, [mask]) {reverse} -> dinputs, dh, dc;
//   gru(inputs, h, recurrent_kernel, recurrent_bias, [mask]) {reverse} -> h of all, gates, the
//     candidates' products: of h and the kernel, plus the bias;
//   gru_grad(gates, h of all, h, recurrent_kernel, dh, products, [mask]) {reverse} -> dinputs, dh,
//     dproducts (of all gates).
// Attention: attention(query, key, value, [bias], [mask: bool]) {scale, causal, bias, mask: given?}
//     -> output, statistics (batch, heads, T, 2): each row's largest score, and the sum of the
//     exponentials of the scores minus it; attention_grad(query, key, value, output, statistics,
//     dy, [bias], [mask]) {…, bias_gradient} -> gradients of query, key, value, [bias].
// Fourier transforms of the last axis: fft(real, imaginary) {inverse} -> both parts, not divided by
//   the length; rfft(x) -> both parts of (..., n / 2 + 1).
// Rearranging: reshape(x) {shape: one may be -1}; transpose(x) {permutation};
//   concatenate(x…) {axis}; slice(x) {begin, size: -1 means up to the end, strides};
//   pad(x, value) {low, high, interior}; reverse(x) {axes}; broadcast_to(x) {shape};
//   iota() {shape, axis, dtype}; constant() {value}; bitcast(x) {dtype}: the last axis keeps its
//   size in bytes.
// Indices (any integer dtype): gather(x, indices) {axis}; scatter_add(indices, updates) {shape,
//   axis}, its transpose; take_along_axis(x, indices) {axis}; put_along_axis_add(indices, updates)
//   {shape, axis}; one_hot(indices) {depth, dtype}, zeros for invalid indices.
//   segment_reduce(ids, data) {count, reduction: "max", "min" or "prod"}.
// Matrices, in the last two axes: lu(x) -> packed, rows: int32, x[rows] = L U; cholesky(x) -> L;
//   triangular_solve(a, b) {lower, transpose, unit}; qr(x) {complete} -> q, r; eigh(x) -> values,
//   vectors; svd(x) {full} -> u, s, vh. cholesky and eigh read the lower triangle.
// Random, from a key uint32[2]: random_bits(key) {shape} -> uint32;
//   random_uniform random_normal(key) {shape, dtype}; random_permutation(key) {count} -> int32.
//   random_gamma(key, alpha); random_binomial(key, counts, probabilities): element i draws from
//   Philox's stream i + 1.
// Control: cond(predicate: bool, operands…) {then, else}: graphs that take all operands.
//   scan(carries…, xs…, captures…, count: int64 if counted) {body, carries, xs: numbers;
//   length, reverse, counted, saves} -> carries…, ys…; while(carries…, captures…) {condition, body,
//   carries, maximum, saves} -> carries…, iterations: int64, ys…: loop_ops.h.
//   custom_gradient(outputs…, arguments…, captures…) {outputs, arguments: numbers; backward} ->
//   outputs, unchanged; backward takes their gradients and the captures.
// Collective: all_reduce(x…) {reduce: "sum", "mean", "min" or "max"}.
#pragma once

#include "framework/graph/op.h"

namespace cornu::ops {

// Registers every op of this folder; followed by one function per family.
void register_all(OpRegistry& registry);
void register_elementwise(OpRegistry& registry);
void register_matmul(OpRegistry& registry);
void register_conv(OpRegistry& registry);
void register_pool(OpRegistry& registry);
void register_reduce(OpRegistry& registry);
void register_shape(OpRegistry& registry);
void register_bits(OpRegistry& registry);
void register_index(OpRegistry& registry);
void register_scatter(OpRegistry& registry);
void register_linalg(OpRegistry& registry);
void register_nn(OpRegistry& registry);
void register_recurrent(OpRegistry& registry);
void register_fft(OpRegistry& registry);
void register_attention(OpRegistry& registry);
void register_random(OpRegistry& registry);
void register_distributions(OpRegistry& registry);
void register_control(OpRegistry& registry);
void register_loops(OpRegistry& registry);
void register_custom_gradient(OpRegistry& registry);
void register_collective(OpRegistry& registry);

}  // namespace cornu::ops
