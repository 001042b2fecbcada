// SPDX-License-Identifier: Apache-2.0
// Functional models with Keras ops in their graphs, as stored in files.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "framework/ops/ops.h"
#include "framework/train/model.h"
#include "layers/layers.h"
#include "tests/golden/layer_case.h"

using namespace cornu;

namespace {

constexpr test::Tolerance kClose = {.relative = 2e-5, .absolute = 5e-6};

void check_model(Model& model, const std::vector<Tensor>& inputs, const Json& expected) {
  test::check_outputs(model(inputs.size() == 1 ? Tensors(inputs[0]) : Tensors(inputs)), expected,
                      kClose);
}

// The names of a model's layers that are among these, in the model's order.
std::vector<std::string> layer_names(const Model& model, const std::vector<std::string>& among) {
  std::vector<std::string> names;
  for (const LayerHandle& layer : model.operations()) {
    const std::string& name = layer.get().name();
    if (std::ranges::find(among, name) != among.end()) names.push_back(name);
  }
  return names;
}

}  // namespace

TEST_CASE("models of one op each give what Keras's give, also when written, and as clones") {
  int checked = 0;
  for (const Json& item : test::golden_cases("op_models").as_array()) {
    CAPTURE(item.at("name").as_string());
    const std::vector<Tensor> inputs = test::golden_tensors(item.at("inputs"));
    Model model = model_from_json(item.at("model").dump());
    CHECK(model.operations().size() == item.at("model").at("config").at("layers").size());
    check_model(model, inputs, item.at("outputs"));
    Model again = model_from_json(model.to_json());
    check_model(again, inputs, item.at("outputs"));
    Model clone = clone_model(model);
    check_model(clone, inputs, item.at("outputs"));
    ++checked;
  }
  CHECK(checked > 200);
}

TEST_CASE("layers are in Keras's order, in which each op counts once") {
  int checked = 0;
  for (const Json& item : test::golden_cases("layer_orders").as_array()) {
    CAPTURE(item.at("name").as_string());
    const Model model = model_from_json(item.at("model").dump());
    const std::vector<std::string> expected = item.at("layers").as_strings();
    CHECK(layer_names(model, expected) == expected);
    CHECK(layer_names(model_from_json(model.to_json()), expected) == expected);
    CHECK(layer_names(clone_model(model), expected) == expected);
    ++checked;
  }
  CHECK(checked == 100);
}

TEST_CASE("ops that programs apply are one node each, where Keras has them as one") {
  using Branch = Tensor (*)(const Tensor&);
  const std::map<std::string, Branch> branches = {
      {"silu", [](const Tensor& x) { return ops::silu(x); }},
      {"gelu", [](const Tensor& x) { return ops::gelu(x); }},
      {"mean", [](const Tensor& x) { return x * ops::mean(x, -1, true); }},
      {"var", [](const Tensor& x) { return x * ops::var(x, -1, true); }},
      {"std", [](const Tensor& x) { return x / ops::std(x, -1, true); }},
      {"logsumexp", [](const Tensor& x) { return x - ops::logsumexp(x, -1, true); }},
      {"stack",
       [](const Tensor& x) {
         return ops::sum(ops::stack({x, x}, -1), -1);
       }},
      {"einsum",
       [](const Tensor& x) {
         return ops::einsum("bi,bi->bi", {x, x});
       }},
      {"softmax", [](const Tensor& x) { return ops::softmax(x); }},
  };
  size_t checked = 0;
  for (const Json& item : test::golden_cases("layer_orders").as_array()) {
    const std::string name = item.at("name").as_string();
    CAPTURE(name);
    const auto branch = branches.find(name.substr(0, name.find('_')));
    if (branch == branches.end()) continue;
    const Tensor x = Input({.shape = {4}, .name = "input_layer"});
    const Tensor first = branch->second(layers::Dense({.units = 4, .name = "dense"})(x));
    Tensor second = layers::Dense({.units = 4, .name = "dense_1"})(x);
    for (int i = name.find("_2_") == std::string::npos ? 1 : 2; i > 0; --i)
      second = ops::relu(second);
    const bool is_swapped = name.ends_with("True");
    const std::vector<Tensor> ends = {is_swapped ? second : first, is_swapped ? first : second};
    const Model model(x, layers::Add({.name = "add"})(Tensors(ends)));
    const std::vector<std::string> expected = item.at("layers").as_strings();
    CHECK(layer_names(model, expected) == expected);
    Model back = model_from_json(model.to_json());
    CHECK(layer_names(back, expected) == expected);
    ++checked;
  }
  CHECK(checked == 4 * branches.size());
}
