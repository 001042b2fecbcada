// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/image_augmentations.h"

#include <algorithm>

#include "framework/ops/ops.h"
#include "layers/preprocessing/image_transforms.h"

namespace cornu::layers {
namespace {

// Random numbers for one operation on images.
class Draws {
 public:
  Draws(const Tensor& numbers, const Bounds& factor) : numbers_(numbers), factor_(factor) {}

  Tensor unit(int64_t place) const { return ops::slice_axis(numbers_, 3, place, place + 1); }
  Tensor within(int64_t place, double low, double high) const {
    return unit(place) * (high - low) + low;
  }
  Tensor factor(int64_t place) const { return within(place, factor_.lower, factor_.upper); }

 private:
  Tensor numbers_;
  Bounds factor_;
};

// The first operations move pixels.
constexpr int64_t kMoves = 3;

Tensor transforms_of(int64_t which, const Draws& draws, int64_t height, int64_t width) {
  switch (which) {
    case 0: {
      const Tensor sign = ops::where(draws.unit(0) > 0.5, -1.0, 1.0);
      return shears(sign * draws.factor(1), sign * draws.factor(2));
    }
    case 1:
      return translations(draws.factor(0) * height, draws.factor(1) * width);
    default:
      return rotations(360 * draws.factor(0), height, width);
  }
}

Tensor with_fewer_bits(const Tensor& images, const Draws& draws,
                       const AugmentationSettings& settings) {
  // From 1 to below the upper bound, out of 8.
  const int64_t most = std::max<int64_t>(1, static_cast<int64_t>(8 * settings.factor.upper) - 1);
  const Tensor bits = ops::minimum(ops::floor(draws.within(0, 1, static_cast<double>(most + 1))),
                                   static_cast<double>(most));
  return posterize(images, ops::cast(bits, DType::Int32), settings.range);
}

Tensor augment_plainly(const Tensor& images, int64_t which, const Draws& draws,
                       const AugmentationSettings& settings) {
  if (which < kMoves) {
    return move_pixels(images, transforms_of(which, draws, images.dim(1), images.dim(2)),
                       settings.interpolation);
  }
  const Bounds& factor = settings.factor;
  switch (which) {
    case 3:
      return with_fewer_bits(images, draws, settings);
    case 4:
      return solarize(images, draws.within(0, factor.lower, 255 * factor.upper),
                      draws.within(1, factor.lower, 255 * factor.upper), settings.range);
    case 5:
      return stretch_contrast(images, settings.range);
    default:
      return equalize(images, 256, settings.range);
  }
}

Tensor augment_as(const Tensor& images, int64_t which, const Tensor& numbers,
                  const AugmentationSettings& settings) {
  const Draws draws(numbers, settings.factor);
  const Bounds& range = settings.range;
  switch (which) {
    case 7:
      return adjust_brightness(images, draws.factor(0) * (range.upper - range.lower), range.lower,
                               range.upper);
    case 8:
      return degenerate_colors(images, draws.factor(0), range);
    case 9:
      return adjust_contrast(images,
                             draws.within(0, 1 - settings.factor.lower, 1 + settings.factor.upper),
                             range.lower, range.upper);
    case 10:
      return sharpen(images, draws.factor(0), range);
    default:
      return augment_plainly(images, which, draws, settings);
  }
}

}  // namespace

Tensor augment(const Tensor& images, const Tensor& which, const Tensor& numbers,
               const AugmentationSettings& settings) {
  Tensor result = images;
  for (int64_t i = 0; i < kAugmentations; ++i) {
    const auto changed = [&]() -> Tensor {
      return ops::cast(augment_as(images, i, numbers, settings), images.dtype());
    };
    const auto kept = [&]() -> Tensor { return result; };
    result = ops::cond(which == i, changed, kept);
  }
  return result;
}

Tensor moves_pixels(const Tensor& which) { return ops::logical_and(which >= 0, which < kMoves); }

Tensor augmentation_transforms(const Tensor& which, const Tensor& numbers,
                               const AugmentationSettings& settings, int64_t height,
                               int64_t width) {
  const Draws draws(numbers, settings.factor);
  Tensor result = Tensor::from<float>({1, 0, 0, 0, 1, 0, 0, 0}, {1, 8});
  for (int64_t i = 0; i < kMoves; ++i) {
    result = ops::where(which == i, transforms_of(i, draws, height, width), result);
  }
  return result;
}

Tensor move_pixels(const Tensor& images, const Tensor& transforms,
                   const std::string& interpolation) {
  return ops::image::affine_transform(images, transforms,
                                      {.interpolation = interpolation, .fill_mode = "reflect"});
}

}  // namespace cornu::layers
