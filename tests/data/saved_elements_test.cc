// SPDX-License-Identifier: Apache-2.0
// Elements in files: cache, snapshot, save and load.
#include <doctest/doctest.h>

#include <sys/resource.h>

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "data/readers/element_file.h"
#include "framework/io/fuzzing.h"
#include "framework/ops/ops.h"
#include "tests/data/support.h"
#include "tests/support/log.h"

using namespace cornu;
using namespace cornu::testing;
using data::Dataset;
using data::Element;
using Numbers = std::vector<int64_t>;
using Texts = std::vector<std::string>;
namespace fs = std::filesystem;

namespace {

// With every dtype that matters, and axes of varying size.
Element element_of(int64_t i) {
  const Tensor words =
      Tensor::from(Texts(static_cast<size_t>(i), std::string("w\0", 2) + std::to_string(i)), {i});
  return Element::dict({{"x", Tensor::from({0.5f * static_cast<float>(i), 1.0f})},
                        {"pair", Element{Tensor::scalar(i), Tensor::from({i % 2 == 0, true})}},
                        {"half", ops::cast(Tensor::scalar(static_cast<float>(i)), DType::BFloat16)},
                        {"words", words}});
}

Dataset all_kinds(int64_t count) {
  data::ElementSpec spec = data::spec_of(element_of(1));
  spec.types.back().shape = {kUnknown};
  return Dataset::from_generator(
      [i = int64_t{0}, count]() mutable -> std::optional<Element> {
        if (i == count) return std::nullopt;
        return element_of(i++);
      },
      {.output_signature = spec});
}

std::vector<std::string> texts_of(const Dataset& dataset) {
  std::vector<std::string> result;
  for (const Element& element : dataset) {
    std::string text;
    for (const Tensor& tensor : element.tensors()) text += tensor.to_string() + ";";
    result.push_back(text);
  }
  return result;
}

// Counts how many elements are made.
Dataset counted(int64_t count, int64_t& made) {
  return Dataset::range(count).map(
      [&made](const Tensor& x) {
        ++made;
        return x * 2;
      },
      {.traced = false});
}

size_t files_in(const fs::path& folder) {
  const auto all = fs::recursive_directory_iterator(folder);
  return static_cast<size_t>(
      std::count_if(begin(all), end(all), [](const auto& entry) { return !entry.is_directory(); }));
}

}  // namespace

TEST_CASE("a dataset is saved and loaded, of all kinds of elements") {
  const TempFolder folder;
  for (const std::string compression : {"", "GZIP", "ZLIB"}) {
    for (const int64_t count : {0, 1, 5}) {
      const std::string path = (folder / fmt::format("saved{}{}", compression, count)).string();
      const Dataset dataset = all_kinds(count);
      dataset.save(path, {.compression = compression});
      const Dataset loaded = Dataset::load(path);
      CHECK(loaded.element_spec() == dataset.element_spec());
      CHECK(loaded.cardinality() == count);
      CHECK(texts_of(loaded) == texts_of(dataset));
      CHECK(texts_of(loaded) == texts_of(dataset));  // a second pass
      data::Iterator first = loaded.iterator();
      Element element;
      first.next(element);
      data::Iterator second = Dataset::load(path).iterator();
      second.restore(first.save());
      Element a;
      Element b;
      while (first.next(a)) {
        REQUIRE(second.next(b));
        CHECK(a["x"].to_vector<float>() == b["x"].to_vector<float>());
      }
      CHECK_FALSE(second.next(b));
    }
  }
}

TEST_CASE("saved elements in several files") {
  const TempFolder folder;
  const std::string path = (folder / "saved").string();
  Dataset::range(7).save(path, {.shard_func = [](const Element& element) {
                           return element.tensor(0).item<int64_t>() % 3 * 2;
                         }});
  CHECK(numbers(Dataset::load(path)) == Numbers{0, 3, 6, 1, 4, 2, 5});
  const Dataset mixed = Dataset::load(
      path, {.reader_func = [](const std::vector<Dataset>& files) { return Dataset::zip(files); }});
  CHECK(numbers(mixed) == Numbers{0, 1, 2, 3, 4, 5});
  CHECK_THROWS_WITH_AS(
      Dataset::range(2).save(path, {.shard_func = [](const Element&) { return -1; }}),
      doctest::Contains("shard_func, element 0: expected a number of 0 to"), InvalidArgument);
  CHECK(numbers(Dataset::load(path)).size() == 7);  // what was there is kept
}

TEST_CASE("saving again replaces what was saved, and an error leaves it") {
  const TempFolder folder;
  const std::string path = (folder / "saved").string();
  Dataset::range(3).save(path);
  const Dataset before = Dataset::load(path);
  const Dataset failing = Dataset::range(5).map(
      [](const Tensor& x) {
        if (x.item<int64_t>() == 3) throw std::runtime_error("no");
        return x;
      },
      {.traced = false});
  CHECK_THROWS_WITH_AS(failing.save(path), "map, element 3: no", InvalidArgument);
  CHECK(numbers(before) == Numbers{0, 1, 2});
  CHECK(files_in(path) == 2);
  Dataset::range(4).save(path);
  CHECK(numbers(Dataset::load(path)) == Numbers{0, 1, 2, 3});
  CHECK(files_in(path) == 2);
}

TEST_CASE("what shard_func throws is told with its element") {
  const TempFolder folder;
  const std::string path = (folder / "saved").string();
  const auto save = [&](const data::ShardFunction& f) {
    Dataset::range(4).save(path, {.shard_func = f});
  };
  CHECK_THROWS_WITH_AS(save([](const Element& element) -> int64_t {
                         if (element.tensor(0).item<int64_t>() == 2)
                           throw std::runtime_error("no place for two");
                         return 0;
                       }),
                       "save: shard_func, element 2: no place for two", InvalidArgument);
  CHECK_THROWS_WITH_AS(save([](const Element&) -> int64_t { raise<NotFound>("no such shard"); }),
                       "save: shard_func, element 0: no such shard", NotFound);
  CHECK_THROWS_WITH_AS(
      save([](const Element& element) { return -element.tensor(0).item<int64_t>(); }),
      "save: shard_func, element 1: expected a number of 0 to 65535, got -1.", InvalidArgument);
  CHECK(files_in(path) == 0);
}

TEST_CASE("more files are saved than a process may have open") {
  const TempFolder folder;
  const std::string path = (folder / "saved").string();
  rlimit limit{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const rlimit few = {.rlim_cur = 64, .rlim_max = limit.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
  const auto shard = [](const Element& element) { return element.tensor(0).item<int64_t>() % 150; };
  Dataset::range(300).save(path, {.shard_func = shard});
  CHECK(numbers(Dataset::load(path)).size() == 300);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  CHECK(files_in(path) == 151);
}

TEST_CASE("what can't be saved or loaded") {
  const TempFolder folder;
  const std::string path = (folder / "saved").string();
  CHECK_THROWS_WITH_AS(Dataset::range(2).repeat().save(path), doctest::Contains("never ends"),
                       InvalidArgument);
  CHECK_THROWS_AS(Dataset::load(path), NotFound);
  CHECK_THROWS_WITH_AS(Dataset::range(2).save(path, {.compression = "LZ4"}),
                       doctest::Contains("LZ4"), InvalidArgument);
  Dataset::range(2).save(path);
  CHECK_THROWS_WITH_AS(Dataset::load(path, {.element_spec = data::spec_of(Tensor::scalar(1.0f))}),
                       doctest::Contains("has elements of the kind int64 (), expected float32 ()"),
                       InvalidArgument);
  CHECK(numbers(Dataset::load(path, {.element_spec = Dataset::range(2).element_spec()})).size() ==
        2);
  const std::string index = read_text(fs::path(path) / "dataset.json");
  for (const std::string& bad :
       {std::string("{}"), std::string("[1"), std::string(), index.substr(0, index.size() / 2)}) {
    write_text(fs::path(path) / "dataset.json", bad);
    CHECK_THROWS_WITH_AS(Dataset::load(path), doctest::Contains("this is no index of a saved"),
                         DataLoss);
  }
}

TEST_CASE("damaged files of elements" * doctest::skip(!kChecksumsMatter)) {
  const TempFolder folder;
  const std::string path = (folder / "saved").string();
  all_kinds(3).save(path);
  const fs::path file = fs::path(path) / "save-0000" / "00000.elements";
  const std::string whole = read_text(file);
  for (size_t size = 0; size < whole.size(); ++size) {
    write_text(file, whole.substr(0, size));
    CHECK_THROWS_AS(texts_of(Dataset::load(path)), DataLoss);
  }
  for (size_t place = 0; place < whole.size(); ++place) {
    std::string damaged = whole;
    damaged[place] = static_cast<char>(damaged[place] ^ 0x55);
    write_text(file, damaged);
    CHECK_THROWS_AS(texts_of(Dataset::load(path)), DataLoss);
  }
  fs::remove(file);
  CHECK_THROWS_AS(texts_of(Dataset::load(path)), NotFound);
}

TEST_CASE("a file keeps a pass's elements, for later runs too") {
  const TempFolder folder;
  const std::string file = (folder / "cache").string();
  int64_t made = 0;
  const Dataset cached = counted(4, made).cache(file);
  made = 0;
  data::Iterator half = cached.iterator();
  Element element;
  half.next(element);
  CHECK_FALSE(fs::exists(file));  // it is incomplete
  CHECK(numbers(cached) == Numbers{0, 2, 4, 6});
  CHECK(made == 5);
  CHECK(fs::exists(file));
  CHECK(numbers(cached) == Numbers{0, 2, 4, 6});
  CHECK(numbers(counted(4, made).cache(file).batch(2)) == Numbers{0, 2, 4, 6});
  CHECK(made == 6);  // one element is made to find out what a host function returns

  // Positions are element counts, whether the file exists or not.
  data::Iterator read = cached.iterator();
  read.restore(half.save());
  CHECK(numbers(read) == Numbers{2, 4, 6});
  fs::remove(file);
  data::Iterator again = cached.iterator();
  again.restore(half.save());
  CHECK(numbers(again) == Numbers{2, 4, 6});
  CHECK(fs::exists(file));
}

TEST_CASE("a file of another pipeline, and a damaged one, are told") {
  const TempFolder folder;
  const std::string file = (folder / "cache").string();
  CHECK(numbers(Dataset::range(3).cache(file)).size() == 3);
  CHECK_THROWS_WITH_AS(
      numbers(Dataset::range(4).cache(file)),
      doctest::Contains("has the elements of another pipeline, range(0, 3, 1), and "
                        "this one is range(0, 4, 1). Remove the file"),
      FailedPrecondition);
  const std::string whole = read_text(file);
  write_text(file, whole.substr(0, whole.size() - 3));
  CHECK_THROWS_WITH_AS(numbers(Dataset::range(3).cache(file)),
                       doctest::Contains("the file is cut off: expected 13 bytes, got 10."),
                       DataLoss);
  write_text(file, "nothing that was ever written");
  if (kChecksumsMatter) {
    CHECK_THROWS_WITH_AS(
        numbers(Dataset::range(3).cache(file)),
        doctest::Contains(
            "The file was damaged or changed: delete it, so that it is created again."),
        DataLoss);
  }
  CHECK_THROWS_AS(numbers(Dataset::range(3).cache((folder / "none" / "cache").string())), NotFound);
}

TEST_CASE("a file of elements ends where it is damaged, which is told once") {
  const TempFolder folder;
  const std::string file = (folder / "cache").string();
  const Dataset cached = Dataset::range(4).cache(file);
  CHECK(numbers(cached).size() == 4);
  const std::string whole = read_text(file);
  write_text(file, whole.substr(0, whole.size() - 3));
  CHECK(numbers(cached.ignore_errors()) == Numbers{0, 1, 2, 3});
  const std::string path = (folder / "saved").string();
  Dataset::range(4).save(path);
  const fs::path saved = fs::path(path) / "save-0000" / "00000.elements";
  const std::string all = read_text(saved);
  write_text(saved, all.substr(0, all.size() - 60));  // within the third element
  CHECK(numbers(Dataset::load(path).ignore_errors()) == Numbers{0, 1});
}

TEST_CASE("an order that was drawn stays in the file, and one that fails leaves none") {
  const TempFolder folder;
  const std::string file = (folder / "cache").string();
  const auto shuffled = [&] { return Dataset::range(20).shuffle(20).cache(file); };
  const Numbers first = numbers(shuffled());
  CHECK(numbers(shuffled()) == first);
  CHECK(numbers(shuffled().repeat(2)).size() == 40);

  const std::string other = (folder / "other").string();
  const Dataset failing = Dataset::range(3)
                              .map(
                                  [](const Tensor& x) {
                                    check<InvalidArgument>(x.item<int64_t>() != 1, "one");
                                    return x;
                                  },
                                  {.traced = false})
                              .cache(other)
                              .ignore_errors();
  CHECK(numbers(failing) == Numbers{0, 2});
  CHECK_FALSE(fs::exists(other));
}

TEST_CASE("a position is among a file's own elements, or refused") {
  const TempFolder folder;
  const std::string file = (folder / "cache").string();
  const auto make = [&] { return Dataset::range(20).shuffle(20).cache(file); };
  const auto rest_after = [&](const Json& position) {
    auto restored = make().iterator();
    restored.restore(Json::parse(position.dump()));
    return numbers(restored);
  };
  auto first = make().iterator();
  numbers(first, 6);
  const Json in_first = first.save();

  const Numbers second = numbers(make());  // writes the file
  auto reader = make().iterator();
  const Numbers begun = numbers(reader, 6);
  CHECK(begun == Numbers(second.begin(), second.begin() + 6));
  const Json in_second = reader.save();
  CHECK(rest_after(in_second) == Numbers(second.begin() + 6, second.end()));
  CHECK_THROWS_WITH_AS(
      rest_after(in_first),
      doctest::Contains("cache: the position is among elements in another order than those that"),
      FailedPrecondition);

  fs::remove(file);
  CHECK_THROWS_WITH_AS(rest_after(in_second),
                       doctest::Contains("whose order another run drew. Restore the file"),
                       FailedPrecondition);
  CHECK(rest_after(in_first) == numbers(first));
  CHECK(fs::exists(file));
  CHECK(rest_after(in_first).size() == 14);  // from the file that the line above has written
}

TEST_CASE("snapshots are told apart by what makes them") {
  const TempFolder folder;
  const std::string path = (folder / "snapshots").string();
  const auto scaled = [](int64_t by) {
    return Dataset::range(4).map([by](const Tensor& x) { return x * by; });
  };
  CHECK(numbers(scaled(2).snapshot(path)) == Numbers{0, 2, 4, 6});
  CHECK(numbers(scaled(2).snapshot(path)) == Numbers{0, 2, 4, 6});
  CHECK(files_in(path) == 1);
  CHECK(numbers(scaled(3).snapshot(path)) == Numbers{0, 3, 6, 9});
  CHECK(files_in(path) == 2);
  for (int pass = 0; pass < 2; ++pass) {
    CHECK(numbers(scaled(2).snapshot(path, {.compression = "GZIP"})) == Numbers{0, 2, 4, 6});
  }
  CHECK(numbers(scaled(2).snapshot(path, {.compression = ""})) == Numbers{0, 2, 4, 6});
  CHECK(files_in(path) == 3);
  test::Log log;
  int64_t made = 0;
  CHECK(numbers(counted(2, made).snapshot(path)) == Numbers{0, 2});
  CHECK(log.text().find("remove the snapshot then") != std::string::npos);
  CHECK_THROWS_AS(Dataset::range(2).snapshot(""), InvalidArgument);
  CHECK_THROWS_WITH_AS(
      Dataset::range(2).snapshot(path, {.compression = "SNAPPY"}),
      "snapshot: expected a compression_type of \"\", \"GZIP\" or \"ZLIB\", got \"SNAPPY\".",
      InvalidArgument);
}

TEST_CASE("a file's end is the end, however often it is asked for") {
  const TempFolder folder;
  const std::string file = (folder / "cache").string();
  const Dataset cached = Dataset::range(5).cache(file);
  for (int pass = 0; pass < 2; ++pass) {
    data::Iterator iterator = cached.iterator();
    CHECK(numbers(iterator).size() == 5);
    Element element;
    CHECK_FALSE(iterator.next(element));
    CHECK(numbers(cached.batch(2)).size() == 5);
  }
}

TEST_CASE("saves of one folder wait for each other") {
  const TempFolder folder;
  const std::string path = (folder / "saved").string();
  for (int round = 0; round < 20; ++round) {
    std::thread other([&] { Dataset::range(5).save(path); });
    Dataset::range(5).save(path);
    other.join();
    CHECK(numbers(Dataset::load(path)).size() == 5);
    CHECK(files_in(path) == 2);
  }
}

TEST_CASE("a file of another save, or of another place, is noticed") {
  const TempFolder folder;
  const auto parity = [](const Element& element) { return element.tensor(0).item<int64_t>() % 2; };
  for (const char* name : {"a", "b"}) {
    Dataset::range(4).save((folder / name).string(), {.shard_func = parity});
  }
  const fs::path first = folder / "a" / "save-0000" / "00000.elements";
  const std::string bytes = read_text(first);
  for (const fs::path& other : {folder / "b" / "save-0000" / "00000.elements",
                                folder / "a" / "save-0000" / "00001.elements"}) {
    write_text(first, read_text(other));
    CHECK_THROWS_WITH_AS(numbers(Dataset::load((folder / "a").string())),
                         doctest::Contains("expected the file of save"), DataLoss);
  }
  write_text(first, bytes);
  CHECK(numbers(Dataset::load((folder / "a").string())).size() == 4);
}

TEST_CASE("snapshots of functions on the host are told apart by their data") {
  const TempFolder folder;
  const std::string path = (folder / "snapshots").string();
  const auto of = [&](std::vector<int64_t> values) {
    return Dataset::from_tensor_slices(Tensor::from(values))
        .map([](const Tensor& x) { return x + 1; }, {.traced = false})
        .snapshot(path);
  };
  test::Log log;
  CHECK(numbers(of({1, 2})) == Numbers{2, 3});
  CHECK(numbers(of({7, 8})) == Numbers{8, 9});
  CHECK(log.text().find("it isn't noticed when what map does changes") != std::string::npos);
}

TEST_CASE("elements don't need the file that they are kept in") {
  const TempFolder folder;
  test::Log log;
  const std::string file = (folder / "cache").string();
  data::Iterator iterator = Dataset::range(3).cache(file).iterator();
  Element element;
  REQUIRE(iterator.next(element));
  fs::remove_all(folder.path());
  CHECK(numbers(iterator) == Numbers{1, 2});
  CHECK(log.text().find("The elements aren't kept in a file") != std::string::npos);
}
