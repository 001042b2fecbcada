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
  int64_t channels = 0;  // 1 to 4: grey, grey and opacity, colors, colors and opacity
};

// A picture of 8 bits a channel as a PNG file. `pixels`: (height, width, channels); `compression`:
// 0 (none) to 9 (best), -1: zlib's default. InvalidArgument for other sizes, ResourceExhausted
// without memory. Thread-safe.
std::vector<std::byte> encode_png(std::span<const uint8_t> pixels, const PictureSize& size,
                                  int compression = -1);

}  // namespace cornu
