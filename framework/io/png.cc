// SPDX-License-Identifier: Apache-2.0
#include "framework/io/png.h"

#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <utility>

#include "framework/core/error.h"
#include "framework/io/png_calls.h"

namespace cornu {

void png_failed(png_structp png, png_const_charp message) {
  auto* errors = static_cast<PngErrors*>(png_get_error_ptr(png));
  std::snprintf(errors->message, sizeof(errors->message), "%s", message);
  png_longjmp(png, 1);
}

void png_warned(png_structp, png_const_charp) {}

[[gnu::noinline]] bool run_png(png_structp png, FunctionRef<void()> body) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  body();
  return true;
}

namespace {

class PngEncoder {
 public:
  PngEncoder()
      : png_(png_create_write_struct(PNG_LIBPNG_VER_STRING, &errors_, png_failed, png_warned)) {
    if (png_) info_ = png_create_info_struct(png_);
    check<ResourceExhausted>(info_ != nullptr, "encode_png: no memory.");
  }
  ~PngEncoder() { png_destroy_write_struct(&png_, &info_); }
  PngEncoder(const PngEncoder&) = delete;
  PngEncoder& operator=(const PngEncoder&) = delete;

  std::vector<std::byte> encode(const uint8_t* pixels, const PictureSize& size, int compression) {
    const auto height = static_cast<png_uint_32>(size.height);
    const auto width = static_cast<png_uint_32>(size.width);
    const auto channels = static_cast<size_t>(size.channels);
    const auto body = [&] { write(pixels, height, width, channels, compression); };
    if (!run_png(png_, body)) raise<ResourceExhausted>("encode_png: {}.", errors_.message);
    return std::move(bytes_);
  }

 private:
  void write(const uint8_t* pixels, png_uint_32 height, png_uint_32 width, size_t channels,
             int compression) {
    constexpr int kTypes[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                              PNG_COLOR_TYPE_RGB_ALPHA};
    png_set_write_fn(
        png_, this,
        [](png_structp png, png_bytep from, size_t count) {
          auto& bytes = static_cast<PngEncoder*>(png_get_io_ptr(png))->bytes_;
          const auto* begin = reinterpret_cast<const std::byte*>(from);
          bytes.insert(bytes.end(), begin, begin + count);
        },
        [](png_structp) {});
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_compression_level(png_, compression);
    png_set_IHDR(png_, info_, width, height, 8, kTypes[channels - 1], PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png_, info_);
    for (png_uint_32 y = 0; y < height; ++y) png_write_row(png_, pixels + y * channels * width);
    png_write_end(png_, nullptr);
  }

  std::vector<std::byte> bytes_;
  PngErrors errors_;
  png_structp png_;
  png_infop info_ = nullptr;
};

}  // namespace

std::vector<std::byte> encode_png(std::span<const uint8_t> pixels, const PictureSize& size,
                                  int compression) {
  constexpr int64_t kMax = PNG_UINT_31_MAX / 4;
  const auto& [height, width, channels] = size;
  const bool possible =
      height > 0 && height <= kMax && width > 0 && width <= kMax && channels > 0 && channels <= 4;
  check<InvalidArgument>(
      possible && pixels.size() / channels / width == static_cast<size_t>(height) &&
          pixels.size() % (channels * width) == 0,
      "encode_png: expected (height, width, 1 to 4) pixels, got {} numbers for ({}, {}, {}).",
      pixels.size(), height, width, channels);
  return PngEncoder().encode(pixels.data(), size, compression);
}

}  // namespace cornu
