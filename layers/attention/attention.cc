// SPDX-License-Identifier: Apache-2.0
#include "layers/attention/attention.h"

#include <optional>

#include "framework/core/strings.h"
#include "layers/attention/attention_base.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, AttentionOptions& options) {
  fields("use_scale", options.use_scale);
  fields("score_mode", options.score_mode);
  fields("dropout", options.dropout);
  fields("seed", options.seed);
}
template <class Fields>
void visit_fields(Fields& fields, AdditiveAttentionOptions& options) {
  fields("use_scale", options.use_scale);
  fields("dropout", options.dropout);
  fields("seed", options.seed);
}

namespace {

// A layer with a query, a value and optionally a key, whose scores are computed by subclasses.
template <class Options>
class ScoredAttention : public KerasLayerOf<Options> {
 public:
  bool supports_masking() const override { return true; }
  const CallSignature& call_signature() const override {
    static const CallSignature signature{
        .settings = {"return_attention_scores", "use_causal_mask"}};
    return signature;
  }
  // The output has the query's mask.
  Tensor compute_mask(const Tensors&, const Tensor&) const override { return {}; }

  void build_list(const std::vector<Shape>& shapes) override {
    check_inputs(shapes);
    this->build(shapes[0]);
  }

  Tensors call_list(const Tensors& inputs, const CallArgs& args) override {
    std::vector<Shape> shapes;
    for (const Tensor& input : inputs) shapes.push_back(input.shape());
    check_inputs(shapes);
    const Tensor& query = inputs[0];
    const Tensor& value = inputs[1];
    const Tensor& key = inputs.size() > 2 ? inputs[2] : value;
    const bool drops = args.training && generator_;
    const bool causal = this->flag(args, "use_causal_mask");
    const bool return_scores = this->flag(args, "return_attention_scores");
    if (!drops && !return_scores && !value.mask().defined()) {
      if (const Tensor output = fused(query, key, value, causal); output.defined()) {
        return where_queries_count(output, query.mask());
      }
    }
    Tensor mask = value.mask();
    if (mask.defined()) mask = ops::expand_dims(ops::cast(mask, DType::Bool), -2);
    if (causal) {
      mask = both_masks(mask, causal_mask(query.dim(-2), key.dim(-2)));
    }
    const Tensor weights = ops::softmax(masked(this->scores(query, key), mask), -1);
    Tensor dropped = weights;
    if (drops) {
      dropped = random::dropout(weights, options_.dropout, {.seed = generator_->next()});
    }
    const Tensor output = where_queries_count(ops::matmul(dropped, value), query.mask());
    if (!return_scores) return output;
    return {output, weights};
  }

 protected:
  using Base = KerasLayerOf<Options>;
  using Base::options_;

  ScoredAttention(const std::string& class_name, const Options& options)
      : Base(class_name, options) {
    this->require(options.dropout >= 0 && options.dropout <= 1,
                  "expected dropout in [0, 1], got {}.", options.dropout);
    if (options.dropout <= 0) return;
    generator_.emplace(
        this->add_state("seed_generator_state", random::SeedGenerator::initial_state(options.seed)),
        options.seed);
  }

  // Returns (…, Tq, Tv) for query (…, Tq, dim) and key (…, Tv, dim).
  virtual Tensor scores(const Tensor& query, const Tensor& key) const = 0;
  // Throws InvalidArgument for a query whose features don't match the weights.
  virtual void check_features(const Shape&) const {}
  // Computes the output with a kernel that never holds all scores; undefined if there is none.
  virtual Tensor fused(const Tensor& /*query*/, const Tensor& /*key*/, const Tensor& /*value*/,
                       bool /*causal*/) const {
    return {};
  }

 private:
  // Zeros the outputs of masked queries, if there is a mask, and attaches the mask.
  static Tensor where_queries_count(const Tensor& output, const Tensor& mask) {
    if (!mask.defined()) return output;
    return ops::where(ops::expand_dims(ops::cast(mask, DType::Bool), -1), output, 0.0)
        .with_mask(mask);
  }

  static bool may_be_equal(int64_t a, int64_t b) {
    return a == b || a == kUnknown || b == kUnknown;
  }

  void check_inputs(const std::vector<Shape>& shapes) const {
    this->require(shapes.size() == 2 || shapes.size() == 3,
                  "expected inputs {{query, value}} or {{query, value, key}}, got {} of them.",
                  shapes.size());
    for (const Shape& shape : shapes) {
      this->require(shape.rank() >= 2, "expected inputs (batch, time, features), got {}.", shape);
    }
    const Shape& key = shapes.size() > 2 ? shapes[2] : shapes[1];
    this->require(may_be_equal(shapes[0].back(), key.back()),
                  "expected a query and a key of as many features, got {} and {}.", shapes[0], key);
    this->require(may_be_equal(shapes[1][-2], key[-2]),
                  "expected a value and a key of as many time steps, got {} and {}.", shapes[1],
                  key);
    this->check_features(shapes[0]);
  }

  // As in Keras, a masked score keeps its gradient; it is just far below all others.
  static Tensor masked(const Tensor& scores, const Tensor& mask) {
    if (!mask.defined()) return scores;
    const double far = scores.dtype() == DType::Float16 ? 65504.0 : 1e9;
    return ops::where(mask, scores, scores - far);
  }

  std::optional<random::SeedGenerator> generator_;
};

// Adds each query to each key: (…, Tq, Tv, dim).
Tensor sums_of_pairs(const Tensor& query, const Tensor& key) {
  return ops::expand_dims(query, -2) + ops::expand_dims(key, -3);
}

class AttentionLayer : public ScoredAttention<AttentionOptions> {
 public:
  explicit AttentionLayer(const AttentionOptions& options) : ScoredAttention("Attention", options) {
    require(options.score_mode == "dot" || options.score_mode == "concat",
            "expected score_mode \"dot\" or \"concat\", got \"{}\".", options.score_mode);
  }

  void build(const Shape&) override {
    if (options_.use_scale) {
      scale_ = add_weight({.shape = {}, .initializer = "ones", .name = "scale"});
    }
    if (options_.score_mode == "concat") {
      concat_ = add_weight({.shape = {}, .initializer = "ones", .name = "concat_score_weight"});
    }
  }

 protected:
  Tensor scores(const Tensor& query, const Tensor& key) const override {
    if (options_.score_mode == "dot") {
      const Tensor products = ops::matmul(query, key, {.transpose_x2 = true});
      return scale_.defined() ? products * compute(scale_) : products;
    }
    Tensor sums = sums_of_pairs(query, key);
    if (scale_.defined()) sums = compute(scale_) * sums;
    return compute(concat_) * ops::sum(ops::tanh(sums), -1);
  }
  // Computed as single-head attention, with the shapes that it requires.
  Tensor fused(const Tensor& query, const Tensor& key, const Tensor& value,
               bool causal) const override {
    const bool fits = query.rank() == 3 && key.rank() == 3 && value.rank() == 3 &&
                      query.dim(0) == key.dim(0) && key.dim(0) == value.dim(0) &&
                      key.dim(1) == value.dim(1) && query.dim(2) == key.dim(2) && query.dim(2) != 0;
    if (options_.score_mode != "dot" || !fits || !is_floating(query.dtype())) return {};
    const Tensor scaled = scale_.defined() ? query * compute(scale_) : query;
    return ops::squeeze(
        ops::dot_product_attention(ops::expand_dims(scaled, 2), ops::expand_dims(key, 2),
                                   ops::expand_dims(value, 2), {.scale = 1.0, .is_causal = causal}),
        2);
  }

 private:
  Variable scale_;
  Variable concat_;
};

class AdditiveAttentionLayer : public ScoredAttention<AdditiveAttentionOptions> {
 public:
  explicit AdditiveAttentionLayer(const AdditiveAttentionOptions& options)
      : ScoredAttention("AdditiveAttention", options) {}

  void build(const Shape& query) override {
    if (!options_.use_scale) return;
    scale_ = add_weight({.shape = {known_axis(query, -1)}, .name = "scale"});
  }

 protected:
  void check_features(const Shape& query) const override {
    if (scale_.defined()) require_axis(query, -1, scale_.dim(0));
  }
  Tensor scores(const Tensor& query, const Tensor& key) const override {
    const Tensor squashed = ops::tanh(sums_of_pairs(query, key));
    return ops::sum(scale_.defined() ? compute(scale_) * squashed : squashed, -1);
  }

 private:
  Variable scale_;
};

}  // namespace

Attention::Attention(const AttentionOptions& options)
    : LayerHandle(std::make_shared<AttentionLayer>(options)) {}

Attention Attention::from_config(const Json& config) {
  return Attention(read_layer_options<AttentionOptions>(config));
}

AdditiveAttention::AdditiveAttention(const AdditiveAttentionOptions& options)
    : LayerHandle(std::make_shared<AdditiveAttentionLayer>(options)) {}

AdditiveAttention AdditiveAttention::from_config(const Json& config) {
  return AdditiveAttention(read_layer_options<AdditiveAttentionOptions>(config));
}

}  // namespace cornu::layers
