// SPDX-License-Identifier: Apache-2.0
// Code shared by layers that scale by gamma and shift by beta. Internal: included by their .cc
// files.
#pragma once

#include <string>

#include "framework/ops/ops.h"
#include "layers/keras_layer.h"

namespace cornu::layers {

template <class Fields, class Options>
void visit_initializer_fields(Fields& fields, Options& options) {
  fields("beta_initializer", options.beta_initializer);
  fields("gamma_initializer", options.gamma_initializer);
}

template <class Fields, class Options>
void visit_regularizer_fields(Fields& fields, Options& options) {
  fields("beta_regularizer", options.beta_regularizer);
  fields("gamma_regularizer", options.gamma_regularizer);
  fields("beta_constraint", options.beta_constraint);
  fields("gamma_constraint", options.gamma_constraint);
}

// A layer whose options have `scale` and `center`, with options gamma_… and beta_…
template <class Options>
class NormalizationBase : public KerasLayerOf<Options> {
 public:
  bool supports_masking() const override { return true; }

 protected:
  using Base = KerasLayerOf<Options>;
  using Base::options_;

  NormalizationBase(const std::string& class_name, const Options& options)
      : Base(class_name, options) {
    this->require(options.epsilon >= 0, "expected epsilon >= 0, got {}.", options.epsilon);
  }

  void add_gamma_and_beta(const Shape& shape) {
    if (options_.scale) {
      gamma_ = this->add_weight({.shape = shape,
                                 .initializer = options_.gamma_initializer,
                                 .regularizer = options_.gamma_regularizer,
                                 .constraint = options_.gamma_constraint,
                                 .name = "gamma"});
    }
    if (options_.center) {
      beta_ = this->add_weight({.shape = shape,
                                .initializer = options_.beta_initializer,
                                .regularizer = options_.beta_regularizer,
                                .constraint = options_.beta_constraint,
                                .name = "beta"});
    }
  }

  // As `dtype`; undefined if disabled by the options.
  Tensor gamma(DType dtype) const { return read(gamma_, dtype); }
  Tensor beta(DType dtype) const { return read(beta_, dtype); }

  // The dtype for computing statistics of values of this dtype: at least float32.
  static DType wide(DType dtype) { return promote(dtype, DType::Float32); }

 private:
  static Tensor read(const Variable& weight, DType dtype) {
    return weight.defined() ? ops::cast(weight.value(), dtype) : Tensor();
  }

  Variable gamma_;
  Variable beta_;
};

}  // namespace cornu::layers
