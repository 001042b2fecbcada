// SPDX-License-Identifier: Apache-2.0
// Folders of texts.
#include <doctest/doctest.h>

#include <algorithm>

#include "data/text_dataset.h"
#include "tests/data/support.h"

using namespace cornu;
using namespace cornu::testing;
using data::text_dataset_from_directory;
using Texts = std::vector<std::string>;

namespace {

class TextFolder {
 public:
  TextFolder() {
    for (const char* name : {"neg/a.txt", "neg/b.TXT", "pos/c.txt", "pos/d.md", "pos/deep/e.txt"}) {
      create_directories((folder_ / name).parent_path());
      write_text(folder_ / name, std::string(name) + " text");
    }
  }
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  TempFolder folder_;
};

// Texts and labels of a pass, without batches.
std::vector<std::pair<std::string, int>> labeled(const data::Dataset& dataset) {
  std::vector<std::pair<std::string, int>> all;
  for (const auto& element : dataset) {
    all.emplace_back(element.tensor(0).item<std::string>(), element.tensor(1).item<int>());
  }
  return all;
}

}  // namespace

TEST_CASE("text_dataset_from_directory gives texts with the labels of their folders") {
  const TextFolder folder;
  const auto dataset = text_dataset_from_directory(
      folder.path(), {.batch_size = std::nullopt, .shuffle = false, .verbose = false});
  CHECK(dataset.class_names() == Texts{"neg", "pos"});
  CHECK(dataset.element_spec().to_string() == "(string (), int32 ())");
  const std::vector<std::pair<std::string, int>> all = {{"neg/a.txt text", 0},
                                                        {"neg/b.TXT text", 0},
                                                        {"pos/c.txt text", 1},
                                                        {"pos/deep/e.txt text", 1}};
  CHECK(labeled(dataset) == all);
  CHECK(labeled(dataset.skip(3)) == std::vector{all[3]});
  auto shuffled = labeled(text_dataset_from_directory(
      folder.path(), {.batch_size = std::nullopt, .seed = 1, .verbose = false}));
  std::sort(shuffled.begin(), shuffled.end());
  CHECK(shuffled == all);
}

TEST_CASE("texts come in batches, cut off, with other labels or none, in two parts") {
  const TextFolder folder;
  const auto cut = text_dataset_from_directory(folder.path(), {.label_mode = std::nullopt,
                                                               .batch_size = 3,
                                                               .max_length = 5,
                                                               .shuffle = false,
                                                               .verbose = false});
  CHECK(cut.element_spec().to_string() == "string (None,)");
  CHECK(texts(cut) == Texts{"neg/a", "neg/b", "pos/c", "pos/d"});
  CHECK(text_dataset_from_directory(folder.path(), {.label_mode = "binary", .verbose = false})
            .element_spec()
            .to_string() == "(string (None,), float32 (None, 1))");
  const auto split = data::text_dataset_split_from_directory(
      folder.path(), {.seed = 5, .validation_split = 0.25, .verbose = false});
  CHECK(split.training.file_paths().size() == 3);
  CHECK(split.validation.file_paths().size() == 1);
  const auto subset = text_dataset_from_directory(
      folder.path(),
      {.seed = 5, .validation_split = 0.25, .subset = "validation", .verbose = false});
  CHECK(subset.file_paths() == split.validation.file_paths());
}

TEST_CASE("text_dataset_from_directory says what doesn't go together") {
  const TextFolder folder;
  const auto error_of = [&](const data::TextDatasetOptions& options) {
    return message_of<InvalidArgument>(
        [&] { text_dataset_from_directory(folder.path(), options); });
  };
  const std::string begin = "text_dataset_from_directory: ";
  CHECK(error_of({.max_length = -1}) == begin + "expected a max_length of at least 0, got -1.");
  CHECK(error_of({.validation_split = 0.5}) ==
        begin + "expected validation_split and subset together, or neither.");
  CHECK(error_of({.validation_split = 0.5, .subset = "both"}) ==
        begin + "for both subsets call text_dataset_split_from_directory.");
  const TempFolder empty;
  create_directories(empty / "a");
  CHECK(message_of<InvalidArgument>([&] { text_dataset_from_directory(empty.path()); }) ==
        begin + "no texts in " + empty.path().string() +
            ". Files in subfolders, one a class, whose names end with .txt are read.");
}
