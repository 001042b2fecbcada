// SPDX-License-Identifier: Apache-2.0
// Code shared by multi-head layers. Internal: included by their .cc files.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "framework/ops/attention_dropout.h"
#include "layers/activations/softmax.h"
#include "layers/attention/attention_base.h"
#include "layers/core/einsum_dense.h"
#include "layers/regularization/dropout.h"
#include "layers/regularization/dropout_key.h"

namespace cornu::layers {

template <class Fields, class Options>
void visit_head_fields(Fields& fields, Options& options) {
  fields("kernel_initializer", options.kernel_initializer);
  fields("bias_initializer", options.bias_initializer);
  fields("kernel_regularizer", options.kernel_regularizer);
  fields("bias_regularizer", options.bias_regularizer);
  fields("activity_regularizer", options.activity_regularizer);
  fields("kernel_constraint", options.kernel_constraint);
  fields("bias_constraint", options.bias_constraint);
  fields("seed", options.seed);
}

// How projected queries and keys are combined to scores, and scores and values to the output.
struct HeadEquations {
  std::string scores;   // key and query
  std::string combine;  // scores and value
  size_t axes = 1;      // number of attention axes
};

// A layer that projects query, key and value to heads, and projects their output back.
template <class Options>
class HeadAttention : public KerasLayerOf<Options> {
 public:
  const CallSignature& call_signature() const override {
    static const CallSignature signature{.inputs = {"query", "value", "key", "query_mask",
                                                    "value_mask", "key_mask", "attention_mask"},
                                         .settings = {"return_attention_scores", "use_causal_mask"},
                                         .built = 3};
    return signature;
  }
  bool supports_masking() const override { return true; }
  // The output already has the mask set by call_list.
  Tensor compute_mask(const Tensors&, const Tensor&) const override { return {}; }

  void build_list(const std::vector<Shape>& shapes) override {
    const auto& names = this->built_names();
    const auto find = [&](const char* name) -> const Shape* {
      for (size_t i = 0; i < shapes.size(); ++i) {
        if (names[i] == name) return &shapes[i];
      }
      return nullptr;
    };
    const Shape* query = find("query");
    const Shape* value = find("value");
    this->require(query && value, "expected a query and a value.");
    const Shape* key = find("key");
    build_heads(*query, *value, key ? *key : *value);
  }

  Tensors call_list(const Tensors& inputs, const CallArgs& args) override {
    const Tensor query = argument(inputs, "query");
    const Tensor value = argument(inputs, "value");
    this->require(query.defined() && value.defined(), "expected a query and a value.");
    const Tensor given = argument(inputs, "key");
    const Tensor key = given.defined() ? given : value;
    check_shapes(query.shape(), value.shape(), key.shape());
    const Tensor query_mask = mask_of(inputs, "query");
    Tensor mask = attention_mask(inputs, query, value, query_mask);
    Tensor gate;
    if (gate_) gate = gate_(query.with_mask(Tensor()), args);
    const Tensor q = query_(query.with_mask(Tensor()), args);
    const Tensor k = key_(key.with_mask(Tensor()), args);
    const Tensor v = value_(value.with_mask(Tensor()), args);
    const bool return_scores = this->flag(args, "return_attention_scores");
    const bool causal = this->flag(args, "use_causal_mask");
    Tensor output, scores;
    if (!return_scores && q.rank() == 4) {
      output = fused(q, k, v, mask, causal, args);
    } else {
      if (causal) mask = both_masks(mask, causal_mask(query.dim(1), value.dim(1)));
      std::tie(output, scores) = attend(q, k, v, mask, args);
    }
    if (gate.defined()) output = output * gate;
    output = output_(output, args);
    if (query_mask.defined()) output = output.with_mask(query_mask);
    if (!return_scores) return output;
    return {output, scores};
  }

 protected:
  using Base = KerasLayerOf<Options>;
  using Base::options_;

  // `head_dim`: size of queries and keys.
  HeadAttention(const std::string& class_name, const Options& options, int64_t head_dim)
      : Base(class_name, options), head_dim_(head_dim) {
    this->require(head_dim > 0, "expected heads of a size > 0, got {}.", head_dim);
    this->require(options.dropout >= 0 && options.dropout <= 1,
                  "expected dropout in [0, 1], got {}.", options.dropout);
    this->require(!options.sliding_window || *options.sliding_window > 0,
                  "expected a sliding_window > 0, got {}.", options.sliding_window.value_or(0));
  }

  // Creates the projections and the equations.
  virtual void build_heads(const Shape& query, const Shape& value, const Shape& key) = 0;
  virtual void check_shapes(const Shape& query, const Shape& value, const Shape& key) const = 0;
  // Repeats the heads of keys or values to match the number of query heads.
  virtual Tensor repeated(const Tensor& heads) const { return heads; }

  LayerHandle projection(const char* attribute, const char* name, std::string equation,
                         const Shape& output, const std::string& bias_axes, const Shape& input,
                         cornu::Activation activation = {}) {
    const EinsumDense dense(
        {.equation = std::move(equation),
         .output_shape = output,
         .activation = std::move(activation),
         .bias_axes = options_.use_bias ? std::optional(bias_axes) : std::nullopt,
         .kernel_initializer = options_.kernel_initializer,
         .bias_initializer = options_.bias_initializer,
         .kernel_regularizer = options_.kernel_regularizer,
         .bias_regularizer = options_.bias_regularizer,
         .kernel_constraint = options_.kernel_constraint,
         .bias_constraint = options_.bias_constraint,
         .name = name,
         .dtype = options_.dtype,
         .activity_regularizer = options_.activity_regularizer});
    this->track(attribute, dense);
    dense.get().ensure_built({input});
    return dense;
  }

  void set_equations(HeadEquations equations) {
    equations_ = std::move(equations);
    std::vector<int64_t> axes;
    for (size_t i = equations_.axes; i > 0; --i) axes.push_back(-static_cast<int64_t>(i));
    softmax_ = this->track("_softmax", Softmax({.axis = axes, .dtype = options_.dtype}));
    dropout_ = this->track(
        "_dropout_layer",
        Dropout({.rate = options_.dropout, .seed = options_.seed, .dtype = options_.dtype}));
  }

  LayerHandle query_;
  LayerHandle key_;
  LayerHandle value_;
  LayerHandle gate_;
  LayerHandle output_;

 private:
  static Tensor argument(const Tensors& inputs, const char* name) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs.names()[i] == name) return inputs[i];
    }
    return {};
  }

  // The mask passed as an argument, or else the one carried by the tensor.
  static Tensor mask_of(const Tensors& inputs, const std::string& name) {
    Tensor mask = argument(inputs, (name + "_mask").c_str());
    if (const Tensor tensor = argument(inputs, name.c_str()); !mask.defined() && tensor.defined()) {
      mask = tensor.mask();
    }
    return mask.defined() ? ops::cast(mask, DType::Bool) : mask;
  }

  // Combines all masks except the causal one to a mask (batch, queries, keys); undefined if there
  // are none.
  Tensor attention_mask(const Tensors& inputs, const Tensor& query, const Tensor& value,
                        const Tensor& query_mask) const {
    Tensor mask;
    if (query_mask.defined()) mask = ops::expand_dims(query_mask, -1);
    for (const char* name : {"value", "key"}) {
      const Tensor own = mask_of(inputs, name);
      if (own.defined()) mask = both_masks(mask, ops::expand_dims(own, -2));
    }
    if (options_.sliding_window) {
      mask = both_masks(mask, window_mask(query.dim(1), value.dim(1), *options_.sliding_window));
    }
    const Tensor given = argument(inputs, "attention_mask");
    return given.defined() ? both_masks(ops::cast(given, DType::Bool), mask) : mask;
  }

  // Expands a mask (batch, queries, keys) to the axes of the scores.
  Tensor spread(Tensor mask, int64_t rank) const {
    while (mask.defined() && mask.rank() < rank) {
      mask = ops::expand_dims(mask, -2 * static_cast<int64_t>(equations_.axes) - 1);
    }
    return mask;
  }

  // Uses a kernel that holds only a block of scores at a time. A query that may attend to no key
  // attends equally to all keys, as in Keras; but for a layer with dropout, Keras outputs zeros for
  // it.
  Tensor fused(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
               bool causal, const CallArgs& args) const {
    ops::AttentionDropout dropout;
    if (args.training && options_.dropout > 0) {
      dropout = {.rate = options_.dropout, .seed = next_dropout_key(dropout_)};
    }
    const Tensor output = ops::dot_product_attention(
        query, key, value, {.mask = spread(mask, query.rank()), .is_causal = causal}, dropout);
    if (options_.dropout == 0 || !mask.defined()) return output;
    const Tensor before = causal ? causal_mask(query.dim(1), key.dim(1)) : Tensor();
    const Tensor seen = ops::any(spread(both_masks(mask, before), query.rank()), -1, true);
    return ops::where(ops::swapaxes(seen, 1, 2), output, 0.0);
  }

  // Uses products that hold all scores; returns {attention output, scores}.
  std::pair<Tensor, Tensor> attend(const Tensor& query, const Tensor& key, const Tensor& value,
                                   const Tensor& mask, const CallArgs& args) const {
    const double scale = 1 / std::sqrt(static_cast<double>(head_dim_));
    const Tensor products = ops::einsum(equations_.scores, {repeated(key), query * scale});
    const Tensor scores =
        softmax_(products, {.training = args.training, .mask = {spread(mask, products.rank())}});
    const Tensor weights = options_.dropout > 0 ? Tensor(dropout_(scores, args)) : scores;
    return {ops::einsum(equations_.combine, {weights, repeated(value)}), scores};
  }

  int64_t head_dim_;
  HeadEquations equations_;
  LayerHandle softmax_;
  LayerHandle dropout_;
};

}  // namespace cornu::layers
