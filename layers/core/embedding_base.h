// SPDX-License-Identifier: Apache-2.0
// Code shared by layers with an embedding table. Internal: included by their .cc files.
#pragma once

#include <string>

#include "framework/ops/ops.h"
#include "layers/core/quantized_weight.h"
#include "layers/keras_layer.h"

namespace cornu::layers {

template <class Fields, class Options>
void visit_embedding_fields(Fields& fields, Options& options) {
  fields("input_dim", options.input_dim);
  fields("output_dim", options.output_dim);
  fields("embeddings_initializer", options.embeddings_initializer);
  fields("embeddings_regularizer", options.embeddings_regularizer);
  fields("activity_regularizer", options.activity_regularizer);
  fields("embeddings_constraint", options.embeddings_constraint);
  fields("mask_zero", options.mask_zero);
  fields("quantization_config", options.quantization_config);
  visit_lora_fields(fields, options);
}

// A layer whose options specify the sizes of a table, its initialization, adaptation and
// quantization.
template <class Options>
class EmbeddingBase : public WithQuantization<KerasLayerOf<Options>> {
  using Base = WithQuantization<KerasLayerOf<Options>>;

 public:
  bool supports_masking() const override { return options_.mask_zero; }
  bool autocast() const override { return false; }  // small floats can't hold large indices

  void build(const Shape&) override {
    const Variable embeddings = this->add_quantizable(
        {.shape = {options_.input_dim, options_.output_dim},
         .initializer = options_.embeddings_initializer,
         .regularizer = options_.embeddings_regularizer,
         .constraint = options_.embeddings_constraint,
         .sparse_gradients = is_only_looked_up(),
         .name = "embeddings"},
        {.summed = {1}, .order = {0}, .shape = {options_.input_dim}}, {.summed = 1});
    this->adapt(embeddings, options_.embeddings_regularizer, options_.embeddings_constraint, {});
  }

 protected:
  using Base::options_;

  EmbeddingBase(const std::string& class_name, const Options& options) : Base(class_name, options) {
    this->require(options.input_dim > 0, "expected input_dim > 0, got {}.", options.input_dim);
    this->require(options.output_dim > 0, "expected output_dim > 0, got {}.", options.output_dim);
  }

  bool is_only_looked_up() const {
    if constexpr (requires { options_.tie_weights; }) return !options_.tie_weights;
    return true;
  }

  Tensor look_up(const Tensor& x) const {
    const Tensor indices = is_integer(x.dtype()) ? x : ops::cast(x, DType::Int32);
    const auto& lora = this->lora();
    Tensor rows;
    if (this->quantized_weight()) {
      rows = this->quantized_weight()->rows_at(indices);
      if (lora) rows = rows + lora->added_rows(indices);
    } else {
      rows = lora ? lora->rows_at(indices) : ops::take(this->adaptable(), indices, 0);
    }
    return ops::cast(rows, this->compute_dtype());
  }

  // Which indices aren't padding; undefined without mask_zero.
  Tensor mask_of(const Tensor& indices) const {
    return options_.mask_zero ? ops::not_equal(indices, 0) : Tensor();
  }
};

}  // namespace cornu::layers
