// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/image.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

#include "framework/core/convert_number.h"
#include "framework/graph/trace.h"
#include "framework/ops/definition.h"
#include "framework/ops/image_batch.h"
#include "framework/ops/index.h"
#include "framework/ops/limits.h"
#include "framework/ops/math.h"
#include "framework/ops/matmul.h"
#include "framework/ops/numeric.h"
#include "framework/ops/reduce.h"
#include "framework/ops/shape.h"
#include "framework/ops/whole_op.h"

namespace cornu::ops::image {

using namespace cornu::ops::internal;

namespace {

struct Kernel {
  double radius;
  double (*weight)(double);
};

double triangle(double x) { return std::max(0.0, 1 - std::abs(x)); }

// Keys, "Cubic convolution interpolation for digital image processing" (1981).
double cubic(double x) {
  const double a = std::abs(x);
  if (a >= 2) return 0;
  if (a >= 1) return ((-0.5 * a + 2.5) * a - 4) * a + 2;
  return (1.5 * a - 2.5) * a * a + 1;
}

template <int kRadius>
double lanczos(double x) {
  const double a = std::abs(x);
  if (a >= kRadius) return 0;
  if (a < 1e-12) return 1;
  const double angle = std::numbers::pi * a;
  return kRadius * std::sin(angle) * std::sin(angle / kRadius) / (angle * angle);
}

Kernel kernel_of(const std::string& interpolation) {
  if (interpolation == "bilinear") return {1, triangle};
  if (interpolation == "bicubic") return {2, cubic};
  return interpolation == "lanczos3" ? Kernel{3, lanczos<3>} : Kernel{5, lanczos<5>};
}

// The weights of the pixels from `first` on for one pixel of the result; they sum to 1.
struct Band {
  int64_t first;
  std::vector<double> weights;
};

std::vector<Band> bands_of(int64_t out, int64_t in, const Kernel& kernel, bool antialias) {
  std::vector<Band> bands;
  const double ratio = static_cast<double>(in) / static_cast<double>(out);
  const double scale = antialias ? std::max(ratio, 1.0) : 1.0;
  for (int64_t row = 0; row < out; ++row) {
    const double center = (static_cast<double>(row) + 0.5) * ratio;
    const double reach = kernel.radius * scale;
    const auto first = std::max<int64_t>(0, static_cast<int64_t>(std::floor(center - reach - 0.5)));
    const auto end = std::min<int64_t>(in, static_cast<int64_t>(std::ceil(center + reach + 0.5)));
    Band band{first, {}};
    double total = 0;
    for (int64_t column = first; column < end; ++column) {
      const double distance = static_cast<double>(column) + 0.5 - center;
      band.weights.push_back(std::abs(distance) < reach ? kernel.weight(distance / scale) : 0);
      total += band.weights.back();
    }
    for (double& weight : band.weights) weight /= total;
    bands.push_back(std::move(band));
  }
  return bands;
}

// Resizes an axis by weighted sums of pixels.
class WeightedAxis {
 public:
  WeightedAxis(const Tensor& x, int64_t axis, int64_t size, const ResizeOptions& options)
      : axis_(axis), in_(x.dim(axis)), dtype_(x.dtype()) {
    constexpr int64_t kMin = 16;  // numbers per band, including its overhead
    require_table(Checked(size, "resize") * std::max(in_, kMin));
    // Throws here if there isn't enough memory for the bands.
    Tensor::empty({size, kMin}, DType::Float64);
    bands_ = bands_of(size, in_, kernel_of(options.interpolation), options.antialias);
    std::vector<bool> counts(static_cast<size_t>(in_), false);
    for (const Band& band : bands_) {
      for (size_t i = 0; i < band.weights.size(); ++i) {
        if (band.weights[i] != 0) counts[static_cast<size_t>(band.first) + i] = true;
      }
    }
    for (int64_t i = 0; i < in_; ++i) {
      if (counts[static_cast<size_t>(i)]) used_.push_back(i);
    }
    if (2 * static_cast<int64_t>(used_.size()) > in_) {
      used_.resize(static_cast<size_t>(in_));
      std::iota(used_.begin(), used_.end(), 0);
    }
  }

  // Drops the pixels that are never used, if those are the majority, as in a large picture.
  Tensor shortened(const Tensor& x) const {
    return static_cast<int64_t>(used_.size()) < in_ ? take(x, Tensor::from(used_), axis_) : x;
  }

  // The weighted sums of the result of shortened().
  Tensor resized(const Tensor& x) const {
    const auto columns = static_cast<int64_t>(used_.size());
    Tensor matrix = Tensor::empty({static_cast<int64_t>(bands_.size()), columns}, DType::Float64);
    const auto values = matrix.mutable_data<double>();
    std::fill(values.begin(), values.end(), 0.0);
    double* row = values.data();
    for (const Band& band : bands_) {
      const auto end = band.first + static_cast<int64_t>(band.weights.size());
      auto place = std::lower_bound(used_.begin(), used_.end(), band.first);
      for (; place != used_.end() && *place < end; ++place) {
        row[place - used_.begin()] = band.weights[static_cast<size_t>(*place - band.first)];
      }
      row += columns;
    }
    return weighted_axis(cast(matrix, dtype_), x, axis_);
  }

 private:
  int64_t axis_, in_;
  DType dtype_;
  std::vector<Band> bands_;
  std::vector<int64_t> used_;
};

// Resizes an axis by taking the nearest pixels.
Tensor nearest_along(const Tensor& x, int64_t axis, int64_t size) {
  require_table(size);
  Tensor from = Tensor::empty({size}, DType::Int64);
  const auto places = from.mutable_data<int64_t>();
  for (int64_t i = 0; i < size; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * static_cast<double>(x.dim(axis)) /
                          static_cast<double>(size);
    places[static_cast<size_t>(i)] = std::min(static_cast<int64_t>(center), x.dim(axis) - 1);
  }
  return take(x, from, axis);
}

// The length of the first of two sides for the ratio of the other two, truncated as TensorFlow
// does.
int64_t in_ratio(int64_t side, int64_t target, int64_t target_side) {
  const int64_t product = Checked(side, "resize") * target;
  return convert_number<float, int64_t>(static_cast<float>(product) /
                                        static_cast<float>(target_side));
}

Tensor cropped(const Tensor& x, int64_t height, int64_t width) {
  const int64_t rows = std::clamp<int64_t>(in_ratio(x.dim(2), height, width), 1, x.dim(1));
  const int64_t columns = std::clamp<int64_t>(in_ratio(x.dim(1), width, height), 1, x.dim(2));
  const int64_t top = (x.dim(1) - rows) / 2;
  const int64_t left = (x.dim(2) - columns) / 2;
  return slice_axis(slice_axis(x, 1, top, top + rows), 2, left, left + columns);
}

Tensor padded(const Tensor& x, int64_t height, int64_t width, double fill_value) {
  const int64_t rows = std::max(in_ratio(x.dim(2), height, width), x.dim(1));
  const int64_t columns = std::max(in_ratio(x.dim(1), width, height), x.dim(2));
  const int64_t vertical = (rows - x.dim(1)) / 2;
  const int64_t horizontal = (columns - x.dim(2)) / 2;
  return pad(x, {{0, 0}, {vertical, vertical}, {horizontal, horizontal}, {0, 0}}, fill_value);
}

Tensor resized(const Tensor& images, std::pair<int64_t, int64_t> size,
               const ResizeOptions& options) {
  const ImageBatch batch(images, options.data_format, "resize");
  const auto [height, width] = size;
  Tensor x = batch.images();
  check<InvalidArgument>(height > 0 && width > 0 && x.dim(1) > 0 && x.dim(2) > 0,
                         "resize: expected a size of at least (1, 1) and images with pixels, got "
                         "({}, {}) and shape {}.",
                         height, width, images.shape());
  if (options.interpolation != "nearest") x = to_floating(x);
  if (options.crop_to_aspect_ratio) x = cropped(x, height, width);
  if (options.pad_to_aspect_ratio) x = padded(x, height, width, options.fill_value);
  if (options.interpolation == "nearest") {
    return batch.restored(nearest_along(nearest_along(x, 1, height), 2, width));
  }
  const WeightedAxis rows(x, 1, height, options), columns(x, 2, width, options);
  const Tensor used = columns.shortened(rows.shortened(x));
  return batch.restored(columns.resized(rows.resized(used)));
}

// The padding (or cropping) of one axis of images: the number of pixels before and after it, and
// its new size. Two of the three are given.
struct Margins {
  const char* who;
  const char* axis;
  std::optional<int64_t> before, after, target;
  bool cuts;
};

void check_numbers(const Margins& margins) {
  constexpr int64_t kMax = int64_t{1} << 48;
  int given = 0;
  for (const std::optional<int64_t>& number : {margins.before, margins.after, margins.target}) {
    given += number.has_value();
    check<InvalidArgument>(number.value_or(0) >= 0 && number.value_or(0) <= kMax,
                           "{}: expected numbers in [0, 2^48] for the {}, got {}.", margins.who,
                           margins.axis, number.value_or(0));
  }
  check<InvalidArgument>(given == 2,
                         "{}: expected two of the three numbers for the {} (before, after, and of "
                         "the target), got {}.",
                         margins.who, margins.axis, given);
}

// The numbers before and after an axis of `size`.
std::pair<int64_t, int64_t> resolved(const Margins& margins, int64_t size) {
  const auto& [who, axis, before, after, target, cuts] = margins;
  const int64_t total = target ? (cuts ? size - *target : *target - size) : *before + *after;
  const int64_t first = before ? *before : total - *after;
  check<InvalidArgument>(
      first >= 0 && total >= first && (!cuts || total <= size),
      "{}: expected numbers that fit images of {} {}, got {} before and {} after.", who, axis, size,
      first, total - first);
  return {first, total - first};
}

// x with a size along `axis` that fits its target: represents images of unknown size during shape
// inference.
Tensor fitting(const Tensor& x, int64_t axis, const Margins& margins) {
  if (!margins.target) return x;
  const int64_t given = margins.before ? *margins.before : margins.after.value_or(0);
  const int64_t size = margins.cuts ? *margins.target + given : *margins.target - given;
  return repeat(slice_axis(x, axis, 0, 1), std::max<int64_t>(size, 0), axis);
}

// Adds margins to the images, or removes them.
Tensor with_margins(const Tensor& images, const std::string& data_format, const Margins& rows,
                    const Margins& columns) {
  require_defined(images, rows.who);
  check_numbers(rows);
  check_numbers(columns);
  const int64_t width_axis = images.rank() - (data_format == "channels_first" ? 1 : 2);
  const auto open = [&](int64_t axis) { return axis >= 0 && images.dim(axis) == kUnknown; };
  const bool open_rows = open(width_axis - 1), open_columns = open(width_axis);
  const auto f = [=](const std::vector<Tensor>& in) {
    const ImageBatch batch(in[0], data_format, rows.who);
    Tensor x = batch.images();
    if (open_rows && is_inferring_types()) x = fitting(x, 1, rows);
    if (open_columns && is_inferring_types()) x = fitting(x, 2, columns);
    const auto vertical = resolved(rows, x.dim(1)), horizontal = resolved(columns, x.dim(2));
    if (!rows.cuts) return batch.restored(pad(x, {{0, 0}, vertical, horizontal, {0, 0}}));
    return batch.restored(slice_axis(slice_axis(x, 1, vertical.first, x.dim(1) - vertical.second),
                                     2, horizontal.first, x.dim(2) - horizontal.second));
  };
  return as_whole(rows.who, {images}, f, images.rank() == 4 ? 1 : 0);
}

// Adjacent patches, with the same total number of elements: no pixel is in two of them.
Tensor patches_side_by_side(const Tensor& x, const std::vector<int64_t>& window,
                            const std::vector<int64_t>& counts) {
  Shape whole = {x.dim(0)}, apart = {x.dim(0)}, joined(counts);
  std::vector<int64_t> order = {0}, within;
  for (size_t i = 0; i < window.size(); ++i) {
    whole.push_back(counts[i + 1] * window[i]);
    apart.push_back(counts[i + 1]);
    apart.push_back(window[i]);
    order.push_back(static_cast<int64_t>(2 * i + 1));
    within.push_back(static_cast<int64_t>(2 * i + 2));
  }
  whole.push_back(x.dim(-1));
  apart.push_back(x.dim(-1));
  order.insert(order.end(), within.begin(), within.end());
  order.push_back(apart.rank() - 1);
  joined[joined.rank() - 1] *= Shape(window).num_elements();
  const Tensor used = slice(x, std::vector<int64_t>(counts.size(), 0), whole.dims());
  return reshape(transpose(reshape(used, apart), order), joined);
}

Tensor patches(const char* who, const Tensor& images, const Sizes& size,
               const ExtractPatchesOptions& options, int64_t axes) {
  const ImageBatch batch(images, options.data_format, who, axes);
  const std::vector<int64_t> window = size.spread(axes, who, "size");
  const std::vector<int64_t> strides =
      options.strides.given() ? options.strides.spread(axes, who, "strides") : window;
  const std::vector<int64_t> dilation = options.dilation_rate.spread(axes, who, "dilation_rate");
  const Shape spatial = batch.images().shape().slice(1, axes + 1);
  const std::vector<int64_t> widths =
      options.padding.resolve({spatial.begin(), spatial.end()}, window, strides, dilation, who);
  std::vector<std::pair<int64_t, int64_t>> margin(static_cast<size_t>(axes + 2));
  for (size_t i = 0; i < window.size(); ++i) margin[i + 1] = {widths[2 * i], widths[2 * i + 1]};
  const Tensor x = pad(batch.images(), margin);
  std::vector<int64_t> counts = {x.dim(0)}, steps = {1};
  for (size_t i = 0; i < window.size(); ++i) {
    const int64_t room =
        x.dim(static_cast<int64_t>(i) + 1) - dilated_extent(window[i], dilation[i], who);
    check<InvalidArgument>(room >= 0,
                           "{}: expected {} of at least the patches' size {}, got shape {}.", who,
                           axes == 2 ? "images" : "volumes", Shape(window), images.shape());
    counts.push_back(room / strides[i] + 1);
    steps.push_back(strides[i]);
  }
  counts.push_back(x.dim(-1));
  steps.push_back(1);
  if (strides == window && std::ranges::all_of(dilation, [](int64_t rate) { return rate == 1; })) {
    return batch.restored(patches_side_by_side(x, window, counts));
  }
  std::vector<Tensor> parts;  // one per position in a patch
  std::vector<int64_t> begin(counts.size(), 0);
  const int64_t places = Shape(window).num_elements();
  require_few(places, "places in a patch", who);
  for (int64_t place = 0; place < places; ++place) {
    int64_t rest = place;
    for (size_t i = window.size(); i-- > 0; rest /= window[i]) {
      begin[i + 1] = rest % window[i] * dilation[i];
    }
    parts.push_back(slice(x, begin, counts, steps));
  }
  return batch.restored(concatenate(parts, -1));
}

void require_three_channels(const Tensor& images, const Tensor& batch, std::string_view who) {
  require_floating_images(images, who);
  check<InvalidArgument>(batch.dim(-1) == 3, "{}: expected 3 channels, got shape {}.", who,
                         images.shape());
}

}  // namespace

Tensor resize(const Tensor& images, std::pair<int64_t, int64_t> size,
              const ResizeOptions& options) {
  require_one_of("resize", "interpolation", options.interpolation,
                 {"bilinear", "nearest", "bicubic", "lanczos3", "lanczos5"});
  check<InvalidArgument>(!options.crop_to_aspect_ratio || !options.pad_to_aspect_ratio,
                         "resize: expected at most one of crop_to_aspect_ratio and "
                         "pad_to_aspect_ratio.");
  return as_whole("resize", {images}, [size, options](const std::vector<Tensor>& in) {
    const Tensor result = resized(in[0], size, options);
    const DType dtype = in[0].dtype();
    const bool whole = is_integer(dtype) && result.dtype() != dtype;
    return whole ? saturate_cast(round(result), dtype) : result;
  });
}

Tensor rgb_to_grayscale(const Tensor& images, const std::string& data_format) {
  const ImageBatch batch(images, data_format, "rgb_to_grayscale");
  const int64_t channels = batch.images().dim(-1);
  check<InvalidArgument>(channels == 1 || channels == 3,
                         "rgb_to_grayscale: expected 3 channels (or 1), got shape {}.",
                         images.shape());
  if (channels == 1) return images.strong();
  const Tensor real = to_floating(batch.images());
  const Tensor shares =
      cast(Tensor::from(std::vector<double>{0.2989, 0.5870, 0.1140}, {3, 1}), real.dtype());
  return batch.restored(cast(matmul(real, shares), images.dtype()));
}

Tensor rgb_to_hsv(const Tensor& images, const std::string& data_format) {
  const ImageBatch batch(images, data_format, "rgb_to_hsv");
  const Tensor& x = batch.images();
  require_three_channels(images, x, "rgb_to_hsv");
  const std::vector<Tensor> colors = split(x, 3, -1);
  const Tensor &red = colors[0], &green = colors[1], &blue = colors[2];
  const Tensor value = max(x, -1, true);
  const Tensor range = value - min(x, -1, true);
  const Tensor colored = range > 0;
  const Tensor sixth = 1 / (6 * where(colored, range, ones_like(range)));
  const Tensor hue =
      where(value == red, sixth * (green - blue),
            where(value == green, sixth * (blue - red) + 2.0 / 6, sixth * (red - green) + 4.0 / 6));
  const Tensor turned = where(colored, where(hue < 0, hue + 1, hue), 0);
  const Tensor lit = value > 0;
  const Tensor saturation = where(lit, range / where(lit, value, ones_like(value)), 0);
  return batch.restored(concatenate({turned, saturation, value}, -1));
}

Tensor hsv_to_rgb(const Tensor& images, const std::string& data_format) {
  const ImageBatch batch(images, data_format, "hsv_to_rgb");
  require_three_channels(images, batch.images(), "hsv_to_rgb");
  const std::vector<Tensor> parts = split(batch.images(), 3, -1);
  const Tensor &saturation = parts[1], &value = parts[2];
  const Tensor sixths = parts[0] * 6;
  const auto color = [&](const Tensor& part) {
    return (1 - saturation + saturation * clip(part, 0, 1)) * value;
  };
  return batch.restored(concatenate(
      {color(abs(sixths - 3) - 1), color(2 - abs(sixths - 2)), color(2 - abs(sixths - 4))}, -1));
}

Tensor pad_images(const Tensor& images, const PadImagesOptions& options) {
  const char* who = "pad_images";
  return with_margins(
      images, options.data_format,
      {who, "height", options.top_padding, options.bottom_padding, options.target_height, false},
      {who, "width", options.left_padding, options.right_padding, options.target_width, false});
}

Tensor crop_images(const Tensor& images, const CropImagesOptions& options) {
  const char* who = "crop_images";
  return with_margins(
      images, options.data_format,
      {who, "height", options.top_cropping, options.bottom_cropping, options.target_height, true},
      {who, "width", options.left_cropping, options.right_cropping, options.target_width, true});
}

Tensor extract_patches(const Tensor& images, const Sizes& size,
                       const ExtractPatchesOptions& options) {
  const int64_t axes = size.values().size() == 3 ? 3 : 2;
  return as_whole("extract_patches", {images}, [=](const std::vector<Tensor>& in) {
    return patches("extract_patches", in[0], size, options, axes);
  });
}

Tensor extract_patches_3d(const Tensor& volumes, const Sizes& size,
                          const ExtractPatchesOptions& options) {
  return as_whole("extract_patches_3d", {volumes}, [=](const std::vector<Tensor>& in) {
    return patches("extract_patches_3d", in[0], size, options, 3);
  });
}

}  // namespace cornu::ops::image
