// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/model/layer.h"

namespace cornu::layers {

struct STFTSpectrogramOptions {
  // What of each frequency: "log" (of the magnitude), "magnitude", "psd" (power spectral density),
  // "real", "imag", "angle", or "stft" (real parts, then imaginary ones).
  std::string mode = "log";
  int64_t frame_length = 256;              // samples of a frame
  std::optional<int64_t> frame_step = {};  // from frame to frame; None: half of frame_length
  // At least frame_length; None: the power of two that is as great or greater.
  std::optional<int64_t> fft_length = {};
  std::optional<std::string> window = "hann";      // of initializers::STFT; None: none
  std::vector<double> window_values = {};          // instead of a named one, frame_length
  bool periodic = false;                           // the window, as spectra want it
  std::optional<std::string> scaling = "density";  // or "spectrum"; None: none
  std::string padding = "valid";                   // or "same"
  bool expand_dims = false;                        // frequencies and channels as two axes
  std::string data_format = {};                    // None: "channels_last"; or "channels_first"
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.STFTSpectrogram: spectrograms of signals by convolutions with trainable kernels, the
// same for each channel. With F = fft_length / 2 + 1 frequencies (2 F of "stft"):
// (batch, samples, channels) -> (batch, frames, channels * F), channel by channel; with expand_dims
// (batch, frames, F, channels). With "channels_first": (batch, channels, samples) ->
// (batch, channels * F, frames) or (batch, channels, frames, F).
// Weights: real_kernel and imag_kernel (frame_length, 1, F); not of the part that isn't needed.
class STFTSpectrogram : public LayerHandle {
 public:
  explicit STFTSpectrogram(const STFTSpectrogramOptions& options = {});
  static STFTSpectrogram from_config(const Json& config);
};

}  // namespace cornu::layers
