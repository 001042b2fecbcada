// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/max_num_bounding_boxes.h"

#include <algorithm>

#include "framework/ops/ops.h"
#include "layers/keras_layer.h"
#include "layers/preprocessing/category_output.h"
#include "layers/preprocessing/labeled_images.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, MaxNumBoundingBoxesOptions& options) {
  fields("data_format", options.data_format);
  fields.unless_default("bounding_box_format", options.bounding_box_format,
                        std::optional<std::string>());
  fields("max_number", options.max_number);
  fields.unless_default("fill_value", options.fill_value, int64_t{-1});
}

namespace {

class MaxNumBoundingBoxesLayer : public KerasLayerOf<MaxNumBoundingBoxesOptions> {
 public:
  explicit MaxNumBoundingBoxesLayer(const MaxNumBoundingBoxesOptions& options)
      : KerasLayerOf("MaxNumBoundingBoxes", options) {
    require(options.max_number > 0, "expected max_number > 0, got {}.", options.max_number);
    if (options_.data_format.empty()) options_.data_format = "channels_last";
    check_one_of(label(), "data_format", options_.data_format, {"channels_last", "channels_first"});
  }
  bool autocast() const override { return false; }

  void build_list(const std::vector<Shape>&) override {}

  Tensors call_list(const Tensors& inputs, const CallArgs&) override {
    if (!inputs.has_names()) {
      require(inputs.size() == 1, "expected images, or a dictionary, got {} inputs.",
              inputs.size());
      return inputs;
    }
    const auto& names = inputs.names();
    if (!check_boxes(inputs, label())) return inputs;
    const int64_t axis = inputs.at(kBoxes).rank() - 2;
    std::vector<Tensor> result;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool changes = names[i] == kBoxes || names[i] == kBoxLabels;
      result.push_back(changes ? as_many(inputs[i], axis) : inputs[i]);
    }
    return inputs.with(std::move(result));
  }

 private:
  Tensor as_many(const Tensor& x, int64_t axis) const {
    const int64_t given = x.dim(axis);
    if (given >= options_.max_number) {
      return ops::slice_axis(x, axis, 0, options_.max_number);
    }
    Shape missing = x.shape();
    missing[axis] = options_.max_number - given;
    const Tensor more = ops::full(missing, Tensor::scalar(options_.fill_value), x.dtype());
    return ops::concatenate({x, more}, axis);
  }
};

}  // namespace

MaxNumBoundingBoxes::MaxNumBoundingBoxes(const MaxNumBoundingBoxesOptions& options)
    : LayerHandle(std::make_shared<MaxNumBoundingBoxesLayer>(options)) {}

MaxNumBoundingBoxes MaxNumBoundingBoxes::from_config(const Json& config) {
  return MaxNumBoundingBoxes(read_layer_options<MaxNumBoundingBoxesOptions>(config));
}

}  // namespace cornu::layers
