// SPDX-License-Identifier: Apache-2.0
// Windows bitmaps: https://learn.microsoft.com/windows/win32/gdi/bitmap-storage.
#include <algorithm>
#include <array>
#include <vector>

#include "data/readers/image/codecs.h"

namespace cornu::data {
namespace {

constexpr size_t kFileHeader = 14;
constexpr uint64_t kOldHeader = 12;  // OS/2's, with 16-bit sizes
constexpr uint64_t kHeader = 40;

class BmpDecoder {
 public:
  explicit BmpDecoder(const codecs::Picture& picture) : picture_(picture), bytes_(picture.bytes) {}

  Tensor decode() {
    read_header();
    codecs::check_size(picture_, width_, height_);
    row_bytes_ = (width_ * bits_ + 31) / 32 * 4;
    const uint64_t end = pixels_at_ + row_bytes_ * height_;
    if (end > bytes_.size()) {
      broken(fmt::format("{} x {} pixels of {} bits need {} bytes, it has {}", width_, height_,
                         bits_, end, bytes_.size()));
    }
    return bits_ <= 8 ? decode_palette() : decode_colors();
  }

 private:
  [[noreturn]] void broken(const std::string& what) const {
    codecs::raise_broken(picture_, "BMP", what);
  }

  // Reads a little-endian number.
  uint64_t number(uint64_t at, size_t count) const {
    if (at + count > bytes_.size()) {
      broken(fmt::format("truncated at byte {}, in its header", bytes_.size()));
    }
    uint64_t value = 0;
    for (size_t i = count; i-- > 0;) value = value << 8 | std::to_integer<uint64_t>(bytes_[at + i]);
    return value;
  }

  void read_header() {
    pixels_at_ = number(10, 4);
    header_ = number(kFileHeader, 4);
    const bool old = header_ == kOldHeader;
    if (!old && header_ < kHeader) broken(fmt::format("a header of {} bytes", header_));
    const size_t size = old ? 2 : 4;
    width_ = number(kFileHeader + 4, size);
    height_ = number(kFileHeader + 4 + size, size);
    if (!old && height_ > INT32_MAX) {  // negative: rows are stored top-down
      height_ = (uint64_t{1} << 32) - height_;
      downwards_ = true;
    }
    if (!old && width_ > INT32_MAX) broken("a negative width");
    bits_ = number(kFileHeader + (old ? 10 : 14), 2);
    check_kind(old ? 0 : number(kFileHeader + 16, 4));
    const uint64_t colors = old ? 0 : number(kFileHeader + 32, 4);
    if (bits_ <= 8) read_palette(colors, old ? 3 : 4);
  }

  void check_kind(uint64_t compression) const {
    constexpr std::array kBits = {1, 4, 8, 24, 32};
    constexpr uint64_t kMasks = 3;  // color channels are defined by masks
    const bool usual_masks =
        compression == kMasks && bits_ == 32 && number(kFileHeader + 40, 4) == 0xff0000 &&
        number(kFileHeader + 44, 4) == 0xff00 && number(kFileHeader + 48, 4) == 0xff;
    check<Unimplemented>(
        std::count(kBits.begin(), kBits.end(), static_cast<int>(bits_)) > 0 &&
            (compression == 0 || usual_masks),
        "{}: a BMP file of {} bits a pixel and compression {}. Those of 1, 4, 8, 24 and 32 bits "
        "without compression can be read; convert it to PNG.",
        picture_.name, bits_, compression);
  }

  void read_palette(uint64_t count, size_t entry) {
    const uint64_t most = uint64_t{1} << bits_;
    if (count == 0) count = most;
    if (count > most) broken(fmt::format("a palette of {} colors for {} bits", count, bits_));
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t color = number(kFileHeader + header_ + i * entry, 3);
      const auto blue = static_cast<uint8_t>(color);
      const auto green = static_cast<uint8_t>(color >> 8);
      const auto red = static_cast<uint8_t>(color >> 16);
      palette_.push_back({red, green, blue});
      grey_ = grey_ && red == green && green == blue;
    }
  }

  const uint8_t* row(uint64_t y) const {
    const uint64_t stored = downwards_ ? y : height_ - 1 - y;
    return reinterpret_cast<const uint8_t*>(bytes_.data()) + pixels_at_ + stored * row_bytes_;
  }

  Tensor decode_palette() const {
    const size_t channels = grey_ ? 1 : 3;
    Tensor image = empty(channels);
    auto* to = image.mutable_data<uint8_t>().data();
    for (uint64_t y = 0; y < height_; ++y) {
      const uint8_t* from = row(y);
      for (uint64_t x = 0; x < width_; ++x, to += channels) {
        const uint64_t bit = x * bits_;
        const size_t index = from[bit / 8] >> (8 - bits_ - bit % 8) & ((1u << bits_) - 1);
        if (index >= palette_.size()) {
          broken(fmt::format("color {} of a palette of {}", index, palette_.size()));
        }
        std::copy_n(palette_[index].begin(), channels, to);
      }
    }
    return image;
  }

  Tensor decode_colors() const {
    const size_t channels = bits_ / 8;
    Tensor image = empty(channels);
    auto* to = image.mutable_data<uint8_t>().data();
    for (uint64_t y = 0; y < height_; ++y) {
      const uint8_t* from = row(y);
      for (uint64_t x = 0; x < width_; ++x, to += channels, from += channels) {
        to[0] = from[2];
        to[1] = from[1];
        to[2] = from[0];
        if (channels == 4) to[3] = from[3];
      }
    }
    return image;
  }

  Tensor empty(size_t channels) const {
    return Tensor::empty({static_cast<int64_t>(height_), static_cast<int64_t>(width_),
                          static_cast<int64_t>(channels)},
                         DType::UInt8);
  }

  const codecs::Picture& picture_;
  std::span<const std::byte> bytes_;
  uint64_t pixels_at_ = 0;
  uint64_t header_ = 0;
  uint64_t width_ = 0;
  uint64_t height_ = 0;
  uint64_t bits_ = 0;
  uint64_t row_bytes_ = 0;
  bool downwards_ = false;
  std::vector<std::array<uint8_t, 3>> palette_;
  bool grey_ = true;
};

}  // namespace

Tensor codecs::decode_bmp(const Picture& picture) { return BmpDecoder(picture).decode(); }

}  // namespace cornu::data
