// SPDX-License-Identifier: Apache-2.0
// The cost of restoring a position, and positions that can't be restored.
#include <doctest/doctest.h>

#include <atomic>
#include <functional>

#include "data/node.h"
#include "data/transforms/parallel_map.h"
#include "framework/ops/math.h"
#include "tests/data/support.h"

using namespace cornu;
using namespace cornu::testing;
using data::Dataset;
using data::Element;
using data::StreamPtr;

namespace {

// Numbers made by a function that counts its calls.
class CountedNode : public data::Node {
 public:
  CountedNode(data::NodePtr input, std::atomic<int>& made, int64_t calls)
      : Node({std::move(input)}), made_(made), calls_(calls) {}
  std::string describe() const override { return "counted"; }
  StreamPtr<Element> elements(data::Pass pass) const override {
    const auto f = [this](const Element& element, int64_t) {
      ++made_;
      return element;
    };
    return data::make_parallel_map(input().elements(pass), f, calls_);
  }

 private:
  std::atomic<int>& made_;
  int64_t calls_;
};

struct Source {
  std::atomic<int> made = 0;

  Dataset numbers_to(int64_t count, int64_t calls = 1) {
    const data::NodePtr range = std::make_shared<Range>(count);
    return Dataset(std::make_shared<CountedNode>(range, made, calls));
  }

 private:
  class Range : public data::Node {
   public:
    explicit Range(int64_t count) : count_(count) {}
    const data::ElementSpec& spec() const override { return spec_; }
    std::optional<int64_t> cardinality() const override { return count_; }
    std::string describe() const override { return "numbers"; }
    StreamPtr<Element> elements(data::Pass) const override {
      class Numbers : public data::Stream<Element> {
       public:
        explicit Numbers(int64_t count) : count_(count) {}
        bool next(Element& element) override {
          if (next_ == count_) return false;
          element = Tensor::scalar(next_++);
          return true;
        }
        void leave_out(int64_t count, int64_t& left_out) override {
          const int64_t here = std::min(count, count_ - next_);
          next_ += here;
          left_out += here;
        }

       private:
        int64_t count_;
        int64_t next_ = 0;
      };
      return std::make_unique<Numbers>(count_);
    }

   private:
    int64_t count_;
    data::ElementSpec spec_ = data::spec_of(Tensor::scalar(int64_t{0}));
  };
};

Tensor is_even(const Tensor& x) { return ops::equal(ops::mod(x, 2), 0); }

using Build = std::function<Dataset(const Dataset&)>;

// The number of elements made until a restored iterator has returned three more.
int made_after_restore(const Build& build, int64_t given, int64_t calls = 1) {
  Source first;
  auto iterator = build(first.numbers_to(4000, calls)).iterator();
  numbers(iterator, given);
  const std::string saved = iterator.save().dump();
  Source second;
  const Dataset dataset = build(second.numbers_to(4000, calls));
  auto restored = dataset.iterator();
  restored.restore(Json::parse(saved));
  CHECK(restored.save().dump() == saved);
  CHECK(numbers(restored, 3) == numbers(iterator, 3));
  const int made = second.made;
  CHECK(numbers(restored) == numbers(iterator));
  return made;
}

}  // namespace

TEST_CASE("restoring doesn't make what was left behind again") {
  const auto even = [](const Dataset& numbers) { return numbers.filter(&is_even); };
  const Build batched = [&](const Dataset& numbers) { return even(numbers).batch(4); };
  CHECK(made_after_restore(batched, 300) <= 3 * 8 + 1);
  CHECK(made_after_restore(batched, 300, 4) <= 3 * 8 + 1 + 2 * 4);
  CHECK(made_after_restore([&](const Dataset& n) { return batched(n).prefetch(2); }, 300) <= 56);
  CHECK(made_after_restore([&](const Dataset& n) { return batched(n).prefetch(0); }, 300) <= 25);
  CHECK(made_after_restore([&](const Dataset& n) { return even(n).shuffle(8, {.seed = 1}); },
                           1000) <= 200);
  CHECK(made_after_restore([&](const Dataset& n) { return n.shuffle(8, {.seed = 1}); }, 2000) <=
        11);
  CHECK(made_after_restore([&](const Dataset& n) { return even(n).take(1900).skip(5).shard(3, 1); },
                           500) <= 18);
  CHECK(made_after_restore([&](const Dataset& n) { return n.concatenate(even(n)).enumerate(); },
                           5000) <= 7);
  CHECK(made_after_restore(
            [&](const Dataset& n) {
              return Dataset::zip({even(n), n}).map([](const Tensor& x, const Tensor& y) {
                return x + y;
              });
            },
            1000) <= 9);
}

TEST_CASE("restoring in a later repetition doesn't go through the ones before") {
  const Build thrice = [](const Dataset& n) { return n.filter(&is_even).repeat(3); };
  CHECK(made_after_restore(thrice, 5000) <= 7);
  CHECK(made_after_restore([&](const Dataset& n) { return thrice(n).batch(7).prefetch(1); }, 700) <=
        3 * 14 + 14 * 3);
}

TEST_CASE("a position without a state is restored by its count") {
  const auto dataset = Dataset::range(100).filter(&is_even).batch(4);
  auto iterator = dataset.iterator();
  numbers(iterator, 5);
  const Json saved = unsealed(iterator.save());
  CHECK(saved.contains("state"));
  Json old = Json::object();
  for (const auto& [name, value] : saved.as_object()) {
    if (name != "state") old.set(name, value);
  }
  auto restored = dataset.iterator();
  restored.restore(old);
  CHECK(numbers(restored) == numbers(iterator));
  CHECK(!Dataset::range(9).batch(2).iterator().save().contains("state"));
}

TEST_CASE("what is restored may work ahead in another way") {
  const auto make = [](int64_t calls, int64_t buffer) {
    return Dataset::range(60)
        .filter(&is_even)
        .map([](const Tensor& x) { return x + int64_t{1}; }, {.num_parallel_calls = calls})
        .prefetch(buffer)
        .batch(3);
  };
  auto iterator = make(4, 2).iterator();
  numbers(iterator, 4);
  auto restored = make(1, 0).iterator();
  restored.restore(iterator.save());
  CHECK(numbers(restored) == numbers(iterator));
}

TEST_CASE("a damaged state is refused") {
  const auto dataset = Dataset::range(40).filter(&is_even).shuffle(4, {.seed = 1}).repeat(2);
  auto iterator = dataset.iterator();
  numbers(iterator, 25);
  const Json saved = unsealed(iterator.save());
  const auto restore = [&](const Json& state) {
    Json position = saved;
    position.set("state", state);
    return message_of([&] { dataset.iterator().restore(position); });
  };
  for (const Json& state : {Json(1), Json("x"), Json::object(), Json::array()}) {
    CHECK_THROWS_AS(
        [&] {
          Json position = saved;
          position.set("state", state);
          dataset.iterator().restore(position);
        }(),
        DataLoss);
  }
  CHECK(contains(restore(Json::object({{"repetition", -1}, {"ended", false}})),
                 "Dataset: a position's state {\"repetition\": -1, \"ended\": false} is damaged: "
                 "'repetition' was expected there."));
  // Makes each number in the state too large.
  const std::string text = saved.at("state").dump();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ':' || text[i + 1] < '0' || text[i + 1] > '9') continue;
    std::string other = text;
    other.insert(i + 1, "77");
    Json position = saved;
    position.set("state", Json::parse(other));
    try {
      auto restored = dataset.iterator();
      restored.restore(position);
      numbers(restored);
    } catch (const Error& error) {
      const bool typed =
          error.code() == StatusCode::DataLoss || error.code() == StatusCode::FailedPrecondition;
      CHECK_MESSAGE(typed, error.what());
    }
  }
}

TEST_CASE("an error among elements that are left out comes in its place, on any thread") {
  const auto failing = [] {
    return Dataset::range(6)
        .map(
            [](const Tensor& x) {
              check<InvalidArgument>(x.item<int64_t>() != 1, "one");
              return x;
            },
            {.traced = false})
        .filter([](const Tensor& x) { return x >= 0; })
        .shard(2, 0);
  };
  const auto same = [](const Tensor& x) { return x; };
  const Dataset interleaved = Dataset::range(1).interleave(
      [failing](const Tensor&) { return failing(); },
      {.num_parallel_calls = 2, .output_signature = data::spec_of(Tensor::scalar(int64_t{0}))});
  for (const Dataset& dataset :
       {failing().prefetch(2), failing().map(same, {.num_parallel_calls = 4}), interleaved}) {
    data::Iterator iterator = dataset.iterator();
    data::Element element;
    REQUIRE(iterator.next(element));
    CHECK(element.tensor(0).item<int64_t>() == 0);
    CHECK_THROWS_WITH_AS(iterator.next(element), doctest::Contains("one"), InvalidArgument);
    const auto left = numbers(dataset.ignore_errors());
    CHECK(left.front() == 0);
    CHECK(left.size() >= 2);
  }
}

TEST_CASE("positions in interleaved datasets don't depend on the number of threads") {
  const auto make = [](int64_t calls) {
    return Dataset::range(3).interleave(
        [](const Tensor& x) {
          const auto begin = 100 * x.item<int64_t>();
          return Dataset::range(begin, begin + 9).filter([](const Tensor& y) {
            return y % 3 != 1;
          });
        },
        {.cycle_length = 2, .num_parallel_calls = calls});
  };
  const auto all = numbers(make(1));
  REQUIRE(all.size() == 18);
  for (const int64_t from : {int64_t{1}, int64_t{4}, data::kAutotune}) {
    for (const int64_t to : {int64_t{1}, int64_t{4}, data::kAutotune}) {
      for (size_t stop = 0; stop <= all.size(); ++stop) {
        data::Iterator first = make(from).iterator();
        numbers(first, static_cast<int64_t>(stop));
        data::Iterator second = make(to).iterator();
        second.restore(first.save());
        CHECK(numbers(second) ==
              std::vector<int64_t>(all.begin() + static_cast<std::ptrdiff_t>(stop), all.end()));
      }
    }
  }
}

TEST_CASE("a function that iterates a dataset runs on the host") {
  const Dataset inner = Dataset::range(9).batch(2).map([](const Tensor& x) { return x * 2; });
  for (const Dataset& within :
       {inner, inner.prefetch(2),
        inner.map([](const Tensor& x) { return x; }, {.num_parallel_calls = 3})}) {
    const Dataset outer = Dataset::range(3).map([within](const Tensor& x) {
      int64_t sum = x.dtype() == DType::Int64 ? 0 : 1;
      for (const data::Element& element : within) {
        for (const int64_t value : element.tensor(0).to_vector<int64_t>()) sum += value;
      }
      return x + sum;
    });
    CHECK(numbers(outer) == std::vector<int64_t>{72, 73, 74});
  }
}
