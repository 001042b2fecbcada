// SPDX-License-Identifier: Apache-2.0
// Datasets as consumed by training, and how strategies divide them.
#include <doctest/doctest.h>

#include "framework/ops/ops.h"
#include "framework/train/epoch_iterator.h"
#include "tests/data/support.h"

using namespace cornu;
using namespace cornu::testing;
using data::AutoShardPolicy;
using data::Dataset;
using Numbers = std::vector<int64_t>;

namespace {

std::shared_ptr<BatchSource> source_of(const Dataset& dataset) { return dataset; }

// The x of each batch.
std::vector<Numbers> rest_of(BatchIterator& iterator, size_t limit = 100) {
  std::vector<Numbers> result;
  for (Batch batch; result.size() < limit && iterator.next(batch);) {
    result.push_back(numbers(batch.x));
  }
  return result;
}
std::vector<Numbers> batches(const BatchSource& source, size_t limit = 100) {
  return rest_of(*source.iterate(), limit);
}

Dataset with_policy(const Dataset& dataset, AutoShardPolicy policy) {
  data::Options options;
  options.distribute.auto_shard_policy = policy;
  return dataset.with_options(options);
}

}  // namespace

TEST_CASE("components become x, y and sample_weight") {
  const Tensor t = Tensor::from(std::vector<float>{1, 2});
  Batch batch;
  CHECK(source_of(Dataset::from_tensor_slices(t).batch(2))->iterate()->next(batch));
  CHECK(batch.x.shape() == Shape{2});
  CHECK(batch.y.empty());
  CHECK(batch.sample_weight.empty());
  CHECK(source_of(Dataset::from_tensor_slices({t, t}).batch(2))->iterate()->next(batch));
  CHECK(batch.y.size() == 1);
  CHECK(batch.sample_weight.empty());
  CHECK(source_of(Dataset::from_tensor_slices({t, t, t}).batch(2))->iterate()->next(batch));
  CHECK(batch.sample_weight.shape() == Shape{2});
  auto named = Dataset::from_tensor_slices({{{"image", t}, {"hint", t}}, {{"digit", t}}}).batch(2);
  CHECK(source_of(named)->iterate()->next(batch));
  CHECK(batch.x.at("hint").shape() == Shape{2});
  CHECK(batch.y.names() == std::vector<std::string>{"digit"});
}

TEST_CASE("a column of strings is refused by its name") {
  const Tensor t = Tensor::from(std::vector<float>{1, 2});
  const Tensor s = Tensor::from(std::vector<std::string>{"a", "b"});
  const auto error_of = [](const Dataset& dataset) {
    EpochIterator iterator(dataset.batch(2), {});
    Batch batch;
    CHECK_THROWS_AS(iterator.peek(batch), InvalidArgument);
    iterator.begin_epoch();
    return message_of<InvalidArgument>([&] { iterator.next(batch); });
  };
  CHECK(error_of(Dataset::from_tensor_slices({t, {{"age", t}, {"name", s}}})) ==
        "the column 'name' of y has strings, which losses and metrics don't take. Convert them to "
        "numbers in Dataset::map, for example with layers::StringLookup, a data::StaticHashTable "
        "or strings::to_number, or omit the column there.");
  CHECK(contains(error_of(Dataset::from_tensor_slices({t, s})), "the column of y has strings"));
}

TEST_CASE("what training can't take is refused before it starts") {
  const Tensor t = Tensor::from(std::vector<float>{1, 2});
  CHECK(
      message_of<InvalidArgument>([&] {
        source_of(Dataset::from_tensor_slices({t, t, t, t}).batch(2));
      }) ==
      "Dataset: training takes elements x, (x, y) or (x, y, sample_weight), got (float32 (None,), "
      "float32 (None,), float32 (None,), float32 (None,)). Use map() to bring them into that "
      "form.");
  CHECK(contains(message_of<InvalidArgument>([&] { source_of(Dataset::from_tensor_slices(t)); }),
                 "the elements are float32 (). Call batch() first."));
}

TEST_CASE("each pass over a source shuffles anew, also over its shards") {
  const auto dataset = rows_to(30).shuffle(30, {.seed = 4}).batch(30);
  const auto source = source_of(dataset);
  const auto first = batches(*source);
  CHECK(batches(*source) != first);
  CHECK(batches(*source->shard(1, 0)) != first);
  CHECK(batches(*source_of(dataset)) != first);

  const auto again = source_of(rows_to(30).shuffle(30, {.seed = 4}).batch(30));
  CHECK(batches(*again->shard(1, 0)) == first);  // whose first pass equals the first one above
}

TEST_CASE("a source's position") {
  auto make = [] { return source_of(rows_to(9).shuffle(9, {.seed = 4}).batch(2).prefetch(2)); };
  const auto source = make();
  auto iterator = source->iterate();
  Batch batch;
  iterator->next(batch);
  iterator->next(batch);
  const auto restarted = make();
  auto restored = restarted->iterate();
  restored->restore(iterator->save());
  Batch other;
  while (iterator->next(batch)) {
    CHECK(restored->next(other));
    CHECK(numbers(batch.x) == numbers(other.x));
  }
  CHECK_FALSE(restored->next(other));
  CHECK(batches(*source) == batches(*restarted));
}

TEST_CASE("shards take batches in turn, all of them equally many") {
  const auto source = source_of(rows_to(10).batch(2));
  CHECK(batches(*source->shard(2, 0)) == std::vector<Numbers>{{0, 1}, {4, 5}, {8, 9}});
  CHECK(batches(*source->shard(2, 1)) == std::vector<Numbers>{{2, 3}, {6, 7}, {}});
  CHECK(source->shard(2, 1)->cardinality() == 3);
  CHECK(batches(*source->shard(7, 6)) == std::vector<Numbers>{{}});
  CHECK_THROWS_AS(source->shard(2, 2), InvalidArgument);
  CHECK(batches(*source_of(rows_to(0).batch(2))->shard(2, 1)).empty());
}

TEST_CASE(
    "shards of any number of batches: as many steps for each worker, also when it isn't known") {
  auto even = [](const Tensor& x) { return ops::logical_not(ops::cast(x % 2, DType::Bool)); };
  for (const int64_t rows : {0, 1, 2, 9, 10, 23}) {
    for (const bool known : {true, false}) {
      CAPTURE(rows);
      CAPTURE(known);
      const Dataset all = known ? rows_to(rows) : rows_to(2 * rows).filter(even);
      const auto source = source_of(all.batch(3, {.drop_remainder = rows == 23}));
      const auto whole = batches(*source);
      for (const int64_t count : {1, 2, 3, 5, 12}) {
        const size_t steps =
            (whole.size() + static_cast<size_t>(count) - 1) / static_cast<size_t>(count);
        for (int64_t index = 0; index < count; ++index) {
          const auto shard = source->shard(count, index);
          const auto got = batches(*shard);
          REQUIRE(got.size() == steps);
          for (size_t step = 0; step < steps; ++step) {
            const size_t at = step * static_cast<size_t>(count) + static_cast<size_t>(index);
            CHECK(got[step] == (at < whole.size() ? whole[at] : Numbers()));
          }
          for (size_t stop = 0; stop <= steps; ++stop) {  // at each position
            auto iterator = shard->iterate();
            Batch batch;
            for (size_t i = 0; i < stop; ++i) iterator->next(batch);
            auto restored = shard->iterate();
            restored->restore(iterator->save());
            for (size_t i = stop; i < steps; ++i) {
              REQUIRE(restored->next(batch));
              CHECK(numbers(batch.x) == got[i]);
            }
            CHECK_FALSE(restored->next(batch));
          }
        }
      }
    }
  }
}

TEST_CASE("shards of one source, read by one process, are parts of the same pass") {
  const auto source = source_of(rows_to(12).shuffle(12, {.seed = 4}).batch(4))->divide(2);
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<Numbers> parts = batches(*source->shard(2, 0));
    for (const Numbers& part : batches(*source->shard(2, 1))) parts.push_back(part);
    Numbers rows;
    for (const Numbers& part : parts) rows.insert(rows.end(), part.begin(), part.end());
    std::sort(rows.begin(), rows.end());
    CHECK(rows == Numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  }
}

TEST_CASE("the auto-shard policy decides what a shard is") {
  const auto dataset = rows_to(4).batch(2);
  CHECK(batches(*source_of(with_policy(dataset, AutoShardPolicy::Off))->shard(2, 1)).size() == 2);
  CHECK(batches(*source_of(with_policy(dataset, AutoShardPolicy::Data))->shard(2, 1)).size() == 1);
  CHECK(contains(message_of<InvalidArgument>(
                     [&] { source_of(with_policy(dataset, AutoShardPolicy::File))->shard(2, 1); }),
                 "needs a dataset that reads files, this one is tensor_slices(4 of int64 ()) | "
                 "batch(2) | with_options. Use AutoShardPolicy::Data."));
}

TEST_CASE("every batch is divided into as many parts, as even as can be") {
  const auto source = source_of(rows_to(10).batch(6))->divide(3);
  CHECK(batches(*source) == std::vector<Numbers>{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8}, {9}});
  CHECK(source->cardinality() == 6);
  CHECK(batches(*source_of(rows_to(10).batch(5))->divide(2)) ==
        std::vector<Numbers>{{0, 1, 2}, {3, 4}, {5, 6, 7}, {8, 9}});
  // Fewer rows than parts.
  CHECK(batches(*source_of(rows_to(1).batch(6))->divide(3)) == std::vector<Numbers>{{0}, {}, {}});
  // Ready-made batches.
  const Tensor six = Tensor::from(Numbers{0, 1, 2, 3, 4, 5});
  const auto ready = source_of(Dataset::from_tensors(six))->divide(4);
  CHECK(batches(*ready) == std::vector<Numbers>{{0, 1}, {2, 3}, {4}, {5}});
  CHECK(ready->cardinality() == 4);
  CHECK(contains(message_of<InvalidArgument>([&] { source_of(rows_to(4).batch(2))->divide(0); }),
                 "expected at least 1 part of a batch, got 0."));
}

TEST_CASE("replicas get the parts of one global batch in the same step") {
  for (const int64_t replicas : {1, 2, 3, 4}) {
    CAPTURE(replicas);
    const auto dataset = rows_to(50).shuffle(50, {.seed = 9}).batch(12);
    const auto global = batches(*source_of(dataset));
    std::vector<Numbers> joined(global.size());
    for (int64_t index = 0; index < replicas; ++index) {
      // A dataset of its own, as in another process.
      const auto own = source_of(rows_to(50).shuffle(50, {.seed = 9}).batch(12));
      const auto part = batches(*own->divide(replicas)->shard(replicas, index));
      REQUIRE(part.size() == global.size());
      for (size_t step = 0; step < part.size(); ++step) {
        joined[step].insert(joined[step].end(), part[step].begin(), part[step].end());
      }
    }
    CHECK(joined == global);
  }
}

// Batches that a map makes larger or smaller.
Dataset uneven_batches() {
  return Dataset::range(24).batch(4).map(
      [](const Tensor& x) {
        const int64_t third = x.data<int64_t>()[0] / 4 % 3;
        if (third == 0) return x;
        return third == 1 ? ops::concatenate({x, x + int64_t{100}, x}, 0) : x.rows(0, 1);
      },
      {.traced = false});
}

TEST_CASE("positions among parts of batches that a map has made larger or smaller") {
  const auto make = [](bool shards) {
    const auto source = source_of(uneven_batches())->divide(2);
    return shards ? source->shard(3, 1) : source;
  };
  for (const bool shards : {false, true}) {
    const size_t count = batches(*make(shards)).size();
    CHECK(count == (shards ? 4 : 12));
    for (size_t stop = 0; stop <= count; ++stop) {
      CAPTURE(stop);
      auto iterator = make(shards)->iterate();
      Batch batch;
      for (size_t i = 0; i < stop; ++i) REQUIRE(iterator->next(batch));
      auto restored = make(shards)->iterate();
      restored->restore(Json::parse(iterator->save().dump()));
      CHECK(rest_of(*restored) == rest_of(*iterator));
    }
  }
  // Each shard skips the parts that the others take.
  std::vector<Numbers> all(12);
  for (int64_t index = 0; index < 3; ++index) {
    const auto part = batches(*source_of(uneven_batches())->divide(2)->shard(3, index));
    for (size_t i = 0; i < part.size(); ++i) {
      const size_t place = 3 * i + static_cast<size_t>(index);
      if (place < all.size()) all[place] = part[i];
    }
  }
  CHECK(all == batches(*source_of(uneven_batches())->divide(2)));
}

TEST_CASE("a worker's position is that of more or fewer workers, too") {
  const auto shuffled = [] { return rows_to(20).shuffle(8, {.seed = 3}).batch(6).prefetch(1); };
  for (const bool is_uneven : {false, true}) {
    for (const int64_t before : {1, 2, 3}) {
      for (const int64_t after : {1, 2, 4}) {
        for (size_t stop = 0; stop <= 4; ++stop) {
          CAPTURE(before);
          CAPTURE(after);
          CAPTURE(stop);
          const auto make = [&] { return source_of(is_uneven ? uneven_batches() : shuffled()); };
          const auto global = make()->iterate();
          const auto saved = make()->divide(before)->shard(before, before - 1)->iterate();
          Batch batch;
          for (size_t i = 0; i < stop; ++i) {
            REQUIRE(saved->next(batch));
            REQUIRE(global->next(batch));
          }
          const std::vector<Numbers> expected = rest_of(*global);
          std::vector<Numbers> joined(expected.size());
          for (int64_t index = 0; index < after; ++index) {
            const auto restored = make()->divide(after)->shard(after, index)->iterate();
            restored->restore(Json::parse(saved->save().dump()));
            const std::vector<Numbers> parts = rest_of(*restored);
            REQUIRE(parts.size() == expected.size());
            for (size_t i = 0; i < parts.size(); ++i) {
              joined[i].insert(joined[i].end(), parts[i].begin(), parts[i].end());
            }
          }
          CHECK(joined == expected);
        }
      }
    }
  }
  data::MapOptions options{.num_parallel_calls = 2, .deterministic = false};
  options.traced = false;
  options.output_signature = data::spec_of(Tensor::scalar(int64_t{0}));
  const auto any_order = [&options] {
    return source_of(Dataset::range(6).map([](const Tensor& x) { return x; }, options).batch(2));
  };
  const auto iterator = any_order()->divide(2)->shard(2, 0)->iterate();
  Batch batch;
  REQUIRE(iterator->next(batch));
  CHECK(contains(
      message_of<FailedPrecondition>([&] { any_order()->iterate()->restore(iterator->save()); }),
      "the position is that of another worker's part, and elements come as they are "
      "ready"));
}

TEST_CASE("a divided shard's position") {
  auto make = [] { return source_of(rows_to(20).batch(6))->divide(3)->shard(2, 1); };
  const auto all = batches(*make());
  for (size_t stop = 0; stop <= all.size(); ++stop) {
    const auto source = make();
    auto iterator = source->iterate();
    Batch batch;
    for (size_t i = 0; i < stop; ++i) iterator->next(batch);
    auto restored = make()->iterate();
    restored->restore(iterator->save());
    for (size_t i = stop; i < all.size(); ++i) {
      CHECK(restored->next(batch));
      CHECK(numbers(batch.x) == all[i]);
    }
    CHECK_FALSE(restored->next(batch));
  }
}
