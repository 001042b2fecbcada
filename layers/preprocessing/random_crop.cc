// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_crop.h"

#include "layers/preprocessing/image_layer.h"
#include "layers/preprocessing/image_transforms.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomCropOptions& options) {
  fields("data_format", options.data_format);
  fields("height", options.height);
  fields("width", options.width);
  fields("seed", options.seed);
}

namespace {

class RandomCropLayer : public RandomImageLayer<RandomCropOptions> {
 public:
  explicit RandomCropLayer(const RandomCropOptions& options)
      : RandomImageLayer("RandomCrop", options) {
    require_size(options.height, options.width);
  }

 protected:
  Tensor changed(const Tensor& images, const CallArgs& args) override {
    return draws(args) ? augmented(images) : crop_and_resize(images, size());
  }

  Tensor augmented(const Tensor& images) override {
    const auto [height, width] = size();
    const int64_t rows = images.dim(1) - height;
    const int64_t columns = images.dim(2) - width;
    if (rows <= 0 || columns <= 0) return from_small(images);
    const Tensor key = next_key();
    const Tensor places = ops::internal::shared_uniform(key, {2});
    const auto place = [&](int64_t axis, int64_t count) {
      return ops::cast(places[axis] * count, DType::Int32);
    };
    return crop_images(images, place(0, rows + 1), place(1, columns + 1), size());
  }

 private:
  std::pair<int64_t, int64_t> size() const { return {options_.height, options_.width}; }

  // Keras's result for images that aren't larger.
  Tensor from_small(const Tensor& images) const {
    const auto [height, width] = size();
    const auto start = [](int64_t side, int64_t other, int64_t target, int64_t target_other) {
      const auto wanted = static_cast<int64_t>(static_cast<double>(other * target) /
                                               static_cast<double>(target_other));
      return (side - std::clamp<int64_t>(wanted, 1, side)) / 2;
    };
    const int64_t top = start(images.dim(1), images.dim(2), height, width);
    const int64_t left = start(images.dim(2), images.dim(1), width, height);
    const int64_t bottom = std::min(top + height, images.dim(1));
    const int64_t right = std::min(left + width, images.dim(2));
    const Tensor part = ops::slice_axis(ops::slice_axis(images, 1, top, bottom), 2, left, right);
    const bool fits = bottom - top == height && right - left == width;
    return fits ? part : ops::image::resize(part, size());
  }
};

}  // namespace

RandomCrop::RandomCrop(const RandomCropOptions& options)
    : LayerHandle(std::make_shared<RandomCropLayer>(options)) {}

RandomCrop RandomCrop::from_config(const Json& config) {
  return RandomCrop(read_layer_options<RandomCropOptions>(config));
}

}  // namespace cornu::layers
