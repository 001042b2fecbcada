// SPDX-License-Identifier: Apache-2.0
// cats_vs_dogs and tf_flowers, from small archives in their formats and from folders.
#include <doctest/doctest.h>

#include "data/datasets/cats_vs_dogs.h"
#include "data/datasets/tf_flowers.h"
#include "data/readers/image/decode_image.h"
#include "tests/data/foreign_files.h"
#include "tests/data/support.h"
#include "tests/support/http_server.h"

using namespace cornu;
using namespace cornu::testing;
namespace fs = std::filesystem;
namespace cats_vs_dogs = datasets::cats_vs_dogs;
namespace tf_flowers = datasets::tf_flowers;

namespace {

// No dataset, an empty cache, no network.
struct Nowhere {
  TempFolder folder;
  EnvironmentScope datasets{"CORNU_DATASETS", std::nullopt};
  EnvironmentScope cache{"XDG_CACHE_HOME", (folder / "cache").string()};
  std::string dead = HttpServer().url();
  EnvironmentScope url{"CORNU_DATASETS_URL", dead};
};

// A gray JPEG of this height, 8 pixels wide.
std::string jpeg(int64_t height) {
  Tensor image = Tensor::empty({height, 8, 3}, DType::UInt8);
  for (uint8_t& value : image.mutable_data<uint8_t>()) value = 128;
  const auto bytes = data::encode_jpeg(image);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

using Files = std::vector<std::pair<std::string, std::string>>;

Files cats_and_dogs() {
  std::string broken = jpeg(9);
  broken.replace(6, 4, "Exif");
  return {{"PetImages/Dog/1.jpg", jpeg(21)},   {"PetImages/Cat/10.jpg", jpeg(10)},
          {"PetImages/Cat/666.jpg", ""},       {"PetImages/Cat/0.jpg", jpeg(11)},
          {"PetImages/Dog/11702.jpg", broken}, {"PetImages/Cat/Thumbs.db", "x"},
          {"readme[1].txt", "text"},           {"PetImages/Bird/1.jpg", jpeg(5)}};
}

Files flowers() {
  Files files = {{"flower_photos/LICENSE.txt", "text"}};
  int64_t height = 10;
  for (const char* kind : {"roses", "daisy", "dandelion", "sunflowers", "tulips"}) {
    files.emplace_back(fmt::format("flower_photos/{}/7.jpg", kind), jpeg(height++));
  }
  return files;
}

void write_tgz(const fs::path& path, const Files& files) {
  std::string tar;
  for (const auto& [name, content] : files) tar += tar_member(name, content);
  write_file(path, gzipped(tar + std::string(1024, '\0')));
}

void unpack(const fs::path& folder, const Files& files) {
  for (const auto& [name, content] : files) {
    fs::create_directories((folder / name).parent_path());
    write_file(folder / name, content);
  }
}

// (height, label) of each example.
std::vector<std::pair<int64_t, int64_t>> contents(const data::Dataset& dataset) {
  std::vector<std::pair<int64_t, int64_t>> all;
  for (const data::Element& element : dataset) {
    const auto& tensors = element.tensors();
    CHECK(tensors[0].dim(1) == 8);
    all.emplace_back(tensors[0].dim(0), tensors[1].item<int64_t>());
  }
  return all;
}

const std::vector<std::pair<int64_t, int64_t>> kPets = {{11, 0}, {10, 0}, {21, 1}};
const std::vector<std::pair<int64_t, int64_t>> kFlowers = {
    {12, 0}, {11, 1}, {14, 2}, {13, 3}, {10, 4}};

}  // namespace

TEST_CASE("cats_vs_dogs from its archive, and from a folder") {
  const Nowhere nowhere;
  write_zip(nowhere.folder / "kagglecatsanddogs_5340.zip", cats_and_dogs());
  unpack(nowhere.folder / "unpacked", cats_and_dogs());
  for (const fs::path& path :
       {nowhere.folder.path(), nowhere.folder / "kagglecatsanddogs_5340.zip",
        nowhere.folder / "unpacked", nowhere.folder / "unpacked/PetImages"}) {
    CAPTURE(path.string());
    const auto [train, info] = cats_vs_dogs::load({.path = path, .as_supervised = true});
    CHECK(train.element_spec().to_string() == "(uint8 (None, None, 3), int64 ())");
    CHECK(contents(train) == kPets);
    CHECK(contents(train.shuffle(3).repeat(2)).size() == 6);
    CHECK(info.class_names == std::vector<std::string>{"cat", "dog"});
    CHECK(info.class_counts == std::vector<int64_t>{2, 1});
    CHECK(info.splits.at("train") == 3);
    CHECK(info.num_skipped == 2);
    CHECK(train.cardinality() == 3);
  }
  const auto named = cats_vs_dogs::load({.path = nowhere.folder.path()}).train;
  CHECK(named.element_spec().to_string() ==
        "{image: uint8 (None, None, 3), label: int64 (), image/filename: string ()}");
  for (const data::Element& element : named.take(1)) {
    CHECK(element["image/filename"].item<std::string>() == "PetImages/Cat/0.jpg");
  }
}

TEST_CASE("tf_flowers from its archive, and from a folder") {
  const Nowhere nowhere;
  write_tgz(nowhere.folder / "flower_photos.tgz", flowers());
  unpack(nowhere.folder.path(), flowers());
  for (const fs::path& path :
       {nowhere.folder / "flower_photos.tgz", nowhere.folder / "flower_photos"}) {
    CAPTURE(path.string());
    const auto [train, info] = tf_flowers::load({.path = path, .as_supervised = true});
    CHECK(contents(train) == kFlowers);
    CHECK(info.class_names[4] == "roses");
    CHECK(info.num_skipped == 0);
  }
  CHECK(tf_flowers::load({.path = nowhere.folder.path()}).train.element_spec().to_string() ==
        "{image: uint8 (None, None, 3), label: int64 ()}");
}

TEST_CASE("what can be wrong with a set of pictures") {
  const Nowhere nowhere;
  const auto missing = message_of<NotFound>([] { cats_vs_dogs::load({.download = false}); });
  CHECK(missing.starts_with("cats_vs_dogs was not found. Put its file kagglecatsanddogs_5340.zip"));
  CHECK_THROWS_AS(tf_flowers::load(), NotFound);
  const fs::path archive = nowhere.folder / "flower_photos.tgz";
  write_file(archive, "no archive");
  CHECK_THROWS_AS(tf_flowers::load({.path = archive}), DataLoss);
  write_tgz(archive, {{"flower_photos/LICENSE.txt", "text"}});
  CHECK(contains(message_of<DataLoss>([&] { tf_flowers::load({.path = archive}); }),
                 "tf_flowers: there is no image in "));
  write_tgz(archive, {{"../flower_photos/roses/1.jpg", jpeg(4)}});
  CHECK_THROWS_AS(tf_flowers::load({.path = archive}), InvalidArgument);
  Files files = flowers();
  files[1].second = jpeg(4).substr(0, 100);
  write_tgz(archive, files);
  const auto cut = tf_flowers::load({.path = archive, .as_supervised = true});
  CHECK(cut.info.num_skipped == 1);
  CHECK(cut.info.splits.at("train") == 4);
  CHECK(contents(cut.train).size() == 4);
  files[1].second = jpeg(4);
  files[1].second.replace(4, 8, "damaged!");  // within its markers, not at its end
  write_tgz(archive, files);
  const auto train = tf_flowers::load({.path = archive}).train;
  CHECK(contains(message_of<DataLoss>([&] { contents(train.skip(4)); }),
                 "flower_photos.tgz: member 'flower_photos/roses/7.jpg': "));
  fs::create_symlink("loop", nowhere.folder / "loop");
  CHECK_THROWS_AS(tf_flowers::load({.path = nowhere.folder / "loop"}), Error);
  const fs::path pets = nowhere.folder / "kagglecatsanddogs_5340.zip";
  write_file(pets, "no archive");
  CHECK_THROWS_AS(cats_vs_dogs::load({.path = pets}), DataLoss);
  Files outside = cats_and_dogs();
  outside.push_back({"../PetImages/Cat/1.jpg", jpeg(4)});
  write_zip(pets, outside);
  CHECK(contains(message_of<InvalidArgument>([&] { cats_vs_dogs::load({.path = pets}); }),
                 "its member '../PetImages/Cat/1.jpg' would be outside of the directory"));
}
