// SPDX-License-Identifier: Apache-2.0
#include "layers/attention/group_query_attention.h"

#include "layers/attention/heads.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, GroupQueryAttentionOptions& options) {
  fields("head_dim", options.head_dim);
  fields("num_query_heads", options.num_query_heads);
  fields("num_key_value_heads", options.num_key_value_heads);
  fields("use_bias", options.use_bias);
  fields("use_gate", options.use_gate);
  fields("sliding_window", options.sliding_window);
  fields("dropout", options.dropout);
  visit_head_fields(fields, options);
}

namespace {

class GroupQueryAttentionLayer : public HeadAttention<GroupQueryAttentionOptions> {
 public:
  explicit GroupQueryAttentionLayer(const GroupQueryAttentionOptions& options)
      : HeadAttention("GroupQueryAttention", options, options.head_dim) {
    require(options.num_query_heads > 0 && options.num_key_value_heads > 0 &&
                options.num_query_heads % options.num_key_value_heads == 0,
            "expected num_query_heads to be a multiple of num_key_value_heads, got {} and {}.",
            options.num_query_heads, options.num_key_value_heads);
  }

 protected:
  void check_shapes(const Shape& query, const Shape& value, const Shape& key) const override {
    require(query.rank() == 3 && value.rank() == 3 && key.rank() == 3,
            "expected inputs (batch, time, features), got {}, {} and {}.", query, value, key);
    require(query.back() == value.back(),
            "expected a query and a value of as many features, got {} and {}.", query, value);
    require(value[1] == key[1], "expected as many values as keys, got {} and {}.", value, key);
  }

  void build_heads(const Shape& query, const Shape& value, const Shape& key) override {
    check_shapes(query, value, key);
    const Shape queries = {kUnknown, options_.num_query_heads, options_.head_dim};
    const Shape others = {kUnknown, options_.num_key_value_heads, options_.head_dim};
    query_ = projection("_query_dense", "query", "bqm,muh->bquh", queries, "uh", query);
    key_ = projection("_key_dense", "key", "bkm,mvh->bkvh", others, "vh", key);
    if (options_.use_gate) {
      gate_ = projection("_gate_dense", "gate", "bqm,muh->bquh", queries, "uh", query, "sigmoid");
    }
    value_ = projection("_value_dense", "value", "bkm,mvh->bkvh", others, "vh", value);
    set_equations({.scores = "bkuh,bquh->buqk", .combine = "buqk,bkuh->bquh"});
    const Shape heads = {query[0], query[1], options_.num_query_heads, options_.head_dim};
    output_ = projection("_output_dense", "attention_output", "bquh,uhm->bqm",
                         {kUnknown, known_axis(query, -1)}, "m", heads);
  }

  Tensor repeated(const Tensor& heads) const override {
    const int64_t each = options_.num_query_heads / options_.num_key_value_heads;
    return each == 1 ? heads : ops::repeat(heads, each, 2);
  }
};

}  // namespace

GroupQueryAttention::GroupQueryAttention(const GroupQueryAttentionOptions& options)
    : LayerHandle(std::make_shared<GroupQueryAttentionLayer>(options)) {}

GroupQueryAttention GroupQueryAttention::from_config(const Json& config) {
  return GroupQueryAttention(read_layer_options<GroupQueryAttentionOptions>(config));
}

}  // namespace cornu::layers
