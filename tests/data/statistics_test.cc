// SPDX-License-Identifier: Apache-2.0
// Where pipelines spend their time, by a clock under the test's control.
#include "data/statistics.h"

#include <doctest/doctest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <sstream>

#include "data/stage.h"
#include "tests/data/support.h"

using namespace cornu;
using namespace cornu::testing;
using data::Dataset;
using data::Element;

namespace {

std::atomic<int64_t> fake_time = 0;

class FakeClock {
 public:
  FakeClock() {
    fake_time = 0;
    data::set_statistics_clock([] { return fake_time.load(); });
  }
  ~FakeClock() { data::set_statistics_clock(nullptr); }
  FakeClock(const FakeClock&) = delete;
  FakeClock& operator=(const FakeClock&) = delete;
};

void pass_seconds(int64_t seconds) { fake_time += seconds * 1'000'000'000; }

Dataset measured(const Dataset& dataset) { return dataset.with_options({.statistics = true}); }

// 0, 1, …, each of which takes `seconds`.
Dataset slow_numbers(int64_t count, int64_t seconds) {
  return Dataset::from_generator(
      [next = int64_t{0}, count, seconds]() mutable -> std::optional<Element> {
        if (next == count) return std::nullopt;
        pass_seconds(seconds);
        return Tensor::scalar(next++);
      },
      {.output_signature = data::ElementSpec{.types = {{DType::Int64, Shape{}}}, .structure = {}}});
}

auto slow(int64_t seconds) {
  return [seconds](const Tensor& x) {
    pass_seconds(seconds);
    return Tensor::scalar(x.item<int64_t>());
  };
}

const data::MapOptions kOnHost = {
    .output_signature = data::ElementSpec{.types = {{DType::Int64, Shape{}}}, .structure = {}},
    .traced = false};

const data::StageStatistics& stage(const data::Statistics& all, const std::string& name) {
  const auto found = std::find_if(all.stages.begin(), all.stages.end(),
                                  [&](const auto& one) { return one.name.rfind(name, 0) == 0; });
  REQUIRE_MESSAGE(found != all.stages.end(), name << " in " << all.to_string());
  return *found;
}

std::vector<std::string> names(const data::Statistics& all) {
  std::vector<std::string> result;
  for (const auto& one : all.stages) result.push_back(one.name.substr(0, one.name.find('(')));
  return result;
}

}  // namespace

TEST_CASE("a stage's own time is told from that of its inputs") {
  const FakeClock clock;
  const Dataset dataset = measured(slow_numbers(6, 1).map(slow(3), kOnHost).batch(2));
  CHECK(numbers(dataset).size() == 6);
  const data::Statistics all = dataset.stats();
  CHECK(names(all) == std::vector<std::string>{"generator", "map", "batch", "with_options"});
  const auto& source = stage(all, "generator");
  CHECK(source.elements == 6);
  CHECK(source.working == doctest::Approx(6));
  CHECK(source.input == 0);
  const auto& map = stage(all, "map");
  CHECK(map.elements == 6);
  CHECK(map.working == doctest::Approx(18));
  CHECK(map.input == doctest::Approx(6));
  CHECK(map.parallelism == 1);
  CHECK(map.buffer_size == 0);
  const auto& batch = stage(all, "batch");
  CHECK(batch.elements == 3);
  CHECK(batch.working == 0);
  CHECK(batch.input == doctest::Approx(24));
  CHECK(all.passes == 1);
  CHECK(all.seconds == doctest::Approx(24));
  CHECK(all.waited == doctest::Approx(24));
  REQUIRE(all.bottleneck());
  CHECK(all.bottleneck()->name == map.name);
  CHECK_MESSAGE(contains(all.to_string(), "bottleneck: map("), all.to_string());
}

TEST_CASE("a consumer that is slower is the bottleneck") {
  const FakeClock clock;
  const Dataset dataset = measured(slow_numbers(5, 1));
  auto iterator = dataset.iterator();
  Element element;
  while (iterator.next(element)) pass_seconds(40);
  const data::Statistics all = iterator.stats();
  CHECK(all.seconds == doctest::Approx(5 + 5 * 40));
  CHECK(all.waited == doctest::Approx(5));
  CHECK(all.bottleneck() == nullptr);
  CHECK(contains(all.to_string(), "bottleneck: none"));
}

TEST_CASE("passes over a handle add up, also those that go on") {
  const FakeClock clock;
  const Dataset dataset = measured(slow_numbers(4, 2));
  CHECK(dataset.stats().stages.empty());
  CHECK(contains(dataset.stats().to_string(), "CORNU_DATA_STATS=1"));
  CHECK(numbers(dataset).size() == 4);
  auto iterator = dataset.iterator();
  CHECK(numbers(iterator, 3).size() == 3);
  CHECK(stage(iterator.stats(), "generator").elements == 3);
  const data::Statistics all = dataset.stats();
  CHECK(all.passes == 2);
  CHECK(stage(all, "generator").elements == 7);
  CHECK(stage(all, "generator").working == doctest::Approx(14));
}

TEST_CASE("repetitions, joined datasets and those of elements have rows of their own") {
  const auto inner = [](const Tensor& x) { return Dataset::range(x.item<int64_t>()); };
  const Dataset dataset =
      measured(Dataset::zip({Dataset::range(3).repeat(2), Dataset::range(4).flat_map(inner)}));
  CHECK(numbers(dataset).size() == 12);
  const data::Statistics all = dataset.stats();
  CHECK(names(all) == std::vector<std::string>{"range", "repeat", "range", "range", "flat_map",
                                               "zip", "with_options"});
  CHECK(all.stages[0].elements == 6);
  CHECK(all.stages[0].depth == 1);
  CHECK(all.stages[5].depth == 0);
  // 0 + 1 + 2 + 3 elements from four datasets, counted in one row.
  CHECK(all.stages[3].elements == 6);
}

TEST_CASE("work on several threads and what is made ahead") {
  const FakeClock clock;
  data::MapOptions parallel = kOnHost;
  parallel.num_parallel_calls = 2;
  const Dataset dataset = measured(slow_numbers(30, 0).map(slow(2), parallel).prefetch(3));
  CHECK(numbers(dataset).size() == 30);
  const data::Statistics all = dataset.stats();
  const auto& map = stage(all, "map");
  CHECK(map.elements == 30);
  CHECK(map.working >= 60);  // the clock advances for all threads that work at the same time
  CHECK(map.buffer_size == 4);
  CHECK(map.parallelism >= 1);
  const auto& prefetch = stage(all, "prefetch");
  CHECK(prefetch.elements == 30);
  CHECK(prefetch.buffer_size == 3);
  CHECK(prefetch.buffered <= 3);
  // Whether the consumer found elements ready, and therefore the bottleneck, depends on the
  // threads.
  const std::string text = all.to_string();
  CHECK_MESSAGE(contains(text, "bottleneck: "), text);
  CHECK_MESSAGE(contains(text, "starved"), text);
}

TEST_CASE("a pass in a map function is the map's work") {
  const FakeClock clock;
  const Dataset own = measured(slow_numbers(2, 5));
  const auto f = [own](const Tensor&) { return Tensor::scalar(int64_t(numbers(own).size())); };
  const Dataset dataset = measured(Dataset::range(3).map(f, kOnHost));
  CHECK(numbers(dataset) == std::vector<int64_t>{2, 2, 2});
  CHECK(stage(dataset.stats(), "map").working == doctest::Approx(30));
  CHECK(stage(dataset.stats(), "map").input == 0);
  CHECK(own.stats().passes == 3);
}

TEST_CASE("rows by number are measured, too") {
  const Dataset dataset = measured(rows_to(20).shuffle(20).batch(5));
  CHECK(numbers(dataset).size() == 20);
  CHECK(names(dataset.stats()) ==
        std::vector<std::string>{"tensor_slices", "shuffle", "batch", "with_options"});
  CHECK(stage(dataset.stats(), "shuffle").elements == 20);
}

TEST_CASE("nothing is measured unless it is asked for") {
  const Dataset dataset = Dataset::range(4).batch(2);
  CHECK(numbers(dataset).size() == 4);
  CHECK(dataset.stats().passes == 0);
  CHECK(dataset.stats().bottleneck() == nullptr);
}

TEST_CASE("CORNU_DATA_STATS=1 writes a table when a pass ends or is left") {
  const auto known = spdlog::get("cornu");
  spdlog::drop("cornu");
  std::ostringstream out;
  auto logger = std::make_shared<spdlog::logger>(
      "cornu", std::make_shared<spdlog::sinks::ostream_sink_mt>(out));
  spdlog::register_logger(logger);
  setenv("CORNU_DATA_STATS", "1", 1);
  const Dataset dataset = Dataset::range(6).batch(2);
  CHECK(numbers(dataset).size() == 6);
  const std::string whole = out.str();
  out.str("");
  {
    auto iterator = dataset.iterator();
    CHECK(numbers(iterator, 1).size() == 2);
  }
  setenv("CORNU_DATA_STATS", "0", 1);
  const std::string part = out.str();
  CHECK(numbers(dataset).size() == 6);
  CHECK(out.str() == part);
  unsetenv("CORNU_DATA_STATS");
  spdlog::drop("cornu");
  if (known) spdlog::register_logger(known);
  CHECK_MESSAGE(contains(whole, "Dataset, pass 0:"), whole);
  CHECK_MESSAGE(contains(whole, "batch(2"), whole);
  CHECK_MESSAGE(contains(part, "Dataset, pass 1:"), part);
  CHECK(dataset.stats().passes == 2);
}

TEST_CASE("who takes what threads make isn't counted as one of them") {
  data::Options options{.autotune = {.cpu_budget = 1}, .statistics = true};
  const auto slow_map = [](const Tensor& x) {
    int64_t sum = x.item<int64_t>();
    for (int64_t i = 0; i < 20'000; ++i) sum = (sum * 31 + i) % 1'000'003;
    return Tensor::scalar(sum);
  };
  data::MapOptions tuned = kOnHost;
  tuned.num_parallel_calls = data::kAutotune;
  const Dataset dataset = Dataset::range(400).map(slow_map, tuned).with_options(options);
  CHECK(numbers(dataset).size() == 400);
  for (const auto& stage : dataset.stats().stages) CHECK(stage.parallelism <= 1);
}
