// SPDX-License-Identifier: Apache-2.0
// Low-rank adaptation of a layer's weight: Hu et al., "LoRA: Low-Rank Adaptation of Large Language
// Models" (2021), as implemented by Keras's enable_lora. Internal: included by layers' .cc files.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "framework/core/at_end.h"
#include "framework/graph/trace.h"
#include "framework/model/saved_parts.h"
#include "framework/model/weight_limit.h"
#include "framework/ops/ops.h"
#include "layers/core/lora_options.h"
#include "layers/keras_layer.h"

namespace cornu::layers {

template <class Fields, class Options>
void visit_lora_fields(Fields& fields, Options& options) {
  fields.unless_default("lora_rank", options.lora_rank, std::optional<int64_t>());
  fields.unless_default("lora_alpha", options.lora_alpha, std::optional<double>());
}

// Sets the path of a weight created after the layer was built, as if it had been created with
// `other`.
inline void set_path_beside(const Variable& made, const Variable& other) {
  const std::string& path = other.path();
  made.set_path(path.substr(0, path.rfind('/') + 1) + made.name());
}

// A frozen weight and the two weights that are trained instead. Files store the sum in place of the
// weight. Loading assigns it to the weight and resets the two to zero.
class Lora : public SavedParts {
 public:
  Lora(const Variable& weight, const Variable& a, const Variable& b, double scale)
      : weight_(weight), a_(a), b_(b), scale_(scale) {}

  Tensor added() const;                            // scale * a * b, in float32
  Tensor added_rows(const Tensor& indices) const;  // only these rows of it
  Tensor sum() const;                              // weight + added(), in the weight's dtype
  Tensor rows_at(const Tensor& indices) const;

  const Variable& a() const { return a_; }
  const Variable& b() const { return b_; }
  double scale() const { return scale_; }
  Tensor added_in_file() const;  // computed from the stored values
  // Replaces the adapted weight.
  void set_weight(const Variable& weight) { weight_ = weight; }

  std::vector<Variable> saved_weights(std::vector<Variable> own) const override;
  Tensor saved_value(const Variable& weight) const override;
  void weights_loaded() override;

 private:
  Variable weight_, a_, b_;
  double scale_;
};

// A layer derived from Base whose options have lora_rank and lora_alpha.
template <class Base>
class WithLora : public Base, public HasSavedParts {
 public:
  std::shared_ptr<SavedParts> saved_parts() const override { return lora_; }

  void enable_lora(const LoraOptions& options) override {
    check<FailedPrecondition>(
        this->built(),
        "{}: enable_lora needs its weights. Call it when the layer was built, "
        "or make the layer with lora_rank.",
        this->label());
    check<FailedPrecondition>(lora_ == nullptr,
                              "{}: LoRA is enabled already, which is done once for a layer.",
                              this->label());
    reopened([&] { add_lora(options); });
  }

 protected:
  template <class... Args>
  explicit WithLora(Args&&... args) : Base(std::forward<Args>(args)...) {
    auto& options = this->options_;
    if (!options.lora_rank) options.lora_alpha.reset();
    if (!options.lora_rank) return;
    require_rank(*options.lora_rank);
    if (!options.lora_alpha) options.lora_alpha = static_cast<double>(*options.lora_rank);
  }

  // To be called by build: sets the weight to adapt, and adapts it if the options request it.
  void adapt(const Variable& weight, const Regularizer& regularizer, const Constraint& constraint,
             std::optional<double> alpha) {
    weight_ = weight;
    regularizer_ = regularizer;
    constrained_ = static_cast<bool>(constraint);
    if (this->options_.lora_rank)
      add_lora({.rank = *this->options_.lora_rank, .lora_alpha = alpha});
  }

  // Runs a function that changes the weights of a built layer, which is otherwise not allowed. No
  // other thread may build or trace layers meanwhile.
  template <class F>
  void reopened(F f) {
    const auto lock = tracing_lock();
    const std::vector<Shape> shapes = this->built_shapes();
    this->set_built(false);
    const AtEnd closed([&] { this->set_built(true, shapes); });
    f();
  }

  const Variable& adaptable() const { return weight_; }
  // The shape with which the layer computes.
  virtual Shape adapted_shape() const { return weight_.shape(); }
  void set_adaptable(const Variable& weight) {
    weight_ = weight;
    if (lora_) lora_->set_weight(weight);
  }
  const std::shared_ptr<Lora>& lora() const { return lora_; }
  // The weight with which the layer computes.
  Tensor adapted() const {
    return ops::cast(lora_ ? lora_->sum() : weight_.value(), this->compute_dtype());
  }

 private:
  void require_rank(int64_t rank) const {
    this->require(rank > 0, "expected a rank of LoRA > 0, got {}.", rank);
  }

  void add_lora(const LoraOptions& options) {
    require_rank(options.rank);
    this->require(!constrained_,
                  "LoRA doesn't go with a constraint of the weight '{}'. Omit the constraint.",
                  weight_.name());
    const Shape shape = adapted_shape();
    const auto made = [&](const char* part, const Shape& of, const Initializer& initializer) {
      const std::string name = fmt::format("lora_{}_{}", weight_.name(), part);
      WeightLimit::allow(of.num_bytes(sizeof(float)));  // files store the sum instead
      const Variable variable = this->add_weight({.shape = of,
                                                  .initializer = initializer,
                                                  .dtype = DType::Float32,
                                                  .regularizer = regularizer_,
                                                  .name = name});
      set_path_beside(variable, weight_);
      return variable;
    };
    const Variable a = made("a", shape.slice(0, -1).concat({options.rank}), options.a_initializer);
    const Variable b = made("b", {options.rank, shape.back()}, options.b_initializer);
    const auto rank = static_cast<double>(options.rank);
    const double alpha = options.lora_alpha.value_or(rank);
    lora_ = std::make_shared<Lora>(weight_, a, b, alpha / rank);
    weight_.set_trainable(false);
    this->options_.lora_rank = options.rank;
    this->options_.lora_alpha = alpha;
  }

  Variable weight_;
  Regularizer regularizer_;
  bool constrained_ = false;
  std::shared_ptr<Lora> lora_;
};

}  // namespace cornu::layers
