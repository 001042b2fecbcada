// SPDX-License-Identifier: Apache-2.0
// WAV files: uncompressed sound (RIFF; "Multimedia Programming Interface and Data Specifications
// 1.0", IBM and Microsoft 1991).
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
  Tensor samples;           // float32 (samples, channels); integers of the file as -1 to 1
  int64_t sample_rate = 0;  // in Hz
};

struct DecodeWavOptions {
  // So many samples of each channel: what is longer is cut off, what is shorter ends with zeros.
  // None: all.
  std::optional<int64_t> desired_samples = {};
};

// The sound in a WAV file, as tf.audio.decode_wav gives it: integers of 8, 16, 24 and 32 bits, and
// floats of 32 and 64 (TensorFlow takes 16 bits alone).
//
// DataLoss, with the file's name and the byte offset, for what isn't a whole WAV file;
// Unimplemented for compressed sound; InvalidArgument for desired_samples below 0; of load_wav
// NotFound when there is no such file.
Audio load_wav(const std::filesystem::path& path, const DecodeWavOptions& options = {});
// The same from memory. `name` is for messages.
Audio decode_wav(std::span<const std::byte> file, const std::string& name,
                 const DecodeWavOptions& options = {});

// Writes float32 (samples, channels) as a file of 16 bits, as tf.audio.encode_wav does (what is
// beyond -1 and 1 is clipped), atomically (atomic_file.h, also for the errors). InvalidArgument for
// other shapes and dtypes, for more than 65,535 channels, for a rate that isn't positive, and for
// more than 4 GiB.
void save_wav(const std::filesystem::path& path, const Tensor& samples, int64_t sample_rate);

}  // namespace cornu::data
