// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/rand_augment.h"

#include "layers/preprocessing/image_augmentations.h"
#include "layers/preprocessing/image_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandAugmentOptions& options) {
  fields("data_format", options.data_format);
  visit_box_format(fields, options);
  fields("value_range", options.value_range);
  fields("num_ops", options.num_ops);
  fields("factor", options.factor);
  fields("interpolation", options.interpolation);
  fields("seed", options.seed);
}

namespace {

class RandAugmentLayer : public RandomMovingLayer<RandAugmentOptions> {
 public:
  explicit RandAugmentLayer(const RandAugmentOptions& options)
      : RandomMovingLayer("RandAugment", options) {
    settings_.factor = bounds_of("factor", options.factor, 0, 1);
    settings_.range = checked_range(options_.value_range);
    settings_.interpolation = options.interpolation;
    options_.factor = {settings_.factor.lower, settings_.factor.upper};
    require(options.num_ops >= 0 && options.num_ops <= kMaxChanges,
            "expected num_ops in [0, {}], got {}.", kMaxChanges, options.num_ops);
    require_one_of("interpolation", options.interpolation, {"nearest", "bilinear"});
  }

 protected:
  void check_input(const Shape& shape) const override {
    RandomMovingLayer::check_input(shape);
    require_rgb(shape, true);
  }

  Change movement(const Tensor& images) override {
    std::vector<Operation> operations;
    for (int64_t i = 0; i < options_.num_ops; ++i) {
      const Tensor choice = ops::internal::shared_uniform(next_key(), {});
      const Tensor numbers =
          random::uniform({images.dim(0), 1, 1, kAugmentationNumbers}, {.seed = next_key()});
      operations.push_back({ops::cast(choice * kAugmentations, DType::Int32), numbers});
    }
    const int64_t height = images.dim(1), width = images.dim(2);
    const auto transforms = [=, this](const Operation& operation) {
      return augmentation_transforms(operation.which, operation.numbers, settings_, height, width);
    };
    const auto move = [=](const Tensor& pixels, const std::string& interpolation) {
      Tensor result = pixels;
      for (const Operation& operation : operations) {
        const auto moved = [&]() -> Tensor {
          return move_pixels(result, transforms(operation), interpolation);
        };
        const auto kept = [&]() -> Tensor { return result; };
        result = ops::cond(moves_pixels(operation.which), moved, kept);
      }
      return result;
    };
    Change change = moving(move, "nearest", {}, {height, width});
    // What one operation moves out of the image doesn't come back by the next.
    change.boxes = [=](const BoundingBoxes& given) {
      BoundingBoxes result = given;
      for (const Operation& operation : operations) {
        result.boxes = transform_boxes(result.boxes, transforms(operation));
        result = clipped(result, {height, width});
      }
      return result;
    };
    change.images = [=, this](const Tensor& pixels) {
      Tensor result = pixels;
      for (const Operation& operation : operations) {
        result = augment(result, operation.which, operation.numbers, settings_);
      }
      return result;
    };
    return change;
  }

 private:
  // One of those that are applied to all images, with its random numbers.
  struct Operation {
    Tensor which, numbers;
  };
  static constexpr int64_t kMaxChanges = 100;
  AugmentationSettings settings_;
};

}  // namespace

RandAugment::RandAugment(const RandAugmentOptions& options)
    : LayerHandle(std::make_shared<RandAugmentLayer>(options)) {}

RandAugment RandAugment::from_config(const Json& config) {
  return RandAugment(read_layer_options<RandAugmentOptions>(config));
}

}  // namespace cornu::layers
