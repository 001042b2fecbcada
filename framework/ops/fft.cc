// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/fft.h"

#include <cmath>
#include <numbers>

#include "framework/core/error_place.h"
#include "framework/ops/creation.h"
#include "framework/ops/definition.h"
#include "framework/ops/index.h"
#include "framework/ops/limits.h"
#include "framework/ops/math.h"
#include "framework/ops/reduce.h"
#include "framework/ops/register.h"
#include "framework/ops/shape.h"
#include "framework/ops/whole_op.h"

namespace cornu::ops {

using namespace internal;

namespace {

// ---- definitions ----

void require_length(const Shape& shape, std::string_view who) {
  check<InvalidArgument>(shape.rank() >= 1 && shape.back() != 0,
                         "{}: expected a last axis with elements, got shape {}.", who, shape);
}

Types infer_fft(TypeSpan inputs, const Attributes& attributes) {
  require_inputs(inputs, 2, "fft");
  require_same_dtype(inputs, "fft");
  require_floating(inputs[0], "fft");
  require_length(inputs[0].shape, "fft");
  require_shape(inputs[1], inputs[0].shape, "fft", "imaginary part");
  attributes.get_bool("inverse");
  return {inputs[0], inputs[1]};
}

Types infer_rfft(TypeSpan inputs, const Attributes&) {
  require_inputs(inputs, 1, "rfft");
  require_floating(inputs[0], "rfft");
  require_length(inputs[0].shape, "rfft");
  const Shape& shape = inputs[0].shape;
  const int64_t bins = shape.back() == kUnknown ? kUnknown : shape.back() / 2 + 1;
  const TensorType part{inputs[0].dtype, shape.slice(0, -1).concat({bins})};
  return {part, part};
}

// Not divided by the length: the transforms in the two directions are each other's adjoints.
RealAndImaginary transform(const Tensor& real, const Tensor& imaginary, bool inverse) {
  const std::vector<Tensor> parts = apply(op<"fft">(), {real, imaginary}, {{"inverse", inverse}});
  return {parts[0], parts[1]};
}

Tensor gradient_or_zeros(const VjpContext& c, size_t output) {
  const Tensor& gradient = c.gradient(output);
  return gradient.defined() ? gradient : zeros_like(c.out(output));
}

Gradients vjp_fft(const VjpContext& c) {
  auto [real, imaginary] = transform(gradient_or_zeros(c, 0), gradient_or_zeros(c, 1),
                                     !c.attributes.get_bool("inverse"));
  return {real, imaginary};
}

// Zero-pads or truncates the last axis.
Tensor with_length(const Tensor& x, int64_t length) {
  const int64_t size = x.dim(-1);
  if (size > length) return slice_axis(x, -1, 0, length);
  if (size == length) return x;
  std::vector<std::pair<int64_t, int64_t>> widths(static_cast<size_t>(x.rank()), {0, 0});
  widths.back().second = length - size;
  return pad(x, widths);
}

Gradients vjp_rfft(const VjpContext& c) {
  const int64_t length = c.in(0).dim(-1);
  return {transform(with_length(gradient_or_zeros(c, 0), length),
                    with_length(gradient_or_zeros(c, 1), length), true)
              .first};
}

// ---- operands ----

Tensor checked_part(const Tensor& x, std::string_view who) {
  require_defined(x, who);
  require_length(x.shape(), who);
  check<InvalidArgument>(x.shape().back() != kUnknown,
                         "{}: expected a last axis of a known size, got shape {}.", who, x.shape());
  return to_floating(x);
}

RealAndImaginary checked(const RealAndImaginary& x, std::string_view who) {
  const Tensor real = checked_part(x.first, who);
  const Tensor imaginary = checked_part(x.second, who);
  check<InvalidArgument>(real.shape() == imaginary.shape(),
                         "{}: expected a real and an imaginary part of one shape, got {} and {}.",
                         who, real.shape(), imaginary.shape());
  return unify(real, imaginary, who);
}

RealAndImaginary both_last_axes(const RealAndImaginary& x, bool inverse, std::string_view who) {
  const auto [real, imaginary] = checked(x, who);
  check<InvalidArgument>(real.rank() >= 2, "{}: expected 2 axes or more, got shape {}.", who,
                         real.shape());
  const auto rows = transform(real, imaginary, inverse);
  const auto columns = transform(checked_part(swapaxes(rows.first, -1, -2), who),
                                 swapaxes(rows.second, -1, -2), inverse);
  return {swapaxes(columns.first, -1, -2), swapaxes(columns.second, -1, -2)};
}

// ---- frames ----

struct Frames {
  int64_t sequence_length;
  int64_t stride;
  int64_t fft_length;

  Frames(int64_t length, int64_t step, int64_t points, std::string_view who)
      : sequence_length(length), stride(step), fft_length(points) {
    check<InvalidArgument>(length >= 1 && step >= 1 && points >= length,
                           "{}: expected 1 <= sequence_length <= fft_length and a sequence_stride "
                           ">= 1, got {}, {} and {}.",
                           who, length, points, step);
  }
};

// The window in the middle of fft_length points; undefined if all points have the same weight.
Tensor window_of(const Frames& frames, const StftOptions& options, DType dtype,
                 std::string_view who) {
  Tensor values = options.window_values;
  if (!values.defined()) {
    if (!options.window) return {};
    check<InvalidArgument>(*options.window == "hann" || *options.window == "hamming",
                           "{}: unknown window '{}'. Known: hann, hamming.", who, *options.window);
    const double mean = *options.window == "hann" ? 0.5 : 0.54;
    const int64_t length = frames.sequence_length;
    const auto period = static_cast<double>(length - length % 2);
    require_table(length);
    std::vector<double> points(1, 1.0);
    points.resize(static_cast<size_t>(length));
    for (int64_t i = 0; length > 1 && i < length; ++i) {
      points[static_cast<size_t>(i)] =
          mean - (1 - mean) * std::cos(2 * std::numbers::pi * static_cast<double>(i) / period);
    }
    values = Tensor::from(points, {length});
  }
  check<InvalidArgument>(values.shape() == Shape{frames.sequence_length},
                         "{}: expected a window of shape ({},), got {}.", who,
                         frames.sequence_length, values.shape());
  const int64_t before = (frames.fft_length - frames.sequence_length) / 2;
  return pad(cast(values, dtype), {{before, frames.fft_length - frames.sequence_length - before}});
}

// Pads both ends with `margin` points by reflection.
Tensor reflected(const Tensor& x, int64_t margin, std::string_view who) {
  const int64_t size = x.dim(-1);
  check<InvalidArgument>(size > margin,
                         "{}: expected more than {} points, half of a frame, to reflect at the "
                         "ends, got shape {}. Give more, or center = false.",
                         who, margin, x.shape());
  if (margin == 0) return x;
  std::vector<std::pair<int64_t, int64_t>> widths(static_cast<size_t>(x.rank()));
  widths.back() = {margin, margin};
  return pad(x, widths, {.mode = "reflect"});
}

// The positions of the points of each frame: (frames, length).
Tensor places(int64_t frames, int64_t length, int64_t stride) {
  const DType dtype = index_dtype((Checked(frames, "stft") - 1) * stride + length);
  return expand_dims(arange(frames, dtype) * stride, -1) + arange(length, dtype);
}

// The sum of frames (..., frames, length) that start `stride` apart.
Tensor overlap_and_add(const Tensor& x, int64_t stride) {
  const int64_t frames = x.dim(-2);
  const int64_t length = x.dim(-1);
  const int64_t points = (Checked(frames, "istft") - 1) * stride + length;
  const Shape leading = x.shape().slice(0, -2);
  const Tensor flat =
      transpose(reshape(x, {leading.num_elements(), Checked(frames, "istft") * length}));
  const Tensor sums = segment_sum(flat, reshape(places(frames, length, stride), {-1}), points);
  return reshape(transpose(sums), leading.concat({points}));
}

// The divisor of the window, chosen such that overlapping frames add up to the original signal.
Tensor inverse_window(const Tensor& window, int64_t stride) {
  const int64_t length = window.dim(-1);
  const int64_t overlaps = (length - 1) / stride + 1;
  const Tensor squares = with_length(square(window), Checked(overlaps, "istft") * stride);
  const Tensor sums = sum(reshape(squares, {overlaps, stride}), 0, true);
  const Tensor all =
      slice_axis(reshape(broadcast_to(sums, {overlaps, stride}), {-1}), 0, 0, length);
  return divide_no_nan(window, all);
}

}  // namespace

void register_fft(OpRegistry& registry) {
  registry.add({.name = "fft", .infer = infer_fft, .vjp = vjp_fft, .traits = {}});
  registry.add({.name = "rfft", .infer = infer_rfft, .vjp = vjp_rfft, .traits = {}});
}

RealAndImaginary fft(const RealAndImaginary& x) {
  const auto [real, imaginary] = checked(x, "fft");
  return transform(real, imaginary, false);
}

RealAndImaginary fft2(const RealAndImaginary& x) { return both_last_axes(x, false, "fft2"); }

RealAndImaginary ifft2(const RealAndImaginary& x) {
  const auto [real, imaginary] = both_last_axes(x, true, "ifft2");
  const auto points = static_cast<double>(real.dim(-1)) * static_cast<double>(real.dim(-2));
  return {real / points, imaginary / points};
}

RealAndImaginary rfft(const Tensor& x, std::optional<int64_t> fft_length) {
  Tensor values = checked_part(x, "rfft");
  if (fft_length) {
    check<InvalidArgument>(*fft_length >= 1, "rfft: expected fft_length >= 1, got {}.",
                           *fft_length);
    values = with_length(values, *fft_length);
  }
  const std::vector<Tensor> parts = apply(op<"rfft">(), {values});
  return {parts[0], parts[1]};
}

Tensor irfft(const RealAndImaginary& x, std::optional<int64_t> fft_length) {
  const ErrorPlace scope("irfft");
  auto [real, imaginary] = checked(x, "irfft");
  const int64_t length = fft_length.value_or(2 * (Checked(real.dim(-1), "irfft") - 1));
  check<InvalidArgument>(length >= 1, "irfft: expected fft_length >= 1, got {}.", length);
  const int64_t bins = length / 2 + 1;
  real = with_length(real, bins);
  imaginary = with_length(imaginary, bins);
  // The other half is the conjugate; real values don't depend on the imaginary parts at both ends.
  const int64_t others = length - bins;
  const auto mirrored = [&](const Tensor& part) {
    return flip(slice_axis(part, -1, 1, 1 + others), -1);
  };
  const Tensor whole_real = concatenate({real, mirrored(real)}, -1);
  const Tensor whole_imaginary = concatenate({imaginary, -mirrored(imaginary)}, -1);
  return transform(whole_real, whole_imaginary, true).first / static_cast<double>(length);
}

Tensor extract_sequences(const Tensor& x, int64_t sequence_length, int64_t sequence_stride) {
  constexpr const char* who = "extract_sequences";
  check<InvalidArgument>(sequence_length >= 1 && sequence_stride >= 1,
                         "{}: expected a sequence_length and a sequence_stride >= 1, got {} and "
                         "{}.",
                         who, sequence_length, sequence_stride);
  require_defined(x, who);
  require_length(x.shape(), who);
  const int64_t size = x.shape().back();
  if (is_open(x, -1)) {
    const Json config =
        Json::object({{"sequence_length", sequence_length}, {"sequence_stride", sequence_stride}});
    return whole_of(who, x, {"math", "ExtractSequences", config}, [=](const Tensor& in) {
      return extract_sequences(in, sequence_length, sequence_stride);
    });
  }
  const int64_t frames =
      size < sequence_length ? 0 : (size - sequence_length) / sequence_stride + 1;
  return take(x, places(frames, sequence_length, sequence_stride), -1);
}

RealAndImaginary stft(const Tensor& x, int64_t sequence_length, int64_t sequence_stride,
                      int64_t fft_length, const StftOptions& options) {
  const Frames frames(sequence_length, sequence_stride, fft_length, "stft");
  Tensor values = checked_part(x, "stft");
  if (options.center) values = reflected(values, fft_length / 2, "stft");
  Tensor sequences = extract_sequences(values, fft_length, sequence_stride);
  const Tensor window = window_of(frames, options, values.dtype(), "stft");
  if (window.defined()) sequences = sequences * window;
  return rfft(sequences);
}

Tensor istft(const RealAndImaginary& x, int64_t sequence_length, int64_t sequence_stride,
             int64_t fft_length, std::optional<int64_t> length, const StftOptions& options) {
  const ErrorPlace scope("istft");
  const Frames frames(sequence_length, sequence_stride, fft_length, "istft");
  const auto parts = checked(x, "istft");
  if (is_open(parts.first)) {
    return apply_whole(
               "istft", {parts.first, parts.second},
               [=](const std::vector<Tensor>& in) {
                 return std::vector<Tensor>{istft({in[0], in[1]}, sequence_length, sequence_stride,
                                                  fft_length, length, options)};
               })
        .front();
  }
  check<InvalidArgument>(parts.first.rank() >= 2 && parts.first.dim(-2) > 0,
                         "istft: expected (..., frames, bins), got {}.", parts.first.shape());
  Tensor sequences = irfft(parts, fft_length);
  const Tensor window = window_of(frames, options, sequences.dtype(), "istft");
  if (window.defined()) sequences = sequences * inverse_window(window, sequence_stride);
  const Tensor points = overlap_and_add(sequences, sequence_stride);
  const int64_t begin = options.center ? fft_length / 2 : 0;
  const int64_t last = options.center ? points.dim(-1) - fft_length / 2 : points.dim(-1);
  const int64_t end =
      length ? std::min<int64_t>(Checked(begin, "istft") + *length, points.dim(-1)) : last;
  check<InvalidArgument>(!length || *length >= 0, "istft: expected a length >= 0, got {}.",
                         length.value_or(0));
  return slice_axis(points, -1, begin, std::max(begin, end));
}

}  // namespace cornu::ops
