// SPDX-License-Identifier: Apache-2.0
// Layers for numbers, categories and texts compared with real Keras: what they learn from data,
// their configs before and after, and their outputs, eagerly and, where possible, compiled.
#include <doctest/doctest.h>

#include <functional>
#include <map>

#include "data/dataset.h"
#include "framework/graph/function.h"
#include "framework/model/layer_registry.h"
#include "layers/layers.h"
#include "tests/golden/golden.h"

using namespace cornu;
using cornu::test::difference;
using cornu::test::golden_tensor;

namespace {

constexpr test::Tolerance kClose = {.relative = 2e-6, .absolute = 5e-6};
// Sums of products in a different order, in decibels.
constexpr test::Tolerance kCloseSpectrum = {.relative = 1e-4, .absolute = 2e-3};

struct Made {
  LayerHandle layer;
  std::function<void(const layers::AdaptData&)> adapt = {};
  std::function<std::vector<std::string>(bool)> vocabulary = {};
};

template <class Handle>
Made adaptable(const Json& config) {
  const Handle layer = Handle::from_config(config);
  return {layer, [layer](const layers::AdaptData& data) { layer.adapt(data); }};
}

std::vector<std::string> texts_of(const std::vector<std::string>& tokens) { return tokens; }
std::vector<std::string> texts_of(const std::vector<int64_t>& tokens) {
  std::vector<std::string> texts;
  for (const int64_t token : tokens) texts.push_back(std::to_string(token));
  return texts;
}

template <class Handle>
Made with_vocabulary(const Json& config) {
  const Handle layer = Handle::from_config(config);
  return {layer, [layer](const layers::AdaptData& data) { layer.adapt(data); },
          [layer](bool special) { return texts_of(layer.get_vocabulary(special)); }};
}

Made make(const Json& object) {
  static const std::map<std::string, Made (*)(const Json&)> kAdaptable = {
      {"Discretization", adaptable<layers::Discretization>},
      {"IntegerLookup", with_vocabulary<layers::IntegerLookup>},
      {"Normalization", adaptable<layers::Normalization>},
      {"StringLookup", with_vocabulary<layers::StringLookup>},
      {"TextVectorization", with_vocabulary<layers::TextVectorization>},
  };
  const auto found = kAdaptable.find(object.at("class_name").as_string());
  return found == kAdaptable.end() ? Made{layer_from_json(object)}
                                   : found->second(object.at("config"));
}

std::vector<Tensor> tensors_of(const Json& list) {
  std::vector<Tensor> tensors;
  for (const Json& item : list.as_array()) tensors.push_back(golden_tensor(item));
  return tensors;
}

data::Dataset dataset_of(const std::vector<Tensor>& batches) {
  Shape shape = batches[0].shape();
  for (const Tensor& batch : batches) {
    if (batch.shape() != shape) shape[0] = kUnknown;
  }
  return data::Dataset::from_generator(
      [batches, next = size_t{0}]() mutable -> std::optional<data::Element> {
        if (next == batches.size()) return std::nullopt;
        return data::Element(batches[next++]);
      },
      {.output_signature = data::ElementSpec{{{batches[0].dtype(), shape}}, {}}});
}

void adapt(const Made& made, const Json& item) {
  if (!item.at("adapt").is_null()) made.adapt(golden_tensor(item.at("adapt")));
  if (!item.at("batches").is_null()) made.adapt(dataset_of(tensors_of(item.at("batches"))));
}

bool has_strings(const std::vector<Tensor>& tensors) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const Tensor& x) { return x.dtype() == DType::String; });
}

void check_calls(const LayerHandle& layer, const Json& item) {
  for (const Json& call : item.at("calls").as_array()) {
    const std::vector<Tensor> inputs = tensors_of(call.at("inputs"));
    const Json& expected = call.at("output");
    const bool spectrum = layer.get().class_name().ends_with("Spectrogram");
    const test::Tolerance close = spectrum ? kCloseSpectrum : kClose;
    const Tensor output = layer(Tensors(inputs));
    CHECK(to_string(output.dtype()) == expected.at("dtype").as_string());
    CHECK(difference(output, expected, close) == "");
    if (has_strings(inputs) || output.dtype() == DType::String) continue;
    const Function compiled =
        function([&](const std::vector<Tensor>& given) { return layer(Tensors(given)).list(); });
    CHECK(difference(compiled.call(inputs).at(0), expected, close) == "");
  }
}

void check_case(const Json& item) {
  clear_session();
  const Made made = make(item.at("before"));
  CHECK(difference(made.layer.get_config(), item.at("before").at("config")) == "");
  adapt(made, item);
  check_calls(made.layer, item);
  CHECK(difference(made.layer.get_config(), item.at("object").at("config")) == "");
  for (const char* key : {"vocabulary", "tokens"}) {
    const Json* expected = item.find(key);
    REQUIRE((expected != nullptr) == (made.vocabulary != nullptr));
    if (!expected) continue;
    Json::Array found;
    for (std::string& token : made.vocabulary(key == std::string("vocabulary"))) {
      found.push_back(std::move(token));
    }
    CHECK(Json(found).dump() == expected->dump());
  }
  const auto& weights = item.at("weights").as_array();
  REQUIRE(made.layer.weights().size() == weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    const Variable weight = made.layer.weights()[i];
    CHECK(weight.name() == weights[i].at("name").as_string());
    CHECK(to_string(weight.dtype()) == weights[i].at("dtype").as_string());
    CHECK(weight.trainable() == weights[i].at("trainable").as_bool());
    CHECK(difference(weight.stored(), weights[i], kClose) == "");
  }
}

}  // namespace

TEST_CASE("preprocessing layers are Keras's") {
  const Json cases = test::golden_cases("preprocessing");
  for (const Json& item : cases.as_array()) {
    const std::string& name = item.at("name").as_string();
    CAPTURE(name);
    check_case(item);
  }
  CHECK(cases.size() > 15);
}
