// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/model/layer.h"

namespace cornu::layers {

struct STFTSpectrogramOptions {
  // The value for each frequency: "log" (of the magnitude), "magnitude", "psd" (power spectral
  // density), "real", "imag", "angle", or "stft" (real parts followed by imaginary parts).
  std::string mode = "log";
  int64_t frame_length = 256;              // samples per frame
  std::optional<int64_t> frame_step = {};  // between frames; None: half of frame_length
  // At least frame_length; None: the next power of two.
  std::optional<int64_t> fft_length = {};
  std::optional<std::string> window = "hann";      // see initializers::STFT; None: none
  std::vector<double> window_values = {};          // replaces the named window; frame_length values
  bool periodic = false;                           // a periodic window, suited to spectra
  std::optional<std::string> scaling = "density";  // or "spectrum"; None: none
  std::string padding = "valid";                   // or "same"
  bool expand_dims = false;                        // separate axes for frequencies and channels
  std::string data_format = {};                    // None: "channels_last"; or "channels_first"
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.STFTSpectrogram: computes spectrograms of signals by convolutions with trainable
// kernels, shared by all channels. With F = fft_length / 2 + 1 frequencies (2 F for "stft"):
// (batch, samples, channels) -> (batch, frames, channels * F), channel by channel; with expand_dims
// (batch, frames, F, channels). With "channels_first": (batch, channels, samples) -> (batch,
// channels * F, frames) or (batch, channels, frames, F).
// Weights: real_kernel and imag_kernel (frame_length, 1, F), only those that are needed.
class STFTSpectrogram final : public LayerHandle {
 public:
  explicit STFTSpectrogram(const STFTSpectrogramOptions& options = {});
  static STFTSpectrogram from_config(const Json& config);
};

}  // namespace cornu::layers
