// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/hdf5_file.h"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <thread>

#include "framework/io/atomic_file.h"
#include "tests/saving/foreign_hdf5.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

using test::contains;
using test::contents;
using test::Foreign;
using test::message_of;
using test::put;
using test::Scratch;

constexpr DType kAll[] = {DType::Bool,     DType::UInt8,   DType::Int8,   DType::Int32,
                          DType::Int64,    DType::UInt32,  DType::UInt64, DType::Float16,
                          DType::BFloat16, DType::Float32, DType::Float64};

// Varied bytes that are valid numbers of any dtype.
Tensor sample(const Shape& shape, DType dtype) {
  Tensor tensor = Tensor::empty(shape, dtype);
  auto* bytes = reinterpret_cast<uint8_t*>(tensor.mutable_raw());
  for (size_t i = 0; i < tensor.bytes(); ++i) {
    bytes[i] = static_cast<uint8_t>(dtype == DType::Bool ? i % 2 : i * 37 + 11);
  }
  return tensor;
}

bool same(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() &&
         std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

Hdf5Reader reader_of(Hdf5Writer& writer) {
  return Hdf5Reader::from_bytes(writer.take_bytes(), "test.h5");
}

TEST_CASE("every dtype and rank comes back, from memory and from a file") {
  const Scratch scratch;
  const std::vector<Shape> shapes = {Shape{},     Shape{1},          Shape{0, 3},
                                     Shape{2, 3}, Shape{2, 1, 3, 5}, Shape{300, 200}};
  Hdf5Writer writer;
  for (const DType dtype : kAll) {
    for (size_t i = 0; i < shapes.size(); ++i) {
      writer.write(fmt::format("{}/vars/{}", dtype, i), sample(shapes[i], dtype));
    }
  }
  const auto bytes = writer.take_bytes();
  const std::string path = scratch.path("all.h5");
  write_file_atomically(path, bytes);

  const auto verify = [&](const Hdf5Reader& reader) {
    for (const DType dtype : kAll) {
      for (size_t i = 0; i < shapes.size(); ++i) {
        const std::string name = fmt::format("{}/vars/{}", dtype, i);
        CAPTURE(name);
        REQUIRE(reader.describe(name).shape == shapes[i]);
        REQUIRE(reader.describe(name).dtype == dtype);
        REQUIRE(same(reader.read(name, shapes[i], dtype), sample(shapes[i], dtype)));
      }
    }
  };
  verify(Hdf5Reader::from_bytes(bytes, "all.h5"));
  verify(Hdf5Reader::open(path));
}

TEST_CASE("the same content gives the same bytes") {
  const auto make = [] {
    Hdf5Writer writer;
    writer.make_group("layers/dense/vars");
    writer.set_attribute("layers/dense/vars", "name", "dense");
    writer.set_attribute("layers/dense/vars", "count", 2);
    for (int i = 0; i < 30; ++i) {
      writer.write(fmt::format("layers/dense/vars/{}", i), sample({5, 7}, DType::BFloat16));
    }
    return writer.take_bytes();
  };
  // Uninitialized memory mustn't get into the file.
  const auto first = make();
  std::vector<std::vector<char>> dirt(100, std::vector<char>(10'000, 'x'));
  dirt.clear();
  CHECK(first == make());
}

TEST_CASE("files are made by several threads at once") {
  const auto make = [] {
    Hdf5Writer writer;
    for (int i = 0; i < 20; ++i) {
      writer.write(fmt::format("layers/{}/vars/0", i), sample({50, 7}, DType::Float16));
      writer.set_attribute(fmt::format("layers/{}/vars", i), "name", "dense");
    }
    return writer.take_bytes();
  };
  const auto wanted = make();
  std::vector<std::vector<std::byte>> made(4);
  std::vector<std::thread> threads;
  for (auto& bytes : made) threads.emplace_back([&] { bytes = make(); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& bytes : made) CHECK(bytes == wanted);
}

TEST_CASE("groups: children, kinds, and many of them") {
  Hdf5Writer writer;
  writer.make_group("vars");
  for (int i = 0; i < 1000; ++i) writer.write(fmt::format("optimizer/vars/{}", i), Tensor(i));
  writer.make_group("größe/空");
  const Hdf5Reader reader = reader_of(writer);
  CHECK(reader.children("") == std::vector<std::string>{"größe", "optimizer", "vars"});
  CHECK(reader.children("/") == reader.children(""));
  CHECK(reader.children("größe") == std::vector<std::string>{"空"});
  CHECK(reader.children("vars").empty());
  const auto vars = reader.children("optimizer/vars");
  REQUIRE(vars.size() == 1000);
  CHECK(std::is_sorted(vars.begin(), vars.end()));
  for (int i = 0; i < 1000; ++i) {
    REQUIRE(reader.read(fmt::format("optimizer/vars/{}", i), {}, DType::Int32).item<int>() == i);
  }
  CHECK(reader.is_group("optimizer"));
  CHECK(reader.is_group(""));
  CHECK_FALSE(reader.is_dataset("optimizer"));
  CHECK(reader.is_dataset("optimizer/vars/7"));
  CHECK_FALSE(reader.is_group("optimizer/vars/7"));
  CHECK_FALSE(reader.is_group("optimizer/vars/7/x"));
  CHECK_FALSE(reader.is_dataset("optimizer/vars/1000"));
  CHECK_FALSE(reader.is_group("nothing/at/all"));
}

TEST_CASE("attributes come back, on groups and datasets") {
  Hdf5Writer writer;
  writer.make_group("vars");
  writer.write("x", Tensor(1.0f));
  const std::string longer(2000, 'n');
  for (const std::string object : {"", "vars", "x"}) {
    writer.set_attribute(object, "name", "modèle");
    writer.set_attribute(object, "empty", "");
    writer.set_attribute(object, "long", longer);
    writer.set_attribute(object, "small", std::numeric_limits<int64_t>::min());
    writer.set_attribute(object, "large", std::numeric_limits<int64_t>::max());
    writer.set_attribute(object, "list", std::vector<std::string>{"a", "größe", ""});
    writer.set_attribute(object, "none", std::vector<std::string>());
    writer.set_attribute(object, "much", std::vector<std::string>(32, longer));
  }
  const Hdf5Reader reader = reader_of(writer);
  for (const std::string object : {"", "vars", "x"}) {
    CAPTURE(object);
    CHECK(reader.string_attribute(object, "name") == "modèle");
    CHECK(reader.string_attribute(object, "empty") == "");
    CHECK(reader.string_attribute(object, "long") == longer);
    CHECK(reader.int_attribute(object, "small") == std::numeric_limits<int64_t>::min());
    CHECK(reader.int_attribute(object, "large") == std::numeric_limits<int64_t>::max());
    CHECK(reader.strings_attribute(object, "list") == std::vector<std::string>{"a", "größe", ""});
    CHECK(reader.strings_attribute(object, "none") == std::vector<std::string>());
    CHECK(reader.strings_attribute(object, "much") == std::vector<std::string>(32, longer));
    CHECK(reader.string_attribute(object, "other") == std::nullopt);
    CHECK(reader.int_attribute(object, "other") == std::nullopt);
  }
  CHECK(contains(message_of<InvalidArgument>([&] { reader.int_attribute("vars", "name"); }),
                 "'test.h5': 'vars': its attribute 'name' was asked for as an integer, but is a "
                 "string of shape ()."));
  CHECK(contains(message_of<InvalidArgument>([&] { reader.string_attribute("vars", "small"); }),
                 "asked for as a string, but is a int64 of shape ()"));
}

TEST_CASE("a number is read as another dtype where it is the same there") {
  Hdf5Writer writer;
  writer.write("int", Tensor::from(std::vector<int64_t>{-5, 7, 300}));
  writer.write("huge", Tensor::scalar(int64_t{1} << 40));
  writer.write("float", Tensor::from(std::vector<float>{0.1f, -2.5f, 1e30f}));
  writer.write("whole", Tensor::from(std::vector<double>{-3, 0, 255}));
  writer.write("edge", Tensor::from(std::vector<float>{2147483648.0f}));
  writer.write("half", Tensor::from(std::vector<bfloat16>{bfloat16(1.5f)}));
  writer.write("bool", Tensor::from(std::vector<bool>{true, false}, {2}));
  const Hdf5Reader reader = reader_of(writer);
  CHECK(reader.read("int", {3}, DType::Int32).to_vector<int32_t>() ==
        std::vector<int32_t>{-5, 7, 300});
  CHECK(reader.read("int", {3}, DType::Float32).to_vector<float>() ==
        std::vector<float>{-5, 7, 300});
  CHECK(reader.read("float", {3}, DType::Float64).to_vector<double>() ==
        std::vector<double>{0.1f, -2.5f, 1e30f});
  CHECK(reader.read("whole", {3}, DType::Int64).to_vector<int64_t>() ==
        std::vector<int64_t>{-3, 0, 255});
  CHECK(reader.read("edge", {1}, DType::UInt32).to_vector<uint32_t>()[0] == 2147483648u);
  const auto rounded = reader.read("float", {3}, DType::BFloat16).to_vector<bfloat16>();
  CHECK(rounded[0].bits == bfloat16(0.1f).bits);
  CHECK(reader.read("half", {1}, DType::Float16).to_vector<float16>()[0] == 1.5f);
  CHECK(reader.read("bool", {2}, DType::UInt8).to_vector<uint8_t>() == std::vector<uint8_t>{1, 0});
  CHECK(reader.read("bool", {2}, DType::Float32).to_vector<float>() == std::vector<float>{1, 0});

  const auto refusal = [&](const std::string& path, const Shape& shape, DType dtype) {
    return message_of<InvalidArgument>([&] { reader.read(path, shape, dtype); });
  };
  CHECK(refusal("huge", {}, DType::Int32) ==
        "'test.h5': 'huge': element 0 is 1099511627776, which isn't int32.");
  CHECK(contains(refusal("int", {3}, DType::UInt64), "element 0 is -5, which isn't uint64"));
  CHECK(contains(refusal("int", {3}, DType::Bool), "element 0 is -5, which isn't bool"));
  CHECK(contains(refusal("float", {3}, DType::Int64), "element 0 is 0.1, which isn't int64"));
  CHECK(contains(refusal("edge", {1}, DType::Int32), "which isn't int32"));
  CHECK(contains(refusal("whole", {3}, DType::UInt8), "element 0 is -3, which isn't uint8"));
  CHECK(contains(refusal("half", {1}, DType::Bool), "element 0 is 1.5, which isn't bool"));
}

TEST_CASE("what is asked for wrongly is said") {
  Hdf5Writer writer;
  writer.write("layers/dense/vars/0", sample({784, 128}, DType::Float32));
  const Hdf5Reader reader = reader_of(writer);
  CHECK(message_of<InvalidArgument>([&] {
          reader.read("layers/dense/vars/0", {784, 64}, DType::Float32);
        }) ==
        "'test.h5': 'layers/dense/vars/0': expected shape (784, 64), got (784, 128). Was the file "
        "written by the same model?");
  CHECK(message_of<NotFound>([&] { reader.read("layers/dens/vars/0", {1}, DType::Float32); }) ==
        "'test.h5': 'layers/dens/vars/0': there is no 'dens'. Did you mean 'dense'? Known: dense.");
  CHECK(contains(message_of<InvalidArgument>([&] { reader.read("layers", {1}, DType::Float32); }),
                 "it is a group, not a dataset"));
  CHECK(contains(message_of<InvalidArgument>([&] { reader.children("layers/dense/vars/0"); }),
                 "it is a dataset, not a group"));
  CHECK(contains(message_of<NotFound>([&] { reader.children("layers/dense/vars/0/1"); }),
                 "there is no '1'"));
  for (const std::string path : {"/layers", "layers/", "layers//dense"}) {
    CHECK(contains(message_of<InvalidArgument>([&] { reader.is_group(path); }),
                   "expected names between its '/'"));
  }
}

TEST_CASE("what is written wrongly is said") {
  Hdf5Writer writer;
  const Tensor x(1.0f);
  writer.write("a/x", x);
  const auto write = [&](const std::string& path) { return [&, path] { writer.write(path, x); }; };
  CHECK(contains(message_of<AlreadyExists>(write("a/x")), "'a/x' was written before"));
  CHECK(contains(message_of<AlreadyExists>(write("a")), "'a' was written before"));
  CHECK(contains(message_of<AlreadyExists>(write("a/x/y")), "'a/x' is a dataset"));
  for (const std::string path : {"", "/", "/b", "b/", "b//c", ".", "b/./c"}) {
    CHECK(contains(message_of<InvalidArgument>(write(path)), "expected names joined by '/'"));
  }
  CHECK(contains(message_of<NotFound>([&] { writer.set_attribute("b", "name", "x"); }),
                 "there is no 'b' to get an attribute"));
  writer.set_attribute("a", "name", "x");
  CHECK(contains(message_of<AlreadyExists>([&] { writer.set_attribute("a", "name", 1); }),
                 "'a' has an attribute 'name' already"));
  const std::vector<std::string> lists[] = {{std::string(64513, 'n')},
                                            std::vector<std::string>(33, std::string(2000, 'n'))};
  for (const auto& list : lists) {
    CHECK(contains(message_of<InvalidArgument>([&] { writer.set_attribute("a", "list", list); }),
                   "the attribute 'list' expected a list of at most 64512 bytes, got"));
  }
  CHECK(contains(message_of<InvalidArgument>([&] {
                   writer.set_attribute("a", "list", std::vector<std::string>{{"a\0", 2}});
                 }),
                 "has a zero byte in it"));
  const Tensor deep = Tensor::empty(Shape(std::vector<int64_t>(33, 1)), DType::Float32);
  CHECK(contains(message_of<InvalidArgument>([&] { writer.write("d", deep); }),
                 "expected at most 32 axes"));
  const Hdf5Reader reader = reader_of(writer);
  CHECK(reader.children("") == std::vector<std::string>{"a"});
  CHECK(contains(message_of<FailedPrecondition>(write("b")), "its bytes were taken"));
  CHECK(contains(message_of<FailedPrecondition>([&] { writer.take_bytes(); }),
                 "its bytes were taken"));
}

TEST_CASE("files that can't be opened") {
  const Scratch scratch;
  const std::string path = scratch.path("model.weights.h5");
  CHECK(contains(message_of<NotFound>([&] { Hdf5Reader::open(path); }), "No such file"));
  put(path, "");
  CHECK(message_of<DataLoss>([&] { Hdf5Reader::open(path); }) ==
        fmt::format("'{}': it isn't an HDF5 file.", path));
  put(path, std::string(200, 'x'));
  CHECK(contains(message_of<DataLoss>([&] { Hdf5Reader::open(path); }), "it isn't an HDF5 file"));
  put(path, std::string(1024, 'x') + "\x89HDF\r\n\x1a\n");
  CHECK(contains(message_of<Unimplemented>([&] { Hdf5Reader::open(path); }),
                 "it begins with a user block of 1024 bytes; only plain files can be read."));
  Hdf5Writer writer;
  writer.write("x", sample({100}, DType::Float32));
  write_file_atomically(path, writer.take_bytes());
  const std::string whole = contents(path);
  put(path, whole.substr(0, whole.size() - 1));
  CHECK(message_of<DataLoss>([&] { Hdf5Reader::open(path); }) ==
        fmt::format("'{}': it is cut off: it says it has {} bytes, but has {}.", path, whole.size(),
                    whole.size() - 1));
}

TEST_CASE("both formats of HDF5 are read, whatever program wrote them") {
  for (const bool latest : {false, true}) {
    CAPTURE(latest);
    Foreign file(latest);
    for (int i = 0; i < 3000; ++i) file.add_float(fmt::format("many/{}", i), static_cast<float>(i));
    for (int i = 0; i < 5; ++i) file.add_float(fmt::format("few/{}", i), static_cast<float>(i));
    file.add_fixed_string("few", "fixed", "abc");
    file.add_short("few", "short", -3);
    file.add_compact("compact", {1, 2, 3});
    const Hdf5Reader reader = Hdf5Reader::from_bytes(file.take_bytes(), "foreign.h5");
    CHECK(reader.children("many").size() == 3000);
    for (int i = 0; i < 3000; ++i) {
      REQUIRE(reader.read(fmt::format("many/{}", i), {}, DType::Float32).item<float>() == i);
    }
    CHECK(reader.children("few") == std::vector<std::string>{"0", "1", "2", "3", "4"});
    CHECK(reader.read("few/4", {}, DType::Float32).item<float>() == 4);
    CHECK(reader.string_attribute("few", "fixed") == "abc");
    CHECK(reader.int_attribute("few", "short") == -3);
    CHECK(reader.read("compact", {3}, DType::Float32).to_vector<float>() ==
          std::vector<float>{1, 2, 3});
  }
}

TEST_CASE("nothing leads out of the file, and what isn't plain is refused by name") {
  for (const bool latest : {false, true}) {
    CAPTURE(latest);
    Foreign file(latest);
    file.add_float("x", 1);
    file.add_soft_link("soft", "/x");
    file.add_external_link("external", "/etc/passwd", "/x");
    file.add_external_data("data", "/etc/passwd");
    file.add_virtual("virtual", "/etc/passwd", "/x");
    file.add_nbit("nbit");
    file.add_unwritten("unwritten");
    file.add_typed("long double", H5T_NATIVE_LDOUBLE, {1, 2});
    file.add_null("null");
    const Hdf5Reader reader = Hdf5Reader::from_bytes(file.take_bytes(), "foreign.h5");
    const auto refusal = [&](const std::string& path, const Shape& shape) {
      return message_of<Unimplemented>([&] { reader.read(path, shape, DType::Float32); });
    };
    CHECK(refusal("soft", {}) ==
          "'foreign.h5': 'soft': 'soft' is a link to another place, which isn't followed.");
    CHECK(contains(refusal("external", {}), "is a link to another place"));
    CHECK(contains(message_of<Unimplemented>([&] { reader.is_group("external/group"); }),
                   "is a link to another place"));
    CHECK(contains(refusal("data", {10}), "its elements are in other files"));
    CHECK(contains(refusal("virtual", {10}), "put together from other datasets (virtual)"));
    CHECK(contains(refusal("nbit", {10}), "it is stored with filter nbit;"));
    CHECK(contains(refusal("nbit", {10}), "h5repack"));
    CHECK(contains(refusal("long double", {2}), "a type that can't be read: float of 16 bytes"));
    CHECK(contains(refusal("null", {}), "is empty"));
    CHECK(contains(
        message_of<DataLoss>([&] { reader.read("unwritten", {1'000'000}, DType::Float32); }),
        "its elements were never written"));
    CHECK(contains(
        message_of<InvalidArgument>([&] { reader.read("unwritten", {5}, DType::Float32); }),
        "expected shape (5,), got (1000000,)"));
    CHECK(reader.children("").size() == 9);
  }
}

}  // namespace
}  // namespace cornu
