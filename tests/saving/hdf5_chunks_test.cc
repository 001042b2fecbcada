// SPDX-License-Identifier: Apache-2.0
// Chunked datasets as written by libhdf5 in either format, with the filters that h5py offers.
#include <doctest/doctest.h>

#include <cstring>

#include "framework/io/fuzzing.h"
#include "framework/saving/hdf5_file.h"
#include "framework/saving/hdf5_filters.h"
#include "tests/saving/foreign_hdf5.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

using test::contains;
using test::Foreign;
using test::message_of;

constexpr hsize_t kAny = H5S_UNLIMITED;

std::vector<float> numbers(const std::vector<hsize_t>& dims) {
  size_t count = 1;
  for (const hsize_t dim : dims) count *= dim;
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i) * 0.25f - 7;
  return values;
}

Shape shape_of(const std::vector<hsize_t>& dims) {
  return Shape(std::vector<int64_t>(dims.begin(), dims.end()));
}

std::vector<float> read_back(const std::vector<std::byte>& bytes, const std::string& path,
                             const std::vector<hsize_t>& dims) {
  return Hdf5Reader::from_bytes(bytes, "chunks.h5")
      .read(path, shape_of(dims), DType::Float32)
      .to_vector<float>();
}

struct Case {
  const char* name;
  std::vector<hsize_t> dims;
  Foreign::Chunks chunks;
};

// Every chunk index of the newest format; which one is used depends on the maximum size of the
// dataset, and on filters.
std::vector<Case> cases() {
  return {
      {"one chunk", {5, 7}, {.shape = {5, 7}}},
      {"one chunk past the end", {5, 7}, {.shape = {8, 8}, .most = {16, 8}}},
      {"room made early", {5, 7}, {.shape = {2, 3}, .early = true}},
      {"room made early, may grow", {5, 7}, {.shape = {2, 3}, .most = {9, 20}, .early = true}},
      {"fixed array", {5, 7}, {.shape = {2, 3}}},
      {"fixed array of one axis", {1000}, {.shape = {7}}},
      {"fixed array, may grow", {5, 7}, {.shape = {2, 3}, .most = {9, 20}}},
      {"fixed array in pages", {3000}, {.shape = {1}}},
      {"fixed array in pages, the last one full", {2048}, {.shape = {1}}},
      {"extensible array", {5, 7}, {.shape = {2, 3}, .most = {kAny, 7}}},
      {"extensible array, the last axis", {5, 7}, {.shape = {2, 3}, .most = {5, kAny}}},
      {"extensible array, the middle axis", {3, 5, 4}, {.shape = {2, 2, 3}, .most = {4, kAny, 9}}},
      {"extensible array with secondary blocks", {700}, {.shape = {1}, .most = {kAny}}},
      {"extensible array in pages", {60'000}, {.shape = {1}, .most = {kAny}}},
      {"tree of version 2", {5, 7}, {.shape = {2, 3}, .most = {kAny, kAny}}},
      {"tree of version 2 with many nodes", {60, 70}, {.shape = {1, 1}, .most = {kAny, kAny}}},
      {"three axes", {6, 5, 4}, {.shape = {4, 2, 3}}},
      {"a chunk a row", {6, 5}, {.shape = {1, 5}}},
  };
}

TEST_CASE("chunks are found by every index, with and without filters") {
  struct Pipeline {
    const char* name;
    bool shuffle;
    int gzip;
    bool fletcher32;
    bool plain_edges;
  };
  const Pipeline pipelines[] = {{"none", false, 0, false, false},
                                {"gzip", false, 6, false, false},
                                {"shuffle and gzip", true, 4, false, false},
                                {"fletcher32", false, 0, true, false},
                                {"all", true, 9, true, false},
                                {"all, edges plain", true, 9, true, true}};
  for (const bool latest : {false, true}) {
    Foreign file(latest);
    for (const Case& test : cases()) {
      for (const Pipeline& pipeline : pipelines) {
        Foreign::Chunks chunks = test.chunks;
        chunks.shuffle = pipeline.shuffle;
        chunks.gzip = pipeline.gzip;
        chunks.fletcher32 = pipeline.fletcher32;
        chunks.plain_edges = latest && pipeline.plain_edges;
        file.add_chunked(std::string(test.name) + "/" + pipeline.name, test.dims,
                         numbers(test.dims), chunks);
      }
    }
    const auto bytes = file.take_bytes();
    for (const Case& test : cases()) {
      for (const Pipeline& pipeline : pipelines) {
        const std::string path = std::string(test.name) + "/" + pipeline.name;
        CAPTURE(latest);
        CAPTURE(path);
        CHECK(read_back(bytes, path, test.dims) == numbers(test.dims));
      }
    }
  }
}

TEST_CASE("a chunk that unpacks to nothing is damaged") {
  const std::vector<unsigned char> nothing = {0x78, 0x9c, 3, 0, 0, 0, 0, 1};  // empty zlib data
  Foreign file(false);
  file.add_stored("x", nothing);
  const auto bytes = file.take_bytes();
  CHECK(contains(message_of<DataLoss>([&] {
                   Hdf5Reader::from_bytes(bytes, "x.h5").read("x", {10}, DType::Float32);
                 }),
                 "a chunk is damaged: expected 40 bytes, got 0."));
}

TEST_CASE("elements of any stored type are cast as asked for") {
  const std::vector<float> values = {0, 1, 2, 100};
  const std::vector<hsize_t> dims = {4};
  Foreign file(false);
  const std::pair<const char*, hid_t> types[] = {
      {"f32", H5T_IEEE_F32BE}, {"f64", H5T_IEEE_F64BE}, {"f64 little", H5T_IEEE_F64LE},
      {"i16", H5T_STD_I16BE},  {"i32", H5T_STD_I32BE},  {"i64", H5T_STD_I64BE},
      {"u64", H5T_STD_U64BE},  {"u8", H5T_STD_U8BE},    {"i32 little", H5T_STD_I32LE}};
  for (const auto& [name, type] : types) {
    if (std::string_view(name) == "i16") continue;
    file.add_typed(name, type, values);
    file.add_chunked(std::string(name) + " chunked", dims, values, {.shape = {3}, .gzip = 1}, type);
  }
  file.add_typed("i16", H5T_STD_I16BE, values);
  const auto bytes = file.take_bytes();
  const Hdf5Reader reader = Hdf5Reader::from_bytes(bytes, "types.h5");
  for (const std::string name :
       {"f32", "f64", "f64 little", "i32", "i64", "u64", "u8", "i32 little"}) {
    CAPTURE(name);
    for (const std::string& path : {name, name + " chunked"}) {
      CHECK(reader.read(path, {4}, DType::Float32).to_vector<float>() == values);
      CHECK(reader.read(path, {4}, DType::Float16).to_vector<float16>()[3] == 100);
      CHECK(reader.read(path, {4}, DType::Int64).to_vector<int64_t>() ==
            std::vector<int64_t>{0, 1, 2, 100});
    }
  }
  CHECK(reader.describe("f64").dtype == DType::Float64);
  CHECK(contains(message_of<Unimplemented>([&] { reader.read("i16", {4}, DType::Float32); }),
                 "a type that can't be read: big-endian int16"));
}

TEST_CASE("attributes: many, large, and lists of either kind of string") {
  for (const bool latest : {false, true}) {
    CAPTURE(latest);
    Foreign file(latest);
    file.add_group("layer");
    std::vector<std::string> names;
    for (int i = 0; i < 3000; ++i) names.push_back(fmt::format("layer number {}/kernel:0", i));
    std::vector<std::string> few = {"größe", "", "b"};
    file.add_texts("layer", "names", names);
    file.add_strings("layer", "few", few);
    if (latest) file.add_strings("layer", "large", names);  // exceeds the size of a header
    for (int i = 0; i < 60; ++i) {
      file.add_short("layer", fmt::format("n{}", i).c_str(), static_cast<short>(i - 30));
    }
    const Hdf5Reader reader = Hdf5Reader::from_bytes(file.take_bytes(), "attributes.h5");
    CHECK(reader.strings_attribute("layer", "names") == names);
    CHECK(reader.strings_attribute("layer", "few") == few);
    if (latest) CHECK(reader.strings_attribute("layer", "large") == names);
    for (int i = 0; i < 60; ++i) {
      CHECK(reader.int_attribute("layer", fmt::format("n{}", i)) == i - 30);
    }
    CHECK(reader.int_attribute("layer", "n60") == std::nullopt);
  }
}

// The only position of these bytes in the file.
size_t place_of(const std::vector<std::byte>& bytes, const void* wanted, size_t count) {
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const size_t at = all.find(std::string_view(static_cast<const char*>(wanted), count));
  REQUIRE(at != std::string_view::npos);
  return at;
}

TEST_CASE("a changed chunk is found by its checksum" * doctest::skip(!kChecksumsMatter)) {
  const std::vector<hsize_t> dims = {6};
  Foreign file(false);
  file.add_chunked("x", dims, numbers(dims), {.shape = {3}, .fletcher32 = true});
  auto bytes = file.take_bytes();
  CHECK(read_back(bytes, "x", dims) == numbers(dims));
  const auto values = numbers(dims);
  bytes[place_of(bytes, values.data(), 12)] ^= std::byte{1};
  CHECK(message_of<DataLoss>([&] { read_back(bytes, "x", dims); }) ==
        "'chunks.h5': 'x': a chunk is damaged: its checksum (fletcher32) is wrong.");
}

TEST_CASE("fletcher32 of an odd number of bytes") {
  const auto sum = [](const std::string& text) {
    return hdf5::fletcher32(std::as_bytes(std::span(text)));
  };
  CHECK(sum("") == 0);
  // The words 0x6162 and 0x6300: sums 0xC462 and 0x125C4, folded.
  CHECK(sum("abc") == (0x25C5u << 16 | 0xC462u));
}

TEST_CASE("chunks that were never written, and shapes out of proportion") {
  for (const bool latest : {false, true}) {
    CAPTURE(latest);
    Foreign file(latest);
    file.add_chunked("none", {10}, {}, {.shape = {3}});
    file.add_chunked("large", {3, 2}, numbers({3, 2}),
                     {.shape = {3000, 2000}, .most = {kAny, kAny}, .gzip = 9});
    file.add_chunked("empty", {0, 2}, {}, {.shape = {3, 2}, .most = {kAny, 2}});
    const auto bytes = file.take_bytes();
    CHECK(contains(message_of<DataLoss>([&] { read_back(bytes, "none", {10}); }),
                   "its elements were never written."));
    CHECK(message_of<ResourceExhausted>([&] {
            read_back(bytes, "large", {3, 2});
          }) ==
          "'chunks.h5': 'large': its chunks are out of all proportion: shape (3000, 2000), in a "
          "dataset of shape (3, 2).");
    CHECK(read_back(bytes, "empty", {0, 2}).empty());
  }
}

TEST_CASE("chunks of elements without bytes, or of others than the datatype's") {
  for (const bool latest : {false, true}) {
    CAPTURE(latest);
    Foreign file(latest);
    file.add_chunked("x", {5, 7}, numbers({5, 7}), {.shape = {251, 253}, .most = {kAny, kAny}});
    auto bytes = file.take_bytes();
    // The numbers in the layout message: the chunk's sizes, and the bytes per element.
    const std::vector<uint8_t> old = {251, 0, 0, 0, 253, 0, 0, 0, 4, 0, 0, 0};
    const std::vector<uint8_t> fresh = {251, 253, 4};
    const auto& wanted = latest ? fresh : old;
    const size_t last = latest ? 2 : 8;
    const size_t at = place_of(bytes, wanted.data(), wanted.size()) + last;
    for (const uint8_t size : {0, 3, 8, 255}) {
      bytes[at] = static_cast<std::byte>(size);
      const std::string text = message_of<DataLoss>([&] { read_back(bytes, "x", {5, 7}); });
      CHECK((contains(text, "which isn't its datatype's") ||
             (latest && kChecksumsMatter && contains(text, "its checksum is wrong"))));
    }
  }
}

// A chunk whose compressed bytes go on and on: no more is decompressed than the size of a chunk.
TEST_CASE("a chunk that unpacks to more than a chunk") {
  const std::vector<hsize_t> small = {64}, large = {1 << 20};
  Foreign file(false);
  file.add_chunked("small", small, std::vector<float>(64, 0), {.shape = {64}, .gzip = 9});
  file.add_chunked("large", large, std::vector<float>(1 << 20, 0), {.shape = {1 << 20}, .gzip = 9});
  auto bytes = file.take_bytes();
  // Replaces the address and size of the small chunk's index entry by those of the large one.
  std::vector<std::pair<uint32_t, uint64_t>> entries;
  std::vector<size_t> places;
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (size_t at = all.find("TREE"); at != std::string_view::npos; at = all.find("TREE", at + 1)) {
    if (bytes[at + 4] != std::byte{1}) continue;  // a tree of names
    uint32_t stored = 0;
    uint64_t address = 0;
    std::memcpy(&stored, &bytes[at + 24], 4);
    std::memcpy(&address, &bytes[at + 24 + 8 + 16], 8);
    entries.emplace_back(stored, address);
    places.push_back(at + 24);
  }
  REQUIRE(entries.size() == 2);
  const size_t big = entries[0].first > entries[1].first ? 0 : 1;
  const size_t little = 1 - big;
  SUBCASE("with its size") {
    std::memcpy(&bytes[places[little]], &entries[big].first, 4);
    std::memcpy(&bytes[places[little] + 24], &entries[big].second, 8);
    CHECK(contains(message_of<DataLoss>([&] { read_back(bytes, "small", small); }),
                   "a chunk of 256 bytes is said to take"));
  }
  SUBCASE("with the size of a chunk") {
    const uint32_t most = 256;
    std::memcpy(&bytes[places[little]], &most, 4);
    std::memcpy(&bytes[places[little] + 24], &entries[big].second, 8);
    CHECK(contains(message_of<DataLoss>([&] { read_back(bytes, "small", small); }),
                   "a chunk is damaged: its compressed bytes end too early, or have more than 256 "
                   "bytes."));
  }
}

}  // namespace
}  // namespace cornu
