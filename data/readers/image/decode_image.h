// SPDX-License-Identifier: Apache-2.0
// Decodes JPEG, PNG, BMP and GIF files, and encodes JPEG and PNG.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::data {

// The default limit for the number of pixels (Pillow's).
inline constexpr int64_t kMaxPixels = 178'956'970;

struct DecodeImageOptions {
  // 1: gray, 3: RGB, 4: RGBA; 0: as in the file (2: gray with alpha).
  int64_t channels = 0;
  // GIFs are returned as (frames, height, width, channels); if false, only their first frame is
  // read.
  bool expand_animations = true;
  // For JPEGs: downscales by 1, 2, 4 or 8 while decoding, which is faster than resizing but yields
  // different pixels (tf.io.decode_jpeg's ratio).
  int64_t dct_scale = 1;
  bool fancy_upscaling = true;              // interpolate the chroma of JPEGs
  std::string dct_method = "INTEGER_FAST";  // TensorFlow's default, or "INTEGER_ACCURATE"
  int64_t max_pixels = kMaxPixels;          // width * height (* frames)
};

// Decodes an image in any of the formats to uint8 (height, width, channels), with TensorFlow's
// values: 16-bit samples are reduced to their upper 8 bits, transparent colors get an alpha value
// if requested and are opaque otherwise, CMYK is converted to RGB. Unlike in TensorFlow, BMPs and
// GIFs can be decoded to any number of channels and JPEGs with alpha (255); BMPs of 8 bits or less
// are returned in the colors of their palette; and the alpha added to PNGs of fewer than 8 bits is
// 255 (TensorFlow: the maximum value for that number of bits).
//
// `name` is for messages. Throws DataLoss for anything but a complete well-formed image (memory is
// allocated only once a file is known to be large enough for what its header promises);
// ResourceExhausted for more than max_pixels; Unimplemented for rare kinds of BMPs; InvalidArgument
// for invalid options. Thread-safe. Reference: tf.io.decode_image.
Tensor decode_image(std::span<const std::byte> file, const DecodeImageOptions& options = {},
                    const std::string& name = "image");

struct EncodeJpegOptions {
  int64_t quality = 95;  // 0 to 100
  bool progressive = false;
  bool optimize_size = false;       // smaller and slower, same pixels
  bool chroma_downsampling = true;  // chroma at half the resolution
};

// `image`: uint8 (height, width, 1 or 3) with up to 65,500 pixels per side (tf.io.encode_jpeg).
std::vector<std::byte> encode_jpeg(const Tensor& image, const EncodeJpegOptions& options = {});

struct EncodePngOptions {
  int64_t compression = -1;  // 0: none, 9: best, -1: zlib's default
};

// `image`: uint8 (height, width, 1 to 4) (tf.io.encode_png).
std::vector<std::byte> encode_png(const Tensor& image, const EncodePngOptions& options = {});

}  // namespace cornu::data
