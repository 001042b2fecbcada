// SPDX-License-Identifier: Apache-2.0
#include <csetjmp>
#include <cstdio>  // before jpeglib.h
#include <cstdlib>

#include <jpeglib.h>
// after jpeglib.h
#include <jerror.h>

#include "data/readers/image/codecs.h"
#include "framework/core/threads.h"

namespace cornu::data {
namespace {

// Called by libjpeg on fatal errors. It jumps back with longjmp, so no frame in between may hold
// objects with destructors.
struct JpegErrors {
  jpeg_error_mgr base = {};
  jmp_buf place;
  char message[JMSG_LENGTH_MAX] = {};

  JpegErrors() {
    jpeg_std_error(&base);
    base.error_exit = [](j_common_ptr info) {
      auto* errors = reinterpret_cast<JpegErrors*>(info->err);
      info->err->format_message(info, errors->message);
      longjmp(errors->place, 1);
    };
    base.emit_message = [](j_common_ptr info, int level) {
      if (level >= 0) return;
      // Other warnings concern data that decoders tolerate.
      if (info->err->msg_code == JWRN_JPEG_EOF) info->err->error_exit(info);
      ++info->err->num_warnings;
    };
    base.output_message = [](j_common_ptr) {};
  }

  // Returns whether `body`, which calls libjpeg, completed.
  [[gnu::noinline]] bool run(FunctionRef<void()> body) {
    if (setjmp(place) != 0) return false;
    body();
    return true;
  }
};

// A small file could make libjpeg process a large image any number of times.
constexpr int kMaxScans = 500;

class JpegDecoder {
 public:
  explicit JpegDecoder(const codecs::Picture& picture) : picture_(picture) {
    info_.err = &errors_.base;
    progress_.progress_monitor = [](j_common_ptr info) {
      if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMaxScans) {
        ERREXIT(info, JERR_BAD_PROGRESSION);
      }
    };
  }
  ~JpegDecoder() { jpeg_destroy_decompress(&info_); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  Tensor decode() {
    run([&] { read_header(); });
    codecs::check_size(picture_, info_.image_width, info_.image_height);
    check_plausible();
    configure();
    run([&] { jpeg_calc_output_dimensions(&info_); });
    Tensor image = Tensor::empty({info_.output_height, info_.output_width, info_.output_components},
                                 DType::UInt8);
    const auto pixels = image.mutable_data<uint8_t>();
    run([&] { read_rows(pixels.data()); });
    return info_.out_color_space == JCS_CMYK ? to_rgb(image) : image;
  }

 private:
  void run(FunctionRef<void()> body) {
    if (!errors_.run(body)) codecs::raise_broken(picture_, "JPEG", errors_.message);
  }

  void read_header() {
    jpeg_create_decompress(&info_);
    info_.progress = &progress_;
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(picture_.bytes.data()),
                 picture_.bytes.size());
    jpeg_read_header(&info_, TRUE);
  }

  // A block of 8 x 8 pixels takes at least one bit, unless arithmetic coding is used.
  void check_plausible() const {
    constexpr uint64_t kMaxPixelsPerByte = 8 * 64;
    const uint64_t pixels = uint64_t{info_.image_width} * info_.image_height;
    if (info_.arith_code || pixels / kMaxPixelsPerByte <= picture_.bytes.size()) return;
    codecs::raise_too_small(picture_, "JPEG", info_.image_width, info_.image_height);
  }

  void configure() {
    const bool inks = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
    const bool grey = picture_.options.channels == 1 ||
                      (picture_.options.channels == 0 && info_.num_components == 1);
    info_.out_color_space = inks ? JCS_CMYK : grey ? JCS_GRAYSCALE : JCS_RGB;
    info_.do_fancy_upsampling = picture_.options.fancy_upscaling ? TRUE : FALSE;
    info_.scale_num = 1;
    info_.scale_denom = static_cast<unsigned>(picture_.options.dct_scale);
    info_.dct_method = picture_.options.dct_method == "INTEGER_FAST" ? JDCT_IFAST : JDCT_ISLOW;
  }

  void read_rows(uint8_t* pixels) {
    jpeg_start_decompress(&info_);
    const size_t stride = size_t{info_.output_width} * static_cast<size_t>(info_.output_components);
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW row = pixels + info_.output_scanline * stride;
      jpeg_read_scanlines(&info_, &row, 1);
    }
    // Data after the last row is ignored.
  }

  // Adobe stores inverted CMYK values.
  Tensor to_rgb(const Tensor& inks) const {
    Tensor image = Tensor::empty({inks.dim(0), inks.dim(1), 3}, DType::UInt8);
    const auto from = inks.data<uint8_t>();
    const auto to = image.mutable_data<uint8_t>();
    const int flip = info_.saw_Adobe_marker ? 0 : 255;
    for (size_t i = 0; i < from.size() / 4; ++i) {
      const int black = from[4 * i + 3] ^ flip;
      for (size_t c = 0; c < 3; ++c) {
        to[3 * i + c] = static_cast<uint8_t>(black * (from[4 * i + c] ^ flip) / 255);
      }
    }
    return image;
  }

  const codecs::Picture& picture_;
  jpeg_decompress_struct info_ = {};
  jpeg_progress_mgr progress_ = {};
  JpegErrors errors_;
};

class JpegEncoder {
 public:
  JpegEncoder() { info_.err = &errors_.base; }
  ~JpegEncoder() {
    jpeg_destroy_compress(&info_);
    std::free(bytes_);
  }
  JpegEncoder(const JpegEncoder&) = delete;
  JpegEncoder& operator=(const JpegEncoder&) = delete;

  std::vector<std::byte> encode(const Tensor& image, const EncodeJpegOptions& options) {
    const auto pixels = image.data<uint8_t>();
    info_.image_height = static_cast<JDIMENSION>(image.dim(0));
    info_.image_width = static_cast<JDIMENSION>(image.dim(1));
    const auto channels = static_cast<int>(image.dim(2));
    const auto body = [&] { write(pixels.data(), channels, options); };
    if (!errors_.run(body)) raise<ResourceExhausted>("encode_jpeg: {}.", errors_.message);
    const auto* begin = reinterpret_cast<const std::byte*>(bytes_);
    return {begin, begin + size_};
  }

 private:
  void write(const uint8_t* pixels, int channels, const EncodeJpegOptions& options) {
    const JDIMENSION height = info_.image_height;
    const JDIMENSION width = info_.image_width;
    jpeg_create_compress(&info_);
    jpeg_mem_dest(&info_, &bytes_, &size_);
    info_.image_height = height;
    info_.image_width = width;
    info_.input_components = channels;
    info_.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&info_);
    jpeg_set_quality(&info_, static_cast<int>(options.quality), TRUE);
    info_.optimize_coding = options.optimize_size ? TRUE : FALSE;
    if (options.progressive) jpeg_simple_progression(&info_);
    if (!options.chroma_downsampling) {
      info_.comp_info[0].h_samp_factor = 1;
      info_.comp_info[0].v_samp_factor = 1;
    }
    jpeg_start_compress(&info_, TRUE);
    const size_t stride = size_t{width} * static_cast<size_t>(channels);
    while (info_.next_scanline < height) {
      auto* row = const_cast<JSAMPROW>(pixels + info_.next_scanline * stride);
      jpeg_write_scanlines(&info_, &row, 1);
    }
    jpeg_finish_compress(&info_);
  }

  jpeg_compress_struct info_ = {};
  JpegErrors errors_;
  unsigned char* bytes_ = nullptr;
  unsigned long size_ = 0;  // NOLINT: libjpeg's type
};

}  // namespace

Tensor codecs::decode_jpeg(const Picture& picture) { return JpegDecoder(picture).decode(); }

std::vector<std::byte> encode_jpeg(const Tensor& image, const EncodeJpegOptions& options) {
  const Tensor pixels = image.host();
  const bool whole = pixels.rank() == 3 && pixels.num_elements() > 0;
  check<InvalidArgument>(
      whole && pixels.dtype() == DType::UInt8 && (pixels.dim(2) == 1 || pixels.dim(2) == 3) &&
          pixels.dim(0) <= JPEG_MAX_DIMENSION && pixels.dim(1) <= JPEG_MAX_DIMENSION,
      "encode_jpeg: expected uint8 (height, width, 1 or 3) of up to {} pixels a "
      "side, got {} {}.",
      JPEG_MAX_DIMENSION, pixels.dtype(), pixels.shape());
  check<InvalidArgument>(options.quality >= 0 && options.quality <= 100,
                         "encode_jpeg: expected a quality of 0 to 100, got {}.", options.quality);
  return JpegEncoder().encode(pixels, options);
}

}  // namespace cornu::data
