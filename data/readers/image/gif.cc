// SPDX-License-Identifier: Apache-2.0
#include <gif_lib.h>

#include <algorithm>
#include <cstring>

#include "data/readers/image/codecs.h"

namespace cornu::data {
namespace {

constexpr int kNoColor = -1;

// Draws one frame after another on the same canvas, like TensorFlow: pixels that a frame doesn't
// cover, or marks as transparent, keep their values, initially black.
class GifDecoder {
 public:
  explicit GifDecoder(const codecs::Picture& picture) : picture_(picture), left_(picture.bytes) {
    int error = 0;
    gif_ = DGifOpen(
        this,
        [](GifFileType* gif, GifByteType* to, int count) {
          auto& left = static_cast<GifDecoder*>(gif->UserData)->left_;
          const size_t got = std::min(left.size(), static_cast<size_t>(count));
          std::memcpy(to, left.data(), got);
          left = left.subspan(got);
          return static_cast<int>(got);
        },
        &error);
    if (!gif_) broken(error);
  }
  ~GifDecoder() { DGifCloseFile(gif_, nullptr); }
  GifDecoder(const GifDecoder&) = delete;
  GifDecoder& operator=(const GifDecoder&) = delete;

  Tensor decode() {
    const auto width = static_cast<size_t>(gif_->SWidth);
    const auto height = static_cast<size_t>(gif_->SHeight);
    codecs::check_size(picture_, width, height);
    check_plausible(width, height);
    canvas_.assign(width * height * 3, 0);
    std::vector<uint8_t> frames;
    int64_t count = 0;
    while (read_frame()) {
      ++count;
      codecs::check_size(picture_, width, height, static_cast<uint64_t>(count));
      frames.insert(frames.end(), canvas_.begin(), canvas_.end());
      if (!picture_.options.expand_animations) break;
    }
    if (count == 0) codecs::raise_broken(picture_, "GIF", "it has no image");
    return Tensor::from(frames, {count, gif_->SHeight, gif_->SWidth, 3});
  }

 private:
  [[noreturn]] void broken(int error) const {
    const char* what = GifErrorString(error);
    codecs::raise_broken(picture_, "GIF",
                         left_.empty() ? "it ends too early"
                         : what        ? what
                                       : "damaged");
  }
  void require(int status) const {
    if (status == GIF_ERROR) broken(gif_->Error);
  }

  // An LZW code, up to 12 bits, encodes up to 4096 pixels. A frame may be smaller than its canvas,
  // so small canvases are always accepted.
  void check_plausible(size_t width, size_t height) const {
    constexpr size_t kMaxPixelsPerByte = 4096 * 8 / 12;
    constexpr size_t kSmallCanvas = 1 << 24;
    const size_t pixels = width * height;
    if (pixels <= kSmallCanvas || pixels / kMaxPixelsPerByte <= picture_.bytes.size()) return;
    codecs::raise_too_small(picture_, "GIF", width, height);
  }

  // Draws the next frame; returns false at the end of the file.
  bool read_frame() {
    for (;;) {
      GifRecordType type = UNDEFINED_RECORD_TYPE;
      require(DGifGetRecordType(gif_, &type));
      if (type == TERMINATE_RECORD_TYPE) return false;
      if (type == EXTENSION_RECORD_TYPE) read_extension();
      if (type == IMAGE_DESC_RECORD_TYPE) {
        require(DGifGetImageDesc(gif_));
        draw();
        transparent_ = kNoColor;
        return true;
      }
    }
  }

  void read_extension() {
    int code = 0;
    GifByteType* block = nullptr;
    require(DGifGetExtension(gif_, &code, &block));
    while (block) {
      GraphicsControlBlock control;
      if (code == GRAPHICS_EXT_FUNC_CODE &&
          DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK) {
        transparent_ = control.TransparentColor;
      }
      require(DGifGetExtensionNext(gif_, &block));
    }
  }

  void draw() {
    const GifImageDesc& frame = gif_->Image;
    const ColorMapObject* colors = frame.ColorMap ? frame.ColorMap : gif_->SColorMap;
    const bool inside = frame.Left >= 0 && frame.Top >= 0 && frame.Width > 0 && frame.Height > 0 &&
                        frame.Left + frame.Width <= gif_->SWidth &&
                        frame.Top + frame.Height <= gif_->SHeight;
    if (!inside || !colors) {
      codecs::raise_broken(picture_, "GIF",
                           inside ? "it has no palette" : "a frame is outside of the image");
    }
    std::vector<GifPixelType> line(static_cast<size_t>(frame.Width));
    // Interlaced rows are stored in four passes.
    constexpr int kStart[] = {0, 4, 2, 1};
    constexpr int kStep[] = {8, 8, 4, 2};
    for (int pass = 0; pass < (frame.Interlace ? 4 : 1); ++pass) {
      const int step = frame.Interlace ? kStep[pass] : 1;
      for (int y = frame.Interlace ? kStart[pass] : 0; y < frame.Height; y += step) {
        require(DGifGetLine(gif_, line.data(), frame.Width));
        draw_line(line, frame.Top + y, frame.Left, *colors);
      }
    }
  }

  void draw_line(const std::vector<GifPixelType>& line, int y, int x,
                 const ColorMapObject& colors) {
    uint8_t* to = canvas_.data() + (size_t(y) * size_t(gif_->SWidth) + size_t(x)) * 3;
    for (const GifPixelType index : line) {
      if (index != transparent_) {  // which may be beyond the palette
        if (index >= colors.ColorCount) {
          codecs::raise_broken(
              picture_, "GIF",
              fmt::format("color {} of a palette of {}", index, colors.ColorCount));
        }
        const GifColorType& color = colors.Colors[index];
        to[0] = color.Red;
        to[1] = color.Green;
        to[2] = color.Blue;
      }
      to += 3;
    }
  }

  const codecs::Picture& picture_;
  std::span<const std::byte> left_;
  GifFileType* gif_ = nullptr;
  std::vector<uint8_t> canvas_;
  int transparent_ = kNoColor;
};

}  // namespace

Tensor codecs::decode_gif(const Picture& picture) { return GifDecoder(picture).decode(); }

}  // namespace cornu::data
