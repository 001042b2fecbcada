// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct MelSpectrogramOptions {
  int64_t fft_length = 2048;                    // samples of a frame
  int64_t sequence_stride = 512;                // from frame to frame
  std::optional<int64_t> sequence_length = {};  // of the window in the frame's midst; None: all
  std::optional<std::string> window = "hann";   // or "hamming"; None: none
  int64_t sampling_rate = 16000;                // hertz, as are the frequencies below
  int64_t num_mel_bins = 128;
  double min_freq = 20.0;
  std::optional<double> max_freq = {};  // None: half of sampling_rate
  bool power_to_db = true;              // in decibels
  double top_db = 80.0;  // what is quieter than the loudest by more is raised to that
  double mag_exp = 2.0;  // 1: magnitudes, 2: powers
  double min_power = 1e-10;
  double ref_power = 1.0;  // 0 decibels
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.MelSpectrogram: signals (samples) or (batch, samples) to (…, num_mel_bins, frames).
// Frames are of the signal with its beginning and end reflected, so that it must have more than
// fft_length / 2 samples. The loudest value (top_db) is that of the whole batch, as in Keras.
// Reference: the Hidden Markov Model Toolkit's mel scale, 1127 ln(1 + f / 700).
class MelSpectrogram : public LayerHandle {
 public:
  explicit MelSpectrogram(const MelSpectrogramOptions& options = {});
  static MelSpectrogram from_config(const Json& config);
};

}  // namespace cornu::layers
