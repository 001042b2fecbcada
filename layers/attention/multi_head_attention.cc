// SPDX-License-Identifier: Apache-2.0
#include "layers/attention/multi_head_attention.h"

#include <algorithm>

#include "layers/attention/heads.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, MultiHeadAttentionOptions& options) {
  fields("num_heads", options.num_heads);
  fields("key_dim", options.key_dim);
  fields("value_dim", options.value_dim);
  fields("dropout", options.dropout);
  fields("use_bias", options.use_bias);
  fields("use_gate", options.use_gate);
  fields("output_shape", options.output_shape);
  fields("attention_axes", options.attention_axes);
  fields("sliding_window", options.sliding_window);
  visit_head_fields(fields, options);
}

namespace {

std::string letters(int64_t from, int64_t count) {
  std::string text;
  for (int64_t i = 0; i < count; ++i) text += static_cast<char>('a' + from + i);
  return text;
}

// A shape with `rank` axes: the last ones are given, the others are as in the input.
Shape shape_behind(int64_t rank, const std::vector<int64_t>& last) {
  std::vector<int64_t> sizes(static_cast<size_t>(rank) - last.size(), kUnknown);
  sizes.insert(sizes.end(), last.begin(), last.end());
  return Shape(sizes);
}

class MultiHeadAttentionLayer : public HeadAttention<MultiHeadAttentionOptions> {
 public:
  explicit MultiHeadAttentionLayer(const MultiHeadAttentionOptions& options)
      : HeadAttention("MultiHeadAttention", options, options.key_dim) {
    require(options.num_heads > 0, "expected num_heads > 0, got {}.", options.num_heads);
    require(!options.value_dim || *options.value_dim > 0, "expected value_dim > 0, got {}.",
            options.value_dim.value_or(0));
    if (!options_.value_dim) options_.value_dim = options_.key_dim;
    if (options_.output_shape.is_one()) options_.output_shape = options_.output_shape.values();
    if (options_.attention_axes.is_one()) {
      options_.attention_axes = options_.attention_axes.values();
    }
  }

 protected:
  void check_shapes(const Shape& query, const Shape& value, const Shape& key) const override {
    require(query.rank() >= 3 && query.rank() <= 9 && value.rank() == query.rank(),
            "expected a query and a value of 3 axes or more, (batch, time, features), got {} and "
            "{}.",
            query, value);
    bool alike = value.rank() == key.rank();
    for (int64_t axis = 1; alike && axis + 1 < value.rank(); ++axis) {
      const int64_t a = value[axis], b = key[axis];
      alike = a == b || a == kUnknown || b == kUnknown;
    }
    require(alike, "expected a value and a key of the same axes but the last one, got {} and {}.",
            value, key);
  }

  void build_heads(const Shape& query, const Shape& value, const Shape& key) override {
    check_shapes(query, value, key);
    const int64_t heads = options_.num_heads;
    const int64_t value_dim = *options_.value_dim;
    query_ = to_heads("query_dense", "query", query, options_.key_dim);
    key_ = to_heads("key_dense", "key", key, options_.key_dim);
    if (options_.use_gate) {
      gate_ = to_heads("_gate_dense", "gate", query, value_dim, "sigmoid");
    }
    value_ = to_heads("value_dense", "value", value, value_dim);
    set_equations(equations(value.rank() + 1));
    std::vector<int64_t> output = options_.output_shape.values();
    if (output.empty()) output = {known_axis(query, -1)};
    const int64_t free = query.rank() - 1;
    const auto outputs = static_cast<int64_t>(output.size());
    const std::string axes = letters(0, free);
    const std::string bound = letters(free, 2);
    const std::string made = letters(free + 2, outputs);
    output_ = projection("output_dense", "attention_output",
                         axes + bound + "," + bound + made + "->" + axes + made,
                         shape_behind(free + outputs - 1, output), made,
                         query.slice(0, -1).concat({heads, value_dim}));
  }

 private:
  LayerHandle to_heads(const char* attribute, const char* name, const Shape& input, int64_t dim,
                       cornu::Activation activation = {}) {
    const int64_t free = input.rank() - 1;
    const std::string axes = letters(0, free);
    const std::string bound = letters(free, 1);
    const std::string made = letters(free + 1, 2);
    return projection(attribute, name, axes + bound + "," + bound + made + "->" + axes + made,
                      shape_behind(free + 1, {options_.num_heads, dim}), made, input,
                      std::move(activation));
  }

  // For heads with `rank` axes, (batch, …, heads, size).
  HeadEquations equations(int64_t rank) {
    std::vector<int64_t> axes = options_.attention_axes.values();
    if (axes.empty()) {
      for (int64_t axis = 1; axis < rank - 2; ++axis) axes.push_back(axis);
    }
    for (int64_t& axis : axes) {
      require(axis >= 1 - rank && axis < rank - 1 && axis != 0,
              "expected attention_axes among those between batch and features, got {}.", axis);
      if (axis < 0) axis += rank - 1;
    }
    options_.attention_axes = axes;
    const auto attends = [&](int64_t axis) {
      return std::find(axes.begin(), axes.end(), axis) != axes.end();
    };
    const std::string target = letters(0, rank);
    std::string source;
    std::string product;
    int64_t next = rank;
    for (int64_t axis = 0; axis < rank; ++axis) {
      const char letter = target[static_cast<size_t>(axis)];
      source += attends(axis) ? letters(next++, 1)[0] : letter;
      if (!attends(axis) && axis != rank - 1) product += letter;
    }
    for (const int64_t axis : axes) product += target[static_cast<size_t>(axis)];
    for (const int64_t axis : axes) product += source[static_cast<size_t>(axis)];
    return {source + "," + target + "->" + product, product + "," + source + "->" + target,
            axes.size()};
  }
};

}  // namespace

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionOptions& options)
    : LayerHandle(std::make_shared<MultiHeadAttentionLayer>(options)) {}

MultiHeadAttention MultiHeadAttention::from_config(const Json& config) {
  return MultiHeadAttention(read_layer_options<MultiHeadAttentionOptions>(config));
}

}  // namespace cornu::layers
