// SPDX-License-Identifier: Apache-2.0
// Weights stored as int8 or int4 numbers with scales, as created by Keras's quantize. Internal:
// included by layers' .cc files.
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

// The layout of a weight's scales. A quantizer returns scales with size 1 along `summed`; the layer
// and files have the remaining axes in this order, reshaped to `shape`.
struct ScaleLayout {
  std::vector<int64_t> summed;  // axes of the weight that a product sums over
  std::vector<int64_t> order;   // permutation of the remaining axes
  Shape shape;

  Tensor from_quantizer(const Tensor& scale) const;
  Tensor for_weight(const Tensor& scale, const Shape& weight) const;  // the inverse
};

// The layout of a weight's int4 numbers: a matrix with two numbers per byte.
struct Int4Layout {
  Shape matrix = {};   // shape to which the weight is reshaped; empty: it is a matrix
  int64_t summed = 0;  // the axis that a product sums over, whose blocks share a scale
  int64_t packed = 1;  // the axis along which two numbers form a byte
  std::optional<DTypeLike> zero_point = DType::Int8;  // for blocks; None: variable dtype
};

// A weight's values as stored in variables and files.
struct EncodedWeight {
  Tensor values;
  Tensor scale;
  Tensor zero_point = {};  // for blocks
};

// Encodes weights as integers, and decodes them.
class WeightForm {
 public:
  static WeightForm int8(const Shape& weight, const ScaleLayout& scales);
  // block_size: None or -1: the same number of scales as for int8.
  static WeightForm int4(const Shape& weight, const ScaleLayout& scales, const Int4Layout& layout,
                         std::optional<int64_t> block_size);

  const Shape& weight() const { return weight_; }
  const Int4Layout& layout() const { return layout_; }
  bool in_blocks() const { return block_size_ > 0; }
  // Whether scales belong to a product's outputs, which can then be divided by them.
  bool scales_outputs() const { return scales_outputs_; }
  Shape values_shape() const;
  Shape scale_shape() const;
  Tensor block_numbers() const;  // for the elements along `summed`, in order

  // Quantizes a weight with `quantizer` (None: Keras's default). Throws InvalidArgument, naming
  // `who`, unless the result is int8, within [-8, 7] for int4, with scales of this layout.
  EncodedWeight encode(const Tensor& weight, const Quantizer& quantizer,
                       const std::string& who) const;
  // Returns the integers, with the weight's shape or as int4's matrix, from bytes that include the
  // whole `packed` axis.
  Tensor integers(const Tensor& values) const;
  // Returns the weight as `dtype`.
  Tensor decode(const EncodedWeight& encoded, DType dtype) const;
  // As above for any rows of a matrix.
  Tensor decode_rows(const EncodedWeight& rows, DType dtype) const;

 private:
  WeightForm(Shape weight, ScaleLayout scales)
      : weight_(std::move(weight)), matrix_(weight_), scales_(std::move(scales)) {}

  Shape weight_, matrix_;
  ScaleLayout scales_;  // of the matrix, unless in blocks
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
  std::function<Tensor(const Tensor& scale)> aligned;  // rearranges x's scale to the product's axes

  static QuantizedProduct of_rows(bool transposed = false);  // multiplies rows of x by a matrix
};

// A weight stored as integers.
class QuantizedWeight {
 public:
  // zero_point: undefined except with blocks.
  QuantizedWeight(WeightForm form, const Variable& values, const Variable& scale,
                  const Variable& zero_point)
      : form_(std::move(form)), values_(values), scale_(scale), zero_point_(zero_point) {}

  const WeightForm& form() const { return form_; }
  const Variable& values() const { return values_; }
  const Variable& scale() const { return scale_; }
  std::vector<Variable> variables() const;
  bool has(const Variable& variable) const;

  Tensor rows_at(const Tensor& indices) const;  // dequantized to the dtype of the scales
  // Returns a product with x's dtype. x is quantized to int8 by `activation`, if there is one; its
  // gradient is that of the product with the dequantized weight.
  Tensor product(const Tensor& x, const Quantizer& activation, const QuantizedProduct& how) const;
  Tensor stored() const;  // dequantized, from the stored values
  void store(const EncodedWeight& encoded) const;

 private:
  // Reads the variables with `read`.
  template <class Read>
  EncodedWeight encoded(Read read) const {
    return {read(values_), read(scale_), zero_point_.defined() ? read(zero_point_) : Tensor()};
  }

  WeightForm form_;
  Variable values_, scale_, zero_point_;
};

// The saved parts of a layer with such a weight: the weight comes first, merged with LoRA's.
class QuantizedParts : public SavedParts {
 public:
  // blocks: the block numbers of the elements; undefined if there are none.
  QuantizedParts(const QuantizedWeight& weight, std::shared_ptr<Lora> lora, const Variable& blocks)
      : weight_(weight), lora_(std::move(lora)), blocks_(blocks) {}
  std::vector<Variable> saved_weights(std::vector<Variable> own) const override;
  Tensor saved_value(const Variable& weight) const override;
  void weights_loaded() override;  // throws InvalidArgument for non-consecutive blocks

 private:
  QuantizedWeight weight_;
  std::shared_ptr<Lora> lora_;
  Variable blocks_;
};

// A layer derived from Base whose options also have a quantization_config.
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

  // To be called by build: adds a weight that can be quantized, or is quantized from the start.
  // LoRA adapts the first one.
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

  // Returns the weight added at this position if it is quantized, otherwise null.
  const QuantizedWeight* quantized_weight(size_t place = 0) const {
    return place < parts_.size() ? parts_[place].quantized.get() : nullptr;
  }
  const Variable& quantizable(size_t place) const { return parts_[place].weight; }
  Shape adapted_shape() const override { return parts_[0].shape; }
  // The quantizer for the values that such a weight multiplies. `by_default`: whether int4 also has
  // one when no config specifies it.
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
    Variable blocks = {};  // the block numbers, saved for a layer's first weight
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
