// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct MelSpectrogramOptions {
  int64_t fft_length = 2048;                    // samples per frame
  int64_t sequence_stride = 512;                // between frames
  std::optional<int64_t> sequence_length = {};  // of the window in the frame's center; None: all
  std::optional<std::string> window = "hann";   // or "hamming"; None: none
  int64_t sampling_rate = 16000;                // in Hz, as the following frequencies
  int64_t num_mel_bins = 128;
  double min_freq = 20.0;
  std::optional<double> max_freq = {};  // None: half of sampling_rate
  bool power_to_db = true;              // convert to decibels
  double top_db = 80.0;                 // values further below the loudest one are raised
  double mag_exp = 2.0;                 // 1: magnitudes, 2: powers
  double min_power = 1e-10;
  double ref_power = 1.0;  // reference for 0 dB
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.MelSpectrogram: maps signals (samples) or (batch, samples) to (…, num_mel_bins,
// frames). Before framing, the signal is padded by reflection at both ends, so it must have more
// than fft_length / 2 samples. As in Keras, the loudest value (top_db) is that of the whole batch.
// Reference: the Hidden Markov Model Toolkit's mel scale, 1127 ln(1 + f / 700).
class MelSpectrogram final : public LayerHandle {
 public:
  explicit MelSpectrogram(const MelSpectrogramOptions& options = {});
  static MelSpectrogram from_config(const Json& config);
};

}  // namespace cornu::layers
