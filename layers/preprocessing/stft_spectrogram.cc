// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/stft_spectrogram.h"

#include <bit>

#include "framework/model/stft_initializer.h"
#include "framework/ops/ops.h"
#include "layers/data_format.h"
#include "layers/keras_layer.h"
#include "layers/preprocessing/category_output.h"
#include "layers/spatial.h"

namespace cornu::layers {
namespace {

constexpr int64_t kMaxSamples = int64_t{1} << 16;  // per frame: kernels have its square
constexpr double kEpsilon = 1e-7;

// Keras's `window`: a name, numbers, or null.
struct Window {
  std::optional<std::string>& name;
  std::vector<double>& values;
};
Json config_value(const Window& window) {
  if (!window.values.empty()) return cornu::config_value(window.values);
  return window.name ? Json(*window.name) : Json();
}
void set_from_config(const Json& json, Window& window) {
  window.name.reset();
  if (json.is_string()) window.name = json.as_string();
  if (json.is_array()) cornu::set_from_config(json, window.values);
}

}  // namespace

template <class Fields>
void visit_fields(Fields& fields, STFTSpectrogramOptions& options) {
  fields("mode", options.mode);
  fields("frame_length", options.frame_length);
  fields("frame_step", options.frame_step);
  fields("fft_length", options.fft_length);
  Window window{options.window, options.window_values};
  fields("window", window);
  fields("periodic", options.periodic);
  fields("scaling", options.scaling);
  fields("padding", options.padding);
  fields("data_format", options.data_format);
  fields("expand_dims", options.expand_dims);
}

namespace {

class STFTSpectrogramLayer : public KerasLayerOf<STFTSpectrogramOptions> {
 public:
  explicit STFTSpectrogramLayer(const STFTSpectrogramOptions& given)
      : KerasLayerOf("STFTSpectrogram", given) {
    STFTSpectrogramOptions& o = options_;
    check_one_of(label(), "mode", o.mode,
                 {"log", "magnitude", "psd", "real", "imag", "angle", "stft"});
    require(o.frame_length > 1 && o.frame_length <= kMaxSamples,
            "expected a frame_length of 2 to {}, got {}.", kMaxSamples, o.frame_length);
    require(step() >= 1 && step() <= o.frame_length,
            "expected a frame_step of 1 to frame_length ({}), got {}.", o.frame_length, step());
    require(fft_length() >= o.frame_length && fft_length() <= kMaxSamples,
            "expected an fft_length of frame_length ({}) to {}, got {}.", o.frame_length,
            kMaxSamples, fft_length());
    o.padding = check_padding(label(), o.padding);
    o.data_format = check_data_format(label(), o.data_format);
    initializer("real");  // checks window and scaling
  }

  void build(const Shape& shape) override {
    channels_ = known_axis(shape, -1);
    const auto kernel = [&](const char* side, const char* name) {
      return add_weight({.shape = {options_.frame_length, 1, fft_length() / 2 + 1},
                         .initializer = Initializer(initializer(side)),
                         .name = name});
    };
    if (options_.mode != "imag") real_ = kernel("real", "real_kernel");
    if (options_.mode != "real") imaginary_ = kernel("imag", "imag_kernel");
  }

  Tensor call(const Tensor& x, const CallArgs&) override {
    std::vector<Tensor> spectra;
    for (const Tensor& channel : ops::split(x, channels_, -1)) spectra.push_back(spectrum(channel));
    return options_.expand_dims ? ops::stack(spectra, -1) : ops::concatenate(spectra, -1);
  }

 protected:
  void check_input(const Shape& shape) const override {
    require_spatial(label(), shape, 1);
    if (channels_ != kUnknown) require_axis(shape, -1, channels_);
    require_window(label(), shape, {options_.frame_length}, options_.padding);
  }

 private:
  int64_t step() const { return options_.frame_step.value_or(options_.frame_length / 2); }
  int64_t fft_length() const {
    const auto frame = static_cast<uint64_t>(options_.frame_length);
    return options_.fft_length.value_or(static_cast<int64_t>(std::bit_ceil(frame)));
  }
  std::shared_ptr<initializers::STFT> initializer(const char* side) const {
    return std::make_shared<initializers::STFT>(
        initializers::STFTOptions{.side = side,
                                  .window = options_.window.value_or(""),
                                  .scaling = options_.scaling.value_or(""),
                                  .periodic = options_.periodic,
                                  .window_values = options_.window_values});
  }

  // For signals (batch, samples, 1): (batch, frames, frequencies).
  Tensor spectrum(const Tensor& x) const {
    const auto part = [&](const Variable& kernel) {
      return ops::conv(x, compute(kernel), {.strides = step(), .padding = options_.padding});
    };
    const std::string& mode = options_.mode;
    if (mode == "real") return part(real_);
    if (mode == "imag") return part(imaginary_);
    const Tensor real = part(real_);
    const Tensor imaginary = part(imaginary_);
    if (mode == "angle") return ops::arctan2(imaginary, real);
    if (mode == "stft") return ops::concatenate({real, imaginary}, -1);
    const Tensor power = ops::square(real) + ops::square(imaginary);
    if (mode == "psd") {  // includes negative frequencies
      const Tensor inner = ops::slice_axis(power, -1, 1, power.dim(-1) - 1);
      return power + ops::pad(inner, {{0, 0}, {0, 0}, {1, 1}});
    }
    const Tensor magnitude = ops::sqrt(ops::maximum(power, kEpsilon));
    return mode == "log" ? ops::log(ops::maximum(magnitude, kEpsilon)) : magnitude;
  }

  int64_t channels_ = kUnknown;
  Variable real_;
  Variable imaginary_;
};

}  // namespace

STFTSpectrogram::STFTSpectrogram(const STFTSpectrogramOptions& options)
    : LayerHandle(std::make_shared<InDataFormat<STFTSpectrogramLayer, 0>>(options)) {}

STFTSpectrogram STFTSpectrogram::from_config(const Json& config) {
  return STFTSpectrogram(read_layer_options<STFTSpectrogramOptions>(config));
}

}  // namespace cornu::layers
