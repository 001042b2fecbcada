// SPDX-License-Identifier: Apache-2.0
// Consecutive maps are fused into one call. Elements and positions are the same as if each map were
// computed separately, as happens when passes are measured.
#include <doctest/doctest.h>

#include <functional>

#include "data/node.h"
#include "framework/core/random.h"
#include "framework/core/variable.h"
#include "framework/ops/ops.h"
#include "tests/data/support.h"

using namespace cornu;
using namespace cornu::testing;
using data::Dataset;
using data::Element;
using Build = std::function<Dataset()>;

namespace {

Dataset measured(const Dataset& dataset) {
  data::Options options = dataset.options();
  options.statistics = true;
  return dataset.with_options(options);
}
// With one more link, like the measured dataset.
Dataset plain(const Dataset& dataset) { return dataset.with_options(dataset.options()); }

std::string text_of(const Element& element) {
  std::string text;
  for (const Tensor& tensor : element.tensors()) {
    text += fmt::format("{} {} ", tensor.dtype(), tensor.shape());
    const auto* bytes = reinterpret_cast<const unsigned char*>(tensor.raw());
    for (size_t i = 0; i < tensor.bytes(); ++i) text += fmt::format("{:02x}", bytes[i]);
    text += ";";
  }
  return text;
}

// The elements as text, errors by their messages.
std::vector<std::string> texts_of(data::Iterator& iterator) {
  std::vector<std::string> texts;
  for (Element element; iterator.next(element);) texts.push_back(text_of(element));
  return texts;
}

void check_alike(const Build& build) {
  const auto make = [&](bool apart) {
    set_random_seed(11);
    return apart ? measured(build()) : plain(build());
  };
  const Dataset fused = make(false);
  const Dataset apart = make(true);
  for (int pass = 0; pass < 2; ++pass) {
    auto a = fused.iterator();
    auto b = apart.iterator();
    const auto all = texts_of(b);
    CHECK(!all.empty());
    CHECK(texts_of(a) == all);
  }
  const auto all = [&] {
    auto iterator = make(true).iterator();
    return texts_of(iterator);
  }();
  for (size_t stop = 0; stop <= all.size(); ++stop) {
    std::vector<Json> positions;
    for (const bool by_itself : {false, true}) {
      auto iterator = make(by_itself).iterator();
      Element element;
      for (size_t i = 0; i < stop; ++i) REQUIRE(iterator.next(element));
      positions.push_back(iterator.save());
    }
    CHECK(positions[0] == positions[1]);
    for (const bool by_itself : {false, true}) {
      auto iterator = make(by_itself).iterator();
      iterator.restore(positions[0]);
      CHECK(texts_of(iterator) ==
            std::vector<std::string>(all.begin() + static_cast<std::ptrdiff_t>(stop), all.end()));
    }
  }
}

Tensor twice(const Tensor& x) { return x * 2; }
Tensor more(const Tensor& x) { return x + 0.5F; }
Tensor noisy(const Tensor& x) {
  return ops::cast(x, "float32") + random::uniform({3}) + random::normal({3});
}

}  // namespace

TEST_CASE("maps in one call give what they give one by one") {
  check_alike([] { return Dataset::range(7).map(twice).map(more).map(&ops::sqrt); });
  check_alike([] { return Dataset::range(7).map(twice).map(noisy).map(more); });
  check_alike([] { return Dataset::range(7).map(noisy).map(noisy).map(more).map(noisy); });
  check_alike([] {
    return Dataset::range(9)
        .batch(2)
        .map(twice)
        .map([](const Tensor& x) { return ops::cast(x, "float32") + random::uniform({1}); })
        .map(more);
  });
  check_alike([] {
    return Dataset::range(7)
        .filter([](const Tensor& x) { return x > 1; })
        .map(twice, {.num_parallel_calls = 3})
        .map(more)
        .map(noisy, {.num_parallel_calls = data::kAutotune})
        .shuffle(3, {.seed = 1});
  });
  check_alike([] {
    return Dataset::range(6)
        .map([](const Tensor& x) {
          return std::pair(x, Tensors{{"a", x * 2}, {"b", x * 3}});
        })
        .map([](const Tensor& x, const Tensors& named) {
          return Element{{{"sum", x + named["a"]}, {"left", named["b"]}}};
        })
        .map([](const Tensors& named) { return named["sum"] * named["left"]; })
        .ragged_batch(4);
  });
  // A dtype that is weak inside a function is no longer weak after it.
  check_alike([] {
    return Dataset::range(4)
        .map([](const Tensor& x) { return std::pair(x, Tensor(2.5)); })
        .map([](const Tensor& x, const Tensor& y) { return ops::cast(x, "float16") * y; });
  });
}

TEST_CASE("maps in one call see variables as they are") {
  const Variable scale(Tensor::scalar(2.0F));
  const Dataset scaled = Dataset::range(3)
                             .map([](const Tensor& x) { return ops::cast(x, "float32"); })
                             .map([scale](const Tensor& x) { return x * scale; })
                             .map(more);
  const auto values = [&] {
    std::vector<float> all;
    for (const Element& element : scaled) all.push_back(element.tensor(0).item<float>());
    return all;
  };
  CHECK(values() == std::vector<float>{0.5F, 2.5F, 4.5F});
  scale.assign(Tensor::scalar(10.0F));
  CHECK(values() == std::vector<float>{0.5F, 10.5F, 20.5F});
}

TEST_CASE("errors of maps in one call come in their places") {
  const Tensor table = Tensor::from({10, 20, 30});
  for (const bool by_itself : {false, true}) {
    const Dataset taken = Dataset::range(6)
                              .map([](const Tensor& x) { return x * 2; })
                              .map([table](const Tensor& x) { return ops::take(table, x); })
                              .map(twice);
    const Dataset dataset = by_itself ? measured(taken) : plain(taken);
    auto iterator = dataset.iterator();
    Element element;
    REQUIRE(iterator.next(element));
    REQUIRE(iterator.next(element));
    CHECK(element.tensor(0).item<int32_t>() == 60);
    CHECK_THROWS_WITH_AS(iterator.next(element), doctest::Contains("map, element 2: "), Error);
    CHECK(numbers(dataset.ignore_errors().map([](const Tensor& x) {
            return ops::cast(x, "int64");
          })) == std::vector<int64_t>{20, 60});
  }
}
