// SPDX-License-Identifier: Apache-2.0
// Files exchanged between Cornu and Python: h5py, zipfile, Keras. interop.py is the Python side.
#include <doctest/doctest.h>

#include <numeric>
#include <sstream>

#include "framework/io/archive.h"
#include "framework/io/atomic_file.h"
#include "framework/saving/hdf5_file.h"
#include "tests/support/every_dtype.h"
#include "tests/support/python.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

using test::contains;
using test::kEveryDType;
using test::kShapes;
using test::message_of;
using test::Scratch;
using test::values;

int python(const std::string& arguments) {
  return test::run_python(CORNU_INTEROP_SCRIPT, arguments);
}

std::string name_of(DType dtype, size_t shape) { return fmt::format("{}/vars/{}", dtype, shape); }

TEST_CASE("h5py reads what Cornu writes") {
  const Scratch scratch;
  Hdf5Writer writer;
  for (const DType dtype : kEveryDType) {
    for (size_t i = 0; i < kShapes.size(); ++i) {
      writer.write(name_of(dtype, i), values(dtype, kShapes[i]));
    }
  }
  writer.set_attribute("float32/vars", "name", "modèle");
  writer.set_attribute("float32/vars", "count", -7);
  write_file_atomically(scratch.path("x.h5"), writer.take_bytes());
  CHECK(python("check-h5 " + scratch.path("x.h5")) == 0);
}

TEST_CASE("Cornu reads what h5py writes, in the earliest and in the latest format") {
  const Scratch scratch;
  const std::string path = scratch.path("x.h5");
  for (const std::string libver : {"earliest", "v108", "latest"}) {
    CAPTURE(libver);
    REQUIRE(python("write-h5 " + path + " " + libver) == 0);
    const Hdf5Reader reader = Hdf5Reader::open(path);
    for (const DType dtype : kEveryDType) {
      for (size_t i = 0; i < kShapes.size(); ++i) {
        CAPTURE(name_of(dtype, i));
        const Tensor wanted = values(dtype, kShapes[i]);
        REQUIRE(reader.describe(name_of(dtype, i)).dtype == dtype);
        const Tensor found = reader.read(name_of(dtype, i), kShapes[i], dtype);
        CHECK(std::memcmp(found.raw(), wanted.raw(), wanted.bytes()) == 0);
      }
    }
    CHECK(reader.string_attribute("float32/vars", "name") == "modèle");
    CHECK(reader.string_attribute("float32/vars", "fixed") == "fixed");
    CHECK(reader.int_attribute("float32/vars", "count") == -7);
    CHECK(reader.children("many").size() == 2000);
    for (int i = 0; i < 2000; ++i) {
      REQUIRE(reader.read(fmt::format("many/{}", i), {}, DType::Float32).item<float>() == i);
    }
    CHECK(contains(message_of<Unimplemented>([&] { reader.children("link"); }), "a link"));
    CHECK(
        contains(message_of<Unimplemented>([&] { reader.read("lzf", {1000}, DType::Float64); }),
                 "it is stored with filter lzf; only gzip, shuffle and fletcher32 are supported."));
  }
}

TEST_CASE("zipfile reads what Cornu writes, and the reverse") {
  const Scratch scratch;
  std::string config;
  for (int i = 0; i < 500; ++i) config += "{}";
  const auto bytes = std::as_bytes(std::span(config.data(), config.size()));
  const std::vector<ArchiveMember> members = {
      {"metadata.json", {}}, {"config.json", bytes}, {"größe", bytes}};
  write_archive(scratch.path("a.keras"), members);
  CHECK(python("check-zip " + scratch.path("a.keras")) == 0);

  REQUIRE(python("write-zip " + scratch.path("b.keras")) == 0);
  const ArchiveReader reader(scratch.path("b.keras"));
  for (const std::string name : {"stored", "deflated", "large"}) {
    CHECK(reader.read_text(name, 1000) == config);
  }
}

TEST_CASE("the weights in a model that Keras saved") {
  const Scratch scratch;
  const std::string path = scratch.path("model.keras");
  REQUIRE(python("keras " + path) == 0);
  const ArchiveReader archive(path);
  CHECK(archive.names() ==
        std::vector<std::string>{"metadata.json", "config.json", "model.weights.h5"});
  CHECK(contains(archive.read_text("config.json", 1'000'000), "\"class_name\": \"Sequential\""));
  const Hdf5Reader weights =
      Hdf5Reader::from_bytes(archive.read("model.weights.h5", 10'000'000), "model.weights.h5");
  CHECK(weights.string_attribute("layers/dense_1/vars", "name") == "out");

  std::ifstream listing(path + ".txt");
  int count = 0;
  for (std::string name, dims, dtype, sum;
       std::getline(listing, name, ',') && std::getline(listing, dims, ',') &&
       std::getline(listing, dtype, ',') && std::getline(listing, sum);
       ++count) {
    CAPTURE(name);
    Shape shape;
    std::istringstream numbers(dims);
    for (int64_t dim; numbers >> dim;) shape.push_back(dim);
    const auto stored = weights.describe(name);
    CHECK(stored.shape == shape);
    CHECK(to_string(stored.dtype) == dtype);
    double total = 0;
    if (is_floating(stored.dtype)) {
      const auto elements = weights.read(name, shape, DType::Float64).to_vector<double>();
      total = std::accumulate(elements.begin(), elements.end(), 0.0);
    } else {
      total = static_cast<double>(weights.read(name, shape, DType::Int64).item<int64_t>());
    }
    CHECK(total == doctest::Approx(std::stod(sum)).epsilon(1e-12));
  }
  CHECK(count == 2 + 4 + 2 + 2 + 6 * 2);
}

}  // namespace
}  // namespace cornu
