// SPDX-License-Identifier: Apache-2.0
// Each worker's part of a dataset, for every policy.
#include <doctest/doctest.h>

#include <algorithm>

#include "data/example.h"
#include "data/image_dataset.h"
#include "data/readers/image/image_files.h"
#include "data/strings.h"
#include "data/text_files.h"
#include "data/tf_record.h"
#include "framework/ops/ops.h"
#include "tests/data/support.h"
#include "tests/support/log.h"
#include "tests/support/sanitized.h"

using namespace cornu;
using namespace cornu::testing;
using data::AutoShardPolicy;
using data::Dataset;
using Numbers = std::vector<int64_t>;
using Batches = std::vector<Numbers>;

namespace {

// Files with consecutive numbers as text, `sizes[i]` of them in file i.
class NumberFiles {
 public:
  explicit NumberFiles(const std::vector<int64_t>& sizes) {
    int64_t number = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      data::TFRecordWriter records(folder_ / fmt::format("{}.tfrecord", i));
      std::string lines;
      for (int64_t end = number + sizes[i]; number < end; ++number) {
        records.write(std::to_string(number));
        lines += std::to_string(number) + "\n";
      }
      write_text(folder_ / fmt::format("{}.txt", i), lines);
    }
  }
  Dataset names(const std::string& ending, bool shuffle = false) const {
    return Dataset::list_files(folder_ / ("*." + ending), {.shuffle = shuffle, .seed = 5});
  }
  Dataset records(bool shuffle = false) const {
    return parsed(data::TFRecordDataset(names("tfrecord", shuffle)));
  }
  Dataset lines() const { return parsed(data::TextLineDataset(names("txt"))); }

  static Dataset parsed(const Dataset& texts) {
    return texts.map([](const Tensor& text) { return data::strings::to_number(text, "int64"); },
                     {.output_signature = data::ElementSpec{{{DType::Int64, Shape{}}}, {}}});
  }

 private:
  TempFolder folder_;
};

Dataset tf_records(const Tensor& name) { return data::TFRecordDataset(name.item<std::string>()); }
Dataset text_lines(const Tensor& name) { return data::TextLineDataset(name.item<std::string>()); }

std::shared_ptr<BatchSource> source_of(const Dataset& dataset, AutoShardPolicy policy) {
  data::Options options;
  options.distribute.auto_shard_policy = policy;
  return dataset.with_options(options);
}

Batches batches(BatchIterator& iterator) {
  Batches result;
  for (Batch batch; iterator.next(batch);) result.push_back(numbers(batch.x.single()));
  return result;
}
Batches batches(const std::shared_ptr<BatchSource>& source) { return batches(*source->iterate()); }

// A worker's part; checks that the log describes it by `plan`.
std::shared_ptr<BatchSource> part_of(const std::shared_ptr<BatchSource>& source, int64_t count,
                                     int64_t index, const std::string& plan) {
  test::Log log;
  auto part = source->shard(count, index);
  CHECK_MESSAGE(log.text().find(plan) != std::string::npos, log.text());
  return part;
}

// Returns the examples of all workers, sorted; checks that all take the same number of steps, and
// that a part can be restored after each of its batches.
Numbers examples(const std::shared_ptr<BatchSource>& source, int64_t count,
                 const std::string& plan) {
  Numbers all;
  size_t steps = 0;
  for (int64_t index = 0; index < count; ++index) {
    const auto part = part_of(source, count, index, plan);
    const Batches own = batches(part);
    if (index == 0) steps = own.size();
    CHECK(own.size() == steps);
    for (const Numbers& batch : own) all.insert(all.end(), batch.begin(), batch.end());
    for (size_t stop = 0; stop <= own.size(); ++stop) {
      auto first = part_of(source, count, index, plan)->iterate();
      Batch batch;
      for (size_t i = 0; i < stop; ++i) first->next(batch);
      auto second = part_of(source, count, index, plan)->iterate();
      second->restore(first->save());
      CHECK(batches(*second) == batches(*first));
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

Numbers up_to(int64_t count) {
  Numbers result;
  for (int64_t i = 0; i < count; ++i) result.push_back(i);
  return result;
}

// Checks every policy on the numbers 0 to 7, stored in four files.
void check_policies(const Dataset& batched, int64_t count) {
  const auto ranges = fmt::format("reads one of {} ranges of each file's records", count);
  const auto first = count <= 4 ? "reads files of its own" : ranges;
  CHECK(examples(source_of(batched, AutoShardPolicy::Auto), count, first) == up_to(8));
  CHECK(examples(source_of(batched, AutoShardPolicy::File), count, first) == up_to(8));
  CHECK(examples(source_of(batched, AutoShardPolicy::Record), count, ranges) == up_to(8));
  CHECK(examples(source_of(batched, AutoShardPolicy::Data), count,
                 fmt::format("takes one of {} batches in turn", count)) == up_to(8));
}

}  // namespace

TEST_CASE("workers read files of their own, or ranges of their records") {
  const NumberFiles files({3, 0, 4, 1});
  for (const Dataset& dataset : {files.records(), files.records(true), files.lines()}) {
    for (const int64_t batch : kSanitized ? Numbers{2, 20} : Numbers{1, 2, 3, 20}) {
      for (const int64_t count : kSanitized ? Numbers{2, 5} : Numbers{2, 3, 4, 5, 9}) {
        CAPTURE(batch);
        CAPTURE(count);
        check_policies(dataset.batch(batch).prefetch(1), count);
      }
    }
  }
}

TEST_CASE("files that datasets of names read") {
  const NumberFiles files({3, 0, 4, 1});
  const auto records = [](const Tensor& name) { return NumberFiles::parsed(tf_records(name)); };
  const auto lines = [](const Tensor& name) { return NumberFiles::parsed(text_lines(name)); };
  const auto nested = [&](const Tensor& name) {
    return Dataset::from_tensors(name).flat_map(records).shuffle(2, {.seed = 3});
  };
  const data::ElementSpec numbers{{{DType::Int64, Shape{}}}, {}};
  const std::vector<Dataset> datasets = {
      files.names("tfrecord").interleave(records, {.cycle_length = 2}),
      files.names("tfrecord", true)
          .interleave(records, {.block_length = 2, .num_parallel_calls = 2}),
      files.names("txt").flat_map(lines),
      files.names("txt").flat_map(lines, {.output_signature = numbers}),
      files.names("tfrecord").interleave(nested)};
  for (const Dataset& dataset : datasets) {
    for (const int64_t count : kSanitized ? Numbers{2, 5} : Numbers{2, 4, 5, 9}) {
      CAPTURE(count);
      check_policies(dataset.batch(2).prefetch(1), count);
    }
  }
}

TEST_CASE("which files datasets of names read") {
  const NumberFiles files({3, 0, 4, 1});
  const auto records = [](const Tensor& name) { return NumberFiles::parsed(tf_records(name)); };
  const auto batched = files.names("tfrecord").interleave(records).batch(2);
  const auto by_files = source_of(batched, AutoShardPolicy::Auto);
  CHECK(batches(by_files->shard(2, 0)) == Batches{{0, 3}, {1, 4}, {2, 5}, {6}});
  CHECK(batches(by_files->shard(2, 1)) == Batches{{7}, {}, {}, {}});
  const auto by_records = source_of(batched, AutoShardPolicy::Record);
  CHECK(batches(by_records->shard(2, 0)) == Batches{{0, 3}, {4}, {}});
  CHECK(batches(by_records->shard(2, 1)) == Batches{{
                                                        1,
                                                        5,
                                                    },
                                                    {7, 2},
                                                    {6}});
}

TEST_CASE("datasets of names that can't be read in parts") {
  const NumberFiles files({3, 2});
  const auto two = [](const Tensor& name) { return NumberFiles::parsed(tf_records(name)).take(2); };
  const auto batched = files.names("tfrecord").flat_map(two).batch(1);
  const Numbers all = {0, 1, 3, 4};
  CHECK(examples(source_of(batched, AutoShardPolicy::Auto), 2, "reads files of its own") == all);
  CHECK(examples(source_of(batched, AutoShardPolicy::Auto), 3, "takes one of 3 batches") == all);
  CHECK(examples(source_of(batched, AutoShardPolicy::File), 3, "reads files of its own") == all);
  CHECK_THROWS_WITH_AS(source_of(batched, AutoShardPolicy::Record)->shard(2, 0),
                       doctest::Contains("AutoShardPolicy::Record needs a dataset that reads"),
                       InvalidArgument);
  // The dataset of the first element can be divided like this, but another one can't.
  const auto some = [&](const Tensor& name) {
    const bool first = name.item<std::string>().find("0.tf") != std::string::npos;
    return first ? NumberFiles::parsed(tf_records(name)) : two(name);
  };
  const auto source =
      source_of(files.names("tfrecord").flat_map(some).batch(1), AutoShardPolicy::Record);
  CHECK_THROWS_WITH_AS(batches(source->shard(2, 0)),
                       doctest::Contains("flat_map: expected a dataset of which a worker can read "
                                         "a part of each file, as of the first element's, got "),
                       InvalidArgument);
  const auto counted = [](const Tensor&) { return Dataset::range(2); };
  CHECK(
      examples(source_of(files.names("tfrecord").flat_map(counted).batch(1), AutoShardPolicy::Auto),
               2, "takes one of 2 batches in turn") == Numbers{0, 0, 1, 1});
}

TEST_CASE("which files and records") {
  const NumberFiles files({3, 0, 4, 1});
  const auto batched = files.records().batch(2);
  const auto by_files = source_of(batched, AutoShardPolicy::File);
  CHECK(batches(by_files->shard(2, 0)) == Batches{{0, 1}, {2, 3}, {4, 5}, {6}});
  CHECK(batches(by_files->shard(2, 1)) == Batches{{7}, {}, {}, {}});
  CHECK(batches(by_files->shard(4, 1)) == Batches{{}, {}});
  const auto by_records = source_of(batched, AutoShardPolicy::Record);
  CHECK(batches(by_records->shard(2, 0)) == Batches{{0, 3}, {4}, {}});
  CHECK(batches(by_records->shard(2, 1)) == Batches{{1, 2}, {5, 6}, {7}});
  CHECK(batches(by_files->shard(1, 0)) == batches(by_files));
  CHECK_THROWS_AS(by_files->shard(2, 2), InvalidArgument);
  CHECK_THROWS_AS(by_files->shard(2, -1), InvalidArgument);
  CHECK_THROWS_WITH_AS(by_files->shard(0, 0), "Dataset: expected at least 1 worker, got 0.",
                       InvalidArgument);
}

TEST_CASE("global batches are divided before they are sharded") {
  const NumberFiles files({5, 6, 3});
  const auto global = source_of(files.records().batch(4), AutoShardPolicy::Auto);
  const std::string plan = "reads files of its own";
  CHECK(examples(global->divide(2), 2, plan) == up_to(14));
  CHECK(examples(global->divide(3), 3, plan) == up_to(14));
  CHECK(batches(global->divide(2)->shard(2, 1)) == Batches{{5, 6}, {7, 8}, {9}, {10}});
}

TEST_CASE("passes shuffle anew, all workers' alike") {
  const NumberFiles files({4, 4, 4});
  const auto source = source_of(files.records(true).shuffle(20, {.seed = 3}).batch(2).repeat(2),
                                AutoShardPolicy::Auto);
  Numbers twice;
  for (int64_t i = 0; i < 12; ++i) twice.insert(twice.end(), 2, i);
  CHECK(examples(source, 2, "reads files of its own") == twice);
  const auto part = source->shard(2, 0);
  CHECK(batches(part) != batches(part));
}

TEST_CASE("where parts would give other examples, each worker takes batches") {
  const NumberFiles files({3, 0, 4, 1});
  const std::string plan = "takes one of 2 batches in turn";
  const auto automatic = [](const Dataset& dataset) {
    return source_of(dataset, AutoShardPolicy::Auto);
  };
  CHECK(examples(automatic(files.records().take(5).batch(2)), 2, plan) == up_to(5));
  CHECK(examples(automatic(files.records().batch(3, {.drop_remainder = true})), 2, plan) ==
        up_to(6));
  CHECK(examples(automatic(rows_to(7).batch(2)), 2, plan) == up_to(7));
  const auto pairs = Dataset::zip({files.records(), files.lines()}).batch(2);
  part_of(automatic(pairs), 2, 0, plan);
  part_of(automatic(files.records().concatenate(Dataset::range(3)).batch(2)), 2, 0, plan);
  const auto more = files.records().filter([](const Tensor& x) { return x > 2; });
  CHECK(examples(automatic(more.batch(2)), 2, "reads files of its own").size() == 5);
}

TEST_CASE("every worker sees everything, or takes its part where the program says") {
  const auto all = source_of(rows_to(6).batch(4), AutoShardPolicy::Off);
  CHECK(batches(part_of(all, 2, 1, "worker 1 of 2 sees the whole dataset, in batches of 4")) ==
        Batches{{0, 1, 2, 3}, {4, 5}});
  part_of(source_of(rows_to(6).batch(4).unbatch().map(
                        [](const Tensor& x) { return ops::reshape(x, {1}); }),
                    AutoShardPolicy::Off),
          2, 0, "in batches of an unknown size");
  const auto hinted = rows_to(7).shard(data::kShardHint, data::kShardHint).batch(2);
  CHECK(numbers(hinted) == up_to(7));
  const auto source = source_of(hinted, AutoShardPolicy::Hint);
  CHECK(batches(source->shard(2, 0)) == Batches{{0, 2}, {4, 6}});
  CHECK(batches(source->shard(2, 1)) == Batches{{1, 3}, {5}});
  CHECK(examples(source, 3, "takes its part where shard(kShardHint, kShardHint) stands") ==
        up_to(7));
}

TEST_CASE("policies that don't suit a dataset") {
  CHECK_THROWS_WITH_AS(
      source_of(rows_to(4).batch(2), AutoShardPolicy::Record)->shard(2, 1),
      "Dataset: AutoShardPolicy::Record needs a dataset that reads files, this one "
      "is tensor_slices(4 of int64 ()) | batch(2) | with_options. Use "
      "AutoShardPolicy::Data.",
      InvalidArgument);
  const NumberFiles files({3, 1});
  const auto both = files.records().concatenate(Dataset::range(3)).batch(2);
  CHECK_THROWS_WITH_AS(source_of(both, AutoShardPolicy::File)->shard(2, 1),
                       doctest::Contains("needs a dataset that reads files"), InvalidArgument);
  CHECK_THROWS_WITH_AS(source_of(files.records().batch(2), AutoShardPolicy::Hint)->shard(2, 1),
                       doctest::Contains("needs shard(data::kShardHint, data::kShardHint) where"),
                       InvalidArgument);
  CHECK_THROWS_AS(rows_to(4).shard(data::kShardHint, 1), InvalidArgument);
}

TEST_CASE("workers decode pictures of their own") {
  const TempFolder folder;
  for (int i = 0; i < 5; ++i) {
    std::filesystem::create_directories(folder / "a");
    data::save_img(folder / fmt::format("a/{}.png", i),
                   ops::full({4, 4, 3}, static_cast<float>(i * 10)), {.scale = false});
  }
  const Dataset pictures =
      data::image_dataset_from_directory(folder.path(), {.label_mode = std::nullopt,
                                                         .batch_size = 2,
                                                         .image_size = {4, 4},
                                                         .shuffle = false,
                                                         .verbose = false});
  const auto first_values = [](const std::shared_ptr<BatchSource>& source) {
    std::vector<std::vector<float>> result;
    auto iterator = source->iterate();
    for (Batch batch; iterator->next(batch);) {
      auto& values = result.emplace_back();
      const auto pixels = batch.x.single().to_vector<float>();
      for (size_t i = 0; i < pixels.size(); i += 48) values.push_back(pixels[i]);
    }
    return result;
  };
  using Values = std::vector<std::vector<float>>;
  const auto by_data = source_of(pictures, AutoShardPolicy::Auto);
  CHECK(first_values(by_data->shard(2, 1)) == Values{{20, 30}, {}});
  const auto by_files = source_of(pictures, AutoShardPolicy::File);
  CHECK(first_values(by_files->shard(2, 0)) == Values{{0, 20}, {40}});
  CHECK(first_values(by_files->shard(2, 1)) == Values{{10, 30}, {}});
}

TEST_CASE("rebatch gives batches of another size") {
  CHECK(numbers(rows_to(7).batch(3).rebatch(2)) == up_to(7));
  const Dataset halves = rows_to(7).batch(3).rebatch(2, {.drop_remainder = true});
  CHECK(halves.element_spec().to_string() == "int64 (2,)");
  CHECK(numbers(halves) == up_to(6));
}

TEST_CASE("the names of files are divided as they come") {
  const NumberFiles files({1, 1, 1, 1, 1, 1});
  const Dataset names = files.names("txt");
  const auto lines = [](const Dataset& chosen) {
    return data::TextLineDataset(chosen)
        .map([](const Tensor& text) { return data::strings::to_number(text, "int64"); })
        .batch(1);
  };
  const auto check_same = [&](const Dataset& chosen) {
    Numbers whole = numbers(lines(chosen));
    std::sort(whole.begin(), whole.end());
    for (const int64_t count : {2, 3}) {
      Numbers all;
      const auto source = source_of(lines(chosen), AutoShardPolicy::File);
      for (int64_t index = 0; index < count; ++index) {
        for (const Numbers& batch : batches(source->shard(count, index))) {
          all.insert(all.end(), batch.begin(), batch.end());
        }
      }
      std::sort(all.begin(), all.end());
      CHECK(all == whole);
    }
  };
  check_same(names);
  check_same(names.take(2));
  check_same(names.skip(2));
  check_same(names.shard(2, 0));
  check_same(names.take(1).concatenate(names.skip(5)));
  check_same(names.shuffle(6, {.seed = 1}).repeat(2));
}

TEST_CASE("files' names are divided behind their filter") {
  const NumberFiles files({2, 0, 3, 0, 1, 0});  // the filter keeps every second one
  const auto chosen = files.names("tfrecord").filter([](const Tensor& name) {
    const auto stem = std::filesystem::path(name.item<std::string>()).stem().string();
    return Tensor::scalar(std::stoi(stem) % 2 == 0);
  });
  const auto records = [](const Tensor& name) { return NumberFiles::parsed(tf_records(name)); };
  const auto ranges = "reads one of 2 ranges of each file's records";
  for (const Dataset& dataset : {chosen.interleave(records), chosen.flat_map(records),
                                 chosen.repeat(1).shuffle(3, {.seed = 2}).flat_map(records),
                                 NumberFiles::parsed(data::TFRecordDataset(chosen))}) {
    const auto by_files = source_of(dataset.batch(1), AutoShardPolicy::File);
    CHECK(examples(by_files, 2, "reads files of its own") == up_to(6));
    CHECK(examples(source_of(dataset.batch(1), AutoShardPolicy::Record), 2, ranges) == up_to(6));
    CHECK(examples(source_of(dataset.batch(1), AutoShardPolicy::Auto), 2,
                   "takes one of 2 batches in turn") == up_to(6));
  }
  const auto source = source_of(chosen.interleave(records).batch(1), AutoShardPolicy::File);
  CHECK(batches(source->shard(2, 0)) == Batches{{0}, {5}, {1}});
  CHECK(batches(source->shard(2, 1)) == Batches{{2}, {3}, {4}});
}

TEST_CASE("a worker without files goes on with empty batches beside others that never end") {
  const NumberFiles files({3, 0});
  const auto source = source_of(files.records().repeat().batch(2), AutoShardPolicy::File);
  auto iterator = source->shard(2, 1)->iterate();
  Batch batch;
  for (int i = 0; i < 5; ++i) {
    REQUIRE(iterator->next(batch));
    CHECK(batch.x.single().dim(0) == 0);
  }
}

TEST_CASE("workers read parts of what was saved, and nobody misses the others' elements") {
  const TempFolder folder;
  const std::string path = (folder / "saved").string();
  Dataset::range(8).save(path, {.shard_func = [](const data::Element& element) {
                           return element.tensor(0).item<int64_t>() % 4;
                         }});
  const Dataset batched = Dataset::load(path).batch(2);
  CHECK(batched.cardinality() == 4);
  CHECK(examples(source_of(batched, AutoShardPolicy::File), 2, "reads files of its own") ==
        up_to(8));
  CHECK(examples(source_of(batched, AutoShardPolicy::Record), 3,
                 "reads one of 3 ranges of each file's records") == up_to(8));
  CHECK(examples(source_of(batched, AutoShardPolicy::Data), 2, "takes one of 2 batches") ==
        up_to(8));
  // With the Data policy, and when the assertion is below a hint, the assertion applies to all
  // elements.
  const Dataset wrong = Dataset::range(4).assert_cardinality(5);
  const Dataset hinted = wrong.shard(data::kShardHint, data::kShardHint).batch(2);
  for (const auto& [dataset, policy] : {std::pair(wrong.batch(2), AutoShardPolicy::Data),
                                        std::pair(hinted, AutoShardPolicy::Hint)}) {
    const auto part = source_of(dataset, policy)->shard(2, 0);
    CHECK_THROWS_WITH_AS(batches(part), "assert_cardinality: expected 5 elements, but there are 4.",
                         FailedPrecondition);
  }
}

TEST_CASE("a damaged file's good records are read by all workers, and its damage is told once") {
  const TempFolder folder;
  {
    data::TFRecordWriter records(folder / "a");
    for (int i = 0; i < 9; ++i) records.write(std::to_string(i));
  }
  const std::string whole = read_text(folder / "a");
  write_text(folder / "a", whole.substr(0, whole.size() - 3));
  const Dataset parsed = NumberFiles::parsed(data::TFRecordDataset(folder / "a"));
  CHECK(examples(source_of(parsed.ignore_errors().batch(2), AutoShardPolicy::Record), 3,
                 "reads one of 3 ranges of each file's records") == up_to(8));
  const auto source = source_of(parsed.batch(2), AutoShardPolicy::Record);
  Batch batch;
  CHECK(source->shard(3, 0)->iterate()->next(batch));
  CHECK_THROWS_WITH_AS(batches(source->shard(3, 2)), doctest::Contains("the file is cut off"),
                       DataLoss);
}
