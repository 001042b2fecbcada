// SPDX-License-Identifier: Apache-2.0
// Attention with heads that may share keys, and its gradients. Scores are (batch, heads, T, S),
// with 16-bit floats computed in float32.

#include "framework/backends/xla/lowering.h"
#include "framework/graph/attention_dropout.h"

namespace cornu::xla {
namespace {

using Ints = std::vector<int64_t>;

constexpr double kHidden = -1e30;  // the score of hidden elements

// Sizes and operands of the forward pass.
class Heads {
 public:
  Heads(const KernelSpec& spec, std::span<const Value> in, size_t others, Writer& to)
      : to_(to),
        sum_(is_half(in[0].dtype()) ? DType::Float32 : in[0].dtype()),
        batch_(in[0].shape()[0]),
        rows_(in[0].shape()[1]),
        columns_(in[1].shape()[1]),
        keys_(in[1].shape()[2]),
        shared_(keys_ == 0 ? 0 : in[0].shape()[2] / keys_),
        scale_(spec.attributes.get_double("scale")),
        dropout_(attention_dropout(spec.attributes)),
        query(apart(in[0])),
        key(in[1]),
        value(in[2]) {
    const TensorType type{DType::Bool, scores_shape()};
    seen_ = splat(to, 1, type);
    if (spec.attributes.get_bool("causal")) {
      const TensorType places{DType::Int32, type.shape};
      seen_ = compare(to, "LE", iota(to, places, 3), iota(to, places, 2));
    }
    const bool bias = spec.attributes.get_bool("bias");
    if (spec.attributes.get_bool("mask"))
      seen_ = both(to, seen_, spread(to, in[others + (bias ? 1 : 0)], type.shape));
    if (bias) bias_ = in[others];
    if (dropout_ > 0) kept_ = in.back();
  }

  Shape scores_shape() const { return {batch_, keys_ * shared_, rows_, columns_}; }

  Value scores() const {
    const Value products = of_scores(dot(to_, query, key, {{0, 2}, {0, 2}, {4}, {3}}, sum_));
    Value scaled = multiply(to_, products, like(to_, scale_, products));
    if (!bias_.name.empty()) {
      scaled = add(to_, scaled, spread(to_, convert(to_, bias_, sum_), scaled.shape()));
    }
    return select(to_, seen_, scaled, like(to_, kHidden, scaled));
  }

  // From (batch, T, heads, …): groups heads by the keys that they share.
  Value apart(const Value& x) const {
    return reshape(to_, x, {batch_, x.shape()[1], keys_, shared_, x.shape()[3]});
  }
  // From (batch, keys, T, shared, S) to the shape of scores.
  Value of_scores(const Value& x) const {
    return reshape(to_, transpose(to_, x, Ints{0, 1, 3, 2, 4}), scores_shape());
  }
  Value scores_apart(const Value& x) const {
    return reshape(to_, x, {batch_, keys_, shared_, rows_, columns_});
  }
  // Broadcasts one number per row of scores.
  Value along_rows(const Value& x) const {
    return broadcast_in(to_, x, scores_shape(), Ints{0, 1, 2});
  }
  Value rows_of(std::string_view op, const Value& x, const Value& initial) const {
    return reduce(to_, op, x, initial, Ints{3});
  }
  // Sums over the columns (batch, S, keys, …), for the rows of heads (batch, T, heads, …).
  Value over_columns(const Value& weights, const Value& x) const {
    const Value sums =
        dot(to_, scores_apart(weights), convert(to_, x, sum_), {{0, 1}, {0, 2}, {4}, {1}}, sum_);
    return reshape(to_, transpose(to_, sums, Ints{0, 3, 1, 2, 4}),
                   {batch_, rows_, keys_ * shared_, x.shape()[3]});
  }
  // Sums over the rows of all heads that share a key; x is grouped.
  Value over_rows(const Value& weights, const Value& x) const {
    const Value sums = dot(to_, scores_apart(weights), convert(to_, x, sum_),
                           {{0, 1}, {0, 2}, {2, 3}, {3, 1}}, sum_);
    return transpose(to_, sums, Ints{0, 2, 1, 3});
  }
  Value scaled(const Value& x) const { return multiply(to_, x, like(to_, scale_, x)); }
  // Applies dropout to probabilities or their gradients.
  Value dropped(const Value& x) const {
    if (dropout_ == 0) return x;
    const Value scaled = multiply(to_, x, like(to_, kept_scale(dropout_), x));
    return select(to_, kept_, scaled, like(to_, 0, x));
  }
  const Value& seen() const { return seen_; }
  DType sum() const { return sum_; }

 private:
  Writer& to_;
  DType sum_;
  int64_t batch_;
  int64_t rows_;
  int64_t columns_;
  int64_t keys_;
  int64_t shared_;
  double scale_;
  double dropout_;
  Value seen_;
  Value kept_;  // by dropout
  Value bias_;

 public:
  Value query;  // grouped by key
  Value key;
  Value value;
};

// The results for an empty batch.
Values zeros_of(const KernelSpec& spec, Writer& to) {
  Values results;
  for (const TensorType& type : spec.outputs) results.push_back(splat(to, 0, type));
  return results;
}

Values lower_attention(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  if (spec.outputs[0].shape.num_elements() == 0) return zeros_of(spec, to);
  if (in[1].shape().num_elements() == 0) return {};
  const Heads heads(spec, in, 3, to);
  const Value scores = heads.scores();
  const TensorType scalar{heads.sum(), {}};
  const Value largest = heads.rows_of("maximum", scores, extreme(to, false, scalar));
  const Value powers = unary(to, "exponential", subtract(to, scores, heads.along_rows(largest)));
  const Value sums = heads.rows_of("add", powers, splat(to, 0, scalar));
  const Value weights = divide(to, powers, heads.along_rows(sums));
  const Shape column = largest.shape().concat({1});
  const Value statistics[] = {reshape(to, largest, column), reshape(to, sums, column)};
  return {convert(to, heads.over_columns(heads.dropped(weights), in[2]), in[0].dtype()),
          concatenate(to, statistics, 3)};
}

// The sum over the axes along which `shape` was broadcast.
Value sum_to(const Value& x, const Shape& shape, Writer& to) {
  Ints axes;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 1 && x.shape()[axis] != 1) axes.push_back(axis);
  }
  return reshape(to, reduce(to, "add", x, splat(to, 0, {x.dtype(), {}}), axes), shape);
}

// In: query, key, value, output, statistics, dy, [bias], [mask], [dropout's mask].
Values lower_attention_grad(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  if (in[3].shape().num_elements() == 0) return zeros_of(spec, to);
  if (in[1].shape().num_elements() == 0) return {};
  const Heads heads(spec, in, 6, to);
  const Value& statistics = in[4];
  const auto statistic = [&](int64_t i) {
    const Value column = slice_axis(to, statistics, 3, i, i + 1);
    return heads.along_rows(reshape(to, column, statistics.shape().slice(0, 3)));
  };
  const Value powers = unary(to, "exponential", subtract(to, heads.scores(), statistic(0)));
  const Value weights = divide(to, powers, statistic(1));
  const Value dy = convert(to, in[5], heads.sum());
  const Value weighted = multiply(to, dy, convert(to, in[3], heads.sum()));
  const Value means = transpose(
      to, reduce(to, "add", weighted, splat(to, 0, {heads.sum(), {}}), Ints{3}), Ints{0, 2, 1});
  const Value of_products =
      heads.of_scores(dot(to, heads.apart(dy), convert(to, heads.value, heads.sum()),
                          {{0, 2}, {0, 2}, {4}, {3}}, heads.sum()));
  const Value of_weights = heads.dropped(of_products);
  const Value of_scores = multiply(to, weights, subtract(to, of_weights, heads.along_rows(means)));
  const Value ds = select(to, heads.seen(), of_scores, like(to, 0, of_scores));
  Values results = {heads.scaled(heads.over_columns(ds, heads.key)),
                    heads.scaled(heads.over_rows(ds, heads.query)),
                    heads.over_rows(heads.dropped(weights), heads.apart(dy))};
  if (spec.attributes.get_bool("bias_gradient")) results.push_back(sum_to(ds, in[6].shape(), to));
  for (size_t i = 0; i < results.size(); ++i) {
    results[i] = convert(to, results[i], spec.outputs[i].dtype);
  }
  return results;
}

}  // namespace

void register_attention(LoweringTable& table) {
  table.add("attention", lower_attention);
  table.add("attention_grad", lower_attention_grad);
}

}  // namespace cornu::xla
