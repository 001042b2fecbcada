// SPDX-License-Identifier: Apache-2.0
// Elements that are tuples and dictionaries of any depth.
#include "data/structure.h"

#include <doctest/doctest.h>

#include "data/node.h"
#include "framework/ops/ops.h"
#include "tests/data/support.h"

using namespace cornu;
using namespace cornu::testing;
using data::Dataset;
using data::Element;
using Numbers = std::vector<int64_t>;

namespace {

Tensor rows(int64_t count, int64_t from) {
  Numbers values;
  for (int64_t i = 0; i < count; ++i) values.push_back(from + i);
  return Tensor::from(values);
}

// {box: {left, right}, name}, and a pair of a weight and a pair.
Element nested(int64_t count) {
  const Element box = Element::dict({{"left", rows(count, 10)}, {"right", rows(count, 20)}});
  const Element inputs = Element::dict({{"box", box}, {"name", rows(count, 30)}});
  return Element::tuple(
      {inputs, Element::tuple({rows(count, 40), Element{rows(count, 50), rows(count, 60)}})});
}

constexpr const char* kNestedSpec =
    "({box: {left: int64 (), right: int64 ()}, name: int64 ()}, (int64 (), (int64 (), int64 ())))";

}  // namespace

TEST_CASE("the parts of a nested element") {
  const Element element = nested(2);
  CHECK(element.size() == 2);
  CHECK(element.tensors().size() == 6);
  CHECK(element[0].names() == std::vector<std::string>{"box/left", "box/right", "name"});
  CHECK(numbers(element[0]["box/right"]) == Numbers{20, 21});
  CHECK(element[1].size() == 3);
  CHECK_FALSE(element[1].has_names());

  const Element inputs = element.component(0);
  CHECK(inputs.size() == 1);
  CHECK(inputs["box"].names() == std::vector<std::string>{"left", "right"});
  CHECK(numbers(inputs.component("box")["right"]) == Numbers{20, 21});
  CHECK(numbers(inputs["name"]) == Numbers{30, 31});
  const Element pair = element.component(1).component(1);
  CHECK(pair.size() == 2);
  CHECK(numbers(pair.tensor(1)) == Numbers{60, 61});
}

TEST_CASE("a name may be empty") {
  const Element row = Element::dict({{"", rows(2, 1)}, {"x", rows(2, 5)}});
  REQUIRE(row[0].names() == std::vector<std::string>{"", "x"});
  CHECK(numbers(row[0][""]) == Numbers{1, 2});
  const Element element = Element::tuple({Element::dict({{"", row}}), rows(2, 7)});
  CHECK(element[0].names() == std::vector<std::string>{"/", "/x"});
  CHECK_FALSE(element[1].has_names());
}

TEST_CASE("transforms keep the structure") {
  const auto dataset = Dataset::from_tensor_slices(nested(5));
  CHECK(dataset.element_spec().to_string() == kNestedSpec);
  const auto same = dataset.shuffle(5, {.seed = 1}).skip(1).take(3).cache().prefetch(1).repeat(2);
  CHECK(same.element_spec().to_string() == kNestedSpec);
  for (const Element& batch : same.batch(2)) {
    const Numbers left = numbers(batch.component(0).component("box")["left"]);
    const Numbers last = numbers(batch.component(1).component(1).tensor(1));
    REQUIRE(left.size() == last.size());
    for (size_t i = 0; i < left.size(); ++i) CHECK(last[i] == left[i] + 50);
  }
}

TEST_CASE("zip and enumerate nest what they are given") {
  const auto pairs = Dataset::from_tensor_slices({rows(3, 0), rows(3, 10)});
  const auto weighted = Dataset::zip({pairs, Dataset::range(20, 23)});
  CHECK(weighted.element_spec().to_string() == "((int64 (), int64 ()), int64 ())");
  CHECK(numbers(weighted) == Numbers{0, 10, 20, 1, 11, 21, 2, 12, 22});
  const auto counted = weighted.enumerate();
  CHECK(counted.element_spec().to_string() == "(int64 (), ((int64 (), int64 ()), int64 ()))");
  // Zipping a single dataset leaves its elements as they are.
  CHECK(Dataset::zip({Dataset::range(2)}).element_spec().to_string() == "int64 ()");
}

TEST_CASE("zip takes datasets in dictionaries and tuples, to any depth") {
  const Dataset a = Dataset::range(3);
  const Dataset b = Dataset::range(10, 20);
  const Dataset pairs = Dataset::from_tensor_slices({rows(3, 20), rows(3, 30)});
  const auto named = Dataset::zip({{"a", a}, {"b", b}});
  CHECK(named.element_spec().to_string() == "{a: int64 (), b: int64 ()}");
  CHECK(named.cardinality() == 3);
  CHECK(numbers(named) == Numbers{0, 10, 1, 11, 2, 12});
  for (const Element& element : named.take(1)) {
    CHECK(element["b"].item<int64_t>() == 10);
  }
  const auto deep = Dataset::zip({{{"x", a}, {"y", {b, pairs}}}, {a, b}});
  CHECK(deep.element_spec().to_string() ==
        "({x: int64 (), y: (int64 (), (int64 (), int64 ()))}, (int64 (), int64 ()))");
  CHECK(numbers(deep, 1) == Numbers{0, 10, 20, 30, 0, 10});
  CHECK(Dataset::zip(pairs).element_spec() == pairs.element_spec());
  CHECK(Dataset::zip({pairs, a}).element_spec().to_string() == "((int64 (), int64 ()), int64 ())");
  const std::vector<Dataset> several = {a, b};
  CHECK(numbers(Dataset::zip(several)) == numbers(Dataset::zip({a, b})));
  CHECK(numbers(Dataset::zip(a, b)) == numbers(Dataset::zip({a, b})));
  CHECK(Dataset::zip(named, {a, b}, pairs).element_spec().to_string() ==
        "({a: int64 (), b: int64 ()}, (int64 (), int64 ()), (int64 (), int64 ()))");
  CHECK(data::describe_chain(*Dataset::zip({a, b}).node()).ends_with("zip"));
  CHECK(data::describe_chain(*named.node()).ends_with("zip{a: 0, b: 1}"));
  CHECK(message_of<InvalidArgument>([&] {
          Dataset::zip({{"a", a}, {"a", b}});
        }) == "Element: the name 'a' comes twice.");
  CHECK(message_of<InvalidArgument>([&] {
          Dataset::zip({{"a", a}, {"b", {}}});
        }) == "zip: expected datasets in each part of a structure, got none in one.");
}

TEST_CASE("map functions take and return nested elements") {
  const auto pairs = Dataset::from_tensor_slices({rows(3, 0), rows(3, 10)});
  const auto weighted = Dataset::zip({pairs, Dataset::range(20, 23)});
  const auto flat = weighted.map([](const Element& pair, const Tensor& weight) {
    return std::tuple(pair.tensor(0), pair.tensor(1), weight);
  });
  CHECK(flat.element_spec().to_string() == "(int64 (), int64 (), int64 ())");
  CHECK(numbers(flat) == numbers(weighted));
  CHECK(numbers(weighted.map([](const Tensors& pair, const Tensor& weight) {
          return pair[0] + pair[1] + weight;
        })) == Numbers{30, 33, 36});
  const auto deep = flat.map([](const Tensor& x, const Tensor& y, const Tensor& weight) {
    return std::pair(Tensors{{"x", x}, {"y", y}}, std::pair(weight, std::vector{x, y}));
  });
  CHECK(deep.element_spec().to_string() ==
        "({x: int64 (), y: int64 ()}, (int64 (), (int64 (), int64 ())))");
  CHECK(numbers(deep, 1) == Numbers{0, 10, 20, 0, 10});
}

TEST_CASE("a position in a pipeline of nested elements") {
  const auto make = [] {
    return Dataset::from_tensor_slices(nested(9))
        .shuffle(9, {.seed = 4})
        .enumerate()
        .map([](const Tensor& i, const Element& rest) { return std::pair(rest, i); })
        .batch(2);
  };
  auto iterator = make().iterator();
  numbers(iterator, 2);
  auto restored = make().iterator();
  restored.restore(iterator.save());
  CHECK(numbers(restored) == numbers(iterator));
}

TEST_CASE("one tensor, a list and a tuple of one") {
  CHECK(Element::tuple({Element(rows(1, 0))}).structure()->kind() == data::Structure::Kind::Tensor);
  const Element list{Tensors{rows(1, 0), rows(1, 1)}};  // one component
  CHECK(list.size() == 1);
  CHECK(spec_of(list).to_string() == "((int64 (1,), int64 (1,)),)");
  CHECK(Element::tuple({list, rows(1, 2)}).component(0).size() == 2);
  const Element named = Element::tuple({Element::dict({{"a", rows(1, 0)}})});
  CHECK(numbers(named["a"]) == Numbers{0});
}

TEST_CASE("an element of one tensor is used as that tensor") {
  Numbers sums;
  for (const auto& element : Dataset::from_tensor_slices(rows(3, 10)).batch(2)) {
    sums.push_back(ops::sum(element).item<int64_t>());
    const Tensor tensor = element;
    CHECK(tensor.id() == Tensor(element).id());
    CHECK(Tensors(element).size() == 1);
  }
  CHECK(sums == Numbers{21, 12});
  const Tensor x = rows(2, 5);
  CHECK(Tensor(Element{Tensors{{"image", x}}}).id() == x.id());
  // What takes tensors and elements takes an element as it is.
  CHECK(Element(Element(x)).size() == 1);
  CHECK(Dataset::from_tensors(Element{x, x}).element_spec().types.size() == 2);
  CHECK(message_of<InvalidArgument>([&] {
          return Tensor(Element{x, x});
        }) == "Expected a single tensor, got 2 of them. Choose one with [index].");
  CHECK(message_of<InvalidArgument>([&] {
          return Tensor(Element{{"a", x}, {"b", x}});
        }) ==
        "Expected a single tensor, got 2 of them (a, b). Choose one with [\"name\"] or [index].");
  CHECK(message_of<InvalidArgument>([&] { return Tensor(Element()); }) ==
        "Expected a single tensor, got 0 of them. Choose one with [index].");
}

TEST_CASE("errors of elements name what is there") {
  const Element element = nested(1);
  CHECK(message_of<NotFound>([&] { element.component(0).component("nmae"); }) ==
        "Element: there is no member 'nmae'; the names are: box, name.");
  CHECK(message_of<NotFound>([&] { element["box"]; }) ==
        "Element: there is no member 'box'; the names are: none, as it is no dictionary.");
  CHECK(message_of<OutOfRange>([&] { element.component(2); }) ==
        "Element: expected an index below 2, got 2.");
  CHECK(message_of<InvalidArgument>([] {
          Element::dict({{"a", rows(1, 0)}, {"a", rows(1, 1)}});
        }) == "Element: the name 'a' comes twice.");
  CHECK(message_of<InvalidArgument>([] {
          Element::tuple({rows(1, 0), Element()});
        }) == "Element: expected components of tensors, got one of none.");
  CHECK(message_of<OutOfRange>([] { Element()[0]; }) ==
        "Element: expected an index below 0, got 0.");
}
