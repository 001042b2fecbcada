// SPDX-License-Identifier: Apache-2.0
// Code shared by Keras's image layers. Internal: included by their .cc files.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "framework/core/strings.h"
#include "framework/ops/ops.h"
#include "layers/keras_layer.h"
#include "layers/preprocessing/image_colors.h"
#include "layers/regularization/random_layer.h"

namespace cornu::layers {

// A layer for a single image or a batch of images. Derived classes see (batch, height, width,
// channels) in the layer's dtype, whatever the data_format.
template <class Base>
class ImageLayerOf : public Base {
 public:
  bool supports_masking() const override { return false; }

  Tensor call(const Tensor& x, const CallArgs& args) final {
    return restored(changed(unified(x), args), x);
  }

 protected:
  template <class... Args>
  explicit ImageLayerOf(Args&&... args) : Base(std::forward<Args>(args)...) {
    auto& format = this->options_.data_format;
    if (format.empty()) format = "channels_last";
    require_one_of("data_format", format, {"channels_last", "channels_first"});
  }

  virtual Tensor changed(const Tensor& images, const CallArgs& args) = 0;

  // Convert an input to (batch, height, width, channels), and a result back to the form of the
  // input.
  Tensor unified(const Tensor& x) const {
    Tensor images = ops::cast(x, working_dtype(x.dtype()));
    if (x.rank() == 3) images = ops::expand_dims(images, 0);
    return channels_first() ? ops::transpose(images, {0, 2, 3, 1}) : images;
  }
  Tensor restored(const Tensor& result, const Tensor& x) const {
    const Tensor images = channels_first() ? ops::transpose(result, {0, 3, 1, 2}) : result;
    return finished(x.rank() == 3 ? ops::squeeze(images, 0) : images, x);
  }

  // The dtype in which images of this dtype are processed.
  virtual DType working_dtype(DType) const { return this->compute_dtype(); }
  // Finishes the result for the input `x`.
  virtual Tensor finished(const Tensor& result, const Tensor&) const { return result; }

  void check_input(const Shape& shape) const override {
    this->require(
        shape.rank() == 3 || shape.rank() == 4, "expected a picture {} or a batch of them, got {}.",
        channels_first() ? "(channels, height, width)" : "(height, width, channels)", shape);
  }

  void require_one_of(const char* what, const std::string& value,
                      const std::vector<std::string>& known) const {
    this->require(std::count(known.begin(), known.end(), value) > 0, "unknown {} '{}'.{}", what,
                  value, did_you_mean(value, known));
  }
  void require_rgb(const Shape& shape, bool or_gray = false) const {
    const int64_t channels = shape[channels_first() ? shape.rank() - 3 : shape.rank() - 1];
    this->require(channels == 3 || channels == kUnknown || (or_gray && channels == 1),
                  "expected pictures of red, green and blue, got {}.", shape);
  }
  // Checks for two different numbers, and returns them in order.
  Bounds checked_range(NumberList& range) const {
    const std::vector<double>& values = range.values();
    this->require(!range.is_one() && values.size() == 2 && values[0] != values[1],
                  "expected value_range to be two different numbers, got {}.",
                  range.to_json().dump());
    range = {std::min(values[0], values[1]), std::max(values[0], values[1])};
    return {range.values()[0], range.values()[1]};
  }
  void require_size(int64_t height, int64_t width) const {
    this->require(height > 0 && width > 0,
                  "expected height and width of at least 1, got {} and {}.", height, width);
  }

 private:
  bool channels_first() const { return this->options_.data_format == "channels_first"; }
};

template <class Options>
using ImageLayer = ImageLayerOf<KerasLayerOf<Options>>;

// A layer that changes images randomly in training, and when the training flag isn't set (Keras's
// rule).
template <class Options>
class RandomImageLayer : public ImageLayerOf<RandomLayer<Options>> {
 public:
  bool training_by_default() const override { return true; }

 protected:
  using Base = ImageLayerOf<RandomLayer<Options>>;

  RandomImageLayer(const std::string& class_name, const Options& options)
      : Base(class_name, options, true) {}

  // Called in training: draws random numbers and changes the images (batch, height, width,
  // channels).
  virtual Tensor augmented(const Tensor& images) = 0;

  Tensor changed(const Tensor& images, const CallArgs& args) override {
    return this->draws(args) ? augmented(images) : images;
  }

  // Draws one number per image, (batch, 1, 1, 1).
  Tensor draw(const Tensor& images, const Bounds& bounds) const {
    return random::uniform(
        {images.dim(0), 1, 1, 1},
        {.minval = bounds.lower, .maxval = bounds.upper, .seed = this->next_key()});
  }

  // Draws for each image whether to change it, with a probability drawn within these bounds.
  Tensor chance(const Tensor& images, const Bounds& probability) const {
    const Tensor wanted = draw(images, probability);
    return draw(images, {0, 1}) < wanted;
  }

  // Returns two numbers within [low, high], in order; a single number f means [-f, f], bounded by
  // low.
  Bounds bounds_of(const char* what, const NumberList& factor, double low, double high) const {
    const std::vector<double>& values = factor.values();
    this->require(values.size() == (factor.is_one() ? 1 : 2) &&
                      std::all_of(values.begin(), values.end(),
                                  [&](double value) { return value >= low && value <= high; }),
                  "expected {} to be a number in [{}, {}], or two of them, got {}.", what, low,
                  high, factor.to_json().dump());
    if (factor.is_one()) {
      const double most = values[0] < 0 ? -values[0] : values[0];
      return {std::max(-most, low), most};
    }
    return {std::min(values[0], values[1]), std::max(values[0], values[1])};
  }
};

}  // namespace cornu::layers
