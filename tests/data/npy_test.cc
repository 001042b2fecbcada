// SPDX-License-Identifier: Apache-2.0
// NumPy files: .npy and .npz, valid ones of every kind, and everything that can be wrong.
#include "data/readers/npy.h"

#include <doctest/doctest.h>

#include "data/readers/npz.h"
#include "framework/core/random.h"
#include "tests/data/foreign_files.h"
#include "tests/support/every_dtype.h"

using namespace cornu;
using namespace cornu::testing;
using test::kEveryDType;
using test::same;
using test::values;
using namespace std::string_literals;

namespace {

Tensor parse(const std::string& content) {
  auto copy = std::make_shared<std::string>(content);
  return data::parse_npy(std::as_bytes(std::span(*copy)), "file", copy);
}

template <class Kind = DataLoss>
std::string error_of(const std::string& content) {
  return message_of<Kind>([&] { parse(content); });
}

// As in a real file: padded with spaces to 128 bytes.
std::string numpys_own(const std::string& dictionary, const std::string& elements) {
  std::string header = dictionary;
  header.resize(117, ' ');
  return "\x93NUMPY\1\0v\0"s + header + "\n" + elements;
}

std::string small_file() {
  return npy("<i4", "(2, 3)", "\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5\0\0\0\6\0\0\0"s);
}

}  // namespace

TEST_CASE("npy: the bytes that numpy.save writes") {
  const TempFolder folder;
  const auto bytes = [&](const Tensor& tensor) {
    data::save_npy(folder / "x.npy", tensor);
    return read_file(folder / "x.npy");
  };
  CHECK(bytes(Tensor{1.0f, -2.0f}) ==
        numpys_own("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
                   "\0\0\x80\x3f\0\0\0\xc0"s));
  CHECK(bytes(Tensor::scalar(true)) ==
        numpys_own("{'descr': '|b1', 'fortran_order': False, 'shape': (), }", "\1"));
  CHECK(bytes(Tensor::empty({0, 2}, DType::Int64)) ==
        numpys_own("{'descr': '<i8', 'fortran_order': False, 'shape': (0, 2), }", ""));
  CHECK(contains(bytes(Tensor::empty({1}, DType::BFloat16)), "'descr': '<V2'"));
  CHECK(contains(bytes(Tensor::empty({1}, DType::UInt8)), "'descr': '|u1'"));
  CHECK(contains(bytes(Tensor::empty({1}, DType::Float16)), "'descr': '<f2'"));
}

TEST_CASE("npy: every dtype and shape comes back") {
  const TempFolder folder;
  for (const DType dtype : kEveryDType) {
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{0, 3}, Shape{2, 3, 5}}) {
      CAPTURE(to_string(dtype));
      CAPTURE(shape.to_string());
      const Tensor tensor = values(dtype, shape);
      data::save_npy(folder / "x.npy", tensor);
      CHECK(same(data::load_npy(folder / "x.npy"), tensor));
    }
  }
}

TEST_CASE("npy: big-endian elements") {
  CHECK(parse(npy(">f4", "(2,)", "\x3f\x80\0\0\xc0\0\0\0"s)).to_vector<float>() ==
        std::vector<float>{1, -2});
  CHECK(parse(npy(">u8", "(1,)", "\1\0\0\0\0\0\0\2"s)).to_vector<uint64_t>() ==
        std::vector<uint64_t>{(uint64_t{1} << 56) + 2});
  CHECK(parse(npy(">f8", "()", "\xbf\xf8\0\0\0\0\0\0"s)).item<double>() == -1.5);
  CHECK(static_cast<float>(parse(npy(">f2", "(1,)", "\x3c\0"s)).data<float16>()[0]) == 1);
  CHECK(numbers(parse(npy("=i4", "(1,)", "\1\0\0\0"s))) == std::vector<int64_t>{1});
  CHECK(numbers(parse(npy("i4", "(1,)", "\1\0\0\0"s))) == std::vector<int64_t>{1});
}

TEST_CASE("npy: two bytes become four, whatever isn't 0 is true") {
  const Tensor shorts = parse(npy("<i2", "(2,)", "\xff\xff\1\2"s));
  CHECK(shorts.dtype() == DType::Int32);
  CHECK(numbers(shorts) == std::vector<int64_t>{-1, 513});
  CHECK(numbers(parse(npy(">u2", "(2,)", "\xff\xff\1\2"s))) == std::vector<int64_t>{65535, 258});
  CHECK(parse(npy("|b1", "(3,)", "\0\1\x80"s)).to_vector<bool>() ==
        std::vector<bool>{false, true, true});
  CHECK(static_cast<float>(parse(npy("<V2", "(1,)", "\x80\x3f"s)).data<bfloat16>()[0]) == 1);
}

TEST_CASE("npy: columns first") {
  CHECK(numbers(parse(npy("|u1", "(2, 3)", "\0\3\1\4\2\5"s, true))) ==
        std::vector<int64_t>{0, 1, 2, 3, 4, 5});
  std::string elements;
  for (int k = 0; k < 4; ++k) {
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 2; ++i) elements += little_endian(12 * i + 4 * j + k, 2);
    }
  }
  const Tensor tensor = parse(npy("<i2", "(2, 3, 4)", elements, true));
  CHECK(tensor.shape() == Shape{2, 3, 4});
  std::vector<int64_t> wanted(24);
  for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = static_cast<int64_t>(i);
  CHECK(numbers(tensor) == wanted);
  CHECK(numbers(parse(npy("|u1", "(1, 3)", "\7\10\11", true))) == std::vector<int64_t>{7, 8, 9});
  CHECK(parse(npy("<f8", "(0, 3)", "", true)).shape() == Shape{0, 3});
}

TEST_CASE("npy: headers of all versions, and however Python may write them") {
  const std::string elements = "\7\10";
  const std::vector<int64_t> wanted{7, 8};
  for (int version = 1; version <= 3; ++version) {
    CHECK(numbers(parse(npy_with("{'descr': '|u1', 'fortran_order': False, 'shape': (2,)}",
                                 elements, version))) == wanted);
  }
  CHECK(numbers(parse(npy_with("\t{ \"shape\":(2 , ),\"fortran_order\" :True,'descr':'u1' } \n",
                               elements))) == wanted);
  const std::string long_sizes = "{'descr': '|u1', 'fortran_order': False, 'shape': (1L, 2L)}";
  CHECK(parse(npy_with(long_sizes, elements)).shape() == Shape{1, 2});
  CHECK(contains(error_of(npy_with(long_sizes, elements, 3)), "expected ',' after the only size"));
  CHECK(contains(error_of<Unimplemented>(npy_with("{}", "", 4)),
                 "file: expected .npy version 1.0, 2.0 or 3.0, got 4.0."));
}

TEST_CASE("npy: a file is read whole, and may change while its array is in use") {
  const TempFolder folder;
  write_file(folder / "x.npy", small_file());
  const Tensor array = data::load_npy(folder / "x.npy");
  std::filesystem::resize_file(folder / "x.npy", 0);
  CHECK(numbers(array) == std::vector<int64_t>{1, 2, 3, 4, 5, 6});
  CHECK(
      message_of<DataLoss>([&] { data::load_npy(folder / "x.npy"); }) ==
      (folder / "x.npy").string() +
          ": truncated at byte 0: the .npy header has 8 bytes. Download or create the file again.");
  CHECK_THROWS_AS(data::load_npy(folder / "none"), NotFound);
  CHECK_THROWS_AS(data::save_npy(folder / "none/x.npy", array), NotFound);
}

TEST_CASE("npy: every beginning of a file is cut off") {
  const std::string file = small_file();
  for (size_t length = 0; length < file.size(); ++length) {
    CAPTURE(length);
    CHECK(contains(error_of(file.substr(0, length)),
                   "file: truncated at byte " + std::to_string(length)));
  }
  CHECK(
      error_of(file + "x") ==
      fmt::format("file: at byte {}, expected the end of the file after an array of shape (2, 3).",
                  file.size()));
}

TEST_CASE("npy: what isn't a header") {
  const auto header_error = [](const std::string& header) {
    return error_of(npy_with(header, ""));
  };
  CHECK(error_of("<html>") == "file: not a .npy file: at byte 0, expected \\x93NUMPY.");
  CHECK(error_of("\x93NUMBER") == "file: not a .npy file: at byte 4, expected \\x93NUMPY.");
  CHECK(header_error("[]") ==
        "file: the .npy header is damaged: at byte 10, expected a dictionary.");
  CHECK(header_error("{}") ==
        "file: the .npy header is damaged: at byte 12, expected the keys 'descr', "
        "'fortran_order' and 'shape'.");
  CHECK(contains(header_error("{'descr': '<f4', 'descr': '<f4'}"), "once each, got 'descr'"));
  CHECK(contains(header_error("{'x': 1}"), "once each, got 'x'"));
  CHECK(contains(header_error("{'descr': 'float'}"), "a dtype such as '<f4', got 'float'"));
  CHECK(contains(header_error("{'descr': '<f"), "expected the end of a text"));
  CHECK(contains(header_error("{'fortran_order': 1}"), "expected True or False"));
  CHECK(contains(header_error("{'shape': [2]}"), "expected a tuple of sizes"));
  CHECK(contains(header_error("{'shape': (2)}"), "expected ',' after the only size"));
  CHECK(contains(header_error("{'shape': (-1,)}"), "expected a size of 0 to 2^63 - 1"));
  CHECK(contains(header_error("{'shape': (9223372036854775808,)}"), "expected a size of 0"));
  CHECK(contains(header_error("{'shape': (__import__('os').abort(),)}"), "expected a size of 0"));
  CHECK(contains(header_error("{'shape': () 'descr': '<f4'}"), "expected ',' or '}'"));
  CHECK(contains(error_of(npy("<f4", "(), } or {", "")), "expected nothing after the dictionary"));
  CHECK(contains(error_of(npy("<f4", "(), }, {", "")), "expected nothing after the dictionary"));
}

TEST_CASE("npy: types that a tensor can't have") {
  CHECK(error_of<Unimplemented>(npy("<c8", "(1,)", "12345678")) ==
        "file: elements of NumPy's type '<c8' can't be in a tensor. Convert them first, as in "
        "array.astype(\"float32\").");
  for (const char* type : {"<U3", "|S5", "<M8[ns]", "<f16", "|V8"}) {
    CHECK(contains(error_of<Unimplemented>(npy(type, "(1,)", "")), "can't be in a tensor"));
  }
  CHECK(contains(error_of<Unimplemented>(
                     npy_with("{'descr': [('a', '<f4'), ('b', '<i4')], 'fortran_order'", "")),
                 "file: an array of structures (dtype [('a', '<f4'), ('b', '<i4')]) can't be"));
  CHECK(contains(error_of<InvalidArgument>(npy_of_lists({{1}, {2, 3}})),
                 "file: an array of Python objects (a pickle) can't be a tensor."));
}

TEST_CASE("npy: absurd sizes are refused before memory is taken for them") {
  const std::string most = std::to_string(INT64_MAX);
  CHECK(error_of(npy("<f8", "(" + most + ",)", "")) ==
        "file: an impossible shape: (" + most + ",).");
  CHECK(contains(error_of(npy("|u1", "(" + most + ", 2, 0)", "")), "an impossible shape"));
  CHECK(contains(error_of(npy("|u1", "(4000000000000,)", "x")), "needs 4000000000"));
  std::string sizes;
  for (int i = 0; i < 65; ++i) sizes += "1, ";
  CHECK(contains(error_of(npy("|u1", "(" + sizes + ")", "x")), "expected at most 64 axes"));
}

TEST_CASE("npy: no flipped bit or noise does worse than an error") {
  const std::string file = small_file();
  const auto try_it = [](const std::string& content) {
    try {
      CHECK(parse(content).num_elements() <= 24);
    } catch (const Error& error) {
      CHECK(contains(error.what(), "file: "));
      CHECK(error.code() != StatusCode::Internal);
    }
  };
  for (size_t bit = 0; bit < 8 * file.size(); ++bit) {
    std::string flipped = file;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    try_it(flipped);
  }
  PhiloxEngine random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string content = file;
    for (uint64_t i = random.below(6); i < 6; ++i) {
      content[random.below(content.size())] = static_cast<char>(random());
    }
    content.resize(random.below(content.size() + 4));
    try_it(content);
  }
}

TEST_CASE("npz: arrays by name, stored and compressed") {
  const TempFolder folder;
  const Tensor x = values(DType::Float32, {20, 30});
  const Tensor y = values(DType::BFloat16, {});
  data::savez(folder / "a.npz", {{"x", x}, {"y", y}});
  data::savez_compressed(folder / "b.npz", {{"x", x}, {"y", y}});
  CHECK(std::filesystem::file_size(folder / "a.npz") > x.bytes());
  CHECK(std::filesystem::file_size(folder / "b.npz") < x.bytes());
  for (const char* name : {"a.npz", "b.npz"}) {
    const Tensors arrays = data::load_npz(folder / name);
    CHECK(arrays.names() == std::vector<std::string>{"x", "y"});
    CHECK(same(arrays["x"], x));
    CHECK(same(arrays["y"], y));
  }
  data::savez(folder / "c.npz", {x, y});
  CHECK(data::load_npz(folder / "c.npz").names() == std::vector<std::string>{"arr_0", "arr_1"});
  data::savez(folder / "d.npz", {});
  CHECK(data::load_npz(folder / "d.npz").empty());
}

TEST_CASE("npz: what is wrong is said, with the array's name") {
  const TempFolder folder;
  const std::string path = (folder / "a.npz").string();
  const Tensor x = Tensor::scalar(1);
  CHECK_THROWS_AS(data::savez(path, {{"x", x}, {"x", x}}), InvalidArgument);
  CHECK_THROWS_AS(data::savez(path, {{"", x}}), InvalidArgument);
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK_THROWS_AS(data::load_npz(path), NotFound);
  write_file(path, small_file());
  CHECK_THROWS_AS(data::load_npz(path), DataLoss);

  write_zip(path, {{"good.npy", small_file()},
                   {"short.npy", small_file().substr(0, 90)},
                   {"notes.txt", "not an array"}});
  const data::NpzReader reader(path);
  CHECK(reader.names() == std::vector<std::string>{"good", "short"});
  CHECK(numbers(reader.read("good")).size() == 6);
  CHECK(contains(message_of<DataLoss>([&] { reader.read("short"); }),
                 "'" + path + "': array 'short': truncated at byte 90"));
  CHECK(contains(message_of<NotFound>([&] { reader.read("goods"); }),
                 "array 'goods' isn't there. Did you mean 'good'?"));
  CHECK_THROWS_AS(data::load_npz(path), DataLoss);
}

TEST_CASE("npz: lists of different lengths") {
  const TempFolder folder;
  const std::vector<std::vector<int64_t>> lists{{1, 2, 300}, {}, {-70000}};
  write_zip(folder / "a.npz", {{"x.npy", npy_of_lists(lists)},
                               {"even.npy", small_file()},
                               {"f.npy", npy("<f4", "(1, 1)", "1234")},
                               {"rows.npy", npy("<i4", "(1000000000000, 0)", "")}});
  const data::NpzReader reader(folder / "a.npz");
  CHECK(reader.read_ragged("x") == lists);
  CHECK(reader.read_ragged("even") == std::vector<std::vector<int64_t>>{{1, 2, 3}, {4, 5, 6}});
  CHECK(contains(message_of<InvalidArgument>([&] { reader.read("x"); }), "Python objects"));
  CHECK(contains(message_of<InvalidArgument>([&] { reader.read_ragged("f"); }),
                 "expected lists of integers, got an array of float32 of shape (1, 1)"));
  CHECK(contains(message_of<DataLoss>([&] { reader.read_ragged("rows"); }),
                 "1000000000000 lists can't be in a file of"));
}
