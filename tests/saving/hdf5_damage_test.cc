// SPDX-License-Identifier: Apache-2.0
// Damaged files are rejected with an Error or are read; they never cause a crash, a hang, or
// unbounded memory use.
#include <doctest/doctest.h>

#include "framework/core/random.h"
#include "framework/io/fuzzing.h"
#include "framework/saving/hdf5_file.h"
#include "tests/saving/foreign_hdf5.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

constexpr int64_t kMaxElements = 1'000'000;
constexpr int kMaxDepth = 20;

struct Tally {
  int errors = 0;
  int datasets = 0;
};

template <class F>
void attempt(Tally& tally, F&& body) {
  try {
    body();
  } catch (const Error&) {
    ++tally.errors;
  }
}

void read_dataset(const Hdf5Reader& reader, const std::string& path, Tally& tally) {
  attempt(tally, [&] { reader.int_attribute(path, "count"); });
  attempt(tally, [&] { reader.strings_attribute(path, "layer_names"); });
  attempt(tally, [&] {
    const Hdf5Reader::Dataset stored = reader.describe(path);
    double elements = 1;
    for (const int64_t dim : stored.shape) elements *= static_cast<double>(dim);
    if (elements > kMaxElements) return;
    reader.read(path, stored.shape, stored.dtype);
    ++tally.datasets;
  });
}

// Reads everything there is to read.
void read_group(const Hdf5Reader& reader, const std::string& path, int depth, Tally& tally) {
  attempt(tally, [&] { reader.string_attribute(path, "name"); });
  attempt(tally, [&] { reader.int_attribute(path, "count"); });
  attempt(tally, [&] { reader.strings_attribute(path, "layer_names"); });
  std::vector<std::string> names;
  attempt(tally, [&] { names = reader.children(path); });
  for (const std::string& name : names) {
    const std::string child = path.empty() ? name : path + "/" + name;
    bool group = false;
    attempt(tally, [&] { group = reader.is_group(child); });
    if (!group) {
      read_dataset(reader, child, tally);
    } else if (depth < kMaxDepth) {
      read_group(reader, child, depth + 1, tally);
    }
  }
}

Tally read_all(const std::vector<std::byte>& bytes) {
  Tally tally;
  attempt(tally, [&] { read_group(Hdf5Reader::from_bytes(bytes, "file"), "", 0, tally); });
  return tally;
}

// The weights of a small model in Keras's layout.
std::vector<std::byte> keras_like() {
  Hdf5Writer writer;
  for (const std::string layer : {"dense", "dense_1", "batch_normalization"}) {
    const std::string vars = "layers/" + layer + "/vars";
    writer.make_group(vars);
    writer.set_attribute(vars, "name", layer);
    writer.write(vars + "/0", Tensor::from(std::vector<float>(12, 1.5f), {3, 4}));
    writer.write(vars + "/1", Tensor::from(std::vector<bfloat16>(4), {4}));
  }
  writer.make_group("optimizer/vars");
  writer.set_attribute("optimizer/vars", "count", 12);
  for (int i = 0; i < 12; ++i) writer.write(fmt::format("optimizer/vars/{}", i), Tensor(i));
  return writer.take_bytes();
}

// The same in HDF5's newest format, where groups are stored in other ways.
std::vector<std::byte> newest() {
  test::Foreign file(true);
  for (int i = 0; i < 40; ++i) file.add_float(fmt::format("optimizer/vars/{}", i), 1);
  for (int i = 0; i < 3; ++i) file.add_float(fmt::format("layers/dense/vars/{}", i), 1);
  file.add_fixed_string("layers/dense/vars", "name", "dense");
  file.add_short("optimizer/vars", "count", 40);
  file.add_strings("layers", "layer_names", {"dense", "dense_1", ""});
  file.add_compact("compact", {1, 2, 3});
  return file.take_bytes();
}

// Chunks with every kind of index that a format has, and many attributes.
std::vector<std::byte> chunks(bool latest) {
  test::Foreign file(latest);
  std::vector<float> values(143);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const hsize_t any = H5S_UNLIMITED;
  file.add_chunked("single", {11, 13}, values, {.shape = {11, 13}, .gzip = 6});
  file.add_chunked("consecutive", {11, 13}, values, {.shape = {3, 4}, .early = true});
  file.add_chunked("fixed", {11, 13}, values, {.shape = {3, 4}, .shuffle = true, .gzip = 6});
  file.add_chunked("one", {11, 13}, values, {.shape = {3, 1}, .most = {11, any}});
  file.add_chunked("two", {11, 13}, values,
                   {.shape = {3, 4}, .most = {any, any}, .fletcher32 = true});
  for (int i = 0; i < 20; ++i) {
    file.add_short("fixed", fmt::format("attribute {}", i).c_str(), static_cast<short>(i));
  }
  file.add_short("fixed", "count", 3);
  file.add_texts("one", "layer_names", {"dense", "dense_1", ""});
  return file.take_bytes();
}

struct Sample {
  const char* name;
  std::vector<std::byte> bytes;
  int datasets;
};

std::vector<Sample> samples() {
  return {{"earliest", keras_like(), 18},
          {"newest", newest(), 44},
          {"chunks, earliest", chunks(false), 5},
          {"chunks, newest", chunks(true), 5}};
}

TEST_CASE("the samples are whole") {
  for (const Sample& sample : samples()) {
    CAPTURE(sample.name);
    CHECK(read_all(sample.bytes).errors == 0);
    CHECK(read_all(sample.bytes).datasets == sample.datasets);
  }
}

TEST_CASE("a file cut off anywhere is refused") {
  for (const Sample& sample : samples()) {
    CAPTURE(sample.name);
    const auto size = static_cast<std::ptrdiff_t>(sample.bytes.size());
    for (std::ptrdiff_t i = 0; i < 50; ++i) {
      const std::vector<std::byte> part(sample.bytes.begin(), sample.bytes.begin() + size * i / 50);
      REQUIRE_THROWS_AS(Hdf5Reader::from_bytes(part, "file"), DataLoss);
    }
  }
}

TEST_CASE("changed bytes") {
  constexpr uint64_t kSeed = 7;
  CAPTURE(kSeed);
  PhiloxEngine random(kSeed);
  const std::byte extremes[] = {std::byte{0}, std::byte{1}, std::byte{0x7F}, std::byte{0xFF}};
  for (const Sample& sample : samples()) {
    CAPTURE(sample.name);
    int damaged = 0;
    for (int i = 0; i < 600; ++i) {
      std::vector<std::byte> bytes = sample.bytes;
      for (uint64_t changes = 1 + random.below(4); changes > 0; --changes) {
        std::byte& byte = bytes[random.below(bytes.size())];
        if (random.below(3) == 0) {
          byte = extremes[random.below(4)];
        } else {
          byte ^= static_cast<std::byte>(1 << random.below(8));
        }
      }
      damaged += read_all(bytes).errors > 0;
    }
    CHECK(damaged > 50);
  }
}

// Cyclic references between structures must be detected.
TEST_CASE("addresses replaced by others of the file") {
  constexpr uint64_t kSeed = 8;
  CAPTURE(kSeed);
  PhiloxEngine random(kSeed);
  for (const Sample& sample : samples()) {
    CAPTURE(sample.name);
    // Positions where eight bytes look like an address.
    std::vector<size_t> places;
    for (size_t at = 0; at + 8 <= sample.bytes.size(); ++at) {
      uint64_t value = 0;
      std::memcpy(&value, &sample.bytes[at], 8);
      if (value >= 48 && value < sample.bytes.size()) places.push_back(at);
    }
    REQUIRE(places.size() > 50);
    for (int i = 0; i < 600; ++i) {
      std::vector<std::byte> bytes = sample.bytes;
      std::memcpy(&bytes[places[random.below(places.size())]],
                  &sample.bytes[places[random.below(places.size())]], 8);
      read_all(bytes);
    }
  }
}

TEST_CASE("a checksum in the newest format finds a changed name" *
          doctest::skip(!kChecksumsMatter)) {
  std::vector<std::byte> bytes = newest();
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const size_t at = text.find("compact");
  REQUIRE(at != std::string::npos);
  bytes[at] = std::byte{'C'};
  const Hdf5Reader reader = Hdf5Reader::from_bytes(bytes, "file");
  CHECK(test::contains(test::message_of<DataLoss>([&] { reader.children(""); }),
                       "its checksum is wrong"));
}

}  // namespace
}  // namespace cornu
