// SPDX-License-Identifier: Apache-2.0
// WAV files with uncompressed audio (RIFF; "Multimedia Programming Interface and Data
// Specifications 1.0", IBM and Microsoft 1991).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "framework/core/tensor.h"

namespace cornu::data {

struct Audio {
  Tensor samples;           // float32 (samples, channels); integers are scaled to [-1, 1]
  int64_t sample_rate = 0;  // in Hz
};

struct DecodeWavOptions {
  // Number of samples per channel: longer audio is truncated, shorter audio padded with zeros at
  // the end. nullopt: all.
  std::optional<int64_t> desired_samples = {};
};

// Reads a WAV file, with the values of tf.audio.decode_wav: integers of 8, 16, 24 and 32 bits, and
// floats of 32 and 64 bits (TensorFlow supports only 16-bit integers).
//
// Throws DataLoss, with the file's name and the byte offset, for an invalid or truncated file;
// Unimplemented for compressed audio; InvalidArgument for a negative desired_samples. load_wav
// throws NotFound when the file doesn't exist.
Audio load_wav(const std::filesystem::path& path, const DecodeWavOptions& options = {});
// Decodes a WAV file in memory. `name` is for messages.
Audio decode_wav(std::span<const std::byte> file, const std::string& name,
                 const DecodeWavOptions& options = {});

// Writes float32 (samples, channels) as 16-bit integers like tf.audio.encode_wav (values are
// clipped to [-1, 1]), atomically (see atomic_file.h, also for errors). Throws InvalidArgument for
// other shapes and dtypes, for more than 65,535 channels, for a rate that isn't positive, and for
// more than 4 GiB.
void save_wav(const std::filesystem::path& path, const Tensor& samples, int64_t sample_rate);

}  // namespace cornu::data
