// SPDX-License-Identifier: Apache-2.0
// Texts to indices: in models and datasets, with custom functions, and errors.
#include <doctest/doctest.h>

#include "data/dataset.h"
#include "data/strings.h"
#include "framework/model/input.h"
#include "framework/model/layer_registry.h"
#include "framework/ops/ops.h"
#include "framework/train/model.h"
#include "layers/layers.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::distance;
using test::error_of;

namespace {

using Tokens = std::vector<std::string>;

const Tensor kTexts = Tensor::from({"The cat!", "a cat and a dog", "dog"});

std::vector<int64_t> ints(const Tensor& x) { return x.to_vector<int64_t>(); }

}  // namespace

TEST_CASE("a vocabulary given later") {
  const layers::TextVectorization vectorize;
  vectorize.set_vocabulary({"cat", "dog"});
  CHECK(ints(Tensor(vectorize(kTexts))) ==
        std::vector<int64_t>{1, 2, 0, 0, 0, 1, 2, 1, 1, 3, 3, 0, 0, 0, 0});
}

TEST_CASE("texts in a model and in a dataset") {
  const layers::TextVectorization vectorize;
  vectorize.adapt(kTexts);
  CHECK(vectorize.get_vocabulary() == Tokens{"", "[UNK]", "dog", "cat", "a", "the", "and"});
  CHECK(vectorize.get_vocabulary(false).size() == 5);
  CHECK(vectorize.vocabulary_size() == 7);

  Sequential model({Input({.shape = {1}, .dtype = "string"}), vectorize,
                    layers::Embedding({.input_dim = 7, .output_dim = 2}),
                    layers::GlobalAveragePooling1D(), layers::Dense({.units = 1})});
  CHECK(model.layers()[0].get().output()[0].shape() == Shape{kUnknown, kUnknown});
  const Tensor texts = kTexts.with_shape({3, 1});
  const Tensor scores = model(texts);
  CHECK(scores.shape() == Shape{3, 1});
  CHECK(distance(model.predict(texts, {.verbose = 0}), scores) < 1e-6);
  CHECK(distance(model.predict_on_batch(texts), scores) < 1e-6);

  std::vector<std::vector<int64_t>> mapped;
  for (const auto& element : data::Dataset::from_tensor_slices({kTexts}).batch(2).map(
           [=](const Tensor& texts) { return Tensor(vectorize(texts)); })) {
    mapped.push_back(ints(element.tensor(0)));
  }
  CHECK(mapped == std::vector<std::vector<int64_t>>{{5, 3, 0, 0, 0, 4, 3, 6, 4, 2}, {2}});
  CHECK(Tensor(vectorize(Tensor::empty({0}, DType::String))).shape() == Shape{0, 0});
}

TEST_CASE("types of outputs before there are texts") {
  const auto type = [](const layers::TextVectorizationOptions& options, const Shape& shape) {
    const Tensor y(
        layers::TextVectorization(options)(Input({.dtype = "string", .batch_shape = shape})));
    return fmt::format("{} {}", y.dtype(), y.shape());
  };
  CHECK(type({}, {kUnknown, 1}) == "int64 (None, None)");
  CHECK(type({}, {4}) == "int64 (4, None)");
  CHECK(type({.output_sequence_length = 5}, {kUnknown, 1}) == "int64 (None, 5)");
  CHECK(type({.split = {}}, {kUnknown, 3}) == "int64 (None, 3)");
  CHECK(type({.split = {}, .ngrams = 2}, {kUnknown, 3}) == "int64 (None, None)");
  CHECK(type({.output_mode = "count", .vocabulary = {"a", "b"}}, {kUnknown}) == "int64 (None, 3)");
  CHECK(type({.max_tokens = 9, .output_mode = "tf_idf", .pad_to_max_tokens = true}, {2, 1}) ==
        "float32 (2, 9)");
}

TEST_CASE("functions of the program's own") {
  const layers::TextVectorization vectorize(
      {.standardize = [](const Tensor& texts) { return data::strings::upper(texts); },
       .split = [](const Tensor& texts) { return data::strings::split(texts, {.sep = "C"}); },
       .ngrams = {2},
       .name = "t"});
  vectorize.adapt(kTexts);
  CHECK(vectorize.get_vocabulary(false) == Tokens{"THE  AT!", "A  AT AND A DOG"});
  CHECK(error_of([&] { vectorize.get_config(); }) ==
        "FailedPrecondition: TextVectorization: a function of the program's own can't be saved. "
        "Change the texts in a dataset's map, before the layer.");
  const layers::TextVectorization bad(
      {.standardize = [](const Tensor& texts) { return data::strings::length(texts); },
       .name = "t"});
  CHECK(
      error_of([&] { bad.adapt(kTexts); }) ==
      "InvalidArgument: TextVectorization 't': expected standardize to give strings of 1 axes for "
      "texts of shape (3,), got int32 of shape (3,).");
}

TEST_CASE("configs of TextVectorization") {
  const layers::TextVectorization vectorize({.ngrams = 2, .output_mode = "count"});
  vectorize.adapt(kTexts);
  const Json json = serialize_layer(vectorize.get());
  CHECK(layer_from_json(json).get_config().at("ngrams") == Json(2));
  CHECK(json.at("config").at("vocabulary_size").as_int() == vectorize.vocabulary_size());
  // The vocabulary's size is known before the vocabulary is loaded.
  const LayerHandle copy = layer_from_json(json);
  CHECK(copy.get().compute_output_shape({4}, "string") == Shape{4, vectorize.vocabulary_size()});
  Json config = json.at("config");
  config.set("ragged", true);
  CHECK(error_of([&] { layers::TextVectorization::from_config(config); }) ==
        "Unimplemented: Config: 'ragged' isn't available here: expected false, got true. Make the "
        "layer without it in Keras, and save that.");
  config = json.at("config");
  config.set("split", Json::object({{"class_name", "function"}}));
  CHECK(error_of([&] {
          layers::TextVectorization::from_config(config);
        }).starts_with("Unimplemented: TextVectorization: functions of Python can't be loaded"));
  // A layer that was never adapted can be adapted after it is loaded.
  const layers::TextVectorization fresh({.output_mode = "count"});
  const auto again = layers::TextVectorization::from_config(fresh.get_config());
  again.adapt(kTexts);
  CHECK(again.vocabulary_size() == 6);
}

TEST_CASE("characters that are none") {
  const layers::TextVectorization vectorize({.standardize = {}, .split = "character"});
  vectorize.adapt(Tensor::from({"a\xff\xc3"}));
  CHECK(vectorize.get_vocabulary(false) == Tokens{"\xef\xbf\xbd", "a"});
}

TEST_CASE("what TextVectorization refuses") {
  const auto refused = [](const layers::TextVectorizationOptions& options) {
    return error_of([&] { layers::TextVectorization{options}; });
  };
  CHECK(
      refused({.standardize = "lowerr", .name = "t"}) ==
      "InvalidArgument: TextVectorization 't': unknown standardize 'lowerr'. Did you mean 'lower'? "
      "Known: lower_and_strip_punctuation, lower, strip_punctuation.");
  CHECK(refused({.split = "words", .name = "t"}) ==
        "InvalidArgument: TextVectorization 't': unknown split 'words'. Known: whitespace, "
        "character.");
  CHECK(refused({.ngrams = 0, .name = "t"}) ==
        "InvalidArgument: TextVectorization 't': expected ngrams of 1 to 65536 tokens, got 0.");
  CHECK(refused({.ngrams = int64_t{1} << 62}).find("1 to 65536 tokens, got 4611") !=
        std::string::npos);
  CHECK(refused({.output_mode = "count", .output_sequence_length = 3, .name = "t"}) ==
        "InvalidArgument: TextVectorization 't': output_sequence_length goes with output_mode "
        "\"int\", not \"count\".");
  CHECK(refused({.output_sequence_length = 0, .name = "t"}) ==
        "InvalidArgument: TextVectorization 't': expected output_sequence_length > 0, got 0.");
  CHECK(refused({.max_tokens = 1, .name = "t"}) ==
        "InvalidArgument: TextVectorization 't': expected max_tokens > 1, got 1.");
  CHECK(refused({.vocabulary = {"a", ""}, .name = "t"})
            .find("TextVectorization 't': the mask_token '' is in the vocabulary") !=
        std::string::npos);
  const layers::TextVectorization vectorize({.name = "t"});
  CHECK(error_of([&] { vectorize(kTexts); }) ==
        "FailedPrecondition: TextVectorization 't' has no vocabulary yet. Pass one, or call adapt "
        "with data first.");
  CHECK(error_of([&] { vectorize(Tensor::from({1})); }) ==
        "InvalidArgument: TextVectorization 't': expected strings, got int32.");
  CHECK(error_of([&] { vectorize.adapt(Tensor::from({1})); }) ==
        "InvalidArgument: TextVectorization 't': adapt expected strings, got int32.");
  CHECK(
      error_of([&] {
        vectorize(Tensor::from({"a", "b"}, {1, 2}));
      }) ==
      "InvalidArgument: TextVectorization 't': expected texts of shape (batch) or (batch, 1), got "
      "(1, 2).");
  CHECK(
      error_of([&] { layers::TextVectorization::of(layers::Identity({.name = "i"})); }) ==
      "InvalidArgument: TextVectorization::of: expected a layer of this class, got Identity 'i'.");
}

TEST_CASE("a character that ends early is one, as in Keras") {
  const layers::TextVectorization vectorize(
      {.standardize = nullptr, .split = "character", .vocabulary = Tokens{"a", "\xEF\xBF\xBD"}});
  const Tensor torn = Tensor::from({"a\xE2\x82",
                                    "\xF0\x9F\x98"
                                    "a",
                                    "\xC3"});
  CHECK(ints(vectorize(torn)) == std::vector<int64_t>{2, 3, 3, 2, 3, 0});
}
