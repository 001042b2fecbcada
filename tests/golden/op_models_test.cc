// SPDX-License-Identifier: Apache-2.0
// Functional models that have ops of Keras's in their graphs, as files have them.
#include <doctest/doctest.h>

#include <algorithm>

#include "framework/train/model.h"
#include "tests/golden/layer_case.h"

using namespace cornu;

namespace {

constexpr test::Tolerance kClose = {.relative = 2e-5, .absolute = 5e-6};

void check_model(Model& model, const std::vector<Tensor>& inputs, const Json& expected) {
  test::check_outputs(model(inputs.size() == 1 ? Tensors(inputs[0]) : Tensors(inputs)), expected,
                      kClose);
}

}  // namespace

TEST_CASE("models of one op each give what Keras's give, also when written, and as clones") {
  int checked = 0;
  for (const Json& item : test::golden_cases("op_models").as_array()) {
    CAPTURE(item.at("name").as_string());
    const std::vector<Tensor> inputs = test::golden_tensors(item.at("inputs"));
    Model model = model_from_json(item.at("model").dump());
    CHECK(model.layers().size() == item.at("model").at("config").at("layers").size());
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
    const auto check_order = [&](const Model& same) {
      std::vector<std::string> names;
      for (const LayerHandle& layer : same.layers()) {
        const std::string& name = layer.get().name();
        if (std::ranges::find(expected, name) != expected.end()) names.push_back(name);
      }
      CHECK(names == expected);
    };
    check_order(model);
    check_order(model_from_json(model.to_json()));
    check_order(clone_model(model));
    ++checked;
  }
  CHECK(checked == 100);
}
