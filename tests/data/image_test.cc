// SPDX-License-Identifier: Apache-2.0
// Image files: compared with TensorFlow and Pillow, and everything that can be wrong with a file.
#include "data/readers/image/decode_image.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "data/readers/image/image_files.h"
#include "data/readers/image/resize_image.h"
#include "framework/core/random.h"
#include "framework/io/crc.h"
#include "framework/ops/shape.h"
#include "tests/data/foreign_files.h"
#include "tests/golden/golden.h"
#include "tests/support/log.h"

using namespace cornu;
using namespace cornu::testing;
using cornu::test::difference;
using cornu::test::golden_cases;

namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string unhex(const std::string& hex) {
  std::string text;
  for (size_t i = 0; i < hex.size(); i += 2) {
    text += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return text;
}

std::string golden_file(const std::string& name) {
  return unhex(test::golden_case(golden_cases("images"), name).at("hex").as_string());
}

// The file cases of the golden values.
std::vector<const Json*> file_cases() {
  std::vector<const Json*> cases;
  for (const Json& item : golden_cases("images").as_array()) {
    if (item.at("kind").as_string() == "file") cases.push_back(&item);
  }
  REQUIRE(!cases.empty());
  return cases;
}

// A noise image.
Tensor noise(int64_t height, int64_t width, int64_t channels) {
  Tensor image = Tensor::empty({height, width, channels}, DType::UInt8);
  PhiloxEngine engine(7);
  for (uint8_t& value : image.mutable_data<uint8_t>()) value = static_cast<uint8_t>(engine());
  return image;
}

std::string loss(const std::string& file, const data::DecodeImageOptions& options = {}) {
  return message_of<DataLoss>([&] { data::decode_image(bytes_of(file), options, "photo"); });
}

std::string big_endian(uint32_t value) {
  const std::string text = little_endian(value, 4);
  return {text.rbegin(), text.rend()};
}

// A PNG file of 8-bit colors that ends where its pixels begin.
std::string png_header(uint32_t width, uint32_t height) {
  const std::string header =
      "IHDR" + big_endian(width) + big_endian(height) + std::string("\10\2\0\0\0", 5);
  return "\x89PNG\r\n\x1a\n" + big_endian(13) + header + big_endian(crc32(bytes_of(header))) +
         big_endian(100) + "IDAT";
}

// A BMP file of these sizes, bits and compression.
std::string bitmap(uint64_t width, uint64_t height, uint64_t bits, const std::string& palette,
                   const std::string& pixels, uint64_t compression = 0) {
  const size_t start = 54 + palette.size();
  return "BM" + little_endian(start + pixels.size(), 4) + little_endian(0, 4) +
         little_endian(start, 4) + little_endian(40, 4) + little_endian(width, 4) +
         little_endian(height, 4) + little_endian(1, 2) + little_endian(bits, 2) +
         little_endian(compression, 4) + little_endian(0, 12) +
         little_endian(palette.size() / 4, 4) + little_endian(0, 4) + palette + pixels;
}

std::vector<int> values_of(const Tensor& image) {
  const auto data = image.data<uint8_t>();
  return {data.begin(), data.end()};
}

}  // namespace

TEST_CASE("pictures are TensorFlow's") {
  for (const Json* item : file_cases()) {
    CAPTURE(item->at("name").as_string());
    const std::string file = unhex(item->at("hex").as_string());
    for (const int64_t channels : {0, 1, 3, 4}) {
      const Json& expected = item->at(fmt::format("channels {}", channels));
      const Tensor image = data::decode_image(bytes_of(file), {.channels = channels});
      CHECK(image.dtype() == DType::UInt8);
      CAPTURE(channels);
      if (channels > 0) CHECK(image.dim(-1) == channels);
      // For images with fewer than 8 bits per channel, TensorFlow returns an alpha of only that
      // many bits: nearly transparent.
      const std::string& name = item->at("name").as_string();
      if (channels == 4 && (name == "png bits" || name == "png palette")) {
        CHECK(values_of(image)[3] == 255);
        continue;
      }
      if (!expected.is_null()) CHECK(difference(image, expected, {}) == "");
    }
  }
}

TEST_CASE("options of JPEGs are TensorFlow's") {
  const Json& item = test::golden_case(golden_cases("images"), "jpeg color");
  const std::string file = unhex(item.at("hex").as_string());
  const auto decoded = [&](const data::DecodeImageOptions& options) {
    return data::decode_image(bytes_of(file), options);
  };
  CHECK(difference(decoded({.dct_method = "INTEGER_ACCURATE"}), item.at("accurate"), {}) == "");
  CHECK(difference(decoded({.fancy_upscaling = false}), item.at("plain"), {}) == "");
  CHECK(difference(decoded({.dct_scale = 2}), item.at("ratio 2"), {}) == "");
  CHECK(difference(decoded({.dct_scale = 8}), item.at("ratio 8"), {}) == "");
}

TEST_CASE("load_img gives Pillow's pictures") {
  const TempFolder folder;
  for (const Json* item : file_cases()) {
    if (!item->contains("loaded")) continue;
    write_file(folder / "picture", unhex(item->at("hex").as_string()));
    for (const Json& loaded : item->at("loaded").as_array()) {
      const Json& given = loaded.at("options");
      CAPTURE(item->at("name").as_string());
      CAPTURE(given.dump());
      data::LoadImageOptions options;
      if (given.contains("color_mode")) options.color_mode = given.at("color_mode").as_string();
      if (given.contains("interpolation")) {
        options.interpolation = given.at("interpolation").as_string();
      }
      if (given.contains("target_size")) {
        const Json& size = given.at("target_size");
        options.target_size = {size[0].as_int(), size[1].as_int()};
      }
      options.keep_aspect_ratio = given.contains("keep_aspect_ratio");
      const Tensor image = data::load_img(folder / "picture", options);
      CHECK(difference(image, loaded.at("image"), {}) == "");
    }
  }
}

TEST_CASE("load_img keeps transparent colors transparent") {
  const TempFolder folder;
  const std::string file = golden_file("png color transparent");
  write_file(folder / "picture", file);
  const Tensor image = data::load_img(folder / "picture", {.color_mode = "rgba"});
  const std::vector<int> values = values_of(image);
  CHECK(values == values_of(data::decode_image(bytes_of(file), {.channels = 4})));
  CHECK(std::ranges::count(values, 0) > 0);
}

TEST_CASE("the first frame of an animation") {
  const std::string file = golden_file("gif animated");
  const Tensor all = data::decode_image(bytes_of(file));
  const Tensor first = data::decode_image(bytes_of(file), {.expand_animations = false});
  CHECK(all.shape() == Shape{3, 10, 12, 3});
  CHECK(first.shape() == Shape{10, 12, 3});
  const auto begin = values_of(all);
  CHECK(values_of(first) == std::vector<int>(begin.begin(), begin.begin() + 360));
  // Data after the first frame isn't read.
  const std::string cut = file.substr(0, file.size() - 100);
  CHECK(data::decode_image(bytes_of(cut), {.expand_animations = false}).dim(0) == 10);
  CHECK(contains(loss(cut), "photo: not a whole GIF file: it ends too early."));
}

TEST_CASE("transparent pixels beyond a palette") {
  // Two pixels of colors 1 and 2, of a palette of two; Pillow writes frames like this.
  const auto gif = [](const std::string& marks) {
    return unhex("474946383961020001008000000a141e28323c21f904" + marks +
                 "000002002c00000000020001000002028c0a003b");
  };
  CHECK(values_of(data::decode_image(bytes_of(gif("01")))) ==
        std::vector<int>{40, 50, 60, 0, 0, 0});
  CHECK(contains(loss(gif("00")), "color 2 of a palette of 2"));
}

TEST_CASE("bitmaps: rows in either order, palettes, padding") {
  const std::string up =
      bitmap(2, 2, 24, "", std::string("\1\2\3\4\5\6\0\0\7\10\11\12\13\14\0\0", 16));
  CHECK(values_of(data::decode_image(bytes_of(up))) ==
        std::vector<int>{9, 8, 7, 12, 11, 10, 3, 2, 1, 6, 5, 4});
  std::string down = up;
  down.replace(22, 4, little_endian(uint32_t(-2), 4));
  CHECK(values_of(data::decode_image(bytes_of(down))) ==
        std::vector<int>{3, 2, 1, 6, 5, 4, 9, 8, 7, 12, 11, 10});
  const std::string colors("\1\2\3\0\4\5\6\0", 8);
  const std::string palette = bitmap(3, 1, 8, colors, std::string("\0\1\0\0", 4));
  CHECK(values_of(data::decode_image(bytes_of(palette))) ==
        std::vector<int>{3, 2, 1, 6, 5, 4, 3, 2, 1});
  const std::string bits = bitmap(3, 1, 1, colors, std::string("\x40\0\0\0", 4));
  CHECK(values_of(data::decode_image(bytes_of(bits))) ==
        std::vector<int>{3, 2, 1, 6, 5, 4, 3, 2, 1});
  const std::string half = bitmap(3, 1, 4, colors, std::string("\x01\x10\0\0", 4));
  CHECK(values_of(data::decode_image(bytes_of(half))) ==
        std::vector<int>{3, 2, 1, 6, 5, 4, 6, 5, 4});
  CHECK(contains(loss(bitmap(3, 1, 8, colors, std::string("\0\2\0\0", 4))),
                 "photo: not a whole BMP file: color 2 of a palette of 2."));
  CHECK(contains(loss(bitmap(3, 2, 8, colors, std::string("\0\1\0\0", 4))),
                 "3 x 2 pixels of 8 bits need 70 bytes, it has 66"));
  CHECK(message_of<Unimplemented>([&] {
          data::decode_image(bytes_of(bitmap(3, 1, 8, colors, "\3\1", 1)), {}, "photo");
        }) ==
        "photo: a BMP file of 8 bits a pixel and compression 1. Those of 1, 4, 8, 24 and 32 bits "
        "without compression can be read; convert it to PNG.");
}

TEST_CASE("every beginning of a file is an error or a picture that lacks nothing") {
  for (const Json* item : file_cases()) {
    CAPTURE(item->at("name").as_string());
    const std::string file = unhex(item->at("hex").as_string());
    const auto whole = values_of(data::decode_image(bytes_of(file)));
    size_t errors = 0;
    for (size_t length = 0; length < file.size(); ++length) {
      try {
        const std::string part = file.substr(0, length);
        CHECK(values_of(data::decode_image(bytes_of(part))) == whole);
      } catch (const DataLoss&) {
        ++errors;
      }
    }
    // JPEG and BMP files may lack their last bytes.
    CHECK(errors + 4 >= file.size());
  }
}

TEST_CASE("damaged bytes give typed errors or pictures") {
  PhiloxEngine engine(11);
  for (const Json* item : file_cases()) {
    const std::string file = unhex(item->at("hex").as_string());
    for (int round = 0; round < 300; ++round) {
      std::string damaged = file;
      for (int i = 0; i < 3; ++i) damaged[engine.below(file.size())] = static_cast<char>(engine());
      try {
        data::decode_image(bytes_of(damaged), {.max_pixels = 1 << 20});
      } catch (const Error& error) {
        CHECK(error.code() != StatusCode::Internal);
      }
    }
  }
}

TEST_CASE("sizes that files claim") {
  // A JPEG, a BMP, a GIF and a PNG that claim 60,000 x 60,000 pixels.
  std::string jpeg = golden_file("jpeg color");
  const size_t frame = jpeg.find("\xff\xc0");
  jpeg.replace(frame + 5, 4, "\xea\x60\xea\x60");
  const std::string bmp = bitmap(60'000, 60'000, 24, "", "");
  std::string gif = golden_file("gif");
  gif.replace(6, 4, "\x60\xea\x60\xea");
  const std::string png = png_header(60'000, 60'000);
  for (const std::string& file : {jpeg, bmp, gif, png}) {
    CHECK(
        message_of<ResourceExhausted>([&] { data::decode_image(bytes_of(file), {}, "photo"); }) ==
        "photo: 60000 x 60000 pixels are more than the 178956970 allowed. Raise max_pixels if the "
        "file can be trusted.");
  }
  // With a higher limit, the files are too small for that many pixels.
  const data::DecodeImageOptions trusting{.max_pixels = int64_t{1} << 40};
  CHECK(contains(loss(jpeg, trusting), "bytes can't hold 60000 x 60000 pixels"));
  CHECK(contains(loss(gif, trusting), "bytes can't hold 60000 x 60000 pixels"));
  CHECK(contains(loss(png, trusting), "bytes can't hold 60000 x 60000 pixels"));
  CHECK(contains(loss(bmp, trusting), "60000 x 60000 pixels of 24 bits need 10800000054 bytes"));
  // The same for a size within the limit; but a frame may be smaller than its canvas.
  gif.replace(6, 4, "\xc8\x32\xc8\x32");
  CHECK(contains(loss(gif), "bytes can't hold 13000 x 13000 pixels"));
  gif.replace(6, 4, "\xe8\x03\xe8\x03");
  CHECK(data::decode_image(bytes_of(gif)).shape() == Shape{1, 1000, 1000, 3});
  gif.replace(6, 4, "\x78\x05\xe8\x03");
  CHECK(data::decode_image(bytes_of(gif)).shape() == Shape{1, 1000, 1400, 3});
  const std::string animated = golden_file("gif animated");
  CHECK(contains(message_of<ResourceExhausted>(
                     [&] { data::decode_image(bytes_of(animated), {.max_pixels = 300}, "photo"); }),
                 "12 x 10 pixels in 3 frames are more than the 300 allowed"));
}

TEST_CASE("what isn't a picture") {
  CHECK(loss("") == "photo: an empty file, expected a JPEG, PNG, GIF or BMP file.");
  CHECK(loss("hello") ==
        "photo: expected a JPEG, PNG, GIF or BMP file, but it begins with 68 65 6c 6c.");
  std::string checksum = golden_file("png color");
  checksum[40] = static_cast<char>(checksum[40] ^ 1);
  CHECK(contains(loss(checksum), "photo: not a whole PNG file: "));
  const std::string file = golden_file("png color");
  const auto wrong = [&](const data::DecodeImageOptions& options) {
    return message_of([&] { data::decode_image(bytes_of(file), options); });
  };
  CHECK(wrong({.channels = 2}) == "decode_image: expected channels of 0, 1, 3 or 4, got 2.");
  CHECK(wrong({.dct_scale = 3}) == "decode_image: expected a dct_scale of 1, 2, 4 or 8, got 3.");
  CHECK(contains(wrong({.dct_method = "FLOAT"}), "expected a dct_method of 'INTEGER_FAST'"));
}

TEST_CASE("encoded pictures are decoded") {
  for (const int64_t channels : {1, 2, 3, 4}) {
    const Tensor image = noise(17, 9, channels);
    for (const int64_t compression : {-1, 0, 9}) {
      const std::string file = text_of(data::encode_png(image, {.compression = compression}));
      CHECK(values_of(data::decode_image(bytes_of(file))) == values_of(image));
    }
  }
  const Tensor smooth = data::decode_image(bytes_of(golden_file("png color")));
  const auto size_of_jpeg = [&](const data::EncodeJpegOptions& options) {
    const std::string file = text_of(data::encode_jpeg(smooth, options));
    const Tensor back = data::decode_image(bytes_of(file));
    CHECK(back.shape() == smooth.shape());
    double error = 0;
    for (size_t i = 0; i < values_of(back).size(); ++i) {
      error += std::abs(values_of(back)[i] - values_of(smooth)[i]);
    }
    CHECK(error / static_cast<double>(back.num_elements()) < 12);
    return file.size();
  };
  const size_t usual = size_of_jpeg({});
  CHECK(size_of_jpeg({.quality = 50}) < usual);
  CHECK(size_of_jpeg({.optimize_size = true}) < usual);
  CHECK(size_of_jpeg({.chroma_downsampling = false}) > usual);
  CHECK(size_of_jpeg({.progressive = true}) != usual);
  CHECK(message_of([] { data::encode_jpeg(noise(2, 2, 4)); }) ==
        "encode_jpeg: expected uint8 (height, width, 1 or 3) of up to 65500 pixels a side, got "
        "uint8 (2, 2, 4).");
  CHECK(message_of([] { data::encode_jpeg(noise(2, 2, 3), {.quality = 101}); }) ==
        "encode_jpeg: expected a quality of 0 to 100, got 101.");
  CHECK(contains(message_of([] { data::encode_png(Tensor::from({1.0f})); }),
                 "encode_png: expected uint8 (height, width, 1 to 4), got float32 (1,)."));
}

TEST_CASE("arrays become pictures as Keras scales them") {
  const Tensor array = Tensor::from(std::vector<float>{-1, 0, 1, 3}, {2, 2, 1});
  CHECK(values_of(data::array_to_img(array)) == std::vector<int>{0, 63, 127, 255});
  const Tensor wide = Tensor::from(std::vector<float>{-1, 0.9f, 200, 300}, {2, 2, 1});
  CHECK(values_of(data::array_to_img(wide, {.scale = false})) == std::vector<int>{0, 0, 200, 255});
  const Tensor flat = Tensor::from(std::vector<int>{5, 5, 5}, {1, 1, 3});
  CHECK(values_of(data::array_to_img(flat)) == std::vector<int>{0, 0, 0});
  CHECK(message_of([&] { data::array_to_img(Tensor::from({1.0f})); }) ==
        "array_to_img: expected (height, width, 1, 3 or 4), got shape (1,).");
  const Tensor matrix = data::img_to_array(Tensor::from(std::vector<uint8_t>{1, 2}, {1, 2}));
  CHECK(matrix.shape() == Shape{1, 2, 1});
  CHECK(matrix.to_vector<float>() == std::vector<float>{1, 2});
}

TEST_CASE("pictures are saved whole") {
  const TempFolder folder;
  const Tensor image = noise(6, 5, 4);
  data::save_img(folder / "a.png", image, {.scale = false});
  CHECK(values_of(data::load_img(folder / "a.png", {.color_mode = "rgba"})) == values_of(image));
  {
    const test::Log log;
    data::save_img(folder / "b.JPG", image);
    CHECK(contains(log.text(), "JPEG files have no opacities; they are left out of "));
  }
  CHECK(data::load_img(folder / "b.JPG").shape() == Shape{6, 5, 3});
  data::save_img(folder / "c", image, {.file_format = "png"});
  CHECK(data::load_img(folder / "c").shape() == Shape{6, 5, 3});
  CHECK(contains(message_of([&] { data::save_img(folder / "d.webp", image); }),
                 "d.webp: expected the format png or jpeg, got 'webp'."));
  CHECK(names_in(folder.path()) == std::vector<std::string>{"a.png", "b.JPG", "c"});
  CHECK_THROWS_AS(data::load_img(folder / "none.png"), NotFound);
  CHECK(contains(
      message_of<ResourceExhausted>([&] { data::load_img(folder / "c", {.max_pixels = 29}); }),
      "5 x 6 pixels are more than the 29 allowed"));
  CHECK(contains(message_of([&] { data::load_img(folder / "c", {.color_mode = "bgr"}); }),
                 "expected a color_mode of 'grayscale', 'rgb' or 'rgba', got 'bgr'"));
  CHECK(contains(message_of([&] {
                   data::load_img(folder / "c", {.target_size = std::pair<int64_t, int64_t>(2, 2),
                                                 .interpolation = "bilinaer"});
                 }),
                 "load_img: unknown interpolation 'bilinaer'. Did you mean 'bilinear'?"));
  CHECK(contains(message_of<InvalidArgument>([&] {
                   data::load_img(folder / "c", {.target_size = std::pair<int64_t, int64_t>(
                                                     int64_t{1} << 61, (int64_t{1} << 61) + 1),
                                                 .keep_aspect_ratio = true});
                 }),
                 "load_img: expected"));
}

TEST_CASE("regions and sizes that Pillow's way of resizing can't have") {
  const Tensor image = ops::zeros({4, 6, 3}, DType::UInt8);
  const auto refused = [&](const data::PixelBox& box) {
    return message_of<InvalidArgument>([&] { data::resize_as_pillow(image, {2, 2}, "box", box); });
  };
  CHECK(refused({-1, 0, 6, 4}) ==
        "load_img: expected a box with pixels of the image of shape (4, 6, 3), got (left, top, "
        "right, bottom) = (-1, 0, 6, 4).");
  CHECK(contains(refused({0, 0, 7, 4}), "expected a box"));
  CHECK(contains(refused({0, 0, 6, 5}), "expected a box"));
  CHECK(contains(refused({3, 0, 3, 4}), "expected a box"));
  CHECK(contains(refused({0, 2, 6, 1}), "expected a box"));
  CHECK(contains(message_of<InvalidArgument>([] {
                   data::resize_as_pillow(ops::zeros({4, 6, 3}), {2, 2}, "box", {0, 0, 6, 4});
                 }),
                 "expected uint8 pixels (height, width, channels), got float32"));
  for (const char* interpolation : {"nearest", "bilinear"}) {
    CHECK_THROWS_AS(
        data::resize_as_pillow(image, {1, int64_t{1} << 58}, interpolation, {0, 0, 6, 4}), Error);
  }
}
