// SPDX-License-Identifier: Apache-2.0
// Printing and indexing, like in NumPy.
#include <doctest/doctest.h>

#include "framework/autodiff/gradient_tape.h"
#include "framework/core/print.h"
#include "framework/graph/function.h"
#include "framework/ops/ops.h"
#include "tests/golden/golden.h"

namespace cornu::test {
namespace {

bool has_prefix(const Json& item, const char* prefix) {
  return item["name"].as_string().starts_with(prefix);
}

PrintOptions options_of(const Json& json) {
  return {.precision = json["precision"].as_int(),
          .threshold = json["threshold"].as_int(),
          .edge_items = json["edge_items"].as_int(),
          .line_width = json["line_width"].as_int(),
          .suppress = json["suppress"].as_bool()};
}

Index index_of(const Json& json) {
  if (json.is_int()) return json.as_int();
  if (json.is_string()) return json.as_string() == "newaxis" ? Index(newaxis) : Index(ellipsis);
  if (json.contains("tensor")) return golden_tensor(json["tensor"]);
  auto place = [&](size_t i) {
    const Json& given = json["slice"][i];
    return given.is_null() ? Slice::Place() : Slice::Place(given.as_int());
  };
  return Slice(place(0), place(1), *place(2));
}

std::vector<Index> key_of(const Json& json) {
  std::vector<Index> key;
  for (const Json& entry : json.as_array()) key.push_back(index_of(entry));
  return key;
}

bool has_mask(const std::vector<Index>& key) {
  for (const Index& index : key) {
    if (index.tensor() && index.tensor()->dtype() == DType::Bool) return true;
  }
  return false;
}

TEST_CASE("arrays are printed as NumPy prints them") {
  int count = 0;
  for (const Json& item : golden_cases("numpy").as_array()) {
    if (!has_prefix(item, "print_")) continue;
    INFO(item["name"].as_string());
    CHECK(array_to_string(golden_tensor(item), options_of(item["options"])) ==
          item["text"].as_string());
    ++count;
  }
  CHECK(count > 100);
}

TEST_CASE("indices mean what they mean in NumPy: values, gradients, traced") {
  int count = 0;
  for (const Json& item : golden_cases("numpy").as_array()) {
    if (!has_prefix(item, "index_")) continue;
    INFO(item["name"].as_string());
    const Tensor x = golden_tensor(item["x"]);
    const std::vector<Index> key = key_of(item["key"]);
    GradientTape tape;
    tape.watch(x);
    const Tensor result = ops::get_item(x, key);
    const Tensor cotangent =
        ops::reshape(ops::arange(1, result.size() + 1, 1, "float32"), result.shape());
    const Tensor gradient = tape.gradient(ops::sum(result * cotangent), x);
    CHECK(difference(result, item["result"], {}) == "");
    CHECK(difference(gradient, item["gradient"], {}) == "");
    // Here, masks are values; in traced code, they are constants known before tracing.
    const Function traced =
        function([&](const Tensor& symbol) { return ops::get_item(symbol, key); });
    CHECK(difference(traced(x), item["result"], {}) == "");
    ++count;
  }
  CHECK(count > 40);
}

TEST_CASE("an ellipsis that stands for no axis parts the indices beside it") {
  const Tensor x = ops::reshape(ops::arange(400), {4, 5, 4, 5});
  const Tensor two = Tensor::from<int32_t>({0, 1});
  CHECK(x(Slice(), Slice(0, 3), two, ellipsis, 2).shape() == Shape{2, 4, 3});
  CHECK(x(Slice(), Slice(0, 3), two, 2).shape() == Shape{4, 3, 2});
  CHECK(x(Slice(), Slice(0, 3), two, 2, ellipsis).shape() == Shape{4, 3, 2});
  CHECK(x(ellipsis, Slice(), Slice(0, 3), two, 2).shape() == Shape{4, 3, 2});
  CHECK(x(Slice(), newaxis, 2, ellipsis, two, Slice()).shape() == Shape{2, 4, 1, 5});
  CHECK((x(0, 1, ellipsis, 2, 3) == x(0, 1, 2, 3)).item<int>() == 1);
}

TEST_CASE("indices of tensors whose values aren't known yet") {
  for (const Json& item : golden_cases("numpy").as_array()) {
    if (!has_prefix(item, "index_taken")) continue;
    INFO(item["name"].as_string());
    const std::vector<Index> key = key_of(item["key"]);
    REQUIRE_FALSE(has_mask(key));
    std::vector<Tensor> places;
    for (const Index& index : key) {
      if (index.tensor()) places.push_back(*index.tensor());
    }
    const Function traced([&](const std::vector<Tensor>& in) {
      std::vector<Index> symbols = key;
      size_t next = 1;
      for (Index& index : symbols) {
        if (index.tensor()) index = in[next++];
      }
      return std::vector<Tensor>{ops::get_item(in[0], symbols)};
    });
    std::vector<Tensor> inputs = {golden_tensor(item["x"])};
    inputs.insert(inputs.end(), places.begin(), places.end());
    CHECK(difference(traced.call(inputs)[0], item["result"], {}) == "");
  }
}

}  // namespace
}  // namespace cornu::test
