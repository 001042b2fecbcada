// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_crop.h"

#include "layers/preprocessing/image_crops.h"
#include "layers/preprocessing/image_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomCropOptions& options) {
  fields("data_format", options.data_format);
  visit_box_format(fields, options);
  fields("height", options.height);
  fields("width", options.width);
  fields("seed", options.seed);
}

namespace {

class RandomCropLayer : public RandomMovingLayer<RandomCropOptions> {
 public:
  explicit RandomCropLayer(const RandomCropOptions& options)
      : RandomMovingLayer("RandomCrop", options) {
    require_size(options.height, options.width);
  }

 protected:
  Tensor changed(const Tensor& images, const CallArgs& args) override {
    return change(images, args).images(images);
  }
  Change change(const Tensor& images, const CallArgs& args) override {
    return draws(args) ? movement(images) : crop_and_resize({images.dim(1), images.dim(2)}, size());
  }

  Change movement(const Tensor& images) override {
    const int64_t rows = images.dim(1) - options_.height;
    const int64_t columns = images.dim(2) - options_.width;
    if (rows <= 0 || columns <= 0) return crop_small({images.dim(1), images.dim(2)}, size());
    const Tensor key = next_key();
    const Tensor places = ops::internal::shared_uniform(key, {2});
    const auto place = [&](int64_t axis, int64_t count) {
      return ops::cast(places[axis] * count, DType::Int32);
    };
    return crop_at(place(0, rows + 1), place(1, columns + 1), size());
  }

 private:
  ImageSize size() const { return {options_.height, options_.width}; }
};

}  // namespace

RandomCrop::RandomCrop(const RandomCropOptions& options)
    : LayerHandle(std::make_shared<RandomCropLayer>(options)) {}

RandomCrop RandomCrop::from_config(const Json& config) {
  return RandomCrop(read_layer_options<RandomCropOptions>(config));
}

}  // namespace cornu::layers
