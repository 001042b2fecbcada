// SPDX-License-Identifier: Apache-2.0
// Weights as int8 numbers with scales, as Keras's quantize("int8") makes them. Internal: layers'
// .cc files include it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/model/quantization.h"
#include "layers/core/lora.h"

namespace cornu::layers {

// Where the scales of a weight lie. A quantizer gives them with size 1 along `summed`; the layer
// has them, as files do, of the other axes in this order, as `shape`.
struct ScaleLayout {
  std::vector<int64_t> summed;  // axes of the weight that a product sums over
  std::vector<int64_t> order;   // of the axes that remain without these
  Shape shape;

  Tensor from_quantizer(const Tensor& scale) const;
  Tensor for_weight(const Tensor& scale, const Shape& weight) const;  // back
  // values / scale, of a weight whose scale lies like this.
  Tensor dequantized(const Quantized& weight, DType dtype) const;
};

// How a layer multiplies its input by a weight.
struct Int8Product {
  std::function<Tensor(const Tensor& x, const Tensor& weight)> multiply;
  std::function<Tensor(const Tensor& upstream, const Tensor& weight)> gradient;  // of x
  std::vector<int64_t> summed;                                                   // axes of x
  std::function<Tensor(const Tensor& scale)> aligned;  // x's scale as the product's axes lie

  static Int8Product of_rows(bool transposed = false);  // rows of x by a matrix
};

// A weight of about values / scale.
class Int8Weight {
 public:
  Int8Weight(const Variable& values, const Variable& scale, ScaleLayout layout)
      : values_(values), scale_(scale), layout_(std::move(layout)) {}

  const Variable& values() const { return values_; }
  const Variable& scale() const { return scale_; }
  const ScaleLayout& layout() const { return layout_; }

  Tensor rows_at(const Tensor& indices) const;  // dequantized, of the scales' dtype
  // Of x's dtype. x becomes int8 by `activation`, if there is one; its gradient is that of the
  // product with the dequantized weight.
  Tensor product(const Tensor& x, const Quantizer& activation, const Int8Product& how) const;
  void store(const Quantized& quantized) const;  // what a quantizer gave

 private:
  Variable values_;
  Variable scale_;
  ScaleLayout layout_;
};

// What files have of a layer with such a weight: first that one, with what LoRA adds.
class Int8Parts : public SavedParts {
 public:
  Int8Parts(const Int8Weight& weight, std::shared_ptr<Lora> lora)
      : weight_(weight), lora_(std::move(lora)) {}
  std::vector<Variable> saved_weights(std::vector<Variable> own) const override;
  Tensor saved_value(const Variable& weight) const override;
  void weights_loaded() override;

 private:
  Int8Weight weight_;
  std::shared_ptr<Lora> lora_;
};

// What `quantizer` (None: AbsMaxQuantizer) makes of a weight. InvalidArgument, naming `who`, unless
// that is int8 numbers with scales of this layout.
Quantized quantized_weight(const Tensor& weight, const Quantizer& quantizer,
                           const ScaleLayout& layout, const std::string& who);

// A layer over Base, whose options have a quantization_config, too.
template <class Base>
class WithInt8 : public WithLora<Base>, public Quantizable {
 public:
  std::shared_ptr<SavedParts> saved_parts() const override {
    if (!int8()) return WithLora<Base>::saved_parts();
    return std::make_shared<Int8Parts>(*int8(), this->lora());
  }

  std::function<void()> quantized(const quantizers::Int8QuantizationConfig& config) override {
    std::vector<Quantized> quantized;
    for (const Part& part : parts_) {
      quantized.push_back(quantized_weight(part.weight.stored(), config.weight_quantizer,
                                           part.layout, this->label()));
    }
    return [this, config, quantized] { replace_weights(config, quantized); };
  }

 protected:
  using WithLora<Base>::WithLora;

  // For build: a weight that can be quantized, or is from the beginning. The first one is what LoRA
  // adapts.
  Variable add_quantizable(const WeightOptions& options, ScaleLayout layout) {
    Part part{.layout = std::move(layout)};
    if (this->dtype_policy().quantization_mode.empty()) {
      part.weight = this->add_weight(options);
    } else {
      make_int8(part, options.name, options.shape);
    }
    parts_.push_back(part);
    return part.weight;
  }

  // The weight that was added at this place, where it is quantized; null where not.
  const Int8Weight* int8(size_t place = 0) const {
    return place < parts_.size() ? parts_[place].int8.get() : nullptr;
  }
  const Variable& quantizable(size_t place) const { return parts_[place].weight; }
  // What multiplies such a weight.
  Quantizer activation_quantizer() const {
    const QuantizationConfig& config = this->options_.quantization_config;
    return config ? config->activation_quantizer
                  : quantizers::Int8QuantizationConfig().activation_quantizer;
  }

 private:
  struct Part {
    Variable weight = {};
    ScaleLayout layout = {};
    std::shared_ptr<Int8Weight> int8 = {};
  };

  void replace_weights(const quantizers::Int8QuantizationConfig& config,
                       const std::vector<Quantized>& quantized) {
    this->reopened([&] {
      for (const Part& part : parts_) this->remove_weight(part.weight);
      for (size_t i = 0; i < parts_.size(); ++i) {
        const Variable before = parts_[i].weight;
        make_int8(parts_[i], before.name(), before.shape());
        set_path_beside(parts_[i].weight, before);
        set_path_beside(parts_[i].int8->scale(), before);
        parts_[i].int8->store(quantized[i]);
      }
    });
    this->set_adaptable(parts_[0].weight);
    this->options_.quantization_config = config;
    this->set_quantization_mode("int8");
  }

  void make_int8(Part& part, const std::string& name, const Shape& shape) {
    part.weight = this->add_weight({.shape = shape,
                                    .initializer = "zeros",
                                    .dtype = DType::Int8,
                                    .trainable = false,
                                    .name = name});
    const Variable scale = this->add_weight({.shape = part.layout.shape,
                                             .initializer = "ones",
                                             .trainable = false,
                                             .name = name + "_scale"});
    part.int8 = std::make_shared<Int8Weight>(part.weight, scale, part.layout);
  }

  std::vector<Part> parts_;
};

}  // namespace cornu::layers
