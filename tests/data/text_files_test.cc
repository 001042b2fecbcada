// SPDX-License-Identifier: Apache-2.0
// Files of lines and of fixed-length records, and lists of files.
#include <doctest/doctest.h>

#include <algorithm>

#include "data/csv.h"
#include "data/text_files.h"
#include "tests/data/support.h"

using namespace cornu;
using namespace cornu::testing;
using data::Dataset;
using data::FixedLengthRecordDataset;
using data::TextLineDataset;
using Texts = std::vector<std::string>;

TEST_CASE("TextLineDataset gives lines without their ends") {
  const TempFolder folder;
  const auto path = folder / "t";
  for (const int64_t buffer : {1, 3, 100}) {
    CAPTURE(buffer);
    const auto lines = [&](const std::string& bytes) {
      write_text(path, bytes);
      return texts(TextLineDataset(path, {.buffer_size = buffer}));
    };
    CHECK(lines("a\rb\r\nc\n\n\r\nlast\r") == Texts{"ab", "c", "", "", "last"});
    CHECK(lines("").empty());
    CHECK(lines("\n") == Texts{""});
    CHECK(lines("\xef\xbb\xbfone\n") == Texts{"\xef\xbb\xbfone"});  // BOM kept, as in tf.data
    CHECK(lines("one\ntwo\n") == Texts{"one", "two"});
    CHECK(texts(TextLineDataset(path, {.buffer_size = buffer}).skip(1)) == Texts{"two"});
    CHECK(texts(TextLineDataset(path, {.buffer_size = buffer}).skip(3)).empty());
  }
  write_text(folder / "z", gzip_of("a\nb") + gzip_of("c\n"));
  CHECK(texts(TextLineDataset(folder / "z", {.compression_type = "GZIP"})) == Texts{"a", "bc"});
  write_text(folder / "empty", "");
  CHECK(texts(TextLineDataset(folder / "empty", {.compression_type = "GZIP"})).empty());
  const Dataset both = TextLineDataset({folder / "t", folder / "empty", folder / "t"});
  CHECK(texts(both.repeat(2).skip(3).take(3)) == Texts{"two", "one", "two"});
}

TEST_CASE("FixedLengthRecordDataset gives what is between header and footer") {
  const TempFolder folder;
  write_text(folder / "f", "HHaabbccFF");
  write_text(folder / "z", gzip_of("HHaabbccFF"));
  for (const std::string compression : {"", "GZIP"}) {
    CAPTURE(compression);
    const auto path = folder / (compression.empty() ? "f" : "z");
    const auto of = [&](int64_t bytes) {
      return FixedLengthRecordDataset(path, bytes,
                                      {.header_bytes = 2,
                                       .footer_bytes = 2,
                                       .buffer_size = 3,
                                       .compression_type = compression});
    };
    CHECK(texts(of(2)) == Texts{"aa", "bb", "cc"});
    CHECK(texts(of(3)) == Texts{"aab", "bcc"});
    CHECK(texts(of(2).skip(1)) == Texts{"bb", "cc"});
    CHECK(texts(of(2).skip(1).skip(1).take(1)) == Texts{"cc"});
    CHECK(texts(of(2).skip(5)).empty());
    CHECK(message_of<InvalidArgument>([&] { texts(of(4)); }) ==
          "FixedLengthRecordDataset: " + path.string() +
              ": expected a header of 2 bytes, records of 4 bytes and a footer of 2 bytes, got 10 "
              "bytes, which don't divide so.");
    CHECK_THROWS_AS(texts(FixedLengthRecordDataset(
                        path, 1, {.header_bytes = 11, .compression_type = compression})),
                    InvalidArgument);
  }
  CHECK(texts(FixedLengthRecordDataset(folder / "f", 10)) == Texts{"HHaabbccFF"});
  CHECK_THROWS_AS(FixedLengthRecordDataset(folder / "f", 0), InvalidArgument);
}

TEST_CASE("list_files gives the files of patterns, sorted or shuffled anew in each pass") {
  const TempFolder folder;
  Texts all;
  for (const char* name : {".c.txt", "a.txt", "b.txt", "d.txt"}) {
    write_text(folder / name, name);
    all.push_back((folder / name).string());
  }
  write_text(folder / "b.csv", "x");
  const std::string pattern = (folder / "*.txt").string();
  CHECK(texts(Dataset::list_files(pattern, {.shuffle = false})) == all);
  CHECK(texts(Dataset::list_files({(folder / "[bd].txt").string(), (folder / "a*").string()},
                                  {.shuffle = false})) == Texts{all[1], all[2], all[3]});
  const Dataset shuffled = Dataset::list_files(pattern, {.seed = 3});
  CHECK(shuffled.cardinality() == 4);
  Texts first = texts(shuffled);
  bool differs = false;
  for (int pass = 0; pass < 10; ++pass) {
    Texts again = texts(shuffled);
    differs = differs || again != first;
    std::sort(again.begin(), again.end());
    CHECK(again == all);
  }
  CHECK(differs);
  CHECK(texts(Dataset::list_files(pattern, {.seed = 3})) == first);
  CHECK(texts(TextLineDataset(Dataset::list_files(pattern, {.shuffle = false}))) ==
        Texts{".c.txt", "a.txt", "b.txt", "d.txt"});
  CHECK(message_of<NotFound>([] {
          Dataset::list_files({"/nowhere/x*", "/nowhere/y"});
        }) == "list_files: no files match '/nowhere/x*', '/nowhere/y'.");
}

TEST_CASE("files are read behind one whose compressed bytes are damaged") {
  const TempFolder folder;
  std::string lines;
  for (int i = 0; i < 3000; ++i) lines += fmt::format("{:03}\n", i * 7919 % 1000);
  const std::string packed = gzip_of(lines);
  write_text(folder / "cut", packed.substr(0, packed.size() / 2));
  write_text(folder / "good", gzip_of("one\ntwo\n"));
  const data::FileNames files = {folder / "cut", folder / "good"};
  // The elements before the damage, an error, and the other file.
  const auto check_all = [](const Dataset& dataset, const Texts& last, bool placed) {
    const Texts all = texts(dataset.ignore_errors());
    REQUIRE(all.size() > 2);
    if (placed) CHECK(Texts(all.end() - 2, all.end()) == last);
    CHECK(std::count(all.begin(), all.end(), last[0]) == 1);
    auto iterator = dataset.ignore_errors().iterator();
    data::Element element;
    for (size_t i = 0; i + 1 < all.size(); ++i) REQUIRE(iterator.next(element));
    auto restored = dataset.ignore_errors().iterator();
    restored.restore(Json::parse(iterator.save().dump()));
    REQUIRE(restored.next(element));
    CHECK(element.tensor(0).item<std::string>() == all.back());
    CHECK(!restored.next(element));
    CHECK_THROWS_WITH_AS(texts(dataset), doctest::Contains("the compressed data is cut off"),
                         DataLoss);
  };
  for (const std::optional<int64_t> reads : {std::optional<int64_t>(), std::optional<int64_t>(2)}) {
    CAPTURE(reads.has_value());
    check_all(
        TextLineDataset(
            files, {.compression_type = "GZIP", .buffer_size = 100, .num_parallel_reads = reads}),
        {"one", "two"}, !reads);
    check_all(FixedLengthRecordDataset(
                  files, 4,
                  {.buffer_size = 100, .compression_type = "GZIP", .num_parallel_reads = reads}),
              {"one\n", "two\n"}, !reads);
  }
  check_all(
      data::CsvDataset(files, {DType::String}, {.compression_type = "GZIP", .buffer_size = 100}),
      {"one", "two"}, true);
  write_text(folder / "cut", gzip_of("abcdef"));  // which isn't a whole number of records
  const Dataset partial =
      FixedLengthRecordDataset(files, 4, {.compression_type = "GZIP"}).ignore_errors();
  CHECK(texts(partial) == Texts{"abcd", "one\n", "two\n"});
}
