// SPDX-License-Identifier: Apache-2.0
// Host functions that both processes know: they are sent along with a dataset.
#include <doctest/doctest.h>

#include "data/example.h"
#include "data/serialization.h"
#include "data/serialization/host_functions.h"
#include "data/string_functions.h"
#include "tests/data/support.h"

using namespace cornu;
using namespace cornu::testing;
using data::Dataset;
using data::Element;
namespace fn = data::strings::functions;

namespace {

Dataset after_travel(const Dataset& dataset) { return data::deserialize(data::serialize(dataset)); }

std::vector<std::string> all_of(const Dataset& dataset) {
  std::vector<std::string> result;
  for (const Element& element : dataset) {
    for (const Tensor& tensor : element.tensors()) result.push_back(tensor.to_string());
  }
  return result;
}

void check_travels(const Dataset& dataset) {
  const Dataset there = after_travel(dataset);
  CHECK(there.element_spec() == dataset.element_spec());
  CHECK(all_of(there) == all_of(dataset));
  CHECK(data::fingerprint(there) == data::fingerprint(dataset));
}

Dataset words() {
  return Dataset::from_tensor_slices(
      Tensor::from(std::vector<std::string>{"the Cat", " a dog ", "the end of it"}));
}

// A function defined by the program.
struct Repeated {
  int64_t times = 1;
  Tensor operator()(const Tensor& text) const {
    std::string all;
    for (int64_t i = 0; i < times; ++i) all += text.item<std::string>();
    return Tensor::scalar(all);
  }
  void write(data::LinkWriter& link) const {
    link("host_function", "tests.repeated")("times", times);
  }
};

}  // namespace

TEST_CASE("functions of strings travel as objects") {
  const data::StaticHashTable table(Tensor::from(std::vector<std::string>{"the", "cat", "it"}),
                                    Tensor::from(std::vector<int64_t>{5, 6, 7}), -1);
  const Dataset chain = words().map(fn::strip()).map(fn::lower()).map(fn::split()).map(table);
  check_travels(chain);
  check_travels(chain.padded_batch(2));
  CHECK(all_of(chain).front() == all_of(after_travel(chain)).front());
  check_travels(words()
                    .map(fn::split({.sep = "t", .maxsplit = 1}))
                    .map(fn::reduce_join({.axis = 0, .separator = "-"})));
  check_travels(words().map(fn::unicode_split()).map(fn::reduce_join({.separator = " "})));
  check_travels(words().map(fn::upper("utf-8")).map(fn::length("UTF8_CHAR")));
  check_travels(words().map(fn::substr(1, 3)).map(fn::regex_replace("[aeiou]", "<\\0>", false)));
  check_travels(words().map(fn::regex_full_match("the.*"), {.num_parallel_calls = 2}));
  const Dataset numbers =
      Dataset::from_tensor_slices(Tensor::from(std::vector<std::string>{"1.5", "-2"}));
  check_travels(numbers.map(fn::to_number("float64"))
                    .map(fn::as_string({.precision = 2}), {.traced = false}));
  const data::StaticHashTable names(Tensor::from(std::vector<int64_t>{3, 1}),
                                    Tensor::from(std::vector<std::string>{"three", "one"}),
                                    Tensor::scalar("?"));
  check_travels(Dataset::range(4).map(names, {.traced = false}));
}

TEST_CASE("read_file travels with the names") {
  const TempFolder folder;
  write_text(folder / "a", "first");
  write_text(folder / "b", "second");
  const Dataset files = Dataset::from_tensor_slices(
      Tensor::from(std::vector<std::string>{(folder / "a").string(), (folder / "b").string()}));
  check_travels(files.map(fn::read_file()));
}

TEST_CASE("parsers of examples travel, also below batch") {
  std::vector<std::string> records;
  for (int64_t i = 0; i < 5; ++i) {
    records.push_back(data::Example({{"label", Tensor::scalar(i)},
                                     {"words", Tensor::from(std::vector<std::string>(
                                                   static_cast<size_t>(i), "w"))},
                                     {"x", Tensor::from(std::vector<float>{1.5f, 2.0f})}})
                          .serialize());
  }
  const Dataset examples = Dataset::from_tensor_slices(Tensor::from(records));
  const data::ExampleParser fixed({{"x", data::FixedLenFeature{{2}, "float32"}},
                                   {"label", data::FixedLenFeature{{}, "int64"}},
                                   {"none", data::FixedLenFeature{{}, "int64", 7}}});
  check_travels(examples.map(fixed));
  check_travels(examples.map(fixed).batch(2));
  check_travels(examples.shuffle(5, {.seed = 2}).map(fixed).batch(2));
  const data::ExampleParser open({{"words", data::VarLenFeature{"string"}},
                                  {"x", data::FixedLenSequenceFeature{{1}, "float32", true}}});
  check_travels(examples.map(open));
  check_travels(examples.batch(3).map(open));
}

TEST_CASE("a parser that was sent asks for no memory of its own accord") {
  const auto examples = Dataset::from_tensor_slices(Tensor::from(std::vector<std::string>{""}));
  auto sent = data::serialize(
      examples.map(data::ExampleParser({{"x", data::FixedLenFeature{{77}, "int64", 7}}})));
  const size_t at = sent.pipeline.find("[[77]]");
  REQUIRE(at != std::string::npos);
  sent.pipeline.replace(at, 6, "[[77000000000]]");
  CHECK_THROWS_WITH_AS(data::deserialize(sent), doctest::Contains("got the shape (77000000000,)"),
                       InvalidArgument);
}

TEST_CASE("a program's own function travels where it is registered") {
  const Dataset dataset = words().map(Repeated{3});
  CHECK_THROWS_WITH_AS(after_travel(dataset), doctest::Contains("tests.repeated"), Error);
  data::host_function_registry().add(
      "tests.repeated", {[](data::LinkReader& link) {
        return data::map_function(Repeated{link.get<int64_t>("times")});
      }});
  check_travels(dataset);
  auto damaged = data::serialize(dataset);
  const size_t at = damaged.pipeline.find("\"times\"");
  damaged.pipeline.replace(at, 7, "\"tames\"");
  CHECK_THROWS_WITH_AS(data::deserialize(damaged), doctest::Contains("times"), Error);
}
