// SPDX-License-Identifier: Apache-2.0
// IDX files: valid ones of every kind, and everything that can be wrong with one.
#include "data/readers/idx.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "framework/core/random.h"
#include "tests/data/support.h"

using namespace cornu;
using namespace cornu::testing;

namespace {

std::string big_endian(uint64_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i));
  return text;
}

std::string header(int type, const std::vector<uint64_t>& sizes) {
  std::string text{'\0', '\0', static_cast<char>(type), static_cast<char>(sizes.size())};
  for (uint64_t size : sizes) text += big_endian(size, 4);
  return text;
}

// A (2, 3) array of bytes 0 to 5.
std::string small_file() { return header(0x08, {2, 3}) + std::string("\0\1\2\3\4\5", 6); }

Tensor parse(const std::string& content) {
  auto copy = std::make_shared<std::string>(content);
  return data::parse_idx(std::as_writable_bytes(std::span(*copy)), "digits", copy);
}

std::string loss(const std::string& content) {
  return message_of<DataLoss>([&] { parse(content); });
}

}  // namespace

TEST_CASE("an array of bytes, plain and packed") {
  for (const std::string& content : {small_file(), gzipped(small_file())}) {
    const Tensor tensor = parse(content);
    CHECK(tensor.shape() == Shape{2, 3});
    CHECK(tensor.dtype() == DType::UInt8);
    CHECK(numbers(tensor) == std::vector<int64_t>{0, 1, 2, 3, 4, 5});
  }
}

TEST_CASE("every element type") {
  CHECK(parse(header(0x09, {2}) + "\xff\x7f").to_vector<int8_t>() == std::vector<int8_t>{-1, 127});
  CHECK(parse(header(0x0B, {2}) + std::string("\xff\xfe\x01\x00", 4)).to_vector<int32_t>() ==
        std::vector<int32_t>{-2, 256});
  CHECK(parse(header(0x0C, {2}) + big_endian(0xfffffffe, 4) + big_endian(1 << 24, 4))
            .to_vector<int32_t>() == std::vector<int32_t>{-2, 1 << 24});
  CHECK(parse(header(0x0D, {1}) + big_endian(0x3fc00000, 4)).to_vector<float>() ==
        std::vector<float>{1.5f});
  CHECK(parse(gzipped(header(0x0E, {1}) + big_endian(0xbff8000000000000, 8))).to_vector<double>() ==
        std::vector<double>{-1.5});
}

TEST_CASE("no axes, and axes of no entries") {
  const Tensor scalar = parse(header(0x08, {}) + "\x07");
  CHECK(scalar.shape() == Shape{});
  CHECK(scalar.item<int>() == 7);
  CHECK(parse(header(0x08, {0, 5})).shape() == Shape{0, 5});
  CHECK(parse(gzipped(header(0x08, {5, 0}))).shape() == Shape{5, 0});
}

TEST_CASE("files: read whole, and named in errors") {
  const TempFolder folder;
  write_file(folder / "plain", small_file());
  write_file(folder / "packed.gz", gzipped(small_file()));
  write_file(folder / "short", small_file().substr(0, 15));
  CHECK(numbers(data::read_idx(folder / "plain")) == numbers(data::read_idx(folder / "packed.gz")));
  CHECK(
      message_of<DataLoss>([&] { data::read_idx(folder / "short"); }) ==
      (folder / "short").string() +
          ": truncated at byte 15: an array of shape (2, 3) needs 18 bytes. Download or create the "
          "file again.");
  CHECK_THROWS_AS(data::read_idx(folder / "none"), NotFound);
  // Truncating the file while its array is in use is safe.
  const Tensor array = data::read_idx(folder / "plain");
  std::filesystem::resize_file(folder / "plain", 0);
  CHECK(numbers(array) == numbers(data::read_idx(folder / "packed.gz")));
}

TEST_CASE("every beginning of a file is cut off") {
  const std::string plain = small_file();
  for (size_t length = 0; length < plain.size(); ++length) {
    CAPTURE(length);
    CHECK(contains(loss(plain.substr(0, length)),
                   "digits: truncated at byte " + std::to_string(length)));
    // Complete gzip data around a truncated file.
    CHECK(contains(loss(gzipped(plain.substr(0, length))),
                   "digits: truncated at byte " + std::to_string(length)));
  }
  const std::string packed = gzipped(plain);
  for (size_t length = 2; length < packed.size(); ++length) {
    CAPTURE(length);
    CHECK(contains(loss(packed.substr(0, length)), "gzip data is truncated"));
  }
  CHECK_FALSE(loss(packed.substr(0, 1)).empty());
}

TEST_CASE("bytes after the end") {
  CHECK(loss(small_file() + "x") ==
        "digits: at byte 18, expected the end of the file after an array of shape (2, 3).");
  CHECK(loss(gzipped(small_file() + "x")) == loss(small_file() + "x"));
  CHECK(contains(loss(gzipped(small_file()) + "x"), "gzip data is followed by something else"));
}

TEST_CASE("what isn't an IDX file") {
  CHECK(loss("<html>") == "digits: not an IDX file: at byte 0, expected 00 00, got 3c 68.");
  std::string wrong_type = small_file();
  wrong_type[2] = 0x0A;
  CHECK(loss(wrong_type) ==
        "digits: not an IDX file: at byte 2, expected an element type 0x08 to 0x0E, got 0x0a.");
}

TEST_CASE("absurd sizes are refused before memory is taken for them") {
  constexpr uint64_t kMax = 0xffffffff;
  CHECK(contains(loss(header(0x0E, {kMax, kMax, kMax})),
                 "digits: at byte 8, an impossible size: axis 1 of 3 has 4294967295 entries"));
  CHECK(contains(loss(header(0x08, {kMax, kMax, 0})), "impossible size: axis 1"));
  CHECK(contains(loss(header(0x08, std::vector<uint64_t>(255, kMax))), "impossible size"));
  // A possible size, but not for this file.
  CHECK(contains(loss(header(0x08, {kMax, 1000})), "needs 4294967295012 bytes"));
  CHECK(contains(loss(gzipped(header(0x08, {kMax, 1000}))), "compressed bytes can't hold more"));
  // Within what that many compressed bytes can hold, but the data isn't there.
  const std::string bomb = gzipped(header(0x08, {20'000}) + std::string(15'000, 'a'));
  CHECK(contains(loss(bomb), "truncated at byte 15008"));
}

TEST_CASE("arrays that shrink well are read whole") {
  const std::string zeros = header(0x08, {3, 1'000'000}) + std::string(3'000'000, '\0');
  const std::string packed = gzipped(zeros);
  CHECK(packed.size() < 10'000);
  const Tensor tensor = parse(packed);
  CHECK(tensor.shape() == Shape{3, 1'000'000});
  CHECK(tensor.data<uint8_t>().back() == 0);
}

TEST_CASE("no flipped bit does worse than an error") {
  const std::string plain = small_file();
  const std::string packed = gzipped(plain);
  for (const std::string& content : {plain, packed}) {
    for (size_t bit = 0; bit < 8 * content.size(); ++bit) {
      std::string flipped = content;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
      try {
        const Tensor tensor = parse(flipped);
        CHECK(tensor.num_elements() == 6);  // a flipped bit that keeps the length
      } catch (const DataLoss& error) {
        CHECK(contains(error.what(), "digits: "));
      }
    }
  }
}

TEST_CASE("no noise does worse than an error") {
  PhiloxEngine random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string content = round % 2 ? small_file() : gzipped(small_file());
    const uint64_t changes = 1 + random.below(6);
    for (uint64_t i = 0; i < changes; ++i) {
      content[random.below(content.size())] = static_cast<char>(random());
    }
    content.resize(random.below(content.size() + 4));
    try {
      CHECK(parse(content).num_elements() < 100);
    } catch (const DataLoss&) {
    }
  }
}

TEST_CASE("arrays are written as they are read") {
  const TempFolder folder;
  const auto check_same = [&](const Tensor& tensor, const char* name) {
    data::write_idx(folder / name, tensor);
    const Tensor again = data::read_idx(folder / name);
    REQUIRE(again.dtype() == tensor.dtype());
    REQUIRE(again.shape() == tensor.shape());
    CHECK(std::equal(again.raw(), again.raw() + again.bytes(), tensor.raw()));
  };
  for (const char* name : {"array", "array.gz"}) {
    check_same(Tensor::from(std::vector<uint8_t>{0, 1, 255, 3, 4, 5}, {2, 3}), name);
    check_same(Tensor::from(std::vector<int8_t>{-1, 1}), name);
    check_same(Tensor::from(std::vector<int32_t>{-70000, 70000}, {1, 2, 1}), name);
    check_same(Tensor::from(std::vector<float>{-0.5f, 1e20f}), name);
    check_same(Tensor::from(std::vector<double>{-0.5, 1e200}), name);
    check_same(Tensor::scalar(int32_t{258}), name);
    check_same(Tensor::empty({0, 3}, DType::UInt8), name);
  }
  data::write_idx(folder / "bytes", Tensor::from(std::vector<uint8_t>{0, 1, 2, 3, 4, 5}, {2, 3}));
  CHECK(read_text(folder / "bytes") == small_file());
  CHECK_THROWS_WITH_AS(data::write_idx(folder / "bytes", Tensor::from(std::vector<int64_t>{1})),
                       doctest::Contains("float32 or float64, got int64"), InvalidArgument);
  CHECK(read_text(folder / "bytes") == small_file());
  CHECK_THROWS_AS(data::write_idx(folder / "none" / "a", Tensor::scalar(1.0f)), NotFound);
}
