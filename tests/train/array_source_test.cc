// SPDX-License-Identifier: Apache-2.0
// Batches of arrays: what fit(x, y) reads, each worker's part of it, and positions.
#include "framework/train/array_source.h"

#include <doctest/doctest.h>

#include <numeric>

#include "framework/core/random.h"
#include "tests/support/errors.h"

using namespace cornu;
using namespace cornu::test;
using Numbers = std::vector<int32_t>;
using Source = std::shared_ptr<BatchSource>;

namespace {

Tensor counting(int64_t rows) {
  Numbers numbers(static_cast<size_t>(rows));
  std::iota(numbers.begin(), numbers.end(), 0);
  return Tensor::from(numbers);
}

Source arrays(int64_t rows, const ArraySourceOptions& options) {
  return make_array_source(counting(rows), counting(rows), {}, options);
}

Numbers numbers(const Batch& batch) {
  CHECK(batch.x.single().to_vector<int32_t>() == batch.y.single().to_vector<int32_t>());
  return batch.x.single().to_vector<int32_t>();
}

// The rows of each remaining batch.
std::vector<Numbers> rest(BatchIterator& iterator) {
  std::vector<Numbers> result;
  for (Batch batch; iterator.next(batch);) result.push_back(numbers(batch));
  return result;
}
std::vector<Numbers> pass(const Source& source) { return rest(*source->iterate()); }

}  // namespace

TEST_CASE("rows in batches; shuffled by seed and number of the pass") {
  const Source plain = arrays(5, {.batch_size = 2});
  CHECK(pass(plain) == std::vector<Numbers>{{0, 1}, {2, 3}, {4}});
  CHECK(plain->cardinality() == 3);
  CHECK(pass(arrays(3, {.batch_size = 100})) == std::vector<Numbers>{{0, 1, 2}});
  // A seed determines the order, which stays the same from version to version.
  const Source shuffled = arrays(6, {.batch_size = 6, .shuffle_seed = 7});
  CHECK(pass(shuffled) == std::vector<Numbers>{{3, 2, 4, 1, 0, 5}});
  CHECK(pass(shuffled) == std::vector<Numbers>{{4, 0, 5, 3, 1, 2}});
}

TEST_CASE("without a batch size, the number of steps divides the rows") {
  CHECK(pass(arrays(7, {.steps = 3})) == std::vector<Numbers>{{0, 1, 2}, {3, 4, 5}, {6}});
  CHECK(arrays(100, {.steps = 2})->cardinality() == 2);
  CHECK(arrays(100, {})->cardinality() == 4);  // batches of 32
  CHECK(arrays(100, {.batch_size = 10, .steps = 2})->cardinality() == 10);
  CHECK(pass(arrays(2, {.steps = INT64_MAX})) == std::vector<Numbers>{{0}, {1}});
}

TEST_CASE("a restored pass goes on as the saved one would have, and so do the passes after it") {
  auto make = [](uint64_t seed) {
    return arrays(11, {.batch_size = 2, .shuffle_seed = seed})->divide(2)->shard(2, 1);
  };
  for (int64_t stop = 0; stop <= 6; ++stop) {
    CAPTURE(stop);
    const Source saved_run = make(3);
    pass(saved_run);
    pass(saved_run);
    const auto iterator = saved_run->iterate();
    Batch batch;
    for (int64_t i = 0; i < stop; ++i) CHECK(iterator->next(batch));
    const Json position = Json::parse(iterator->save().dump());
    const Source resumed = make(99);  // as in a program that drew other seeds
    const auto restored = resumed->iterate();
    restored->restore(position);
    CHECK(rest(*restored) == rest(*iterator));
    CHECK(pass(resumed) == pass(saved_run));
    CHECK(pass(resumed) == pass(saved_run));
  }
}

TEST_CASE("positions of other data, and such as can't be, are refused") {
  const Json position = arrays(8, {.batch_size = 2})->iterate()->save();
  CHECK(message_of<FailedPrecondition>(
            [&] { arrays(8, {.batch_size = 4})->iterate()->restore(position); }) ==
        "Arrays: the position was saved by another pipeline.\n"
        "  saved: arrays(int32 (8,), int32 (8,)) | batch(2)\n"
        "  here:  arrays(int32 (8,), int32 (8,)) | batch(4)\n"
        "Start from the beginning, or build the dataset as it was.");
  const Tensor x = Tensor::empty({8, 3}, DType::Float32);
  const auto named = make_array_source(Tensors::named({{"image", x}, {"hint", x}}), x, {}, {});
  CHECK(named->iterate()->save().at("pipeline") ==
        "arrays(image: float32 (8, 3), hint: float32 (8, 3), float32 (8, 3)) | batch(8)");
  const auto at = [&](int64_t pass, int64_t consumed) {
    Json changed = position;
    changed.set("pass", pass);
    changed.set("consumed", consumed);
    return changed;
  };
  const Source source = arrays(8, {.batch_size = 2});
  CHECK_THROWS_AS(source->iterate()->restore(at(-1, 0)), DataLoss);
  CHECK_THROWS_AS(source->iterate()->restore(at(0, -1)), DataLoss);
  CHECK(message_of<FailedPrecondition>([&] { source->iterate()->restore(at(0, 5)); }) ==
        "Arrays: the position is after element 5, but this dataset ends after 4.");
  const auto begun = source->iterate();
  Batch batch;
  begun->next(batch);
  CHECK_THROWS_AS(begun->restore(position), FailedPrecondition);
}

TEST_CASE("workers get the parts of one global batch in the same step, and as many steps") {
  for (const int64_t rows : {1, 8, 31, 64, 65, 67}) {
    for (const int64_t workers : {1, 2, 3, 5}) {
      CAPTURE(rows);
      CAPTURE(workers);
      auto make = [&] { return arrays(rows, {.batch_size = 30, .shuffle_seed = 5}); };
      const Source whole = make();
      std::vector<Source> shards;
      for (int64_t i = 0; i < workers; ++i) {
        // From a shared source, as in threads of one process, and from separate ones, as in
        // processes.
        const Source of = i % 2 ? make() : whole;
        shards.push_back(of->divide(workers)->shard(workers, i));
      }
      const Source reference = make();
      for (int epoch = 0; epoch < 2; ++epoch) {
        const auto global = pass(reference);
        std::vector<Numbers> joined(global.size());
        for (const Source& shard : shards) {
          const auto parts = pass(shard);
          REQUIRE(parts.size() == global.size());
          CHECK(shard->cardinality() == static_cast<int64_t>(parts.size()));
          for (size_t step = 0; step < parts.size(); ++step) {
            joined[step].insert(joined[step].end(), parts[step].begin(), parts[step].end());
          }
        }
        CHECK(joined == global);
      }
    }
  }
}

TEST_CASE("a worker's position is that of more or fewer workers, too") {
  const auto make = [] { return arrays(31, {.batch_size = 7, .shuffle_seed = 5}); };
  for (const int64_t before : {1, 2, 3}) {
    for (const int64_t after : {1, 2, 4}) {
      const auto global = make()->iterate();
      const auto saved = make()->divide(before)->shard(before, before - 1)->iterate();
      Batch batch;
      for (int i = 0; i < 2; ++i) {
        REQUIRE(saved->next(batch));
        REQUIRE(global->next(batch));
      }
      const std::vector<Numbers> expected = rest(*global);
      std::vector<Numbers> joined(expected.size());
      for (int64_t index = 0; index < after; ++index) {
        const auto restored = make()->divide(after)->shard(after, index)->iterate();
        restored->restore(saved->save());
        const std::vector<Numbers> parts = rest(*restored);
        REQUIRE(parts.size() == expected.size());
        for (size_t i = 0; i < parts.size(); ++i) {
          joined[i].insert(joined[i].end(), parts[i].begin(), parts[i].end());
        }
      }
      CHECK(joined == expected);
    }
  }
}

TEST_CASE("a shard of whole batches that has run out gives batches of no rows") {
  const Source source = arrays(65, {.batch_size = 32});
  CHECK(pass(source->shard(2, 0)).size() == 2);
  const auto second = pass(source->shard(2, 1));
  REQUIRE(second.size() == 2);
  CHECK(second[0].size() == 32);
  CHECK(second[1].empty());
  CHECK(source->shard(2, 1)->cardinality() == 2);
  CHECK(pass(source->shard(5, 4)) == std::vector<Numbers>{{}});
  CHECK(source->shard(1, 0) == source);
  CHECK_THROWS_AS(source->shard(2, 2), InvalidArgument);
  CHECK_THROWS_AS(source->divide(0), InvalidArgument);
}
