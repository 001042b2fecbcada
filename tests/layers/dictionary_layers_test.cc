// SPDX-License-Identifier: Apache-2.0
// Layers that take dictionaries, and pipelines of layers: their errors, and how they are used.
#include <doctest/doctest.h>

#include "data/dataset.h"
#include "framework/graph/dispatch.h"
#include "framework/graph/function.h"
#include "framework/io/archive.h"
#include "framework/model/input.h"
#include "framework/model/layer_registry.h"
#include "framework/ops/ops.h"
#include "framework/train/model.h"
#include "layers/layers.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/scratch.h"

using namespace cornu;
using layers::FeatureSpace;
using test::error_of;

namespace {

const Tensors kTable = {{"age", Tensor::from<float>({1, 3, 5, 7})},
                        {"job", Tensor::from({"a", "b", "a", "c"})}};

FeatureSpace numbers_space(const std::string& name) {
  return FeatureSpace({.features = {{"age", "float_normalized"}, {"size", "float"}}, .name = name});
}

// Copies the archive with `part` of its config replaced by `with`.
void replace_in_config(const std::string& from, const std::string& to, const std::string& part,
                       const std::string& with) {
  const ArchiveReader archive(from);
  std::string config = archive.read_text("config.json", 1 << 20);
  REQUIRE(config.find(part) != std::string::npos);
  config.replace(config.find(part), part.size(), with);
  const auto weights = archive.read("model.weights.h5", 1 << 20);
  const ArchiveMember members[] = {
      {"config.json", std::as_bytes(std::span(config.data(), config.size()))},
      {"model.weights.h5", weights}};
  write_archive(to, members);
}

}  // namespace

TEST_CASE("feature spaces that make no sense") {
  CHECK(error_of([] { FeatureSpace({.name = "s"}); }) ==
        "InvalidArgument: FeatureSpace 's': expected features, got none.");
  CHECK(error_of([] {
          FeatureSpace({.features = {{"a", "float_normalised"}}, .name = "s"});
        }) ==
        "InvalidArgument: FeatureSpace 's': feature 'a' is of no known type 'float_normalised'. "
        "Did you mean 'float_normalized'? Known: float, float_rescaled, float_normalized, "
        "float_discretized, integer_hashed, integer_categorical, string_categorical, "
        "string_hashed.");
  CHECK(error_of([] {
          FeatureSpace({.features = {{"a", "float"}}, .output_mode = "list", .name = "s"});
        }).starts_with("InvalidArgument: FeatureSpace 's': unknown output_mode 'list'."));
  CHECK(error_of([] {
          FeatureSpace({.features = {{"a", "float"}, {"a", "float"}}, .name = "s"});
        }) == "InvalidArgument: FeatureSpace 's': two features are named 'a'.");
  CHECK(error_of([] {
          FeatureSpace({.features = {{"age", "integer_hashed"}, {"b", "integer_hashed"}},
                        .crosses = {{"agee", "b"}},
                        .name = "s"});
        }) ==
        "InvalidArgument: FeatureSpace 's': the cross 'agee_X_b' is of a feature 'agee', which "
        "isn't there. Did you mean 'age'? Known: age, b.");
  CHECK(error_of([] {
          FeatureSpace({.features = {{"a", "integer_hashed"}}, .crosses = {{"a"}}, .name = "s"});
        }) ==
        "InvalidArgument: FeatureSpace 's': expected a cross of two features or more, got 1.");
  CHECK(error_of([] {
          FeatureSpace({.features = {{"a", "integer_hashed"}, {"b", "integer_hashed"}},
                        .crosses = {{"a", "b"}, {"a", "b"}},
                        .name = "s"});
        }) == "InvalidArgument: FeatureSpace 's': two features or crosses are named 'a_X_b'.");
  CHECK(error_of([] { FeatureSpace::feature("float32", LayerHandle(), "float"); }) ==
        "InvalidArgument: Feature: expected a layer, got none.");
  CHECK(error_of([] {
          FeatureSpace::integer_hashed({.num_bins = 3, .output_mode = "multi_hot"});
        }).starts_with("InvalidArgument: Feature: unknown output_mode 'multi_hot'."));
  CHECK(error_of([] {
          FeatureSpace::cross({"a", "b"}, 4, "float");
        }).starts_with("InvalidArgument: Cross: unknown output_mode 'float'."));
}

TEST_CASE("what a feature space is given") {
  const FeatureSpace space = numbers_space("s");
  const Tensors one = {{"age", Tensor(2.0f)}, {"size", Tensor(1.0f)}};
  const std::string unadapted =
      "FailedPrecondition: FeatureSpace 's': its feature 'age' learns from data: call adapt with a "
      "dataset of dictionaries first.";
  CHECK(error_of([&] { space(one); }) == unadapted);
  CHECK(error_of([&] { space.get_encoded_features(); }) == unadapted);
  CHECK(error_of([&] { space.save("/nowhere/s.keras"); }) == unadapted);
  space.adapt(
      Tensors({{"age", Tensor::from<float>({1, 3})}, {"size", Tensor::from<float>({0, 0})}}));
  CHECK(space(one).to_vector<float>() == std::vector<float>{0, 1});
  CHECK(error_of([&] { space(Tensor(2.0f)); }) ==
        "InvalidArgument: FeatureSpace 's': expected a dictionary of the features age, size, got 1 "
        "inputs without names.");
  CHECK(error_of([&] {
          space(Tensors({{"age", Tensor(2.0f)}}));
        }) == "InvalidArgument: FeatureSpace 's': expected the features age, size, got age.");
  CHECK(error_of([&] {
          space(Tensors({{"age", Tensor(2.0f)}, {"size", Tensor(2.0f)}, {"sizes", Tensor(1.0f)}}));
        }) ==
        "InvalidArgument: FeatureSpace 's': it has no feature 'sizes'. Did you mean 'size'? Known: "
        "age, size.");
  CHECK(error_of([&] { space.preprocessor("aged"); }) ==
        "NotFound: FeatureSpace 's' has no feature 'aged'. Did you mean 'age'? Known: age, size.");
  CHECK(error_of([&] {
          space.crosser("x");
        }).starts_with("NotFound: FeatureSpace 's' has no cross 'x'."));
  CHECK(error_of([&] { space.save("s.h5"); }) ==
        "InvalidArgument: FeatureSpace: save expected a path that ends in '.keras', got 's.h5'.");
  const auto unnamed = data::Dataset::from_tensor_slices(Tensor::from<float>({1, 2}));
  CHECK(error_of([&] { space.adapt(unnamed); }) ==
        "InvalidArgument: adapt: expected dictionaries, with a value for 'age', got inputs without "
        "names.");
  const auto others = data::Dataset::from_tensor_slices(data::Element(kTable)).repeat();
  CHECK(error_of([&] { space.adapt(others); }) ==
        "InvalidArgument: adapt: the dataset never ends. Say how many batches to read, as "
        "adapt(dataset, {.steps = 100}) does.");
  space.adapt(others, {.steps = 8});
  CHECK(space.preprocessor("age").weight("mean").value().item<float>() == 4);
}

TEST_CASE("features that can't be put side by side") {
  const FeatureSpace space(
      {.features = {{"age", FeatureSpace::integer_hashed({.num_bins = 3, .output_mode = "int"})}},
       .name = "s"});
  CHECK(error_of([&] {
          space(Tensors({{"age", Tensor::from<int32_t>({1, 2})}}));
        }) ==
        "InvalidArgument: FeatureSpace 's': feature 'age' gives int64, which can't be combined "
        "with the others' numbers. Encode it, or use output_mode \"dict\".");
  const FeatureSpace floats(
      {.features = {{"age", FeatureSpace::feature("float32", layers::Rescaling({.scale = 2.0}),
                                                  "one_hot")}},
       .name = "s"});
  CHECK(error_of([&] {
          floats(Tensors({{"age", Tensor::from<float>({1, 2})}}));
        }) ==
        "InvalidArgument: FeatureSpace 's': feature 'age' has output_mode \"one_hot\": expected "
        "class numbers of its layer, got float32.");
}

TEST_CASE("a second adapt, and a vocabulary that grows") {
  const FeatureSpace space({.features = {{"job", "string_categorical"}}});
  space.adapt(Tensors({{"job", kTable["job"]}}));
  CHECK(space(Tensors({{"job", Tensor::from({"b"})}})).shape() == Shape({1, 4}));
  CHECK(space.get_encoded_features().shape() == Shape({kUnknown, 4}));
  space.adapt(Tensors({{"job", Tensor::from({"a", "b", "c", "d", "e"})}}));
  CHECK(space(Tensors({{"job", Tensor::from({"b"})}})).shape() == Shape({1, 6}));
  CHECK(space.get_encoded_features().shape() == Shape({kUnknown, 6}));
}

TEST_CASE("a feature space in a map that is compiled, and a model on its features that trains") {
  const DeviceScope scope("CPU:0");  // the device on which maps compute
  const FeatureSpace space = numbers_space("");
  const Tensors rows = {{"age", test::some_values({40})}, {"size", test::some_values({40}, 2)}};
  space.adapt(rows);
  const auto table = data::Dataset::from_tensor_slices(data::Element(rows));
  Tensor seen;
  for (const data::Element& batch : table.batch(40).map(space)) seen = batch.tensor(0);
  CHECK(test::distance(seen, space(rows)) < 1e-6);
  const Function compiled =
      function([&](const std::vector<Tensor>& given) { return space(rows.with(given)).list(); });
  CHECK(test::distance(compiled.call(rows.list()).at(0), seen) < 1e-6);

  Model model(space.get_inputs(), layers::Dense({.units = 1})(space.get_encoded_features()));
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const auto logs = model.fit(rows, ops::expand_dims(rows["age"] * 2, -1),
                              {.batch_size = 8, .epochs = 3, .verbose = 0});
  CHECK(logs.at("loss").back() < logs.at("loss").front());
}

TEST_CASE("files of feature spaces that are damaged, or another layer's") {
  const test::Scratch scratch;
  const FeatureSpace space = numbers_space("s");
  space.adapt(
      Tensors({{"age", Tensor::from<float>({1, 3})}, {"size", Tensor::from<float>({0, 0})}}));
  const std::string path = scratch.path("s.keras"), changed = scratch.path("t.keras");
  space.save(path);
  CHECK(error_of([] { FeatureSpace::load("/nowhere/s.keras"); }).starts_with("NotFound"));
  CHECK(error_of([&] { load_model(path); })
            .find("the class 'FeatureSpace' is a layer's; expected a model's. A layer that was "
                  "saved alone is loaded by its own class, as layers::FeatureSpace::load does.") !=
        std::string::npos);
  Sequential model(Input({.shape = {2}}), {layers::Dense({.units = 1})});
  model.save(scratch.path("m.keras"));
  CHECK(error_of([&] {
          FeatureSpace::load(scratch.path("m.keras"));
        }).find("FeatureSpace::of: expected a layer of this class, got Sequential") !=
        std::string::npos);
  // An absurd shape, a missing part, and an unknown layer.
  replace_in_config(path, changed, "\"age\": {\"input_shape\": [null, 1]}",
                    "\"age\": {\"input_shape\": [null, 1000000000000]}");
  CHECK_THROWS_AS(FeatureSpace::load(changed), Error);
  replace_in_config(path, changed, "\"preprocessor\"", "\"preprocessors\"");
  CHECK(error_of([&] { FeatureSpace::load(changed); }).starts_with("DataLoss"));
  replace_in_config(path, changed, "\"Normalization\"", "\"Normalisation\"");
  CHECK(error_of([&] {
          FeatureSpace::load(changed);
        }).find("Unknown layer 'Normalisation'. Did you mean 'Normalization'?") !=
        std::string::npos);
}

TEST_CASE("as many bounding boxes for each picture") {
  const layers::MaxNumBoundingBoxes most({.max_number = 2, .name = "m"});
  const Tensors row = {{"images", test::some_values({4, 4, 3})},
                       {"bounding_boxes/boxes", test::some_values({3, 4})},
                       {"bounding_boxes/labels", Tensor::from<int32_t>({5, 6, 7})}};
  const Tensors cut = most(row);
  CHECK(cut.names() == row.names());
  CHECK(test::distance(cut[0], row[0]) == 0);
  CHECK(test::distance(cut[1], row[1].rows(0, 2)) == 0);
  CHECK(cut[2].to_vector<int32_t>() == std::vector<int32_t>{5, 6});
  const auto dataset = data::Dataset::from_tensors(data::Element(row)).map([=](const Tensors& x) {
    return most(x);
  });
  for (const data::Element& element : dataset) {
    CHECK(test::distance(element[0].at("bounding_boxes/boxes"), cut[1]) == 0);
  }
  const Tensor picture = test::some_values({4, 4, 3});
  CHECK(test::distance(most(picture), picture) == 0);
  CHECK(error_of([] { layers::MaxNumBoundingBoxes({.name = "m"}); }) ==
        "InvalidArgument: MaxNumBoundingBoxes 'm': expected max_number > 0, got 0.");
  CHECK(error_of([&] {
          most(Tensors({{"bounding_boxes/boxes", row[1]}}));
        }) ==
        "InvalidArgument: MaxNumBoundingBoxes 'm': expected both 'bounding_boxes/boxes' and "
        "'bounding_boxes/labels', or none of them.");
  CHECK(error_of([&] {
          most(Tensors({{"bounding_boxes/boxes", row[1]}, {"bounding_boxes/labels", Tensor(1)}}));
        }) ==
        "InvalidArgument: MaxNumBoundingBoxes 'm': expected 'bounding_boxes/labels' (3,), as there "
        "are boxes, got ().");
}

TEST_CASE("a pipeline of layers is one layer") {
  const layers::Pipeline augment({layers::RandomFlip(), layers::RandomBrightness({.factor = 0.5}),
                                  layers::Rescaling({.scale = 0.5})});
  const LayerHandle again = layer_from_json(serialize_layer(augment.get()));
  CHECK(again.get_config() == augment.get_config());
  const Tensor x = test::some_values({2, 4, 4, 3});
  CHECK(test::distance(augment(x, {.training = false}), x * 0.5) < 1e-6);
  CHECK(test::distance(again(x, {.training = false}), x * 0.5) < 1e-6);
  CHECK(test::distance(augment(x), x * 0.5) > 0);  // training is the default
  CHECK(augment.layers().size() == 3);
  for (const data::Element& element :
       data::Dataset::from_tensors(x).map([=](const Tensor& y) { return augment(y).single(); })) {
    CHECK(element.tensor(0).shape() == x.shape());
  }
  CHECK(test::distance(layers::Pipeline({})(x), x) == 0);
  CHECK(error_of([] { layers::Pipeline({LayerHandle()}, {.name = "p"}); }) ==
        "InvalidArgument: Pipeline 'p': expected layers, got none at one place.");

  const layers::Pipeline dense({layers::Dense({.units = 3}), layers::Dense({.units = 2})});
  Sequential model(Input({.shape = {4}}), {dense});
  CHECK(model.weights().size() == 4);
  const test::Scratch scratch;
  model.save(scratch.path("p.keras"));
  Model back = load_model(scratch.path("p.keras"));
  const Tensor rows = test::some_values({3, 4});
  CHECK(test::distance(back.predict(rows, {.verbose = 0}), model.predict(rows, {.verbose = 0})) ==
        0);
}
