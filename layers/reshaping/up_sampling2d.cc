// SPDX-License-Identifier: Apache-2.0
#include "layers/reshaping/up_sampling2d.h"

#include <algorithm>
#include <string>
#include <vector>

#include "framework/core/checked.h"
#include "framework/core/strings.h"
#include "framework/ops/ops.h"
#include "layers/keras_layer.h"
#include "layers/spatial.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, UpSampling2DOptions& options) {
  fields("size", options.size);
  fields("data_format", options.data_format);
  fields("interpolation", options.interpolation);
}

namespace {

class UpSampling2DLayer : public KerasLayerOf<UpSampling2DOptions> {
 public:
  explicit UpSampling2DLayer(const UpSampling2DOptions& options)
      : KerasLayerOf("UpSampling2D", options) {
    if (options_.data_format != kChannelsFirst) {
      options_.data_format = check_data_format(label(), options.data_format);
    }
    require_positive(label(), "size", options.size.values());
    const std::vector<std::string> known = {"nearest", "bilinear", "bicubic", "lanczos3",
                                            "lanczos5"};
    require(std::count(known.begin(), known.end(), options.interpolation) > 0,
            "unknown interpolation '{}'.{}", options.interpolation,
            did_you_mean(options.interpolation, known));
  }

  Tensor call(const Tensor& x, const CallArgs&) override {
    const bool channels_first = options_.data_format == kChannelsFirst;
    if (options_.interpolation == "nearest") {
      const int64_t height = channels_first ? 2 : 1;
      return ops::repeat(ops::repeat(x, options_.size[0], height), options_.size[1], height + 1);
    }
    return channels_first ? ops::transpose(resized(ops::transpose(x, {0, 2, 3, 1})), {0, 3, 1, 2})
                          : resized(x);
  }

 protected:
  void check_input(const Shape& shape) const override { require_spatial(label(), shape, 2); }

 private:
  static constexpr const char* kChannelsFirst = "channels_first";

  Tensor resized(const Tensor& x) const {
    const int64_t height = checked_multiply(x.dim(1), options_.size[0], label());
    const int64_t width = checked_multiply(x.dim(2), options_.size[1], label());
    return ops::image::resize(x, {height, width}, {.interpolation = options_.interpolation});
  }
};

}  // namespace

UpSampling2D::UpSampling2D(const UpSampling2DOptions& options)
    : LayerHandle(std::make_shared<UpSampling2DLayer>(options)) {}

UpSampling2D UpSampling2D::from_config(const Json& config) {
  return UpSampling2D(read_layer_options<UpSampling2DOptions>(config));
}

}  // namespace cornu::layers
