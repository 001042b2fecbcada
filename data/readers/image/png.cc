// SPDX-License-Identifier: Apache-2.0
#include <png.h>

#include <cstring>

#include "data/readers/image/codecs.h"
#include "framework/io/fuzzing.h"
#include "framework/io/gzip.h"
#include "framework/io/png.h"
#include "framework/io/png_calls.h"

namespace cornu::data {
namespace {

// The weights of TensorFlow's grayscale conversion; blue has the rest.
constexpr double kRedShare = 0.299;
constexpr double kGreenShare = 0.587;

class PngDecoder {
 public:
  explicit PngDecoder(const codecs::Picture& picture)
      : picture_(picture),
        left_(picture.bytes),
        png_(png_create_read_struct(PNG_LIBPNG_VER_STRING, &errors_, png_failed, png_warned)) {
    if (png_) info_ = png_create_info_struct(png_);
    check<ResourceExhausted>(info_ != nullptr, "{}: no memory to decode it.", picture.name);
  }
  ~PngDecoder() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  Tensor decode() {
    run([&] { read_header(); });
    const auto width = png_get_image_width(png_, info_);
    const auto height = png_get_image_height(png_, info_);
    codecs::check_size(picture_, width, height);
    const size_t packed = png_get_rowbytes(png_, info_) * size_t{height};
    if (packed / kMaxInflation > picture_.bytes.size()) {
      codecs::raise_too_small(picture_, "PNG", width, height);
    }
    int64_t channels = 0;
    run([&] { channels = configure(); });
    CORNU_ASSERT(png_get_rowbytes(png_, info_), ==, static_cast<size_t>(channels) * width);
    Tensor image = Tensor::empty({height, width, channels}, DType::UInt8);
    std::vector<png_bytep> rows(height);
    auto* pixels = image.mutable_data<uint8_t>().data();
    for (size_t y = 0; y < height; ++y) {
      rows[y] = pixels + y * static_cast<size_t>(channels) * width;
    }
    run([&] {
      png_read_image(png_, rows.data());
      png_read_end(png_, nullptr);
    });
    return image;
  }

 private:
  void run(FunctionRef<void()> body) {
    if (!run_png(png_, body)) codecs::raise_broken(picture_, "PNG", errors_.message);
  }

  void read_header() {
    png_set_read_fn(png_, this, [](png_structp png, png_bytep to, size_t count) {
      auto& left = static_cast<PngDecoder*>(png_get_io_ptr(png))->left_;
      if (left.size() < count) png_error(png, "it ends too early");
      std::memcpy(to, left.data(), count);
      left = left.subspan(count);
    });
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    if constexpr (!kChecksumsMatter) {
      png_set_crc_action(png_, PNG_CRC_QUIET_USE, PNG_CRC_QUIET_USE);
#ifdef PNG_IGNORE_ADLER32  // in libpng 1.6.48, if enabled in its build
      png_set_option(png_, PNG_IGNORE_ADLER32, PNG_OPTION_ON);
#endif
    }
    png_read_info(png_, info_);
  }

  // Makes libpng convert any file to 8 bits per channel. Returns the number of channels.
  int64_t configure() {
    const auto type = png_get_color_type(png_, info_);
    const bool marks = png_get_valid(png_, info_, PNG_INFO_tRNS) != 0;  // transparent colors
    const bool opacity = (type & PNG_COLOR_MASK_ALPHA) != 0;
    const bool palette = type == PNG_COLOR_TYPE_PALETTE;
    const bool grey = (type & PNG_COLOR_MASK_COLOR) == 0;
    int64_t channels = picture_.options.channels;
    if (channels == 0) channels = palette ? (marks ? 4 : 3) : png_get_channels(png_, info_);
    if (channels % 2 != 0) {
      if (marks || opacity) png_set_strip_alpha(png_);
    } else if (marks) {
      png_set_tRNS_to_alpha(png_);
    } else if (!opacity) {
      png_set_add_alpha(png_, 255, PNG_FILLER_AFTER);
    }
    if (png_get_bit_depth(png_, info_) > 8) png_set_strip_16(png_);
    png_set_packing(png_);
    png_set_interlace_handling(png_);
    if (palette) png_set_palette_to_rgb(png_);
    if (grey && png_get_bit_depth(png_, info_) < 8) png_set_expand_gray_1_2_4_to_8(png_);
    if (channels < 3 && !grey) {
      png_set_rgb_to_gray(png_, PNG_ERROR_ACTION_NONE, kRedShare, kGreenShare);
    }
    if (channels >= 3 && grey) png_set_gray_to_rgb(png_);
    png_read_update_info(png_, info_);
    return channels;
  }

  const codecs::Picture& picture_;
  std::span<const std::byte> left_;
  PngErrors errors_;
  png_structp png_;
  png_infop info_ = nullptr;
};

}  // namespace

Tensor codecs::decode_png(const Picture& picture) { return PngDecoder(picture).decode(); }

std::vector<std::byte> encode_png(const Tensor& image, const EncodePngOptions& options) {
  const Tensor pixels = image.host();
  const bool whole = pixels.rank() == 3 && pixels.num_elements() > 0;
  check<InvalidArgument>(whole && pixels.dtype() == DType::UInt8 && pixels.dim(2) <= 4 &&
                             pixels.dim(0) <= PNG_UINT_31_MAX / 4 &&
                             pixels.dim(1) <= PNG_UINT_31_MAX / 4,
                         "encode_png: expected uint8 (height, width, 1 to 4), got {} {}.",
                         pixels.dtype(), pixels.shape());
  check<InvalidArgument>(options.compression >= -1 && options.compression <= 9,
                         "encode_png: expected a compression of -1 to 9, got {}.",
                         options.compression);
  return cornu::encode_png(pixels.data<uint8_t>(), {pixels.dim(0), pixels.dim(1), pixels.dim(2)},
                           static_cast<int>(options.compression));
}

}  // namespace cornu::data
