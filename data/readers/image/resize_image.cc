// SPDX-License-Identifier: Apache-2.0
#include "data/readers/image/resize_image.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "data/readers/image/codecs.h"
#include "data/readers/image/weigh_rows.h"
#include "framework/core/strings.h"

namespace cornu::data {
namespace {

// The input pixels of an axis that contribute to each output pixel, and their weights: `width`
// weights per output pixel, padded with 0 at the end.
struct Taps {
  int64_t width = 1;
  std::vector<int64_t> first;
  std::vector<float> weights;
};

struct Filter {
  float radius;
  float (*weight)(float distance);
};

template <int kRadius>
float lanczos_weight(float x) {
  constexpr auto kPi = std::numbers::pi_v<float>;
  if (x > kRadius) return 0;
  if (x <= 1e-3f) return 1;
  return kRadius * std::sin(kPi * x) * std::sin(kPi * x / kRadius) / (kPi * kPi * x * x);
}

float gaussian_weight(float x) { return x >= 1.5f ? 0 : std::exp(-2 * x * x); }

// Mitchell and Netravali, "Reconstruction filters in computer graphics" (1988), B = C = 1/3.
float mitchell_weight(float x) {
  if (x >= 2) return 0;
  if (x >= 1) return (((-7.0f / 18) * x + 2) * x - 10.0f / 3) * x + 16.0f / 9;
  return ((7.0f / 6) * x - 2) * x * x + 8.0f / 9;
}

// Keys, "Cubic convolution interpolation for digital image processing" (1981).
float keys_weight(float x) {
  if (x >= 2) return 0;
  if (x >= 1) return ((-0.5f * x + 2.5f) * x - 4) * x + 2;
  return (1.5f * x - 2.5f) * x * x + 1;
}

class TapsBuilder {
 public:
  TapsBuilder(int64_t in, int64_t out) : in_(in), out_(out) {
    scale_ = static_cast<float>(in) / static_cast<float>(out);
  }

  Taps build(const std::string& interpolation) {
    if (interpolation == "bilinear") return bilinear();
    if (interpolation == "nearest") return nearest();
    if (interpolation == "area") return area();
    if (interpolation == "bicubic") return bicubic();
    if (interpolation == "lanczos3") return spans({3, lanczos_weight<3>});
    if (interpolation == "lanczos5") return spans({5, lanczos_weight<5>});
    if (interpolation == "gaussian") return spans({1.5f, gaussian_weight});
    return spans({2, mitchell_weight});
  }

 private:
  using Weighted = std::vector<std::pair<int64_t, float>>;  // consecutive pixels

  float center(int64_t i) const { return (static_cast<float>(i) + 0.5f) * scale_; }

  template <class F>
  Taps collect(F pixels_of) const {
    std::vector<Weighted> all;
    Taps taps;
    for (int64_t i = 0; i < out_; ++i) {
      all.push_back(pixels_of(i));
      taps.width = std::max<int64_t>(taps.width, std::ssize(all.back()));
    }
    taps.width = std::min(taps.width, in_);
    taps.weights.resize(static_cast<size_t>(taps.width * out_));
    for (int64_t i = 0; i < out_; ++i) {
      const Weighted& pixels = all[static_cast<size_t>(i)];
      const int64_t wanted = pixels.empty() ? 0 : pixels.front().first;
      taps.first.push_back(std::min(wanted, in_ - taps.width));
      for (const auto& [pixel, weight] : pixels) {
        taps.weights[static_cast<size_t>(i * taps.width + pixel - taps.first.back())] += weight;
      }
    }
    return taps;
  }

  Taps bilinear() const {
    return collect([&](int64_t i) {
      const float at = center(i) - 0.5f;
      const float floor = std::floor(at);
      const auto lower = std::max<int64_t>(static_cast<int64_t>(floor), 0);
      const auto upper = std::min<int64_t>(static_cast<int64_t>(std::ceil(at)), in_ - 1);
      Weighted pixels = {{std::min(lower, in_ - 1), 1 - (at - floor)}};
      pixels.emplace_back(upper, at - floor);
      return pixels;
    });
  }

  Taps nearest() const {
    return collect([&](int64_t i) {
      return Weighted{{std::min(static_cast<int64_t>(std::floor(center(i))), in_ - 1), 1.0f}};
    });
  }

  Taps area() const {
    return collect([&](int64_t i) {
      const float begin = static_cast<float>(i) * scale_;
      const float end = static_cast<float>(i + 1) * scale_;
      Weighted pixels;
      const auto last = static_cast<int64_t>(std::ceil(end));
      for (auto k = static_cast<int64_t>(std::floor(begin)); k < last; ++k) {
        const float share =
            std::min(static_cast<float>(k + 1), end) - std::max(static_cast<float>(k), begin);
        pixels.emplace_back(std::min(k, in_ - 1), share / scale_);
      }
      return pixels;
    });
  }

  Taps bicubic() const {
    return collect([&](int64_t i) {
      // TensorFlow takes the weights from a table with 1024 entries between two pixels.
      constexpr float kTable = 1024;
      const float at = center(i) - 0.5f;
      const float floor = std::floor(at);
      const float place = std::nearbyint((at - floor) * kTable) / kTable;
      Weighted pixels;
      for (int k = -1; k <= 2; ++k) {
        const int64_t pixel = static_cast<int64_t>(floor) + k;
        if (pixel < 0 || pixel >= in_) continue;
        pixels.emplace_back(pixel, keys_weight(std::abs(place - static_cast<float>(k))));
      }
      return normalized(pixels);
    });
  }

  Taps spans(const Filter& filter) const {
    return collect([&](int64_t i) {
      const float at = center(i);
      const auto begin = static_cast<int64_t>(std::ceil(at - filter.radius - 0.5f));
      const auto end = static_cast<int64_t>(std::floor(at + filter.radius - 0.5f));
      Weighted pixels;
      for (int64_t k = std::max<int64_t>(begin, 0); k <= std::min(end, in_ - 1); ++k) {
        pixels.emplace_back(k, filter.weight(std::abs(static_cast<float>(k) + 0.5f - at)));
      }
      return normalized(pixels);
    });
  }

  static Weighted normalized(Weighted pixels) {
    float total = 0;
    for (const auto& pixel : pixels) total += pixel.second;
    for (auto& pixel : pixels) pixel.second /= total;
    return pixels;
  }

  int64_t in_;
  int64_t out_;
  float scale_;
};

// A part of an image.
template <class T>
struct ImagePart {
  const T* pixels;  // the upper left corner
  int64_t height;
  int64_t width;
  int64_t stride;  // elements between consecutive rows
};

// Computes a row at the new width, pixel by pixel; kChannels and kWidth (taps.width) are 0 for any
// number. Reads and writes as if a pixel had kLanes values, so both `row` and `to` must have that
// many extra elements at the end.
template <int kChannels, int kWidth = 0>
void sum_columns(const float* row, const Taps& taps, int64_t channels, float* to) {
  constexpr int64_t kLanes = kChannels == 0 ? 1 : kChannels == 3 ? 4 : kChannels;
  const int64_t depth = kChannels > 0 ? kChannels : channels;
  const int64_t width = kWidth > 0 ? kWidth : taps.width;
  const float* weights = taps.weights.data();
  for (const int64_t first : taps.first) {
    for (int64_t c = 0; c < depth; c += kLanes) {
      const float* from = row + first * depth + c;
      float sums[kLanes] = {};
      for (int64_t k = 0; k < width; ++k) {
        for (int64_t x = 0; x < kLanes; ++x) sums[x] += weights[k] * from[k * depth + x];
      }
      std::copy_n(sums, kLanes, to + c);
    }
    weights += width;
    to += depth;
  }
}

constexpr size_t kMaxLanes = 4;

// `to`: the first row of the result; consecutive rows are `to_stride` elements apart.
template <class T>
void resize_part(const ImagePart<T>& part, int64_t channels, const Taps& down, const Taps& across,
                 float* to, int64_t to_stride) {
  const int64_t in_size = part.width * channels;
  const int64_t out_size = std::ssize(across.first) * channels;
  std::vector<float> in_row(static_cast<size_t>(in_size) + kMaxLanes);
  std::vector<float> out_row(static_cast<size_t>(out_size) + kMaxLanes);
  const auto sum = channels == 3 && across.width == 2 ? sum_columns<3, 2>
                   : channels == 3                    ? sum_columns<3>
                   : channels == 1                    ? sum_columns<1>
                   : channels == 4                    ? sum_columns<4>
                                                      : sum_columns<0>;
  const float* weights = down.weights.data();
  for (const int64_t first : down.first) {
    codecs::weigh_rows(part.pixels + first * part.stride, part.stride, down.width, weights, in_size,
                       in_row.data());
    // Writing past the end of a row is fine if another row follows it.
    const bool last = weights + down.width == down.weights.data() + down.weights.size();
    float* whole = last || to_stride != out_size ? out_row.data() : to;
    sum(in_row.data(), across, channels, whole);
    if (whole != to) std::copy_n(whole, out_size, to);
    weights += down.width;
    to += to_stride;
  }
}

// The first side when its ratio to the second must be that of the others, truncated like in
// TensorFlow.
int64_t side_in_ratio(int64_t side, int64_t target, int64_t target_side) {
  return static_cast<int64_t>(static_cast<float>(side * target) / static_cast<float>(target_side));
}

// The region of the source image and its destination in the result.
struct Placement {
  int64_t top = 0, left = 0, height = 0, width = 0;              // in the source image
  int64_t to_top = 0, to_left = 0, to_height = 0, to_width = 0;  // in the result
};

Placement placement_of(int64_t height, int64_t width, std::pair<int64_t, int64_t> size,
                       const ResizeImageOptions& options) {
  const auto [to_height, to_width] = size;
  Placement place{0, 0, height, width, 0, 0, to_height, to_width};
  if (options.crop_to_aspect_ratio) {
    place.height = std::clamp<int64_t>(side_in_ratio(width, to_height, to_width), 1, height);
    place.width = std::clamp<int64_t>(side_in_ratio(height, to_width, to_height), 1, width);
    place.top = (height - place.height) / 2;
    place.left = (width - place.width) / 2;
  }
  if (options.pad_to_aspect_ratio) {
    const float ratio = std::max(static_cast<float>(width) / static_cast<float>(to_width),
                                 static_cast<float>(height) / static_cast<float>(to_height));
    const float exact_height = static_cast<float>(height) / ratio;
    const float exact_width = static_cast<float>(width) / ratio;
    place.to_height = std::clamp<int64_t>(static_cast<int64_t>(exact_height), 1, to_height);
    place.to_width = std::clamp<int64_t>(static_cast<int64_t>(exact_width), 1, to_width);
    place.to_top = std::max<int64_t>(
        0, static_cast<int64_t>(std::floor((static_cast<float>(to_height) - exact_height) / 2)));
    place.to_left = std::max<int64_t>(
        0, static_cast<int64_t>(std::floor((static_cast<float>(to_width) - exact_width) / 2)));
  }
  return place;
}

template <class T>
void resize_into(const Tensor& image, const Placement& place, const std::string& interpolation,
                 Tensor& result) {
  const int64_t channels = image.dim(2);
  const int64_t stride = image.dim(1) * channels;
  const auto pixels = image.data<T>();
  const ImagePart<T> part{pixels.data() + place.top * stride + place.left * channels, place.height,
                          place.width, stride};
  const int64_t to_stride = result.dim(1) * channels;
  const auto values = result.mutable_data<float>();
  if (place.to_height != result.dim(0) || place.to_width != result.dim(1)) {
    std::fill(values.begin(), values.end(), 0.0f);
  }
  resize_part(part, channels, TapsBuilder(place.height, place.to_height).build(interpolation),
              TapsBuilder(place.width, place.to_width).build(interpolation),
              values.data() + place.to_top * to_stride + place.to_left * channels, to_stride);
}

}  // namespace

const std::vector<std::string>& codecs::interpolations() {
  static const std::vector<std::string> names = {"bilinear", "nearest",      "bicubic",
                                                 "area",     "lanczos3",     "lanczos5",
                                                 "gaussian", "mitchellcubic"};
  return names;
}

Tensor resize_image(const Tensor& image, std::pair<int64_t, int64_t> size,
                    const ResizeImageOptions& options) {
  const std::vector<std::string>& known = codecs::interpolations();
  check<InvalidArgument>(std::count(known.begin(), known.end(), options.interpolation) > 0,
                         "resize_image: unknown interpolation '{}'.{}", options.interpolation,
                         did_you_mean(options.interpolation, known));
  check<InvalidArgument>(!options.crop_to_aspect_ratio || !options.pad_to_aspect_ratio,
                         "resize_image: expected at most one of crop_to_aspect_ratio and "
                         "pad_to_aspect_ratio.");
  const Tensor pixels = image.host();
  const bool bytes = pixels.dtype() == DType::UInt8;
  check<InvalidArgument>(
      pixels.rank() == 3 && pixels.num_elements() > 0 &&
          (bytes || pixels.dtype() == DType::Float32),
      "resize_image: expected uint8 or float32 (height, width, channels), got {} {}.",
      pixels.dtype(), pixels.shape());
  check<InvalidArgument>(size.first > 0 && size.second > 0,
                         "resize_image: expected a size of at least (1, 1), got ({}, {}).",
                         size.first, size.second);
  const Placement place = placement_of(pixels.dim(0), pixels.dim(1), size, options);
  Tensor result = Tensor::empty({size.first, size.second, pixels.dim(2)}, DType::Float32);
  if (bytes) {
    resize_into<uint8_t>(pixels, place, options.interpolation, result);
  } else {
    resize_into<float>(pixels, place, options.interpolation, result);
  }
  return result;
}

}  // namespace cornu::data
