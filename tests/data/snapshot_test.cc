// SPDX-License-Identifier: Apache-2.0
// Snapshots whose files are written and read by user-supplied functions.
#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>

#include "tests/data/support.h"
#include "tests/support/log.h"

using namespace cornu;
using namespace cornu::testing;
using data::Dataset;
using data::Element;
using Numbers = std::vector<int64_t>;
namespace fs = std::filesystem;

namespace {

int64_t by_three(const Element& element) { return element.tensor(0).item<int64_t>() % 3; }

Dataset last_first(const std::vector<Dataset>& files) {
  Dataset all = files.back();
  for (size_t i = files.size() - 1; i-- > 0;) all = all.concatenate(files[i]);
  return all;
}

Dataset shuffled(const std::vector<Dataset>& files) { return last_first(files).shuffle(100); }

Numbers sorted(Numbers numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// The folders in `folder`.
std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> result;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) result.push_back(entry.path());
  }
  std::sort(result.begin(), result.end());
  return result;
}

Numbers rest_after(const Dataset& dataset, const Json& position) {
  data::Iterator iterator = dataset.iterator();
  iterator.restore(Json::parse(position.dump()));
  return numbers(iterator);
}

}  // namespace

TEST_CASE("a snapshot's files are written and read by the user's functions") {
  const TempFolder folder;
  const std::string path = (folder / "snapshots").string();
  const auto make = [&](const data::SnapshotOptions& options) {
    return Dataset::range(7).snapshot(path, options);
  };
  const Numbers in_order = {0, 1, 2, 3, 4, 5, 6};
  for (const char* compression : {"AUTO", "GZIP"}) {
    data::SnapshotOptions options = {
        .compression = compression, .shard_func = by_three, .reader_func = last_first};
    CHECK(numbers(make(options)) == in_order);  // the pass that writes
    CHECK(numbers(make(options)) == Numbers{2, 5, 1, 4, 0, 3, 6});
    CHECK(numbers(make(options).batch(2)) == Numbers{2, 5, 1, 4, 0, 3, 6});
    CHECK(numbers(make(options).skip(3)) == Numbers{4, 0, 3, 6});
    options.reader_func = {};
    CHECK(numbers(make(options)) == Numbers{0, 3, 6, 1, 4, 2, 5});
  }
  CHECK(folders_in(path).size() == 2);  // one for each compression
  CHECK(folders_in(folders_in(path).front()).size() == 1);

  // With a reader function alone, there is one file.
  const fs::path other = folder / "other";
  const auto reversed = [](const std::vector<Dataset>& files) {
    CHECK(files.size() == 1);
    return files[0].skip(2).concatenate(files[0].take(2));
  };
  const Dataset alone =
      Dataset::range(4).snapshot(other.string(), {.reader_func = reversed}).repeat(2);
  CHECK(numbers(alone) == Numbers{0, 1, 2, 3, 2, 3, 0, 1});

  // No elements at all.
  const Dataset none = Dataset::range(4).take(0).snapshot(other.string(), {.shard_func = by_three});
  for (int pass = 0; pass < 2; ++pass) CHECK(numbers(none).empty());
}

TEST_CASE("what is written half-way, or where it fails, is no snapshot") {
  const TempFolder folder;
  const std::string path = (folder / "snapshots").string();
  const auto make = [&](data::ShardFunction shard_func) {
    return Dataset::range(7).snapshot(path, {.shard_func = std::move(shard_func)});
  };
  Element element;
  {
    data::Iterator half = make(by_three).iterator();
    REQUIRE(half.next(element));
    // A concurrent iterator yields the elements, but writes nothing.
    CHECK(numbers(make(by_three), 3) == Numbers{0, 1, 2});
    CHECK(folders_in(folders_in(path).front()).size() == 1);
  }
  CHECK(folders_in(folders_in(path).front()).empty());

  const auto refusing = [](const Element& e) -> int64_t { return 3 - e.tensor(0).item<int64_t>(); };
  CHECK_THROWS_WITH_AS(
      numbers(make(refusing)),
      doctest::Contains("snapshot: shard_func, element 4: expected a number of 0 to 65535, got -1"),
      InvalidArgument);
  const auto throwing = [](const Element&) -> int64_t { throw std::runtime_error("no idea"); };
  CHECK_THROWS_WITH_AS(numbers(make(throwing)),
                       doctest::Contains("snapshot: shard_func, element 0: no idea"),
                       InvalidArgument);
  CHECK(folders_in(folders_in(path).front()).empty());

  test::Log log;
  data::Iterator iterator = make(by_three).iterator();
  REQUIRE(iterator.next(element));
  fs::remove_all(folder.path());
  CHECK(numbers(iterator) == Numbers{1, 2, 3, 4, 5, 6});
  CHECK(log.text().find("The elements aren't kept in files") != std::string::npos);
}

TEST_CASE("a reader_func gives each element of the snapshot once") {
  const TempFolder folder;
  const std::string path = (folder / "snapshots").string();
  const auto make = [&](data::ReaderFunction reader_func) {
    return Dataset::range(7).snapshot(path, {.reader_func = std::move(reader_func)});
  };
  CHECK(numbers(make(last_first)).size() == 7);
  CHECK_THROWS_WITH_AS(
      numbers(make([](const std::vector<Dataset>& files) { return files[0].take(3); })),
      doctest::Contains("assert_cardinality: expected 7 elements, but there are 3"),
      FailedPrecondition);
  CHECK_THROWS_WITH_AS(
      numbers(make([](const std::vector<Dataset>& files) { return files[0].batch(3); })),
      doctest::Contains("snapshot: reader_func's dataset has elements of the kind"),
      InvalidArgument);
}

TEST_CASE("a position goes on among what it was saved in") {
  const TempFolder folder;
  const std::string path = (folder / "snapshots").string();
  const Dataset made = Dataset::range(20).shuffle(20);
  const auto make = [&] {
    return made.snapshot(path, {.shard_func = by_three, .reader_func = shuffled}).prefetch(2);
  };
  data::Iterator writing = make().iterator();
  const Numbers before = numbers(writing, 6);
  const Json in_writing = writing.save();
  const Numbers after = numbers(writing);
  CHECK(before.size() + after.size() == 20);

  // The files exist now, in another order.
  CHECK(rest_after(make(), in_writing) == after);
  data::Iterator reading = make().iterator();
  Numbers read = numbers(reading, 6);
  const Json in_reading = reading.save();
  const Numbers rest = numbers(reading);
  read.insert(read.end(), rest.begin(), rest.end());
  CHECK(sorted(read) == sorted(numbers(Dataset::range(20))));
  CHECK(read != numbers(make()));  // which draws its own order
  CHECK(rest_after(make(), in_reading) == rest);

  const auto unseeded = made.snapshot(path, {.reader_func = last_first}).prefetch(2);
  CHECK_THROWS_WITH_AS(rest_after(unseeded, in_reading),
                       doctest::Contains("a reader_func that draws 1 seeds, and this one draws 0"),
                       FailedPrecondition);
  fs::remove_all(path);
  CHECK_THROWS_WITH_AS(rest_after(make(), in_reading),
                       doctest::Contains("among elements of files that"), FailedPrecondition);
  CHECK(rest_after(make(), in_writing) == after);
}
