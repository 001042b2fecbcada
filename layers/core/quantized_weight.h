// SPDX-License-Identifier: Apache-2.0
// Weights as int8 or int4 numbers with scales, as Keras's quantize makes them. Internal: layers'
// .cc files include it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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
};

// How the numbers of a weight lie where they are int4: as a matrix, two of them in a byte.
struct Int4Layout {
  Shape matrix = {};   // what the weight is reshaped to; none: it is one
  int64_t summed = 0;  // its axis that a product sums over, and whose blocks share a scale
  int64_t packed = 1;  // its axis along which two numbers are a byte
  std::optional<DTypeLike> zero_point = DType::Int8;  // of blocks; None: the layer's variable dtype
};

// What variables and files have of a weight.
struct EncodedWeight {
  Tensor values;
  Tensor scale;
  Tensor zero_point = {};  // of blocks
};

// A weight's form: how it is made of numbers, and becomes them.
class WeightForm {
 public:
  static WeightForm int8(const Shape& weight, const ScaleLayout& scales);
  // block_size: None or -1: as many scales as for int8.
  static WeightForm int4(const Shape& weight, const ScaleLayout& scales, const Int4Layout& layout,
                         std::optional<int64_t> block_size);

  const Shape& weight() const { return weight_; }
  const Int4Layout& layout() const { return layout_; }
  bool in_blocks() const { return block_size_ > 0; }
  // Whether the scales are those of a product's outputs, which may be divided by them.
  bool scales_outputs() const { return scales_outputs_; }
  Shape values_shape() const;
  Shape scale_shape() const;
  Tensor block_numbers() const;  // of the elements along `summed`, in order

  // What `quantizer` (None: Keras's own) makes of a weight. InvalidArgument, naming `who`, unless
  // that is int8 numbers, within [-8, 7] for int4, with scales that lie like these.
  EncodedWeight encode(const Tensor& weight, const Quantizer& quantizer,
                       const std::string& who) const;
  // The integers, as the weight lies or as int4's matrix, from bytes with all of its axis `packed`.
  Tensor integers(const Tensor& values) const;
  // The weight, of `dtype`.
  Tensor decode(const EncodedWeight& encoded, DType dtype) const;
  // The same of any rows of a matrix.
  Tensor decode_rows(const EncodedWeight& rows, DType dtype) const;

 private:
  WeightForm(Shape weight, ScaleLayout scales)
      : weight_(std::move(weight)), matrix_(weight_), scales_(std::move(scales)) {}

  Shape weight_, matrix_;
  ScaleLayout scales_;  // of the matrix, where it isn't in blocks
  Int4Layout layout_;
  bool is_int4_ = false;
  bool scales_outputs_ = true;
  int64_t block_size_ = -1;
};

// How a layer multiplies its input by a weight.
struct QuantizedProduct {
  std::function<Tensor(const Tensor& x, const Tensor& weight)> multiply;
  std::function<Tensor(const Tensor& upstream, const Tensor& weight)> gradient;  // of x
  std::vector<int64_t> summed;                                                   // axes of x
  std::function<Tensor(const Tensor& scale)> aligned;  // x's scale as the product's axes lie

  static QuantizedProduct of_rows(bool transposed = false);  // rows of x by a matrix
};

// A weight that is kept as integers.
class QuantizedWeight {
 public:
  // zero_point: undefined but for blocks.
  QuantizedWeight(WeightForm form, const Variable& values, const Variable& scale,
                  const Variable& zero_point)
      : form_(std::move(form)), values_(values), scale_(scale), zero_point_(zero_point) {}

  const WeightForm& form() const { return form_; }
  const Variable& values() const { return values_; }
  const Variable& scale() const { return scale_; }
  std::vector<Variable> variables() const;
  bool has(const Variable& variable) const;

  Tensor rows_at(const Tensor& indices) const;  // dequantized, of the scales' dtype
  // Of x's dtype. x becomes int8 by `activation`, if there is one; its gradient is that of the
  // product with the dequantized weight.
  Tensor product(const Tensor& x, const Quantizer& activation, const QuantizedProduct& how) const;
  Tensor stored() const;  // dequantized, as the variables are stored
  void store(const EncodedWeight& encoded) const;

 private:
  // What `read` gives of the variables.
  template <class Read>
  EncodedWeight encoded(Read read) const {
    return {read(values_), read(scale_), zero_point_.defined() ? read(zero_point_) : Tensor()};
  }

  WeightForm form_;
  Variable values_, scale_, zero_point_;
};

// What files have of a layer with such a weight: first that one, with what LoRA adds.
class QuantizedParts : public SavedParts {
 public:
  // blocks: the numbers of the elements' blocks; undefined where there are none.
  QuantizedParts(const QuantizedWeight& weight, std::shared_ptr<Lora> lora, const Variable& blocks)
      : weight_(weight), lora_(std::move(lora)), blocks_(blocks) {}
  std::vector<Variable> saved_weights(std::vector<Variable> own) const override;
  Tensor saved_value(const Variable& weight) const override;
  void weights_loaded() override;  // InvalidArgument for blocks that don't follow each other

 private:
  QuantizedWeight weight_;
  std::shared_ptr<Lora> lora_;
  Variable blocks_;
};

// A layer over Base, whose options have a quantization_config, too.
template <class Base>
class WithQuantization : public WithLora<Base>, public Quantizable {
 public:
  std::shared_ptr<SavedParts> saved_parts() const override {
    if (!quantized_weight()) return WithLora<Base>::saved_parts();
    return std::make_shared<QuantizedParts>(*quantized_weight(), this->lora(), parts_[0].blocks);
  }

  std::function<void()> quantized(const QuantizationConfig& config) override {
    std::vector<EncodedWeight> encoded;
    for (const Part& part : parts_) {
      const WeightForm form = form_of(part, config.mode(), config.block_size());
      encoded.push_back(
          form.encode(part.weight.stored(), config.weight_quantizer(), this->label()));
    }
    return [this, config, encoded] { replace_weights(config, encoded); };
  }

 protected:
  using WithLora<Base>::WithLora;

  // For build: a weight that can be quantized, or is from the beginning. The first one is what LoRA
  // adapts.
  Variable add_quantizable(const WeightOptions& options, ScaleLayout scales, Int4Layout int4 = {}) {
    Part part{.shape = options.shape, .scales = std::move(scales), .int4 = std::move(int4)};
    const DTypePolicy& policy = this->dtype_policy();
    if (policy.quantization_mode.empty()) {
      part.weight = this->add_weight(options);
    } else {
      const QuantizationConfig& config = this->options_.quantization_config;
      this->require(!config || config.mode() == policy.quantization_mode,
                    "expected a quantization_config of {}, as its dtype policy {} says, got one of "
                    "{}.",
                    policy.quantization_mode, policy.name(), config.mode());
      add_quantized(part, options.name, policy.quantization_mode,
                    config ? config.block_size() : policy.block_size);
    }
    parts_.push_back(part);
    return part.weight;
  }

  // The weight that was added at this place, where it is quantized; null where not.
  const QuantizedWeight* quantized_weight(size_t place = 0) const {
    return place < parts_.size() ? parts_[place].quantized.get() : nullptr;
  }
  const Variable& quantizable(size_t place) const { return parts_[place].weight; }
  Shape adapted_shape() const override { return parts_[0].shape; }
  // What makes integers of what such a weight multiplies. `by_default`: whether, where no config
  // says it, int4 has that, too.
  Quantizer activation_quantizer(bool by_default = false) const {
    const QuantizationConfig& config = this->options_.quantization_config;
    if (config) return config.activation_quantizer();
    if (!by_default && this->dtype_policy().quantization_mode == "int4") return {};
    return quantizers::AbsMaxQuantizer();
  }

 private:
  struct Part {
    Variable weight = {};
    Shape shape = {};
    ScaleLayout scales = {};
    Int4Layout int4 = {};
    std::shared_ptr<QuantizedWeight> quantized = {};
    Variable blocks = {};  // the numbers of the blocks, which files have of a layer's first weight
  };

  static WeightForm form_of(const Part& part, const std::string& mode,
                            std::optional<int64_t> block_size) {
    return mode == "int4" ? WeightForm::int4(part.shape, part.scales, part.int4, block_size)
                          : WeightForm::int8(part.shape, part.scales);
  }

  void replace_weights(const QuantizationConfig& config,
                       const std::vector<EncodedWeight>& encoded) {
    this->reopened([&] {
      for (const Part& part : parts_) this->remove_weight(part.weight);
      for (size_t i = 0; i < parts_.size(); ++i) {
        const Variable before = parts_[i].weight;
        add_quantized(parts_[i], before.name(), config.mode(), config.block_size());
        for (const Variable& made : parts_[i].quantized->variables()) {
          set_path_beside(made, before);
        }
        if (parts_[i].blocks.defined()) set_path_beside(parts_[i].blocks, before);
        parts_[i].quantized->store(encoded[i]);
      }
    });
    this->set_adaptable(parts_[0].weight);
    this->options_.quantization_config = config;
    const bool is_int4 = config.mode() == "int4";
    this->set_quantization(
        config.mode(), is_int4 ? std::optional(config.block_size().value_or(-1)) : std::nullopt);
  }

  void add_quantized(Part& part, const std::string& name, const std::string& mode,
                     std::optional<int64_t> block_size) {
    const WeightForm form = form_of(part, mode, block_size);
    const auto add = [&](const std::string& of, const Shape& shape, const Initializer& initializer,
                         std::optional<DTypeLike> dtype) {
      return this->add_weight({.shape = shape,
                               .initializer = initializer,
                               .dtype = dtype,
                               .trainable = false,
                               .name = of});
    };
    part.weight = add(name, form.values_shape(), "zeros", DType::Int8);
    const Variable scale = add(name + "_scale", form.scale_shape(), "ones", {});
    Variable zero_point;
    if (form.in_blocks()) {
      zero_point = add(name + "_zero", form.scale_shape(), "zeros", form.layout().zero_point);
      if (parts_.empty() || &part == &parts_[0]) {
        const Tensor numbers = form.block_numbers();
        part.blocks = add(
            "g_idx", numbers.shape(), [numbers](const Shape&, DType) { return numbers; },
            DType::Float32);
      }
    }
    part.quantized = std::make_shared<QuantizedWeight>(form, part.weight, scale, zero_point);
  }

  std::vector<Part> parts_;
};

}  // namespace cornu::layers
