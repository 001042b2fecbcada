// SPDX-License-Identifier: Apache-2.0
// Code shared by Keras's image layers. Internal: included by their .cc files.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/core/strings.h"
#include "framework/ops/ops.h"
#include "layers/keras_layer.h"
#include "layers/preprocessing/image_colors.h"
#include "layers/preprocessing/labeled_images.h"
#include "layers/regularization/random_layer.h"

namespace cornu::layers {

// The field that follows data_format in the config of every image layer.
template <class Fields, class Options>
void visit_box_format(Fields& fields, Options& options) {
  fields.unless_default("bounding_box_format", options.bounding_box_format,
                        std::optional<std::string>());
}

// The fields of Keras's layers that change pixels by a random factor, in its order.
template <class Fields, class Options>
void visit_factor_fields(Fields& fields, Options& options) {
  fields("data_format", options.data_format);
  visit_box_format(fields, options);
  fields("factor", options.factor);
  fields("value_range", options.value_range);
  fields("seed", options.seed);
}

// A layer for a single image or a batch of images, or for a dictionary of images and what belongs
// to them: labeled_images.h. Derived classes see (batch, height, width,
// channels) in the layer's dtype, whatever the data_format.
template <class Base>
class ImageLayerOf : public Base {
 public:
  bool supports_masking() const override { return false; }
  bool autocast() const override { return false; }  // only images are cast

  // Dictionaries are checked when they are used.
  void build_list(const std::vector<Shape>& input_shapes) override {
    if (input_shapes.size() == 1) Base::build_list(input_shapes);
  }

  Tensor call(const Tensor& x, const CallArgs& args) final {
    const Tensor given = with_policy(x);
    return restored(changed(unified(given), args), given);
  }

  Tensors call_list(const Tensors& inputs, const CallArgs& args) override {
    if (!is_dictionary(inputs)) return Base::call_list(inputs, args);
    const LabeledImages data({this->label(), this->options_.bounding_box_format, channels_first()},
                             inputs);
    check_input(data.images().shape());
    const Tensor given = with_policy(data.images());
    const Tensor images = unified(given);
    const Change change = this->change(images, args);
    const Tensor result = change.images(images);
    return data.changed(change, restored(result, given), {images.dim(1), images.dim(2)},
                        {result.dim(1), result.dim(2)});
  }

 protected:
  template <class... Args>
  explicit ImageLayerOf(Args&&... args) : Base(std::forward<Args>(args)...) {
    auto& format = this->options_.data_format;
    if (format.empty()) format = "channels_last";
    require_one_of("data_format", format, {"channels_last", "channels_first"});
    if (const auto& boxes = this->options_.bounding_box_format) {
      bounding_boxes::check_format(*boxes, this->label());
    }
  }

  virtual Tensor changed(const Tensor& images, const CallArgs& args) = 0;

  // What a call does to dictionaries of such images. By default, images are `changed`, and all that
  // belongs to them stays.
  virtual Change change(const Tensor&, const CallArgs& args) {
    return {.images = [this, args](const Tensor& images) { return changed(images, args); }};
  }

  // Convert an input to (batch, height, width, channels), and a result back to the form of the
  // input.
  Tensor unified(const Tensor& x) const {
    return arranged(ops::cast(x, working_dtype(x.dtype())), channels_first());
  }
  Tensor restored(const Tensor& result, const Tensor& x) const {
    return finished(rearranged(result, x, channels_first()), x);
  }

  // The dtype in which images of this dtype are processed.
  virtual DType working_dtype(DType) const { return this->compute_dtype(); }
  // Finishes the result for the input `x`.
  virtual Tensor finished(const Tensor& result, const Tensor&) const { return result; }

  void check_input(const Shape& shape) const override {
    this->require(
        shape.rank() == 3 || shape.rank() == 4, "expected an image {} or a batch of them, got {}.",
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
                  "expected images of red, green and blue, got {}.", shape);
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
  Tensor with_policy(const Tensor& x) const {
    return is_floating(x.dtype()) ? ops::cast(x, this->compute_dtype()) : x;
  }
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

// A random layer that changes pixels by, or with the probability of, a random factor.
template <class Options>
class RandomFactorLayer : public RandomImageLayer<Options> {
 protected:
  // The factors that are allowed are those in [low, high].
  RandomFactorLayer(const std::string& class_name, const Options& options, double low, double high)
      : RandomImageLayer<Options>(class_name, options),
        factor_(this->bounds_of("factor", options.factor, low, high)) {
    this->options_.factor = {factor_.lower, factor_.upper};
    range_ = this->checked_range(this->options_.value_range);
  }

  const Bounds& factor() const { return factor_; }
  const Bounds& range() const { return range_; }  // of the values

 private:
  Bounds factor_;
  Bounds range_;
};

// A random layer that moves pixels, and with them masks and boxes.
template <class Options>
class RandomMovingLayer : public RandomImageLayer<Options> {
 protected:
  using RandomImageLayer<Options>::RandomImageLayer;

  // Called in training: draws random numbers.
  virtual Change movement(const Tensor& images) = 0;

  Tensor augmented(const Tensor& images) final { return movement(images).images(images); }
  Change change(const Tensor& images, const CallArgs& args) override {
    if (this->draws(args)) return movement(images);
    return {.images = [](const Tensor& same) { return same; }};
  }
};

}  // namespace cornu::layers
