// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "framework/core/allocation_limit.h"
#include "framework/ops/ops.h"
#include "framework/saving/onnx/reading/rules.h"

namespace cornu::onnx::reading {
namespace {

// Queries, keys or values as (batch, length, heads, size), in which ops have them; in the file they
// are (batch, heads, length, size), or (batch, length, heads * size).
struct Heads {
  Tensor x;
  Sizes shape;
};

Heads heads_of(NodeReader& n, size_t i, const char* count) {
  const Tensor x = n.in(i);
  const Sizes s = n.shape(i);
  if (s.size() == 4) return {ops::transpose(x, {0, 2, 1, 3}), {s[0], s[2], s[1], s[3]}};
  const int64_t heads = n.integer(count, 0);
  check<InvalidArgument>(
      s.size() == 3 && heads > 0 && s[2].fixed() && s[2].value() % heads == 0,
      "expected an input of 4 axes, or of 3 and {} that divides the last one, got {} and {}.",
      count, x.shape(), heads);
  const Sizes apart = {s[0], s[1], heads, s[2].value() / heads};
  return {n.reshaped(x, apart), apart};
}

// The inverse of heads_of.
Tensor joined(NodeReader& n, const Tensor& x, const Sizes& s, bool four_axes) {
  if (four_axes) return ops::transpose(x, {0, 2, 1, 3});
  return n.reshaped(x, {s[0], s[1], s[2].value() * s[3].value()});
}

// Keys or values after those of earlier steps.
Heads with_past(NodeReader& n, const Heads& now, size_t i) {
  if (!n.has(i)) return now;
  const Tensor past = ops::transpose(n.in(i), {0, 2, 1, 3});
  Heads all = {ops::concatenate({past, now.x}, 1), now.shape};
  const Sizes before = n.shape(i);
  check<InvalidArgument>(before.size() == 4, "expected earlier keys and values of 4 axes.");
  for (size_t k = 0; k < kTraces; ++k) all.shape[1].by_trace[k] += before[2].by_trace[k];
  return all;
}

// Which keys a query may attend to (queries, keys): those up to its own place.
Tensor causal_mask(NodeReader& n, const Size& queries, const Size& keys, const Size& past) {
  const auto places = [&](const Size& size, int64_t axis) {
    return n.places_along(size, axis, 2, DType::Int64);
  };
  Tensor own = places(queries, 0);
  if (past != Size(0)) {
    if (!past.fixed()) n.refuse("the number of its earlier keys isn't known");
    own = ops::add(own, past.value());
  }
  return ops::less_equal(places(keys, 1), own);
}

Tensor with_four_axes(const Tensor& x) {
  Tensor result = x;
  while (result.rank() < 4) result = ops::expand_dims(result, 0);
  return result;
}

struct Scores {
  double scale = 1;  // times 1 / sqrt(size of a head)
  double cap = 0;    // they are limited to (-cap, cap); 0: not at all
  Tensor bias, mask;
};

// Materializes the scores, to limit them.
Tensor attended_below_cap(const Heads& q, const Heads& k, const Heads& v, const Scores& how) {
  const auto for_queries = [&](const Heads& heads) {
    const Tensor moved = ops::transpose(heads.x, {0, 2, 1, 3});
    const int64_t times = q.shape[2].value() / heads.shape[2].value();
    return times == 1 ? moved : ops::repeat(moved, times, 1);
  };
  const double size = static_cast<double>(q.shape[3].value());
  Tensor scores = ops::matmul(for_queries(q), ops::swapaxes(for_queries(k), -1, -2));
  scores = ops::multiply(ops::tanh(ops::multiply(scores, how.scale / std::sqrt(size) / how.cap)),
                         how.cap);
  if (how.bias.defined()) scores = ops::add(scores, how.bias);
  if (how.mask.defined()) {
    scores = ops::where(how.mask, scores, ops::cast(-1e30, scores.dtype()));
  }
  return ops::transpose(ops::matmul(ops::softmax(scores), for_queries(v)), {0, 2, 1, 3});
}

// A query without keys to attend to yields zeros.
Tensor attended(NodeReader& n, const Heads& q, const Heads& k, const Heads& v, const Scores& how,
                bool may_have_none) {
  Tensor y;
  if (how.cap != 0) {
    y = attended_below_cap(q, k, v, how);
  } else {
    const Tensor query = how.scale == 1 ? q.x : ops::multiply(q.x, how.scale);
    y = n.keras_op("DotProductAttention", Json::object({{"is_causal", false}}),
                   {query, k.x, v.x, how.bias, how.mask})
            .single();
  }
  if (!may_have_none) return y;
  const Tensor some = ops::transpose(ops::any(how.mask, -1, true), {0, 2, 1, 3});
  return ops::where(some, y, ops::cast(0, y.dtype()));
}

void read_attention(NodeReader& n) {
  n.refuse_constants();
  if (n.has(6)) n.refuse("its keys have lengths of their own (nonpad_kv_seqlen)");
  if (n.wants(3)) n.refuse("its scores are an output (qk_matmul_output)");
  const bool four_axes = n.shape(0).size() == 4;
  const Heads q = heads_of(n, 0, "q_num_heads");
  const Heads k = with_past(n, heads_of(n, 1, "kv_num_heads"), 4);
  const Heads v = with_past(n, heads_of(n, 2, "kv_num_heads"), 5);
  for (const Heads& heads : {q, k, v}) {
    check<InvalidArgument>(heads.shape[2].fixed() && heads.shape[3].fixed() &&
                               heads.shape[2].value() > 0 &&
                               q.shape[2].value() % heads.shape[2].value() == 0,
                           "expected known numbers of heads that divide that of the queries.");
  }
  const double size = static_cast<double>(q.shape[3].value());
  Scores how;
  if (n.has("scale")) how.scale = n.number("scale", 1) * std::sqrt(size);
  how.cap = n.number("softcap", 0);
  if (n.has(3)) {
    const Tensor given = with_four_axes(n.in(3));
    (given.dtype() == DType::Bool ? how.mask : how.bias) = given;
  }
  const bool may_have_none = how.mask.defined();
  if (n.integer("is_causal", 0) != 0) {
    const Size past = n.has(4) ? n.shape(4)[2] : Size(0);
    const Tensor mask = with_four_axes(causal_mask(n, q.shape[1], k.shape[1], past));
    how.mask = how.mask.defined() ? ops::logical_and(how.mask, mask) : mask;
  }
  const Tensor y = attended(n, q, k, v, how, may_have_none);
  const Tensor result = joined(n, y, {q.shape[0], q.shape[1], q.shape[2], v.shape[3]}, four_axes);
  if (!n.wants(1) && !n.wants(2)) return n.give(result);
  n.give_all({result, ops::transpose(k.x, {0, 2, 1, 3}), ops::transpose(v.x, {0, 2, 1, 3})});
}

// Turns pairs of elements by an angle that depends on their place in the sequence.
void read_rotary_embedding(NodeReader& n) {
  const bool four_axes = n.shape(0).size() == 4;
  const Heads given = heads_of(n, 0, "num_heads");
  check<InvalidArgument>(given.shape[3].fixed(), "expected heads of known size.");
  const int64_t size = given.shape[3].value();
  const int64_t stated = n.integer("rotary_embedding_dim", 0);
  const int64_t turned = stated == 0 ? size : stated;
  check<InvalidArgument>(turned > 0 && turned <= size && turned % 2 == 0,
                         "expected an even number of elements to be turned, from 2 to {}, got {}.",
                         size, turned);
  const auto factors = [&](size_t i) {  // (batch or 1, length, 1, turned / 2)
    const Tensor cache = n.in(i);
    const Tensor rows = n.has(3) ? ops::take(cache, n.in(3), 0) : cache;
    check<InvalidArgument>(rows.rank() == 3, "expected (batch, length, size / 2), got {}.",
                           rows.shape());
    return ops::expand_dims(rows, 2);
  };
  const Tensor cosine = factors(1), sine = factors(2);
  const bool interleaved = n.integer("interleaved", 0) != 0;
  const int64_t half = turned / 2;
  const auto part = [&](int64_t begin, int64_t end, int64_t step) {
    const auto& s = given.x.shape();
    return ops::slice(given.x, {0, 0, 0, begin},
                      {s[0], s[1], s[2], (end - begin + step - 1) / step}, {1, 1, 1, step});
  };
  const Tensor first = interleaved ? part(0, turned, 2) : part(0, half, 1);
  const Tensor second = interleaved ? part(1, turned, 2) : part(half, turned, 1);
  const Tensor real = ops::subtract(ops::multiply(first, cosine), ops::multiply(second, sine));
  const Tensor imaginary = ops::add(ops::multiply(first, sine), ops::multiply(second, cosine));
  std::vector<Tensor> parts = {real, imaginary};
  if (interleaved) {
    AllocationLimit::check_bytes(static_cast<size_t>(turned) * sizeof(int64_t));
    Ints order;
    for (int64_t i = 0; i < half; ++i) order.insert(order.end(), {i, half + i});
    parts = {ops::take(ops::concatenate({real, imaginary}, -1), Tensor::from(order), -1)};
  }
  if (turned < size) parts.push_back(part(turned, size, 1));
  n.give(joined(n, parts.size() == 1 ? parts[0] : ops::concatenate(parts, -1), given.shape,
                four_axes));
}

const Rule kRulesOfAttention[] = {
    {"Attention", read_attention},
    {"RotaryEmbedding", read_rotary_embedding},
};

}  // namespace

std::span<const Rule> attention_rules() { return kRulesOfAttention; }

}  // namespace cornu::onnx::reading
