// SPDX-License-Identifier: Apache-2.0
// Folders of images: file selection, splits and orders as in Keras, positions, and errors.
#include <doctest/doctest.h>

#include <algorithm>

#include "data/image_dataset.h"
#include "data/numpy_random.h"
#include "data/readers/image/image_files.h"
#include "data/readers/image/resize_image.h"
#include "framework/core/random.h"
#include "framework/ops/math.h"
#include "tests/data/support.h"
#include "tests/golden/golden.h"
#include "tests/support/log.h"

using namespace cornu;
using namespace cornu::testing;
using cornu::test::golden_cases;
using data::ImageDatasetOptions;

namespace {

namespace fs = std::filesystem;

// An image of a single color.
Tensor plain(uint8_t red, uint8_t green, int64_t height = 2, int64_t width = 2) {
  Tensor image = Tensor::empty({height, width, 3}, DType::UInt8);
  const auto pixels = image.mutable_data<uint8_t>();
  for (size_t i = 0; i < pixels.size(); i += 3) {
    pixels[i] = red;
    pixels[i + 1] = green;
    pixels[i + 2] = 0;
  }
  return image;
}

void put(const fs::path& path, const Tensor& image) {
  fs::create_directories(path.parent_path());
  data::save_img(path, image, {.file_format = "png", .scale = false});
}

// `count` images of two classes; the red value is the image's number.
class Pictures : public TempFolder {
 public:
  explicit Pictures(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string name = fmt::format("{}/{:02}.png", i % 3 == 0 ? "b" : "a", i);
      put(*this / name, plain(static_cast<uint8_t>(i), 7));
    }
  }
};

ImageDatasetOptions quiet(ImageDatasetOptions options) {
  options.verbose = false;
  return options;
}

// The red values of all images of a pass, batched or single.
std::vector<int> reds(data::Iterator& iterator, int64_t limit = INT64_MAX) {
  std::vector<int> result;
  data::Element element;
  for (int64_t n = 0; n < limit && iterator.next(element); ++n) {
    const Tensor& images = element.tensors()[0];
    const auto values = images.data<float>();
    const auto stride = static_cast<size_t>(2 * 2 * images.dim(-1));
    for (size_t i = 0; i < values.size(); i += stride)
      result.push_back(static_cast<int>(values[i]));
  }
  return result;
}
std::vector<int> reds(const data::Dataset& dataset) {
  auto iterator = dataset.iterator();
  return reds(iterator);
}

ImageDatasetOptions options_of(const Json& given) {
  ImageDatasetOptions options{.image_size = {2, 2}, .verbose = false};
  for (const auto& [name, value] : given.as_object()) {
    if (name == "seed") options.seed = value.as_int();
    if (name == "shuffle") options.shuffle = value.as_bool();
    if (name == "validation_split") options.validation_split = value.as_double();
    if (name == "subset") options.subset = value.as_string();
    if (name == "label_mode") options.label_mode = value.as_string();
    if (name == "labels") {
      options.labels = value.is_null() ? data::FileLabels() : data::FileLabels(value.as_ints());
    }
    if (name == "class_names") {
      for (const Json& item : value.as_array()) options.class_names.push_back(item.as_string());
    }
  }
  return options;
}

std::vector<std::string> strings_of(const Json& json) {
  std::vector<std::string> result;
  if (json.is_null()) return result;
  for (const Json& item : json.as_array()) result.push_back(item.as_string());
  return result;
}

std::vector<std::string> relative(const std::vector<std::string>& paths, const fs::path& folder) {
  std::vector<std::string> result;
  for (const std::string& path : paths) {
    result.push_back(fs::path(path).lexically_relative(folder).string());
  }
  return result;
}

// The labels of all examples in file order.
std::vector<int64_t> labels_of(const data::Dataset& dataset) {
  std::vector<int64_t> result;
  for (const data::Element& element : dataset) {
    const Tensor& labels = element.tensor(1);
    if (labels.dtype() == DType::Int32) {
      for (const int32_t label : labels.data<int32_t>()) result.push_back(label);
      continue;
    }
    const auto values = labels.data<float>();
    const auto width = static_cast<size_t>(labels.dim(1));
    for (size_t i = 0; i < values.size(); i += width) {
      const auto row = values.begin() + static_cast<std::ptrdiff_t>(i);
      const auto largest = std::max_element(row, row + static_cast<std::ptrdiff_t>(width));
      result.push_back(width == 1 ? static_cast<int64_t>(*row) : largest - row);
    }
  }
  return result;
}

}  // namespace

TEST_CASE("NumPy's orders") {
  for (const Json& item : golden_cases("images").as_array()) {
    if (item.at("kind").as_string() != "shuffle") continue;
    CAPTURE(item.at("name").as_string());
    const std::vector<int64_t> expected = item.at("order").as_ints();
    std::vector<int64_t> order(expected.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    data::NumpyRandomState(item.at("seed").as_int()).shuffle(std::span(order));
    CHECK(order == expected);
  }
  CHECK(message_of([] { data::NumpyRandomState(-1); }) ==
        "NumpyRandomState: expected a seed of 0 to 2^32 - 1, got -1.");
  CHECK_THROWS_AS(data::NumpyRandomState(int64_t{1} << 32), InvalidArgument);
  // numpy.random.RandomState(3).bit_generator with 64 bits: the upper word comes first.
  data::NumpyRandomState wide(3);
  data::NumpyRandomState narrow(3);
  const uint64_t high = narrow.random_interval(UINT32_MAX);
  CHECK(wide.random_interval(UINT64_MAX) == (high << 32 | narrow.random_interval(UINT32_MAX)));
}

TEST_CASE("the files, labels and splits of Keras") {
  TempFolder folder;
  for (const Json& item : golden_cases("images").as_array()) {
    if (item.at("kind").as_string() != "folder") continue;
    CAPTURE(item.at("name").as_string());
    for (const std::string& name : strings_of(item.at("tree"))) {
      if (!fs::exists(folder / name)) put(folder / name, plain(0, 0));
    }
    ImageDatasetOptions options = options_of(item.at("options"));
    const auto dataset = data::image_dataset_from_directory(folder.path(), options);
    CHECK(relative(dataset.file_paths(), folder.path()) == strings_of(item.at("files")));
    CHECK(dataset.class_names() == strings_of(item.at("class_names")));
    if (item.at("labels").is_null()) {
      CHECK((*dataset.begin()).size() == 1);
      continue;
    }
    // Each pass shuffles, but with the same number of each label. Unshuffled examples come in
    // order.
    std::vector<int64_t> labels = labels_of(dataset);
    std::vector<int64_t> expected = item.at("labels").as_ints();
    if (options.shuffle) {
      std::sort(labels.begin(), labels.end());
      std::sort(expected.begin(), expected.end());
    }
    CHECK(labels == expected);
  }
}

TEST_CASE("both parts of a split are those of the subsets") {
  const Pictures folder(20);
  const ImageDatasetOptions options{
      .image_size = {2, 2}, .seed = 5, .validation_split = 0.25, .verbose = false};
  const auto [training, validation] =
      data::image_dataset_split_from_directory(folder.path(), options);
  ImageDatasetOptions part = options;
  part.subset = "training";
  CHECK(data::image_dataset_from_directory(folder.path(), part).file_paths() ==
        training.file_paths());
  part.subset = "validation";
  CHECK(data::image_dataset_from_directory(folder.path(), part).file_paths() ==
        validation.file_paths());
  CHECK(training.file_paths().size() == 15);
  CHECK(validation.class_names() == std::vector<std::string>{"a", "b"});
  auto all = reds(training);
  CHECK(reds(training) != all);  // reshuffled
  CHECK(reds(validation) == reds(validation));
  for (const int red : reds(validation)) all.push_back(red);
  std::sort(all.begin(), all.end());
  for (int i = 0; i < 20; ++i) CHECK(all[static_cast<size_t>(i)] == i);
}

TEST_CASE("what elements are") {
  const Pictures folder(5);
  const auto spec = [&](const ImageDatasetOptions& options) {
    return data::image_dataset_from_directory(folder.path(), quiet(options))
        .element_spec()
        .to_string();
  };
  CHECK(spec({}) == "(float32 (None, 256, 256, 3), int32 (None,))");
  CHECK(spec({.label_mode = "binary", .color_mode = "rgba", .batch_size = {}}) ==
        "(float32 (256, 256, 4), float32 (1,))");
  CHECK(spec({.label_mode = "categorical", .color_mode = "grayscale", .image_size = {4, 5}}) ==
        "(float32 (None, 4, 5, 1), float32 (None, 2))");
  CHECK(spec({.label_mode = {}, .image_size = {4, 5}}) == "float32 (None, 4, 5, 3)");
  CHECK(spec({.labels = {}, .image_size = {4, 5}}) == "float32 (None, 4, 5, 3)");
  const auto dataset = data::image_dataset_from_directory(
      folder.path(), quiet({.batch_size = 2, .image_size = {2, 2}, .shuffle = false}));
  CHECK(dataset.cardinality() == 3);
  CHECK(reds(dataset) == std::vector<int>{1, 2, 4, 0, 3});
  CHECK(labels_of(dataset) == std::vector<int64_t>{0, 0, 0, 1, 1});
}

TEST_CASE("pictures are decoded and resized as single ones are") {
  const TempFolder folder;
  Tensor image = Tensor::empty({9, 14, 3}, DType::UInt8);
  PhiloxEngine engine(3);
  for (uint8_t& value : image.mutable_data<uint8_t>()) value = static_cast<uint8_t>(engine());
  put(folder / "a/x.png", image);
  for (const bool crop : {false, true}) {
    const data::ResizeImageOptions resize{.interpolation = "bicubic", .crop_to_aspect_ratio = crop};
    const auto dataset =
        data::image_dataset_from_directory(folder.path(), {.batch_size = {},
                                                           .image_size = {6, 5},
                                                           .interpolation = "bicubic",
                                                           .crop_to_aspect_ratio = crop,
                                                           .verbose = false});
    CHECK((*dataset.begin()).tensor(0).to_vector<float>() ==
          data::resize_image(image, {6, 5}, resize).to_vector<float>());
  }
}

TEST_CASE("threads don't change what comes, and may be left at any time") {
  const Pictures folder(23);
  std::vector<int> expected;
  for (const int64_t calls : {1, 2, 8}) {
    const ImageDatasetOptions options{.batch_size = 4,
                                      .image_size = {2, 2},
                                      .seed = 8,
                                      .verbose = false,
                                      .num_parallel_calls = calls};
    const auto dataset = data::image_dataset_from_directory(folder.path(), options);
    if (calls == 1) expected = reds(dataset);
    const auto again = data::image_dataset_from_directory(folder.path(), options);
    CHECK(reds(again) == expected);
    for (int64_t taken = 0; taken < 6; ++taken) {
      auto iterator = again.iterator();
      CHECK(std::ssize(reds(iterator, taken)) == 4 * taken);
    }
  }
}

TEST_CASE("positions: no file is read for what was before") {
  Pictures folder(23);
  const auto make = [&](int64_t calls) {
    return data::image_dataset_from_directory(folder.path(), {.batch_size = 4,
                                                              .image_size = {2, 2},
                                                              .seed = 8,
                                                              .verbose = false,
                                                              .num_parallel_calls = calls});
  };
  const auto whole = reds(make(1));
  auto iterator = make(8).iterator();
  reds(iterator, 3);
  const Json position = iterator.save();
  // Files that were already consumed are damaged: they aren't read again.
  for (size_t i = 0; i < 12; ++i) {
    const std::string name = fmt::format("{}/{:02}.png", whole[i] % 3 == 0 ? "b" : "a", whole[i]);
    write_file(folder / name, "broken");
  }
  auto restored = make(2).iterator();
  restored.restore(position);
  CHECK(reds(restored) == std::vector<int>(whole.begin() + 12, whole.end()));
  // With other files, it is another dataset.
  put(folder / "a/99.png", plain(99, 0));
  CHECK(contains(message_of<FailedPrecondition>([&] { make(1).iterator().restore(position); }),
                 "image_files(24"));
}

TEST_CASE("without a seed, a restored pass goes on in its order") {
  const Pictures folder(23);
  const auto make = [&] {
    return data::image_dataset_from_directory(
        folder.path(), {.batch_size = 4, .image_size = {2, 2}, .verbose = false});
  };
  auto iterator = make().iterator();
  reds(iterator, 2);
  auto restored = make().iterator();
  restored.restore(iterator.save());
  CHECK(reds(restored) == reds(iterator));
}

TEST_CASE("broken pictures are named at their place") {
  const Pictures folder(9);
  write_file(folder / "a/04.png", read_file(folder / "a/04.png").substr(0, 50));
  for (const int64_t calls : {1, 4}) {
    const auto dataset =
        data::image_dataset_from_directory(folder.path(), {.batch_size = 2,
                                                           .image_size = {2, 2},
                                                           .shuffle = false,
                                                           .verbose = false,
                                                           .num_parallel_calls = calls});
    auto iterator = dataset.iterator();
    CHECK(reds(iterator, 1) == std::vector<int>{1, 2});
    CHECK(contains(message_of<DataLoss>([&] { reds(iterator, 1); }),
                   (folder / "a/04.png").string() + ": not a whole PNG file: "));
  }
  fs::remove(folder / "a/04.png");
  fs::create_directory_symlink(folder / "nowhere", folder / "a/04.png");
  const auto dataset =
      data::image_dataset_from_directory(folder.path(), {.image_size = {2, 2}, .verbose = false});
  CHECK(contains(message_of<NotFound>([&] { reds(dataset); }), (folder / "a/04.png").string()));
  const auto small = data::image_dataset_from_directory(
      folder / "b", {.labels = {}, .verbose = false, .max_pixels = 3});
  CHECK(contains(message_of<ResourceExhausted>([&] { reds(small); }),
                 "2 x 2 pixels are more than the 3 allowed"));
}

TEST_CASE("JPEGs may be decoded at a part of their size") {
  const TempFolder folder;
  fs::create_directories(folder / "a");
  Tensor image = Tensor::empty({40, 32, 3}, DType::UInt8);
  PhiloxEngine engine(1);
  for (uint8_t& value : image.mutable_data<uint8_t>()) value = static_cast<uint8_t>(engine());
  data::save_img(folder / "a/0.jpg", image, {.scale = false});
  const std::string file = read_file(folder / "a/0.jpg");
  for (const int64_t scale : {1, 2, 4}) {
    const auto dataset = data::image_dataset_from_directory(
        folder.path(),
        {.label_mode = {}, .image_size = {7, 5}, .verbose = false, .dct_scale = scale});
    const Tensor whole =
        data::decode_image(std::as_bytes(std::span(file)), {.channels = 3, .dct_scale = scale});
    CHECK(whole.dim(0) == 40 / scale);
    const Tensor expected = data::resize_image(whole, {7, 5}, {});
    for (const data::Element& batch : dataset) {
      CHECK(batch.tensor(0).to_vector<float>() ==
            ops::cast(expected, DType::Float32).to_vector<float>());
    }
  }
  CHECK_THROWS_AS(
      reds(data::image_dataset_from_directory(folder.path(), {.verbose = false, .dct_scale = 3})),
      InvalidArgument);
}

TEST_CASE("a shard doesn't stumble over the others' pictures") {
  const Pictures folder(12);
  const auto dataset = data::image_dataset_from_directory(folder.path(), {.batch_size = 2,
                                                                          .image_size = {2, 2},
                                                                          .shuffle = false,
                                                                          .verbose = false,
                                                                          .num_parallel_calls = 2});
  write_file(folder / "a/04.png", "broken");  // in the second batch
  CHECK(reds(dataset.shard(3, 0)) == std::vector<int>{1, 2, 10, 11});
  CHECK_THROWS_AS(reds(dataset.shard(3, 1)), DataLoss);
  CHECK(reds(dataset.shard(3, 2)) == std::vector<int>{7, 8, 6, 9});
}

TEST_CASE("links to folders are followed when that is asked for") {
  const Pictures folder(6);
  const TempFolder other;
  put(other / "deep/more/7.png", plain(77, 0));
  fs::create_directory_symlink(other / "deep", folder / "a/link");
  fs::create_directory_symlink(folder.path(), folder / "a/above");  // an endless cycle
  const auto count = [&](bool follow) {
    return data::image_dataset_from_directory(
               folder / "a",
               {.labels = {}, .image_size = {2, 2}, .follow_links = follow, .verbose = false})
        .file_paths()
        .size();
  };
  CHECK(count(false) == 4);
  CHECK(count(true) == 4 + 1 + 2);
}

TEST_CASE("what is found is logged") {
  const Pictures folder(10);
  {
    const test::Log log;
    data::image_dataset_from_directory(folder.path());
    CHECK(contains(log.text(), "Found 10 files belonging to 2 classes."));
  }
  const test::Log log;
  data::image_dataset_split_from_directory(
      folder.path(), {.labels = {}, .shuffle = false, .validation_split = 0.3});
  CHECK(contains(log.text(), "Found 10 files."));
  CHECK(contains(log.text(), "Using 7 files for training."));
  CHECK(contains(log.text(), "Using 3 files for validation."));
}

TEST_CASE("mistakes are named") {
  const Pictures folder(4);
  const auto wrong = [&](const ImageDatasetOptions& options) {
    return message_of([&] { data::image_dataset_from_directory(folder.path(), quiet(options)); });
  };
  CHECK(contains(wrong({.label_mode = "ints"}), "unknown label_mode 'ints'. Did you mean 'int'?"));
  CHECK(contains(wrong({.color_mode = "bgr"}), "unknown color_mode 'bgr'."));
  CHECK(contains(wrong({.interpolation = "linear"}), "unknown interpolation 'linear'."));
  CHECK(contains(wrong({.image_size = {0, 3}}), "expected an image_size of at least (1, 1)"));
  CHECK(contains(wrong({.crop_to_aspect_ratio = true, .pad_to_aspect_ratio = true}),
                 "expected at most one of crop_to_aspect_ratio and pad_to_aspect_ratio"));
  CHECK(contains(wrong({.seed = -1}), "expected a seed of 0 to 2^32 - 1, got -1"));
  CHECK(contains(wrong({.validation_split = 0.2}), "validation_split and subset together"));
  CHECK(contains(wrong({.subset = "training"}), "validation_split and subset together"));
  CHECK(contains(wrong({.validation_split = 0.5, .subset = "training"}),
                 "expected a seed along with"));
  const ImageDatasetOptions whole = quiet({.validation_split = 0.0});
  CHECK_NOTHROW(data::image_dataset_from_directory(folder.path(), whole));
  CHECK(contains(wrong({.seed = 1, .validation_split = 1.5, .subset = "training"}),
                 "expected a validation_split between 0 and 1, got 1.5."));
  CHECK(contains(wrong({.seed = 1, .validation_split = 0.1, .subset = "training"}),
                 "validation_split 0.1 of 4 files leaves none for one of the subsets"));
  CHECK(contains(wrong({.seed = 1, .validation_split = 0.5, .subset = "both"}),
                 "for both subsets call image_dataset_split_from_directory"));
  CHECK(contains(wrong({.seed = 1, .validation_split = 0.5, .subset = "test"}),
                 "unknown subset 'test'"));
  CHECK(contains(wrong({.class_names = {"a", "c"}}),
                 "expected class_names to be names of its subfolders (a, b), got 'c'."));
  CHECK(
      contains(wrong({.labels = {0, 1}}), "expected one label for each file, got 2 labels for 4"));
  CHECK(contains(wrong({.labels = {0, 1, 2, 3}, .label_mode = "binary"}),
                 "label_mode 'binary' takes exactly 2 classes, got 4: 0, 1, 2, 3."));
  CHECK(contains(wrong({.labels = {0, 1, 5, 1}, .label_mode = "categorical"}),
                 "label_mode 'categorical' takes labels of 0 to 2, got 5 for "));
  CHECK(contains(wrong({.labels = {0, 1, 0, 1}, .class_names = {"a"}}),
                 "class_names can be given with labels \"inferred\" only"));
  CHECK(contains(message_of([] { data::FileLabels("guessed"); }), "got \"guessed\""));
  CHECK(contains(wrong({.num_parallel_calls = 0}), "expected num_parallel_calls of at least 1"));
  const TempFolder empty;
  CHECK(contains(
      message_of([&] { data::image_dataset_from_directory(empty.path(), {.verbose = false}); }),
      "no pictures in " + empty.path().string() + ". Files in subfolders, one a class,"));
  CHECK(contains(message_of<NotFound>([&] { data::image_dataset_from_directory(empty / "x"); }),
                 "x: there is no such directory."));
}
