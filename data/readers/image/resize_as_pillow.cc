// SPDX-License-Identifier: Apache-2.0
// Resizes exactly like Pillow: weights have 22 fractional bits, and results are rounded to bytes
// after each axis. Rows are resized first, unless the height shrinks by more than twice as many
// pixels as the width (since Pillow 13).
#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "data/readers/image/resize_image.h"
#include "framework/core/strings.h"

namespace cornu::data {
namespace {

struct PillowFilter {
  const char* name;
  double radius;
  double (*weight)(double);
};

double sinc(double x) {
  if (x == 0) return 1;
  return std::sin(x * std::numbers::pi) / (x * std::numbers::pi);
}

const PillowFilter kPillowFilters[] = {
    {"box", 0.5, [](double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }},
    {"bilinear", 1, [](double x) { return std::max(0.0, 1 - std::abs(x)); }},
    {"hamming", 1,
     [](double x) {
       x = std::abs(x);
       if (x >= 1) return 0.0;
       return x == 0 ? 1.0 : sinc(x) * (0.54 + 0.46 * std::cos(std::numbers::pi * x));
     }},
    {"bicubic", 2,
     [](double x) {
       x = std::abs(x);
       if (x >= 2) return 0.0;
       return x < 1 ? (1.5 * x - 2.5) * x * x + 1 : ((-0.5 * x + 2.5) * x - 4) * x + 2;
     }},
    {"lanczos", 3, [](double x) { return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0.0; }},
};

constexpr int kFractionBits = 22;

// Throws ResourceExhausted when memory doesn't hold `count` times `bytes` bytes.
void require_memory(int64_t count, double bytes) {
  Tensor::empty({count, static_cast<int64_t>(bytes)}, DType::UInt8);
}

struct FixedTaps {
  int64_t first;
  std::vector<int32_t> weights;
};

// The taps for an axis of `in` pixels, of which those from `begin` to `end` become `out`.
std::vector<FixedTaps> fixed_taps(const PillowFilter& filter, int64_t in, int64_t begin,
                                  int64_t end, int64_t out) {
  const double scale = static_cast<double>(end - begin) / static_cast<double>(out);
  const double stretch = std::max(scale, 1.0);
  const double radius = filter.radius * stretch;
  require_memory(out, sizeof(FixedTaps) + (2 * radius + 1) * sizeof(int32_t));
  std::vector<FixedTaps> taps;
  for (int64_t i = 0; i < out; ++i) {
    const double center = static_cast<double>(begin) + (static_cast<double>(i) + 0.5) * scale;
    const auto first = std::max<int64_t>(0, static_cast<int64_t>(center - radius + 0.5));
    const auto last = std::min<int64_t>(in, static_cast<int64_t>(center + radius + 0.5));
    std::vector<double> weights;
    double total = 0;
    for (int64_t k = first; k < last; ++k) {
      weights.push_back(filter.weight((static_cast<double>(k) - center + 0.5) / stretch));
      total += weights.back();
    }
    taps.push_back({first, {}});
    for (const double weight : weights) {
      const double share = total != 0 ? weight / total : weight;
      taps.back().weights.push_back(
          static_cast<int32_t>(share * (1 << kFractionBits) + (share < 0 ? -0.5 : 0.5)));
    }
  }
  return taps;
}

// `lines` lines of pixels, which are `step` elements apart; the lines are `line_step` apart.
struct Axis {
  const uint8_t* from;
  uint8_t* to;
  int64_t lines, from_line_step, to_line_step;
  int64_t from_step, to_step;
};

void resize_axis(const Axis& axis, const std::vector<FixedTaps>& taps) {
  for (int64_t line = 0; line < axis.lines; ++line) {
    const uint8_t* from = axis.from + line * axis.from_line_step;
    uint8_t* to = axis.to + line * axis.to_line_step;
    for (const FixedTaps& tap : taps) {
      int64_t sum = 1 << (kFractionBits - 1);
      const uint8_t* pixel = from + tap.first * axis.from_step;
      for (const int32_t weight : tap.weights) {
        sum += int64_t{*pixel} * weight;
        pixel += axis.from_step;
      }
      *to = static_cast<uint8_t>(std::clamp<int64_t>(sum >> kFractionBits, 0, 255));
      to += axis.to_step;
    }
  }
}

// Resizes each row of (height, width, channels), or each column.
Tensor resized_across(const Tensor& image, int64_t width, const std::vector<FixedTaps>& taps) {
  const int64_t channels = image.dim(2);
  Tensor result = Tensor::empty({image.dim(0), width, channels}, DType::UInt8);
  const auto from = image.data<uint8_t>();
  const auto to = result.mutable_data<uint8_t>();
  for (int64_t c = 0; c < channels; ++c) {
    resize_axis({from.data() + c, to.data() + c, image.dim(0), image.dim(1) * channels,
                 width * channels, channels, channels},
                taps);
  }
  return result;
}

Tensor resized_down(const Tensor& image, int64_t height, const std::vector<FixedTaps>& taps) {
  const int64_t row = image.dim(1) * image.dim(2);
  Tensor result = Tensor::empty({height, image.dim(1), image.dim(2)}, DType::UInt8);
  const auto from = image.data<uint8_t>();
  const auto to = result.mutable_data<uint8_t>();
  resize_axis({from.data(), to.data(), row, 1, 1, row, row}, taps);
  return result;
}

Tensor filtered(const Tensor& image, std::pair<int64_t, int64_t> size, const PillowFilter& filter,
                const PixelBox& box) {
  const auto [height, width] = size;
  const auto across = fixed_taps(filter, image.dim(1), box.left, box.right, width);
  const auto down = fixed_taps(filter, image.dim(0), box.top, box.bottom, height);
  // An axis that doesn't change is skipped.
  const bool is_as_wide = width == image.dim(1) && box.left == 0 && box.right == width;
  const bool is_as_high = height == image.dim(0) && box.top == 0 && box.bottom == height;
  const int64_t fewer_rows = image.dim(0) - height;
  const bool down_first = fewer_rows > 0 && fewer_rows > 2 * (image.dim(1) - width);
  Tensor result = image;
  if (down_first && !is_as_high) result = resized_down(result, height, down);
  if (!is_as_wide) result = resized_across(result, width, across);
  if (!down_first && !is_as_high) result = resized_down(result, height, down);
  return result;
}

// The pixels of an axis, from `begin` to `end`, that become `out`. Positions add up, as in Pillow:
// where one is on the border of two pixels, its rounding decides.
std::vector<int64_t> picked_pixels(int64_t begin, int64_t end, int64_t out) {
  const double scale = static_cast<double>(end - begin) / static_cast<double>(out);
  double at = static_cast<double>(begin) + scale * 0.5;
  require_memory(out, sizeof(int64_t));
  std::vector<int64_t> pixels;
  for (int64_t i = 0; i < out; ++i, at += scale) {
    pixels.push_back(std::min(static_cast<int64_t>(at), end - 1));
  }
  return pixels;
}

Tensor picked(const Tensor& image, std::pair<int64_t, int64_t> size, const PixelBox& box) {
  const int64_t channels = image.dim(2);
  Tensor result = Tensor::empty({size.first, size.second, channels}, DType::UInt8);
  const auto from = image.data<uint8_t>();
  auto* to = result.mutable_data<uint8_t>().data();
  const std::vector<int64_t> columns = picked_pixels(box.left, box.right, size.second);
  for (const int64_t row : picked_pixels(box.top, box.bottom, size.first)) {
    for (const int64_t column : columns) {
      std::copy_n(from.data() + (row * image.dim(1) + column) * channels, channels, to);
      to += channels;
    }
  }
  return result;
}

// Premultiplies colors by alpha so that they are averaged in proportion to it, or divides them
// again.
Tensor with_opacity_in_colors(const Tensor& image, bool multiply) {
  Tensor result = Tensor::empty(image.shape(), DType::UInt8);
  const auto from = image.data<uint8_t>();
  const auto to = result.mutable_data<uint8_t>();
  const auto channels = static_cast<size_t>(image.dim(2));
  for (size_t i = 0; i < from.size(); ++i) {
    const int opacity = from[i / channels * channels + channels - 1];
    const int value = from[i];
    int changed = value;
    if (i % channels != channels - 1) {
      if (multiply) {
        const int product = value * opacity + 128;
        changed = ((product >> 8) + product) >> 8;
      } else if (opacity != 0 && opacity != 255) {
        changed = std::min(255 * value / opacity, 255);
      }
    }
    to[i] = static_cast<uint8_t>(changed);
  }
  return result;
}

}  // namespace

Tensor resize_as_pillow(const Tensor& image, std::pair<int64_t, int64_t> size,
                        const std::string& interpolation, const PixelBox& box) {
  check<InvalidArgument>(size.first > 0 && size.second > 0,
                         "load_img: expected a target_size of at least (1, 1), got ({}, {}).",
                         size.first, size.second);
  check<InvalidArgument>(image.rank() == 3 && image.dtype() == DType::UInt8,
                         "load_img: expected uint8 pixels (height, width, channels), got {} of "
                         "shape {}.",
                         image.dtype(), image.shape());
  check<InvalidArgument>(0 <= box.left && box.left < box.right && box.right <= image.dim(1) &&
                             0 <= box.top && box.top < box.bottom && box.bottom <= image.dim(0),
                         "load_img: expected a box with pixels of the image of shape {}, got "
                         "(left, top, right, bottom) = ({}, {}, {}, {}).",
                         image.shape(), box.left, box.top, box.right, box.bottom);
  if (interpolation == "nearest") return picked(image, size, box);
  std::vector<std::string> known = {"nearest"};
  for (const PillowFilter& filter : kPillowFilters) {
    if (interpolation != filter.name) {
      known.emplace_back(filter.name);
      continue;
    }
    if (image.dim(2) % 2 != 0) return filtered(image, size, filter, box);
    return with_opacity_in_colors(filtered(with_opacity_in_colors(image, true), size, filter, box),
                                  false);
  }
  raise<InvalidArgument>("load_img: unknown interpolation '{}'.{}", interpolation,
                         did_you_mean(interpolation, known));
}

}  // namespace cornu::data
