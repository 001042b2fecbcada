// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cornu {

struct PictureSize {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;  // 1 to 4: gray, gray and alpha, RGB, RGBA
};

// Encodes an image with 8 bits per channel as PNG. `pixels`: (height, width, channels);
// `compression`: 0 (none) to 9 (best), -1: zlib's default. Throws InvalidArgument for invalid
// sizes, ResourceExhausted when there isn't enough memory. Thread-safe.
std::vector<std::byte> encode_png(std::span<const uint8_t> pixels, const PictureSize& size,
                                  int compression = -1);

}  // namespace cornu
