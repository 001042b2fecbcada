// SPDX-License-Identifier: Apache-2.0
// Layers with a vocabulary: where they can be used, and the errors of bad vocabularies.
#include <doctest/doctest.h>

#include <fstream>

#include "data/dataset.h"
#include "framework/graph/function.h"
#include "framework/model/input.h"
#include "framework/ops/ops.h"
#include "framework/train/model.h"
#include "layers/layers.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/scratch.h"

using namespace cornu;
using test::error_of;

namespace {

const Tensor kWords = Tensor::from({"b", "a", "b", "c"});

std::vector<int64_t> ints(const Tensor& x) { return x.to_vector<int64_t>(); }

}  // namespace

TEST_CASE("IntegerLookup conforms") {
  const Tensor ids = Tensor::from<int64_t>({7, 5, 1, 7, 2, 2}, {3, 2});
  for (const char* mode : {"int", "one_hot", "multi_hot", "count"}) {
    const std::string name = mode;
    test::check_layer(
        {.name = name,
         .make =
             [=] {
               return layers::IntegerLookup({.vocabulary = {5, 7}, .output_mode = mode});
             },
         .inputs = {ids},
         .output_shape = name == "int"       ? Shape{3, 2}
                         : name == "one_hot" ? Shape{3, 2, 3}
                                             : Shape{3, 3}});
  }
}

TEST_CASE("strings in placeholders, values and datasets") {
  const layers::StringLookup lookup;
  lookup.adapt(kWords);
  CHECK(lookup.get_vocabulary() == std::vector<std::string>{"[UNK]", "b", "c", "a"});
  CHECK(lookup.get_vocabulary(false) == std::vector<std::string>{"b", "c", "a"});
  CHECK(lookup.vocabulary_size() == 4);

  Sequential model({Input({.shape = {2}, .dtype = "string"}), lookup,
                    layers::Embedding({.input_dim = 4, .output_dim = 3})});
  CHECK(Tensor(model.output()).shape() == Shape{kUnknown, 2, 3});
  const Tensor x = Tensor::from({"a", "z", "b", "c"}, {2, 2});
  const Tensor found(lookup(x));
  CHECK(ints(found) == std::vector<int64_t>{3, 0, 1, 2});
  const Tensor table = model.weights()[0].stored();
  CHECK(test::distance(Tensor(model(x)), ops::take(table, found, 0)) == 0);
  CHECK(test::distance(model.predict(x, {.batch_size = 1, .verbose = 0}), model(x)) == 0);
  CHECK(test::distance(model.predict_on_batch(x), model(x)) == 0);
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Tensor y = ops::ones({2, 2, 3});
  const double before = model.fit(x, y, {.verbose = 0})["loss"][0];
  CHECK(model.test_on_batch(x, y).at("loss") < before);

  std::vector<int64_t> mapped;
  const auto dataset = data::Dataset::from_tensor_slices({kWords}).map(
      [=](const Tensor& word) { return Tensor(lookup(word)); });
  for (const auto& element : dataset) mapped.push_back(element.tensor(0).item<int64_t>());
  CHECK(mapped == std::vector<int64_t>{1, 3, 1, 2});
  // From indices to tokens: the map runs on the host.
  const layers::StringLookup back({.vocabulary = lookup.get_vocabulary(), .invert = true});
  std::vector<std::string> words;
  for (const auto& element :
       data::Dataset::from_tensor_slices({Tensor::from(mapped)}).map([=](const Tensor& index) {
         return Tensor(back(index));
       })) {
    words.push_back(element.tensor(0).item<std::string>());
  }
  CHECK(words == kWords.to_vector<std::string>());
  CHECK(Tensor(back(Input({.shape = {2}, .dtype = "int64"}))).dtype() == DType::String);
  const Function compiled = function([&](const Tensor& index) { return Tensor(back(index)); });
  CHECK(error_of([&] { compiled(Tensor::from(mapped)); })
            .find("it gives strings, which compiled code can't. Call it on values, or in a "
                  "dataset's map.") != std::string::npos);
}

TEST_CASE("unknown integers where they are an error") {
  const layers::IntegerLookup lookup({.num_oov_indices = 0, .vocabulary = {4, 5}, .name = "l"});
  const auto values = data::Dataset::from_tensor_slices({Tensor::from<int64_t>({5, 4, 6})});
  const auto mapped = values.map([=](const Tensor& x) { return Tensor(lookup(x)); });
  std::vector<int64_t> got;
  const std::string error = error_of([&] {
    for (const auto& element : mapped) got.push_back(element.tensor(0).item<int64_t>());
  });
  CHECK(got == std::vector<int64_t>{1, 0});
  CHECK(
      error.find("IntegerLookup 'l': token [6] isn't in the vocabulary, and num_oov_indices is 0. "
                 "Set num_oov_indices to") != std::string::npos);

  // Also in compiled code: a model with the layer, and a function.
  const Tensor inputs = Input({.shape = {1}, .dtype = "int64"});
  const layers::IntegerLookup masked({.num_oov_indices = 0,
                                      .mask_token = -1,
                                      .vocabulary = {-7, 4, 5},
                                      .output_mode = "multi_hot",
                                      .name = "m"});
  Model model(inputs, masked(inputs));
  const Tensor good = Tensor::from<int64_t>({5, -1, -7}, {3, 1});
  CHECK(model.predict(good, {.verbose = 0})[0].to_vector<int64_t>() ==
        std::vector<int64_t>{0, 0, 1, 0, 0, 0, 1, 0, 0});
  for (const int64_t unknown : {int64_t{6}, int64_t{0}, int64_t{-8}}) {
    CHECK(
        error_of([&] {
          model.predict(Tensor::from<int64_t>({4, unknown}, {2, 1}), {.verbose = 0});
        })
            .find(fmt::format(
                "IntegerLookup 'm': token [{}] isn't in the vocabulary, and num_oov_indices is 0.",
                unknown)) != std::string::npos);
  }
  const Function compiled = function([&](const Tensor& x) { return Tensor(lookup(x)); });
  CHECK(Tensor(compiled(Tensor::from<int64_t>({5, 4}))).to_vector<int64_t>() ==
        std::vector<int64_t>{1, 0});
}

TEST_CASE("datasets of batches, and the first of them") {
  const layers::StringLookup lookup({.max_tokens = 3});
  lookup.adapt(data::Dataset::from_tensor_slices({kWords}).batch(2).repeat(), {.steps = 1});
  CHECK(lookup.get_vocabulary() == std::vector<std::string>{"[UNK]", "b", "a"});
  lookup.adapt(data::Dataset::from_tensor_slices({kWords}).batch(3));
  CHECK(lookup.get_vocabulary() == std::vector<std::string>{"[UNK]", "b", "c"});
}

TEST_CASE("a vocabulary in a file") {
  const test::Scratch scratch;
  const std::string path = scratch.path("words.txt");
  std::ofstream(path) << "cat\ndog\r\n\xc3\xa9t\xc3\xa9\n";
  const layers::StringLookup lookup({.vocabulary = path});
  CHECK(lookup.get_vocabulary() ==
        std::vector<std::string>{"[UNK]", "cat", "dog", "\xc3\xa9t\xc3\xa9"});
  CHECK(lookup.get_config().at("vocabulary").is_null());
  CHECK(
      error_of([&] { layers::IntegerLookup({.vocabulary = path, .name = "l"}); }) ==
      "InvalidArgument: IntegerLookup 'l': expected an integer in each line of the vocabulary, got "
      "'cat'.");
  CHECK(
      error_of([&] {
        layers::StringLookup({.vocabulary = path, .output_mode = "tf_idf", .name = "l"});
      }) ==
      "InvalidArgument: StringLookup 'l': a vocabulary from a file has no idf_weights: give a list "
      "of its tokens.");
  CHECK(error_of([&] {
          layers::StringLookup({.vocabulary = scratch.path("none")});
        }).starts_with("NotFound: "));
  Json config = lookup.get_config();
  config.set("vocabulary", path);
  CHECK(error_of([&] {
          layers::StringLookup::from_config(config);
        }).find("expected a list of tokens for 'vocabulary'") != std::string::npos);
}

TEST_CASE("handles of layers") {
  const LayerHandle any = layers::StringLookup({.vocabulary = {"a"}, .name = "l"});
  CHECK(layers::StringLookup::of(any).get_vocabulary(false) == std::vector<std::string>{"a"});
  CHECK(
      error_of([&] { layers::IntegerLookup::of(any); }) ==
      "InvalidArgument: IntegerLookup::of: expected a layer of this class, got StringLookup 'l'.");
}

TEST_CASE("what lookups refuse to be") {
  const auto refused = [](const layers::StringLookupOptions& options) {
    return error_of([&] { layers::StringLookup{options}; });
  };
  CHECK(refused({.max_tokens = 1, .name = "l"}) ==
        "InvalidArgument: StringLookup 'l': expected max_tokens > 1, got 1.");
  CHECK(error_of([] {
          layers::StringLookup({.max_tokens = int64_t{1} << 62,
                                .output_mode = "tf_idf",
                                .pad_to_max_tokens = true,
                                .name = "l"});
        }) ==
        "InvalidArgument: StringLookup 'l': expected max_tokens of at most 134217728 to pad to, "
        "got 4611686018427387904.");
  CHECK(refused({.num_oov_indices = -1, .name = "l"}) ==
        "InvalidArgument: StringLookup 'l': expected num_oov_indices from 0 to 16777216, got -1.");
  CHECK(refused({.num_oov_indices = int64_t{1} << 62}).find("from 0 to 16777216, got 4611") !=
        std::string::npos);
  CHECK(
      refused({.pad_to_max_tokens = true, .name = "l"}) ==
      "InvalidArgument: StringLookup 'l': pad_to_max_tokens needs max_tokens, the size to pad to.");
  CHECK(refused({.invert = true, .output_mode = "count", .name = "l"}) ==
        "InvalidArgument: StringLookup 'l': invert goes with output_mode \"int\", not \"count\".");
  CHECK(refused({.oov_token = {}, .invert = true, .name = "l"}) ==
        "InvalidArgument: StringLookup 'l': invert needs an oov_token, which unknown indices "
        "become.");
  CHECK(refused({.output_mode = "counts", .name = "l"}) ==
        "InvalidArgument: StringLookup 'l': unknown output_mode 'counts'. Did you mean 'count'? "
        "Known: int, one_hot, multi_hot, count, tf_idf.");
  CHECK(refused({.idf_weights = {1.0}, .name = "l"}) ==
        "InvalidArgument: StringLookup 'l': idf_weights go with output_mode \"tf_idf\", not "
        "\"int\".");
  CHECK(refused({.idf_weights = {1.0}, .output_mode = "tf_idf", .name = "l"}) ==
        "InvalidArgument: StringLookup 'l': idf_weights need a vocabulary: they are those of its "
        "tokens.");
  CHECK(refused({.vocabulary = {"a"}, .output_mode = "tf_idf", .name = "l"}) ==
        "InvalidArgument: StringLookup 'l': expected idf_weights of as many numbers as the "
        "vocabulary has tokens (1), got 0.");
  CHECK(refused({.encoding = "latin1", .name = "l"}) ==
        "InvalidArgument: StringLookup 'l': unknown encoding 'latin1'. Known: utf-8.");
  CHECK(refused({.salt = {1, 2, 3}, .name = "l"}) ==
        "InvalidArgument: StringLookup 'l': expected a salt of one or two numbers, got 3.");
  CHECK(error_of([] { layers::IntegerLookup({.salt = 1, .name = "l"}); }) ==
        "InvalidArgument: IntegerLookup 'l': a salt goes with oov_method \"farmhash\".");
  CHECK(error_of([] { layers::IntegerLookup({.oov_method = "fnv", .name = "l"}); }) ==
        "InvalidArgument: IntegerLookup 'l': unknown oov_method 'fnv'. Known: floormod, farmhash.");
}

TEST_CASE("vocabularies that are refused") {
  const auto refused = [](const layers::Vocabulary<std::string>& vocabulary) {
    return error_of([&] {
      layers::StringLookup({.max_tokens = 4,
                            .mask_token = "",
                            .vocabulary = vocabulary,
                            .invert = true,
                            .name = "l"});
    });
  };
  CHECK(refused(std::vector<std::string>()) ==
        "InvalidArgument: StringLookup 'l': expected a vocabulary with tokens, got an empty one.");
  CHECK(refused({"a", "b", "a"}) ==
        "InvalidArgument: StringLookup 'l': expected each token of the vocabulary once, got these "
        "several times: ['a'].");
  CHECK(refused({"a", ""}) ==
        "InvalidArgument: StringLookup 'l': the mask_token '' is in the vocabulary. Either omit "
        "the mask and OOV tokens, or put all of them at the start.");
  CHECK(refused({"a", "[UNK]"}) ==
        "InvalidArgument: StringLookup 'l': the oov_token '[UNK]' is in the vocabulary. Either "
        "omit the mask and OOV tokens, or put all of them at the start.");
  CHECK(
      refused({"a", "b", "c"}) ==
      "InvalidArgument: StringLookup 'l': expected a vocabulary of max_tokens (4) or fewer, got 5, "
      "mask and oov tokens included.");
  CHECK(refused({"", "[UNK]", "b", "c"}) == "");
}

TEST_CASE("a vocabulary given later") {
  const layers::IntegerLookup lookup;
  lookup.set_vocabulary({7, 5});
  CHECK(ints(Tensor(lookup(Tensor::from<int64_t>({5, 7, 9})))) == std::vector<int64_t>{2, 1, 0});
}

TEST_CASE("a list of one number is a salt like that number") {
  const auto places = [](const layers::OneOrMany<int64_t>& salt) {
    return ints(Tensor(
        layers::StringLookup({.num_oov_indices = 50, .vocabulary = {"z"}, .salt = salt})(kWords)));
  };
  CHECK(places({5}) == places(5));
  CHECK(places({5}) != places(6));
  CHECK(places(std::vector<int64_t>()) == places({}));
  const auto bins = [](const layers::OneOrMany<int64_t>& salt) {
    return ints(Tensor(layers::Hashing({.num_bins = 50, .salt = salt})(kWords)));
  };
  CHECK(bins({5}) == bins(5));
}

TEST_CASE("lookups at the wrong time") {
  const layers::StringLookup lookup({.name = "l"});
  CHECK(error_of([&] { lookup(kWords); }) ==
        "FailedPrecondition: StringLookup 'l' has no vocabulary yet. Pass one, or call adapt with "
        "data first.");
  lookup.set_vocabulary({"a"});
  CHECK(ints(Tensor(lookup(kWords))) == std::vector<int64_t>{0, 1, 0, 0});
  CHECK(error_of([&] { lookup(Tensor::from({1})); }) ==
        "InvalidArgument: StringLookup 'l': expected strings, got int32.");
  CHECK(error_of([&] { lookup.set_vocabulary({"a"}, {1.0}); }) ==
        "InvalidArgument: StringLookup 'l': idf_weights go with output_mode \"tf_idf\", not "
        "\"int\".");
  CHECK(error_of([&] { lookup.adapt(Tensor::from({1})); }) ==
        "InvalidArgument: StringLookup 'l': adapt expected strings, got int32.");
  const layers::StringLookup given({.vocabulary = {"a"}, .name = "l"});
  CHECK(error_of([&] { given.adapt(kWords); }) ==
        "FailedPrecondition: StringLookup 'l': adapt computes a vocabulary, but one was passed to "
        "the constructor. Omit it there.");
  const layers::StringLookup vectors({.output_mode = "count", .name = "l"});
  CHECK(error_of([&] { vectors(Input({.shape = {2}, .dtype = "string"})); }) ==
        "FailedPrecondition: StringLookup 'l': how large its outputs are isn't known before its "
        "vocabulary is. Give one, call adapt with data, or set pad_to_max_tokens.");
  vectors.adapt(kWords);
  CHECK(error_of([&] { vectors.set_vocabulary({"a"}); }) ==
        "FailedPrecondition: StringLookup 'l': its outputs have 4 elements, and a vocabulary of 2 "
        "would change that. Make another layer, or set max_tokens and pad_to_max_tokens.");
  CHECK(error_of([] { layers::IntegerLookup({.vocabulary = {1}, .name = "i"})(kWords); }) ==
        "InvalidArgument: IntegerLookup 'i': expected integers, got string.");
}
