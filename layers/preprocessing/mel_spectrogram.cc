// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/mel_spectrogram.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "framework/ops/ops.h"
#include "layers/keras_layer.h"
#include "layers/preprocessing/category_output.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, MelSpectrogramOptions& options) {
  fields("fft_length", options.fft_length);
  fields("sequence_stride", options.sequence_stride);
  fields("sequence_length", options.sequence_length);
  fields("window", options.window);
  fields("sampling_rate", options.sampling_rate);
  fields("num_mel_bins", options.num_mel_bins);
  fields("min_freq", options.min_freq);
  fields("max_freq", options.max_freq);
  fields("power_to_db", options.power_to_db);
  fields("top_db", options.top_db);
  fields("mag_exp", options.mag_exp);
  fields("min_power", options.min_power);
  fields("ref_power", options.ref_power);
}

namespace {

// Keras's config values for None.
MelSpectrogramOptions with_spectrogram_defaults(MelSpectrogramOptions options) {
  if (options.sequence_length.value_or(0) == 0) options.sequence_length = options.fft_length;
  if (options.max_freq.value_or(0) == 0) {
    options.max_freq = static_cast<double>(options.sampling_rate / 2);
  }
  return options;
}

double mel_of(double hertz) { return 1127.0 * std::log(1.0 + hertz / 700.0); }

class MelSpectrogramLayer : public KerasLayerOf<MelSpectrogramOptions> {
 public:
  explicit MelSpectrogramLayer(const MelSpectrogramOptions& given)
      : KerasLayerOf("MelSpectrogram", with_spectrogram_defaults(given)) {
    const MelSpectrogramOptions& o = options_;
    require(o.fft_length > 1, "expected fft_length > 1, got {}.", o.fft_length);
    require(o.fft_length <= kMaxSamples, "expected fft_length of {} or less, got {}.", kMaxSamples,
            o.fft_length);
    require(*o.sequence_length > 0 && *o.sequence_length <= o.fft_length,
            "expected a sequence_length of 1 to fft_length ({}), got {}.", o.fft_length,
            *o.sequence_length);
    require(o.sequence_stride > 0, "expected sequence_stride > 0, got {}.", o.sequence_stride);
    require(o.num_mel_bins > 0 && o.num_mel_bins <= kMaxSamples,
            "expected num_mel_bins of 1 to {}, got {}.", kMaxSamples, o.num_mel_bins);
    require(o.sampling_rate > 0, "expected sampling_rate > 0, got {}.", o.sampling_rate);
    require(o.min_freq >= 0 && o.min_freq < *o.max_freq,
            "expected frequencies 0 <= min_freq < max_freq, got {} and {}.", o.min_freq,
            *o.max_freq);
    require(o.min_power > 0, "expected min_power > 0, got {}.", o.min_power);
    if (o.window) check_one_of(label(), "window", *o.window, {"hann", "hamming"});
  }

  void build(const Shape&) override {
    const auto [real, imaginary] = transform();
    real_ = ops::cast(real, working_dtype());
    imaginary_ = ops::cast(imaginary, working_dtype());
    mel_ = ops::cast(mel_weights(), working_dtype());
  }

  Tensor call(const Tensor& input, const CallArgs&) override {
    const Tensor x = ops::cast(input, working_dtype());
    const Tensor signals = x.rank() == 1 ? ops::expand_dims(x, 0) : x;
    const Tensor padded = ops::expand_dims(reflected(signals), -1);
    const ops::ConvOptions frames = {.strides = options_.sequence_stride};
    const Tensor power = ops::square(ops::conv(padded, real_, frames)) +
                         ops::square(ops::conv(padded, imaginary_, frames));
    const Tensor spectrum = options_.mag_exp == 2 ? power : ops::power(power, options_.mag_exp / 2);
    Tensor mels = ops::swapaxes(ops::matmul(spectrum, mel_), -1, -2);
    if (options_.power_to_db) mels = decibels(mels);
    return ops::cast(x.rank() == 1 ? ops::squeeze(mels, 0) : mels, compute_dtype());
  }

 protected:
  void check_input(const Shape& shape) const override {
    require(shape.rank() == 1 || shape.rank() == 2,
            "expected a signal (samples) or a batch of them, got {}.", shape);
    const int64_t least = options_.fft_length / 2 + 1;
    require(shape.back() == kUnknown || shape.back() >= least,
            "expected signals of {} samples or more, half of a frame, got {}.", least, shape);
  }

 private:
  static constexpr int64_t kMaxSamples = int64_t{1} << 16;  // per frame: kernels have its square

  DType working_dtype() const {
    return compute_dtype() == DType::Float64 ? DType::Float64 : DType::Float32;
  }
  int64_t bins() const { return options_.fft_length / 2 + 1; }

  // Pads both ends by half a frame, by reflection.
  Tensor reflected(const Tensor& signals) const {
    const int64_t margin = options_.fft_length / 2;
    std::vector<std::pair<int64_t, int64_t>> widths(static_cast<size_t>(signals.rank()));
    widths.back() = {margin, margin};
    return ops::pad(signals, widths, {.mode = "reflect"});
  }

  std::vector<double> window() const {
    const int64_t length = *options_.sequence_length;
    const int64_t before = (options_.fft_length - length) / 2;
    std::vector<double> values(static_cast<size_t>(options_.fft_length),
                               options_.window ? 0.0 : 1.0);
    if (!options_.window) return values;
    const double mean = *options_.window == "hann" ? 0.5 : 0.54;
    // Like TensorFlow's windows: periodic for even lengths, otherwise symmetric.
    const int64_t period = std::max<int64_t>(length - length % 2, 1);
    for (int64_t i = 0; i < length; ++i) {
      const double turn = static_cast<double>(i) / static_cast<double>(period);
      values[static_cast<size_t>(before + i)] =
          length == 1 ? 1.0 : mean - (1 - mean) * std::cos(2 * std::numbers::pi * turn);
    }
    return values;
  }

  // The Fourier transform of a frame, as kernels (fft_length, 1, bins).
  std::pair<Tensor, Tensor> transform() const {
    const std::vector<double> weights = window();
    const Shape shape = {options_.fft_length, 1, bins()};
    Tensor real = Tensor::empty(shape, DType::Float32);
    Tensor imaginary = Tensor::empty(shape, DType::Float32);
    float* re = real.mutable_data<float>().data();
    float* im = imaginary.mutable_data<float>().data();
    for (int64_t i = 0; i < options_.fft_length; ++i) {
      for (int64_t k = 0; k < bins(); ++k) {
        // Whole turns are removed, since they would cost precision.
        const double turns = static_cast<double>(i * k % options_.fft_length) /
                             static_cast<double>(options_.fft_length);
        const double weight = weights[static_cast<size_t>(i)];
        *re++ = static_cast<float>(weight * std::cos(2 * std::numbers::pi * turns));
        *im++ = static_cast<float>(-weight * std::sin(2 * std::numbers::pi * turns));
      }
    }
    return {real, imaginary};
  }

  // Triangles with a peak of 1 on the mel scale: (bins, num_mel_bins). The lowest bin, at frequency
  // 0, isn't in any of them.
  Tensor mel_weights() const {
    const double first = mel_of(options_.min_freq);
    const double last = mel_of(*options_.max_freq);
    const double step = (last - first) / static_cast<double>(options_.num_mel_bins + 1);
    std::vector<double> weights;
    for (int64_t bin = 0; bin < bins(); ++bin) {
      const double hertz = static_cast<double>(options_.sampling_rate) / 2 *
                           static_cast<double>(bin) / static_cast<double>(bins() - 1);
      for (int64_t mel = 0; mel < options_.num_mel_bins; ++mel) {
        const double from_lower = (mel_of(hertz) - first) / step - static_cast<double>(mel);
        const double triangle = std::min(from_lower, 2 - from_lower);
        weights.push_back(bin == 0 ? 0.0 : std::max(0.0, triangle));
      }
    }
    return Tensor::from(weights, {bins(), options_.num_mel_bins});
  }

  Tensor decibels(const Tensor& powers) const {
    const double reference = std::max(std::abs(options_.ref_power), options_.min_power);
    const Tensor level =
        ops::log10(ops::maximum(powers, options_.min_power)) * 10 - 10 * std::log10(reference);
    if (level.num_elements() == 0) return level;
    return ops::maximum(level, ops::max(level) - options_.top_db);
  }

  Tensor real_;
  Tensor imaginary_;
  Tensor mel_;
};

}  // namespace

MelSpectrogram::MelSpectrogram(const MelSpectrogramOptions& options)
    : LayerHandle(std::make_shared<MelSpectrogramLayer>(options)) {}

MelSpectrogram MelSpectrogram::from_config(const Json& config) {
  return MelSpectrogram(read_layer_options<MelSpectrogramOptions>(config));
}

}  // namespace cornu::layers
