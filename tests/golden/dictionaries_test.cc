// SPDX-License-Identifier: Apache-2.0
// Layers that take dictionaries, compared with real Keras: what they learn from rows, batches and
// columns, and their outputs on values, in a dataset's map, compiled, as parts of models, and when
// loaded from files.
#include <doctest/doctest.h>

#include "data/dataset.h"
#include "framework/graph/function.h"
#include "framework/model/layer_registry.h"
#include "framework/ops/ops.h"
#include "framework/train/model.h"
#include "layers/layers.h"
#include "tests/golden/golden.h"
#include "tests/support/scratch.h"

using namespace cornu;
using cornu::test::difference;
using cornu::test::golden_dictionary;

namespace {

constexpr test::Tolerance kCloseCodes = {.relative = 2e-6, .absolute = 5e-6};

// Drops the shapes that layers were built for, since Cornu builds them later.
Json without_builds(const Json& json) {
  if (json.is_array()) {
    Json::Array list;
    for (const Json& item : json.as_array()) list.push_back(without_builds(item));
    return list;
  }
  if (!json.is_object()) return json;
  Json result = Json::object();
  for (const auto& [key, value] : json.as_object()) {
    if (key != "build_config") result.set(key, without_builds(value));
  }
  return result;
}

void check_output(const Tensors& output, const Json& expected) {
  if (expected.contains("data")) {
    CHECK(to_string(output.single().dtype()) == expected.at("dtype").as_string());
    CHECK(difference(output.single(), expected, kCloseCodes) == "");
    return;
  }
  REQUIRE(output.has_names());
  CHECK(output.size() == expected.size());
  for (const auto& item : expected.as_object()) {
    const std::string& name = item.first;
    const Json& wanted = item.second;
    CAPTURE(name);
    CHECK(to_string(output.at(name).dtype()) == wanted.at("dtype").as_string());
    CHECK(difference(output.at(name), wanted, kCloseCodes) == "");
  }
}

data::Dataset rows_of(const Tensors& columns) {
  return data::Dataset::from_tensor_slices(data::Element(columns));
}

void adapt(const layers::FeatureSpace& space, const Json& item) {
  if (item.at("adapt").is_null()) return;
  const Tensors data = golden_dictionary(item.at("adapt"));
  if (item.at("columns").as_bool()) {
    space.adapt(data);
  } else if (item.at("batch").is_null()) {
    space.adapt(rows_of(data));
  } else {
    space.adapt(rows_of(data).batch(item.at("batch").as_int()));
  }
}

// Checks the outputs in the map of a dataset, with rows and with batches.
void check_in_a_map(const layers::FeatureSpace& space, const Json& item) {
  const Json& call = item.at("calls")[0];
  const data::Dataset rows = rows_of(golden_dictionary(call.at("inputs")));
  for (const data::Dataset& encoded : {rows.batch(5).map(space), rows.map(space).batch(5)}) {
    int count = 0;
    for (const data::Element& element : encoded) {
      check_output(element[0], call.at("output"));
      ++count;
    }
    CHECK(count == 1);
  }
}

void check_in_a_model(const layers::FeatureSpace& space, const Json& item) {
  const Json& call = item.at("calls")[1];
  Model model(space.get_inputs(), space.get_encoded_features());
  check_output(model(golden_dictionary(call.at("inputs"))), call.at("output"));
  const test::Scratch scratch;
  model.save(scratch.path("model.keras"));
  Model back = load_model(scratch.path("model.keras"));
  check_output(back(golden_dictionary(call.at("inputs"))), call.at("output"));
}

void check_space(const layers::FeatureSpace& space, const Json& item) {
  CHECK(difference(without_builds(serialize_layer(space.get())),
                   without_builds(item.at("object"))) == "");
  adapt(space, item);
  const test::Scratch scratch;
  space.save(scratch.path("space.keras"));
  const auto loaded = layers::FeatureSpace::load(scratch.path("space.keras"));
  for (const Json& call : item.at("calls").as_array()) {
    const Tensors inputs = golden_dictionary(call.at("inputs"));
    check_output(space(inputs), call.at("output"));
    check_output(loaded(inputs), call.at("output"));
  }
  check_in_a_map(space, item);
  check_in_a_model(space, item);
}

}  // namespace

TEST_CASE("layers that take dictionaries are Keras's") {
  int checked = 0;
  for (const Json& item : test::golden_cases("dictionaries").as_array()) {
    const std::string name = item.at("name").as_string();
    CAPTURE(name);
    clear_session();
    const LayerHandle layer = layer_from_json(item.at("object"));
    if (layer.get().class_name() == "FeatureSpace") {
      check_space(layers::FeatureSpace::of(layer), item);
    } else {
      CHECK(layer.get_config() == item.at("object").at("config"));
      for (const Json& call : item.at("calls").as_array()) {
        const Tensors inputs = golden_dictionary(call.at("inputs"));
        check_output(layer(inputs), call.at("output"));
        const Function compiled = function(
            [&](const std::vector<Tensor>& given) { return layer(inputs.with(given)).list(); });
        check_output(inputs.with(compiled.call(inputs.list())), call.at("output"));
      }
    }
    ++checked;
  }
  CHECK(checked > 15);
}
