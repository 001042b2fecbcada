// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/category_encoding.h"

#include "framework/ops/ops.h"
#include "layers/keras_layer.h"
#include "layers/preprocessing/category_output.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, CategoryEncodingOptions& options) {
  fields("num_tokens", options.num_tokens);
  fields("output_mode", options.output_mode);
}

namespace {

class CategoryEncodingLayer : public KerasLayerOf<CategoryEncodingOptions> {
 public:
  explicit CategoryEncodingLayer(const CategoryEncodingOptions& options)
      : KerasLayerOf("CategoryEncoding", options) {
    if (options_.output_mode == "binary") options_.output_mode = "multi_hot";  // Keras 2's name
    check_one_of(label(), "output_mode", options_.output_mode, {"multi_hot", "one_hot", "count"});
    require(options.num_tokens > 0,
            "expected num_tokens > 0, got {}. Where the tokens aren't known, use IntegerLookup.",
            options.num_tokens);
  }
  bool autocast() const override { return false; }  // small floats can't hold large numbers
  const CallSignature& call_signature() const override {
    static const CallSignature signature{.inputs = {"inputs", "count_weights"}, .built = 1};
    return signature;
  }

  void build_list(const std::vector<Shape>& shapes) override { build(shapes[0]); }

  Tensors call_list(const Tensors& inputs, const CallArgs&) override {
    require(inputs.size() <= 2, "expected class numbers, and count_weights or none, got {} inputs.",
            inputs.size());
    const Tensor& x = inputs[0];
    require(is_integer(x.dtype()) || is_floating(x.dtype()), "expected class numbers, got {}.",
            x.dtype());
    if (inputs.size() == 2) {
      require(options_.output_mode == "count",
              "count_weights are for output_mode \"count\", not \"{}\".", options_.output_mode);
      require(inputs[1].shape() == x.shape(),
              "expected count_weights of the numbers' shape {}, got {}.", x.shape(),
              inputs[1].shape());
    }
    return encode_categories(x, options_.output_mode, options_.num_tokens, compute_dtype(),
                             inputs.size() == 2 ? inputs[1] : Tensor());
  }
};

}  // namespace

CategoryEncoding::CategoryEncoding(const CategoryEncodingOptions& options)
    : LayerHandle(std::make_shared<CategoryEncodingLayer>(options)) {}

CategoryEncoding CategoryEncoding::from_config(const Json& config) {
  return CategoryEncoding(read_layer_options<CategoryEncodingOptions>(config));
}

}  // namespace cornu::layers
