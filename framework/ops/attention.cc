// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/attention.h"

#include <algorithm>
#include <cmath>

#include "framework/core/error_place.h"
#include "framework/graph/attention_dropout.h"
#include "framework/graph/hidden_score.h"
#include "framework/graph/trace.h"
#include "framework/ops/attention_dropout.h"
#include "framework/ops/control.h"
#include "framework/ops/creation.h"
#include "framework/ops/definition.h"
#include "framework/ops/math.h"
#include "framework/ops/matmul.h"
#include "framework/ops/nn.h"
#include "framework/ops/random.h"
#include "framework/ops/reduce.h"
#include "framework/ops/register.h"
#include "framework/ops/shape.h"

namespace cornu::ops {

using namespace internal;

namespace {

constexpr const char* kWho = "dot_product_attention";

bool fits(int64_t a, int64_t b) { return a == b || a == kUnknown || b == kUnknown; }

DType statistics_dtype(DType dtype) { return promote(dtype, DType::Float32); }

// Checks query, key and value for an op named `who`.
void check_operands(TypeSpan inputs, std::string_view who) {
  require_same_dtype(inputs.first(3), who);
  require_floating(inputs[0], who);
  const Shape &q = inputs[0].shape, &k = inputs[1].shape, &v = inputs[2].shape;
  check<InvalidArgument>(q.rank() == 4 && k.rank() == 4 && v.rank() == 4,
                         "{}: expected query, key and value of shape (batch, length, heads, size), "
                         "got {}, {} and {}.",
                         who, q, k, v);
  check<InvalidArgument>(fits(q[0], k[0]) && fits(k[0], v[0]) && fits(k[1], v[1]) &&
                             fits(k[2], v[2]) && fits(q[3], k[3]) && q[3] != 0,
                         "{}: expected query (batch, T, heads, size), key (batch, S, key heads, "
                         "size) and value (batch, S, key heads, width), got {}, {} and {}.",
                         who, q, k, v);
  check<InvalidArgument>(
      q[2] == kUnknown || k[2] == kUnknown || (k[2] == 0 ? q[2] == 0 : q[2] % k[2] == 0),
      "{}: expected a multiple of {} heads, those of the key, got query {}.", who, k[2], q);
}

Shape scores_shape(const TensorType& q, const TensorType& k) {
  return {q.shape[0], q.shape[2], q.shape[1], k.shape[1]};
}

// Checks a bias or mask: rank 4, with axes of size 1 or those of the scores.
void check_scores_like(const TensorType& type, const TensorType& q, const TensorType& k,
                       std::string_view who, const char* what) {
  const Shape scores = scores_shape(q, k);
  bool ok = type.shape.rank() == 4;
  for (int64_t i = 0; ok && i < 4; ++i) ok = type.shape[i] == 1 || fits(type.shape[i], scores[i]);
  check<InvalidArgument>(ok,
                         "{}: expected a {} that broadcasts to (batch, heads, T, S) = {}, got {}.",
                         who, what, scores, type.shape);
}

// Checks the inputs after the first `first`: the bias, the mask and the dropout mask, as given by
// the attributes.
void check_optional(TypeSpan inputs, size_t first, const Attributes& attributes,
                    std::string_view who) {
  const bool bias = attributes.get_bool("bias"), mask = attributes.get_bool("mask");
  const double dropout = attention_dropout(attributes);
  check<InvalidArgument>(dropout >= 0 && dropout <= 1, "{}: expected a dropout in [0, 1], got {}.",
                         who, dropout);
  require_inputs(inputs, first + bias + mask + (dropout > 0), who);
  if (bias) {
    check_scores_like(inputs[first], inputs[0], inputs[1], who, "bias");
    check<InvalidArgument>(inputs[first].dtype == inputs[0].dtype,
                           "{}: expected a bias of dtype {}, got {}.", who, inputs[0].dtype,
                           inputs[first].dtype);
  }
  if (mask) {
    const TensorType& type = inputs[first + bias];
    check_scores_like(type, inputs[0], inputs[1], who, "mask");
    check<InvalidArgument>(type.dtype == DType::Bool, "{}: expected a mask of dtype bool, got {}.",
                           who, type.dtype);
  }
  if (dropout > 0) {
    require_shape(inputs.back(), scores_shape(inputs[0], inputs[1]), who, "dropout's mask");
    check<InvalidArgument>(inputs.back().dtype == DType::Bool,
                           "{}: expected a dropout's mask of dtype bool, got {}.", who,
                           inputs.back().dtype);
  }
}

Types infer_attention(TypeSpan inputs, const Attributes& attributes) {
  check<InvalidArgument>(inputs.size() >= 3, "attention: expected 3 inputs or more, got {}.",
                         inputs.size());
  check_operands(inputs, kWho);
  check_optional(inputs, 3, attributes, kWho);
  attributes.get_double("scale");
  attributes.get_bool("causal");
  const Shape& q = inputs[0].shape;
  const DType dtype = inputs[0].dtype;
  return {{dtype, {q[0], q[1], q[2], inputs[2].shape[3]}},
          {statistics_dtype(dtype), {q[0], q[2], q[1], 2}}};
}

Types infer_attention_grad(TypeSpan inputs, const Attributes& attributes) {
  constexpr const char* who = "attention_grad";
  check<InvalidArgument>(inputs.size() >= 6, "{}: expected 6 inputs or more, got {}.", who,
                         inputs.size());
  check_operands(inputs, who);
  check_optional(inputs, 6, attributes, who);
  attributes.get_double("scale");
  attributes.get_bool("causal");
  const Shape& q = inputs[0].shape;
  const Shape out = {q[0], q[1], q[2], inputs[2].shape[3]};
  require_shape(inputs[3], out, who, "output");
  require_shape(inputs[5], out, who, "output's gradient");
  require_shape(inputs[4], {q[0], q[2], q[1], 2}, who, "statistics");
  check<InvalidArgument>(inputs[3].dtype == inputs[0].dtype && inputs[5].dtype == inputs[0].dtype &&
                             inputs[4].dtype == statistics_dtype(inputs[0].dtype),
                         "{}: expected an output and its gradient of dtype {}.", who,
                         inputs[0].dtype);
  Types types = {inputs[0], inputs[1], inputs[2]};
  if (attributes.get_bool("bias_gradient")) {
    check<InvalidArgument>(attributes.get_bool("bias"), "{} has no bias.", who);
    types.push_back(inputs[6]);
  }
  return types;
}

Gradients attention_vjp(const VjpContext& c) {
  Gradients gradients(c.inputs.size());
  if (!c.gradient().defined()) return gradients;
  const bool bias = c.attributes.get_bool("bias") && c.needed[3];
  Attributes attributes = c.attributes;
  attributes.set("bias_gradient", bias);
  std::vector<Tensor> inputs = {c.in(0), c.in(1), c.in(2), c.out(0), c.out(1), c.gradient()};
  inputs.insert(inputs.end(), c.inputs.begin() + 3, c.inputs.end());
  const std::vector<Tensor> found = apply(op<"attention_grad">(), inputs, attributes);
  std::copy(found.begin(), found.end(), gradients.begin());
  return gradients;
}

// ---- the same by the plain formula, for second-order gradients ----

// Heads in groups that share a key: (batch, key heads, group or 1, length, size).
struct Heads {
  int64_t keys;
  int64_t group;

  Tensor apart(const Tensor& x) const {
    const int64_t group_of_x = x.dim(2) / keys;
    return transpose(reshape(x, {x.dim(0), x.dim(1), keys, group_of_x, x.dim(3)}), {0, 2, 3, 1, 4});
  }
  Tensor joined(const Tensor& x) const {
    const Tensor y = transpose(x, {0, 3, 1, 2, 4});
    return reshape(y, {y.dim(0), y.dim(1), y.dim(2) * y.dim(3), y.dim(4)});
  }
  // Sums over the group of each key.
  Tensor joined_keys(const Tensor& x) const { return joined(sum(x, 2, true)); }
  // Splits the heads of a bias or mask.
  Tensor scores_apart(const Tensor& x) const {
    const bool all = x.dim(1) == 1;
    return reshape(x, {x.dim(0), all ? 1 : keys, all ? 1 : group, x.dim(2), x.dim(3)});
  }
  Tensor scores_joined(const Tensor& x, const Shape& shape) const {
    const Tensor y = reshape(x, {x.dim(0), keys * group, x.dim(3), x.dim(4)});
    std::vector<int64_t> axes;
    for (int64_t i = 0; i < 4; ++i) {
      if (shape[i] == 1 && y.dim(i) != 1) axes.push_back(i);
    }
    return axes.empty() ? y : sum(y, axes, true);
  }
};

Tensor sum_of_row(const Tensor& x) { return sum(x, -1, true); }
Tensor times(const Tensor& a, const Tensor& b) { return matmul(a, b); }
Tensor times_transposed(const Tensor& a, const Tensor& b) {
  return matmul(a, b, {.transpose_x2 = true});
}
Tensor transposed_times(const Tensor& a, const Tensor& b) {
  return matmul(a, b, {.transpose_x1 = true});
}

// The values that the outputs of attention_grad depend on, for all scores at once. Its inputs `out`
// and `statistics` are functions of the others, which get their part of the gradient.
struct PlainAttention {
  Heads heads;
  double scale;
  Tensor q, k, v, dy;
  Tensor seen;  // bool; undefined: all scores are used
  Tensor p;     // probabilities
  Tensor kept;  // by dropout, bool; undefined: all
  double factor_of_kept;

  explicit PlainAttention(const VjpContext& c)
      : heads{c.in(1).dim(2), c.in(1).dim(2) == 0 ? 1 : c.in(0).dim(2) / c.in(1).dim(2)},
        scale(c.attributes.get_double("scale")),
        q(heads.apart(c.in(0))),
        k(heads.apart(c.in(1))),
        v(heads.apart(c.in(2))),
        dy(heads.apart(c.in(5))),
        factor_of_kept(kept_scale(attention_dropout(c.attributes))) {
    const bool bias = c.attributes.get_bool("bias");
    Tensor scores = times_transposed(q, k) * scale;
    if (bias) scores = scores + heads.scores_apart(c.in(6));
    if (c.attributes.get_bool("mask")) seen = heads.scores_apart(c.in(6 + bias));
    if (c.attributes.get_bool("causal")) {
      const int64_t rows = q.dim(3), columns = k.dim(3);
      const Tensor before = greater_equal(reshape(arange(rows), {rows, 1}), arange(columns));
      seen = seen.defined() ? logical_and(seen, before) : before;
    }
    if (seen.defined()) scores = where(seen, scores, hidden_score(scores.dtype()));
    p = softmax(scores);
    if (attention_dropout(c.attributes) > 0) kept = heads.scores_apart(c.inputs.back());
  }

  Tensor of_seen(const Tensor& x) const { return seen.defined() ? where(seen, x, 0) : x; }
  Tensor of_kept(const Tensor& x) const {
    return kept.defined() ? where(kept, x * factor_of_kept, 0) : x;
  }
};

// For the outputs dq, dk, dv, dbias, with gradients gq, gk, gv, gb: let m be the dropout
// multiplier, a = m * dy v^T, d = row sums of p * a, and ds = p * (a - d). Then dq = ds k, dk =
// ds^T q (times scale), dv = (p * m)^T dy and dbias = ds. So their products with the gradients add
// up to those of ds with w and of p with u.
Gradients attention_grad_vjp(const VjpContext& c) {
  const PlainAttention x(c);
  const Tensor a = x.of_kept(times_transposed(x.dy, x.v));
  const Tensor d = sum_of_row(x.p * a);
  const Tensor ds = x.of_seen(x.p * (a - d));
  Tensor w = zeros_like(x.p), u = w, gq, gk, gv;
  if (c.gradient(0).defined()) {
    gq = x.heads.apart(c.gradient(0));
    w = w + times_transposed(gq, x.k) * x.scale;
  }
  if (c.gradient(1).defined()) {
    gk = x.heads.apart(c.gradient(1));
    w = w + times_transposed(x.q, gk) * x.scale;
  }
  if (c.gradient(2).defined()) {
    gv = x.heads.apart(c.gradient(2));
    u = x.of_kept(times_transposed(x.dy, gv));
  }
  if (c.output_gradients.size() > 3 && c.gradient(3).defined()) {
    w = w + x.heads.scores_apart(c.gradient(3));
  }
  w = x.of_seen(w);
  const Tensor mean_w = sum_of_row(x.p * w);
  const Tensor of_p = w * a - a * mean_w - w * d + u;
  const Tensor of_scores = x.of_seen(x.p * (of_p - sum_of_row(x.p * of_p)));
  Tensor of_q = times(of_scores, x.k) * x.scale;
  Tensor of_k = transposed_times(of_scores, x.q) * x.scale;
  const Tensor of_products = x.of_kept(x.p * (w - mean_w));  // dy v^T
  Tensor of_dy = times(of_products, x.v);
  if (gq.defined()) of_k = of_k + transposed_times(ds, gq) * x.scale;
  if (gk.defined()) of_q = of_q + times(ds, gk) * x.scale;
  if (gv.defined()) of_dy = of_dy + times(x.of_kept(x.p), gv);
  Gradients gradients(c.inputs.size());
  gradients[0] = x.heads.joined(of_q);
  gradients[1] = x.heads.joined_keys(of_k);
  gradients[2] = x.heads.joined_keys(transposed_times(of_products, x.dy));
  gradients[5] = x.heads.joined(of_dy);
  if (c.attributes.get_bool("bias")) {
    gradients[6] = x.heads.scores_joined(of_scores, c.in(6).shape());
  }
  return gradients;
}

// Adds leading axes of size 1, up to four axes.
Tensor of_rank_4(const Tensor& x, const char* what) {
  check<InvalidArgument>(x.rank() <= 4, "{}: expected a {} of 4 axes or fewer, got {}.", kWho, what,
                         x.shape());
  Tensor y = x;
  while (y.rank() < 4) y = expand_dims(y, 0);
  return y;
}

// (batch, heads, T, S), the same as random::dropout keeps of the scores.
Tensor kept_by_dropout(const std::vector<Tensor>& inputs, const AttentionDropout& dropout) {
  check<InvalidArgument>(dropout.rate >= 0 && dropout.rate <= 1,
                         "{}: expected a dropout in [0, 1], got {}.", kWho, dropout.rate);
  check<FailedPrecondition>(current_tracer() || std::ranges::none_of(inputs, &Tensor::is_symbolic),
                            "{}: placeholders have no dropout. Call it within a layer's call.",
                            kWho);
  const TensorType types[] = {type_of(inputs[0]), type_of(inputs[1]), type_of(inputs[2])};
  check_operands(types, kWho);
  const Shape shape = scores_shape(types[0], types[1]);
  return greater_equal(random_uniform(dropout.seed.key(), shape), dropout.rate);
}

}  // namespace

void register_attention(OpRegistry& registry) {
  registry.add({.name = "attention", .infer = infer_attention, .vjp = attention_vjp, .traits = {}});
  registry.add({.name = "attention_grad",
                .infer = infer_attention_grad,
                .vjp = attention_grad_vjp,
                .traits = {}});
}

Tensor dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                             const DotProductAttentionOptions& options) {
  const ErrorPlace scope("dot_product_attention");
  return dot_product_attention(query, key, value, options, {});
}

Tensor dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                             const DotProductAttentionOptions& options,
                             const AttentionDropout& dropout) {
  const ErrorPlace scope("dot_product_attention");
  for (const Tensor* x : {&query, &key, &value}) require_defined(*x, kWho);
  const DType dtype = promote(promote(to_floating(query).dtype(), to_floating(key).dtype()),
                              to_floating(value).dtype());
  std::vector<Tensor> inputs = {cast(query, dtype), cast(key, dtype), cast(value, dtype)};
  const int64_t size = query.rank() == 4 ? query.shape()[3] : kUnknown;
  check<InvalidArgument>(options.scale || query.rank() != 4 || size != kUnknown,
                         "{}: expected a known size of heads, got {}. Give the scale.", kWho,
                         query.shape());
  if (options.bias.defined()) inputs.push_back(cast(of_rank_4(options.bias, "bias"), dtype));
  if (options.mask.defined()) inputs.push_back(cast(of_rank_4(options.mask, "mask"), DType::Bool));
  const double scale =
      options.scale.value_or(1 / std::sqrt(static_cast<double>(std::max<int64_t>(size, 1))));
  Attributes attributes = {{"scale", scale},
                           {"causal", options.is_causal},
                           {"bias", options.bias.defined()},
                           {"mask", options.mask.defined()}};
  if (dropout.rate != 0) {
    inputs.push_back(kept_by_dropout(inputs, dropout));
    attributes.set("dropout", dropout.rate);
  }
  return call<"attention">(inputs, std::move(attributes));
}

}  // namespace cornu::ops
