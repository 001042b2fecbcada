// SPDX-License-Identifier: Apache-2.0
// Attention and its gradients by the definition, in plain loops.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "framework/core/shape.h"

namespace cornu::test {

struct PlainAttention {
  int64_t batch = 1, rows = 1, columns = 1, heads = 1, keys = 1, size = 1, width = 1;
  double scale = 1;
  bool causal = false;
  // Shapes: (batch, rows, heads, size), (batch, columns, keys, size), (batch, columns, keys,
  // width), and that of the output.
  std::vector<double> q = {}, k = {}, v = {}, dy = {};
  // Of rank 4; axes of size 1 are broadcast. Empty: none.
  Shape bias_shape = {}, mask_shape = {};
  std::vector<double> bias = {}, mask = {};
  // Which elements of (batch, heads, rows, columns) dropout keeps, when `dropout` > 0.
  double dropout = 0;
  std::vector<double> kept = {};

  std::vector<double> y = {}, dq = {}, dk = {}, dv = {}, dbias = {};

  Shape query_shape() const { return {batch, rows, heads, size}; }
  Shape key_shape() const { return {batch, columns, keys, size}; }
  Shape value_shape() const { return {batch, columns, keys, width}; }
  Shape output_shape() const { return {batch, rows, heads, width}; }
  Shape scores_shape() const { return {batch, heads, rows, columns}; }

  void compute() {
    y.assign(static_cast<size_t>(output_shape().num_elements()), 0);
    dq.assign(q.size(), 0);
    dk.assign(k.size(), 0);
    dv.assign(v.size(), 0);
    dbias.assign(bias.size(), 0);
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t h = 0; h < heads; ++h) {
        for (int64_t t = 0; t < rows; ++t) compute_row(b, h, t);
      }
    }
  }

 private:
  static size_t place(const Shape& shape, int64_t b, int64_t h, int64_t t, int64_t s) {
    const int64_t at[] = {b, h, t, s};
    int64_t result = 0;
    for (int64_t axis = 0; axis < 4; ++axis) {
      result = result * shape[axis] + (shape[axis] == 1 ? 0 : at[axis]);
    }
    return static_cast<size_t>(result);
  }
  static double dot(const double* a, const double* b, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
    return sum;
  }

  void compute_row(int64_t b, int64_t h, int64_t t) {
    const auto query = static_cast<size_t>(((b * rows + t) * heads + h) * size);
    const auto output = static_cast<size_t>(((b * rows + t) * heads + h) * width);
    const int64_t key_head = h / (heads / keys);
    const auto key_row = [&](int64_t s) { return (b * columns + s) * keys + key_head; };
    std::vector<double> p;
    std::vector<bool> seen;
    for (int64_t s = 0; s < columns; ++s) {
      double score = dot(&q[query], &k[static_cast<size_t>(key_row(s) * size)], size) * scale;
      if (!bias.empty()) score += bias[place(bias_shape, b, h, t, s)];
      seen.push_back((!causal || s <= t) && (mask.empty() || mask[place(mask_shape, b, h, t, s)]));
      p.push_back(seen.back() ? score : -1e30);
    }
    const double largest = p.empty() ? 0 : *std::max_element(p.begin(), p.end());
    double sum = 0;
    for (double& x : p) sum += x = std::exp(x - largest);
    for (double& x : p) x /= sum;
    const double scale_of_kept = dropout < 1 ? 1 / (1 - dropout) : 0;
    const auto factor = [&](int64_t s) {  // of dropout
      return dropout == 0 ? 1 : kept[place(scores_shape(), b, h, t, s)] * scale_of_kept;
    };
    std::vector<double> dp;
    double mean = 0;
    for (int64_t s = 0; s < columns; ++s) {
      const auto value = static_cast<size_t>(key_row(s) * width);
      const double weight = p[static_cast<size_t>(s)] * factor(s);
      for (int64_t i = 0; i < width; ++i) {
        const auto at = static_cast<size_t>(i);
        y[output + at] += weight * v[value + at];
        if (!dy.empty()) dv[value + at] += weight * dy[output + at];
      }
      if (dy.empty()) continue;
      dp.push_back(factor(s) * dot(&dy[output], &v[value], width));
      mean += p[static_cast<size_t>(s)] * dp.back();
    }
    for (int64_t s = 0; s < columns && !dy.empty(); ++s) {
      const auto at = static_cast<size_t>(s);
      const double ds = seen[at] ? p[at] * (dp[at] - mean) : 0;
      const auto key = static_cast<size_t>(key_row(s) * size);
      for (int64_t i = 0; i < size; ++i) {
        const auto part = static_cast<size_t>(i);
        dq[query + part] += ds * scale * k[key + part];
        dk[key + part] += ds * scale * q[query + part];
      }
      if (!bias.empty()) dbias[place(bias_shape, b, h, t, s)] += ds;
    }
  }
};

}  // namespace cornu::test
