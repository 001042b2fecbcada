// SPDX-License-Identifier: Apache-2.0
// TFRecord files: read, written, and damaged.
#include <doctest/doctest.h>

#include <fstream>
#include <span>

#include "data/tf_record.h"
#include "framework/io/crc.h"
#include "framework/io/fuzzing.h"
#include "tests/data/support.h"

using namespace cornu;
using namespace cornu::testing;
using data::Dataset;
using data::TFRecordDataset;
using data::TFRecordWriter;
using Texts = std::vector<std::string>;

namespace {

std::string write_records(const std::filesystem::path& path, const Texts& records,
                          const std::string& compression = "") {
  TFRecordWriter writer(path, {.compression_type = compression});
  for (const std::string& record : records) writer.write(record);
  writer.close();
  return path.string();
}

Texts records_to(int count, const std::string& prefix) {
  Texts texts;
  for (int i = 0; i < count; ++i) texts.push_back(prefix + std::to_string(i));
  return texts;
}

}  // namespace

TEST_CASE("a writer that was moved from says so") {
  const TempFolder folder;
  TFRecordWriter writer(folder / "a");
  TFRecordWriter other(std::move(writer));
  CHECK(message_of<FailedPrecondition>([&] { writer.write("x"); }) ==
        "TFRecordWriter: used after it was moved from.");
  CHECK_THROWS_AS(writer.flush(), FailedPrecondition);
  CHECK_THROWS_AS(writer.close(), FailedPrecondition);
  other.write("x");
  other.close();
}

TEST_CASE("TFRecordDataset gives what TFRecordWriter wrote, compressed or not") {
  const TempFolder folder;
  const Texts records = {"one", "", std::string("\0\xff zero", 7), std::string(1'000'000, 'x'),
                         "z"};
  for (const std::string compression : {"", "GZIP", "ZLIB"}) {
    CAPTURE(compression);
    const auto path = write_records(folder / ("r" + compression), records, compression);
    for (const int64_t buffer : {1, 100, 1 << 20}) {
      const Dataset dataset =
          TFRecordDataset(path, {.compression_type = compression, .buffer_size = buffer});
      CHECK(dataset.element_spec().to_string() == "string ()");
      CHECK(texts(dataset) == records);
      CHECK(texts(dataset) == records);  // a second pass
      CHECK(texts(dataset.skip(1).take(2)) == Texts{records[1], records[2]});
      CHECK(texts(dataset.skip(4)) == Texts{"z"});
      CHECK(texts(dataset.skip(9)).empty());
    }
  }
}

TEST_CASE("TFRecordDataset reads several files in order, and in turn where it is asked to") {
  const TempFolder folder;
  const Texts paths = {write_records(folder / "a", records_to(3, "a")),
                       write_records(folder / "empty", {}),
                       write_records(folder / "b", records_to(1, "b")),
                       write_records(folder / "c", records_to(2, "c"))};
  const Texts in_order = {"a0", "a1", "a2", "b0", "c0", "c1"};
  CHECK(texts(TFRecordDataset(paths)) == in_order);
  CHECK(texts(TFRecordDataset(paths, {.num_parallel_reads = data::kAutotune})) == in_order);
  CHECK(texts(TFRecordDataset(paths, {.num_parallel_reads = 1})) == in_order);
  CHECK(texts(TFRecordDataset(paths).skip(3)) == Texts{"b0", "c0", "c1"});
  CHECK(texts(TFRecordDataset(Dataset::from_tensor_slices(Tensor::from(paths)))) == in_order);
  const Dataset in_turn = TFRecordDataset(paths, {.num_parallel_reads = 2});
  CHECK(texts(in_turn) == Texts{"a0", "a1", "b0", "a2", "c0", "c1"});
  for (int64_t count = 0; count < 7; ++count) {
    Texts rest = texts(in_turn);
    rest.erase(rest.begin(), rest.begin() + std::min<int64_t>(count, std::ssize(rest)));
    CHECK(texts(in_turn.skip(count)) == rest);
  }
  CHECK(texts(TFRecordDataset(Texts{})).empty());
  CHECK(message_of<InvalidArgument>([] { TFRecordDataset(Dataset::range(3)); }) ==
        "TFRecordDataset: expected filenames that are string scalars, got int64 ().");
  CHECK(message_of<InvalidArgument>([] { TFRecordDataset("x", {.compression_type = "LZ4"}); }) ==
        "TFRecordDataset: expected a compression_type of \"\", \"GZIP\" or \"ZLIB\", got \"LZ4\".");
  CHECK(message_of<InvalidArgument>([] { TFRecordDataset("x", {.num_parallel_reads = 0}); }) ==
        "TFRecordDataset: expected num_parallel_reads of 1 to 1024, or data::kAutotune, got 0.");
  CHECK(message_of<NotFound>([&] {
          texts(TFRecordDataset(folder / "none"));
        }).find("none: the file can't be opened") != std::string::npos);
}

TEST_CASE("a position in TFRecord files is restored without a look at what was before it") {
  const TempFolder folder;
  const auto path = write_records(folder / "r", {std::string(10'000, 'a'), "b", "c"});
  const Dataset dataset = TFRecordDataset(path, {.buffer_size = 100});
  auto iterator = dataset.iterator();
  data::Element element;
  REQUIRE(iterator.next(element));
  const Json position = iterator.save();
  // Damage before the position isn't noticed, since that part isn't read again.
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(100).put('!');
  auto restored = TFRecordDataset(path, {.buffer_size = 100}).iterator();
  restored.restore(position);
  REQUIRE(restored.next(element));
  CHECK(element.tensor(0).item<std::string>() == "b");
}

TEST_CASE("damaged TFRecord files are told with the record, its place and the checksums" *
          doctest::skip(!kChecksumsMatter)) {
  const TempFolder folder;
  const auto path = write_records(folder / "r", {"one", "three", "seven"});
  const std::string good = read_text(path);
  const auto error_of = [&](std::string bytes) {
    write_text(path, bytes);
    const std::string text = message_of<DataLoss>([&] { texts(TFRecordDataset(path)); });
    return text.substr(text.find(": ") + 2);
  };
  const std::string advice = ". Is this a TFRecord file, and its compression_type right?";
  std::string bad = good;
  bad[19 + 12] ^= 1;
  CHECK(
      error_of(bad) ==
      "record 1 at byte 19: its content is damaged: expected the checksum 45fb2360, got 1ea33382" +
          advice);
  bad = good;
  bad[19] ^= 1;
  CHECK(error_of(bad).starts_with("record 1 at byte 19: its length is damaged: expected the "));
  CHECK(error_of(good.substr(0, 25)) ==
        "record 1 at byte 19: the file is cut off: expected 12 bytes, got 6.");
  CHECK(error_of(good.substr(0, 19 + 14)) ==
        "record 1 at byte 19: the file is cut off: expected 9 bytes, got 2.");
  CHECK(error_of(good.substr(0, 19 + 12 + 5)) ==
        "record 1 at byte 19: the file is cut off: expected 9 bytes, got 5.");
  // A length with a valid checksum that exceeds the memory.
  for (const std::string compression : {"", "GZIP"}) {
    std::string huge("\xff\xff\xff\xff\xff\x7f\0\0", 8);
    uint32_t crc = mask_crc32c(crc32c(std::as_bytes(std::span(huge.data(), 8))));
    huge.append(reinterpret_cast<const char*>(&crc), 4);
    huge.append("the rest");
    write_text(path, compression.empty() ? huge : gzip_of(huge));
    CHECK(message_of<DataLoss>([&] {
            texts(TFRecordDataset(path, {.compression_type = compression}));
          }).find("record 0 at byte 0: the file is cut off: expected 1407374883") !=
          std::string::npos);
  }
  write_records(folder / "z", {"one", "three"}, "GZIP");
  write_text(path, read_text(folder / "z").substr(0, 30));
  CHECK(message_of<DataLoss>([&] {
          texts(TFRecordDataset(path, {.compression_type = "GZIP"}));
        }).find("the compressed data is cut off after 30 bytes") != std::string::npos);
  write_text(path, good);
  CHECK(message_of<DataLoss>([&] {
          texts(TFRecordDataset(path, {.compression_type = "ZLIB"}));
        }).find("the ZLIB data is damaged near byte") != std::string::npos);
}

TEST_CASE("a TFRecord file appears when it is closed") {
  const TempFolder folder;
  const auto path = folder / "r";
  {
    TFRecordWriter writer(path);
    writer.write("abc");
    writer.flush();
    CHECK(!exists(path));
  }
  CHECK(texts(TFRecordDataset(path)) == Texts{"abc"});
  TFRecordWriter writer(path);
  writer.close();
  writer.close();
  CHECK(texts(TFRecordDataset(path)).empty());
  CHECK(message_of<FailedPrecondition>([&] {
          writer.write("x");
        }).find("is closed: nothing more can be written to it") != std::string::npos);
  CHECK_THROWS_AS(TFRecordWriter(folder / "no" / "r"), NotFound);
  CHECK_THROWS_AS(TFRecordWriter(path, {.compression_type = "GZIP", .compression_level = 10}),
                  InvalidArgument);
}
