// SPDX-License-Identifier: Apache-2.0
// Layers for numbers: how they adapt, in models and in datasets.
#include <doctest/doctest.h>

#include "data/dataset.h"
#include "framework/graph/dispatch.h"
#include "framework/graph/function.h"
#include "framework/model/input.h"
#include "framework/ops/ops.h"
#include "framework/train/model.h"
#include "layers/layers.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::error_of;
using test::some_values;

namespace {

const Tensor kRows = Tensor::from<float>({1, 10, 3, 30}, {2, 2});

}  // namespace

TEST_CASE("Normalization conforms") {
  test::check_layer(
      {.name = "Normalization",
       .make =
           [] {
             return layers::Normalization({.mean = {0.5, 2.0, 1.0}, .variance = {1.0, 0.25, 2.0}});
           },
       .inputs = {some_values({4, 3})},
       .output_shape = {4, 3}});
}

TEST_CASE("layers of categories conform") {
  test::check_layer({.name = "Discretization",
                     .make =
                         [] {
                           return layers::Discretization({.bin_boundaries = {-0.5, 0.0, 0.25}});
                         },
                     .inputs = {some_values({4, 6})},
                     .output_shape = {4, 6}});
  const Tensor numbers = Tensor::from<int64_t>({0, 3, 1, -7, 12345678, 2}, {3, 2});
  for (const char* mode : {"one_hot", "multi_hot", "count"}) {
    const Shape shape = mode == std::string("one_hot") ? Shape{3, 2, 5} : Shape{3, 5};
    test::check_layer(
        {.name = std::string("CategoryEncoding ") + mode,
         .make = [=] { return layers::CategoryEncoding({.num_tokens = 5, .output_mode = mode}); },
         .inputs = {numbers},
         .output_shape = shape});
    test::check_layer(
        {.name = std::string("Hashing ") + mode,
         .make = [=] { return layers::Hashing({.num_bins = 5, .output_mode = mode}); },
         .inputs = {numbers},
         .output_shape = shape});
  }
  test::check_layer(
      {.name = "HashedCrossing",
       .make = [] { return layers::HashedCrossing({.num_bins = 5, .output_mode = "one_hot"}); },
       .inputs = {Tensor::from<int64_t>({1, 2, 3}), Tensor::from<int64_t>({4, 5, 6})},
       .output_shape = {3, 5}});
}

TEST_CASE("categories of samples of several axes") {
  const Tensor numbers = Tensor::from<int64_t>({0, 1, 2, 2, 0, 9, 1, -1}, {2, 2, 2});
  const Tensor counts = Tensor(layers::CategoryEncoding({3, "count"})(numbers));
  CHECK(counts.shape() == Shape{2, 2, 3});
  CHECK(counts.to_vector<float>() == std::vector<float>{1, 1, 0, 0, 0, 2, 1, 0, 0, 0, 1, 0});
}

TEST_CASE("hashes of numbers are those of their text") {
  std::vector<int64_t> numbers;
  std::vector<std::string> texts;
  for (int64_t number = 1, i = 0; i < 60; ++i, number *= -2) {
    for (const int64_t more : {number, number + 1, number - 1}) {
      numbers.push_back(more);
      texts.push_back(std::to_string(more));
    }
  }
  for (const layers::OneOrMany<int64_t>& salt :
       {layers::OneOrMany<int64_t>(), layers::OneOrMany<int64_t>{7, 8}}) {
    const layers::Hashing layer({.num_bins = int64_t{1} << 40, .salt = salt});
    CHECK(Tensor(layer(Tensor::from(numbers))).to_vector<int64_t>() ==
          Tensor(layer(Tensor::from(texts))).to_vector<int64_t>());
  }
}

TEST_CASE("categories in models and datasets") {
  const Tensor hours = Input({.shape = {1}, .dtype = "int64"});
  const Tensor days = Input({.shape = {1}, .dtype = "int64"});
  const layers::HashedCrossing crossing({.num_bins = 6, .output_mode = "one_hot"});
  Model model({hours, days}, crossing({hours, days}));
  const Tensor x = Tensor::from<int64_t>({1, 2}, {2, 1});
  const Tensor expected(crossing({x, x}));
  CHECK(test::distance(model.predict(Tensors({x, x}), {.verbose = 0}), expected) == 0);

  const layers::Hashing hashing({.num_bins = 10});
  const Tensor words = Tensor::from({"a", "b", "c"});
  const auto bins = Tensor(hashing(words)).to_vector<int64_t>();
  size_t at = 0;
  auto dataset = data::Dataset::from_tensor_slices({words}).map(
      [=](const Tensor& word) { return Tensor(hashing(word)); });
  for (const auto& element : dataset) CHECK(element.tensor(0).item<int64_t>() == bins[at++]);
  CHECK(at == 3);
}

TEST_CASE("a compiled function sees what Normalization has adapted to since") {
  const layers::Normalization layer;
  layer.build({kUnknown, 2});
  const Function call = function([&](const Tensor& x) { return Tensor(layer(x)); });
  CHECK(test::distance(call(kRows), kRows) == 0);
  layer.adapt(kRows);
  CHECK(test::distance(call(kRows), Tensor::from<float>({-1, -1, 1, 1}, {2, 2})) < 1e-6);
}

TEST_CASE("Normalization tells its mean and variance along the input's axes") {
  const layers::Normalization learned;
  CHECK(error_of([&] {
          learned.mean();
        }).starts_with("FailedPrecondition: Normalization 'normalization"));
  learned.adapt(Tensor::from(std::vector<float>{1, 2, 3, 6}, {2, 2}));
  CHECK(learned.mean().shape() == Shape{1, 2});
  CHECK(learned.mean().to_vector<float>() == std::vector<float>{2, 4});
  CHECK(learned.variance().to_vector<float>() == std::vector<float>{1, 4});
  const layers::Normalization given({.mean = {3.0}, .variance = {2.0}});
  given(ops::zeros({1, 4, 2}));
  CHECK(given.mean().shape() == Shape{1, 1, 2});
  CHECK(given.variance().to_vector<float>() == std::vector<float>{2, 2});
}

TEST_CASE("Normalization in a model") {
  const layers::Normalization layer;
  layer.adapt(data::Dataset::from_tensor_slices({kRows, Tensor::from({0, 1})}).batch(1));
  Sequential model({Input({.shape = {2}}), layer});
  const Tensor expected = Tensor::from<float>({-1, -1, 1, 1}, {2, 2});
  CHECK(test::distance(model.predict(kRows, {.verbose = 0}), expected) < 1e-6);
}

TEST_CASE("Normalization in a dataset, whose functions run on the host") {
  const DeviceScope scope("CPU:0");
  const layers::Normalization layer;
  layer.adapt(data::Dataset::from_tensor_slices({kRows, Tensor::from({0, 1})}).batch(1));
  const Tensor expected = Tensor::from<float>({-1, -1, 1, 1}, {2, 2});
  auto dataset = data::Dataset::from_tensor_slices({kRows}).batch(2).map(
      [=](const Tensor& x) { return Tensor(layer(x)); });
  int64_t batches = 0;
  for (const auto& element : dataset) {
    CHECK(test::distance(element.tensor(0), expected) < 1e-6);
    ++batches;
  }
  CHECK(batches == 1);
}

TEST_CASE("adapting reads the first steps") {
  const layers::Normalization layer({.axis = {}});
  const auto endless = data::Dataset::from_tensor_slices({kRows}).batch(1).repeat();
  CHECK(error_of([&] { layer.adapt(endless); }) ==
        "InvalidArgument: adapt: the dataset never ends. Say how many batches to read, as "
        "adapt(dataset, {.steps = 100}) does.");
  layer.adapt(endless, {.steps = 3});
  CHECK(layer.weight("mean").stored().item<float>() == doctest::Approx((11 + 33 + 11) / 6.0));
}

TEST_CASE("what Normalization refuses") {
  CHECK(error_of([] { layers::Normalization({.mean = 1.0, .name = "n"}); }) ==
        "InvalidArgument: Normalization 'n': expected both mean and variance, or none of them.");
  CHECK(error_of([] { layers::Normalization({.mean = 1.0, .variance = {1.0}, .name = "n"}); }) ==
        "InvalidArgument: Normalization 'n': expected mean and variance of one shape, got () and "
        "(1,).");
  CHECK(error_of([] {
          layers::Normalization({.axis = {}, .mean = {1.0}, .variance = {1.0}, .name = "n"});
        }) ==
        "InvalidArgument: Normalization 'n': expected a mean of as many axes as `axis` has (0) or "
        "fewer, got shape (1,).");
  const layers::Normalization given({.mean = {1.0, 2.0}, .variance = {1.0, 2.0}, .name = "n"});
  CHECK(
      error_of([&] {
        given(some_values({2, 3}));
      }) ==
      "InvalidArgument: Normalization 'n': expected a mean and a variance that broadcast to (3,), "
      "got (2,).");
  CHECK(error_of([&] { given.adapt(kRows); }) ==
        "FailedPrecondition: Normalization 'n': adapt computes mean and variance, but they were "
        "passed to the constructor. Omit them there.");
  const layers::Normalization layer({.name = "n"});
  CHECK(error_of([&] { layer.adapt(Tensor::from({"a"})); }) ==
        "InvalidArgument: Normalization 'n': adapt expected numbers, got strings.");
  CHECK(error_of([&] { layer.adapt(Tensor()); }) ==
        "InvalidArgument: adapt: expected examples, got none.");
  CHECK(error_of([&] { layer.adapt(kRows, {.steps = 1}); }) ==
        "InvalidArgument: adapt: steps are for datasets: a tensor is taken as a whole.");
  CHECK(error_of([&] { layer.adapt(data::Dataset::range(0).batch(2), {.steps = 0}); }) ==
        "InvalidArgument: adapt: expected steps > 0, got 0.");
  CHECK(error_of([&] { layer.adapt(data::Dataset::range(0).batch(2)); }) ==
        "InvalidArgument: adapt: expected batches, got none: the dataset is empty.");
  layer.adapt(kRows);
  CHECK(error_of([&] {
          layer.adapt(some_values({2, 3}));
        }) ==
        "InvalidArgument: Normalization 'n': expected 2 elements on axis 1, as when the layer was "
        "built, got (2, 3). Another size needs another layer.");
  CHECK(error_of([&] {
          layer(some_values({2, 2, 2}));
        }) ==
        "InvalidArgument: Normalization 'n': expected 2-D input, as when the layer was built, got "
        "(2, 2, 2).");
  CHECK(error_of([] { layers::Normalization({.axis = 2, .name = "n"})(kRows); }) ==
        "InvalidArgument: Normalization 'n': expected an input with axis 2, got (2, 2).");
  CHECK(
      error_of([] {
        layers::Normalization({.axis = {1, -1}, .name = "n"})(kRows);
      }) ==
      "InvalidArgument: Normalization 'n': expected each axis once, got [1, -1] for an input of 2 "
      "axes.");
}

TEST_CASE("a model of a Discretization that adapts later") {
  const auto shape_of = [](const std::string& mode) {
    return layers::Discretization({.num_bins = 4, .output_mode = mode})
        .compute_output_shape({kUnknown, 3, 2});
  };
  CHECK(shape_of("int") == Shape{kUnknown, 3, 2});
  CHECK(shape_of("one_hot") == Shape{kUnknown, 3, 2, 4});
  CHECK(shape_of("multi_hot") == Shape{kUnknown, 3, 4});
  CHECK(shape_of("count") == Shape{kUnknown, 3, 4});

  const layers::Discretization layer({.num_bins = 4, .output_mode = "one_hot"});
  const Tensor x = Input({.shape = {1}});
  Model model(x, layer(x));
  layer.adapt(ops::arange(8, "float32"));
  CHECK(model.predict(Tensor::from({0.0f, 7.0f}, {2, 1}), {.verbose = 0}).to_vector<float>() ==
        std::vector<float>{1, 0, 0, 0, 0, 0, 0, 1});
}

TEST_CASE("what Discretization refuses") {
  CHECK(error_of([] { layers::Discretization({.name = "d"}); }) ==
        "InvalidArgument: Discretization 'd': expected bin_boundaries, or num_bins and a call of "
        "adapt.");
  CHECK(error_of([] {
          layers::Discretization({.bin_boundaries = {1.0}, .num_bins = 2, .name = "d"});
        }) ==
        "InvalidArgument: Discretization 'd': expected bin_boundaries or num_bins, got both.");
  CHECK(error_of([] {
          layers::Discretization({.bin_boundaries = {1.0, 0.0}, .name = "d"});
        }) == "InvalidArgument: Discretization 'd': expected bin_boundaries that ascend.");
  CHECK(error_of([] { layers::Discretization({.num_bins = 0, .name = "d"}); }) ==
        "InvalidArgument: Discretization 'd': expected num_bins > 0, got 0.");
  CHECK(error_of([] { layers::Discretization({.num_bins = 2, .epsilon = 1, .name = "d"}); }) ==
        "InvalidArgument: Discretization 'd': expected an epsilon in (0, 1), got 1.");
  CHECK(
      error_of(
          [] { layers::Discretization({.num_bins = 2, .output_mode = "onehot", .name = "d"}); }) ==
      "InvalidArgument: Discretization 'd': unknown output_mode 'onehot'. Did you mean 'one_hot'? "
      "Known: int, one_hot, multi_hot, count.");
  const layers::Discretization layer({.num_bins = 2, .name = "d"});
  CHECK(error_of([&] { layer(kRows); }) ==
        "FailedPrecondition: Discretization 'd' has no boundaries yet. Pass bin_boundaries, or "
        "call adapt with data first.");
  CHECK(error_of(
            [] { layers::Discretization({.bin_boundaries = {1.0}, .name = "d"}).adapt(kRows); }) ==
        "FailedPrecondition: Discretization 'd': adapt finds boundaries, which were given when it "
        "was made. Give num_bins there instead.");
  CHECK(error_of([&] { layer.adapt(Tensor::from({"a"})); }) ==
        "InvalidArgument: Discretization 'd': adapt expected numbers, got strings.");
  layer.adapt(kRows);
  CHECK(layer.bin_boundaries() == std::vector<double>{3.0});
  CHECK(error_of([&] { layer(Tensor::from({"a"})); }) ==
        "InvalidArgument: Discretization 'd': expected numbers, got strings.");
  Json config = layer.get_config();
  config.set("sparse", true);
  CHECK(error_of([&] { layers::Discretization::from_config(config); }) ==
        "Unimplemented: Config: 'sparse' isn't available here: expected false, got true. Make the "
        "layer without it in Keras, and save that.");
}

TEST_CASE("what layers of categories refuse") {
  CHECK(error_of([] { layers::CategoryEncoding({.name = "c"}); }) ==
        "InvalidArgument: CategoryEncoding 'c': expected num_tokens > 0, got 0. Where the tokens "
        "aren't known, use IntegerLookup.");
  CHECK(error_of([] {
          layers::CategoryEncoding({3, "int", "c"});
        }) ==
        "InvalidArgument: CategoryEncoding 'c': unknown output_mode 'int'. Known: multi_hot, "
        "one_hot, count.");
  const layers::CategoryEncoding encoding({3, "multi_hot", "c"});
  CHECK(error_of([&] { encoding(Tensor::from({"a"})); }) ==
        "InvalidArgument: CategoryEncoding 'c': expected class numbers, got string.");
  CHECK(error_of([&] {
          encoding({Tensor::from({1}), Tensor::from({1.0})});
        }) ==
        "InvalidArgument: CategoryEncoding 'c': count_weights are for output_mode \"count\", not "
        "\"multi_hot\".");
  CHECK(
      error_of([] {
        layers::CategoryEncoding({3, "count", "c"})({Tensor::from({1}), Tensor::from({1.0, 2.0})});
      }) ==
      "InvalidArgument: CategoryEncoding 'c': expected count_weights of the numbers' shape (1,), "
      "got (2,).");
  CHECK(error_of([] { layers::Hashing({.name = "h"}); }) ==
        "InvalidArgument: Hashing 'h': expected num_bins > 0, got 0.");
  CHECK(error_of([] { layers::Hashing({.num_bins = 3, .name = "h", .dtype = "float32"}); }) ==
        "InvalidArgument: Hashing 'h': expected a dtype of int32 or int64 for output_mode \"int\", "
        "got float32.");
  CHECK(error_of([] {
          layers::Hashing({.num_bins = 3, .salt = {1, 2, 3}, .name = "h"});
        }) == "InvalidArgument: Hashing 'h': expected a salt of one or two numbers, got 3.");
  CHECK(error_of([] { layers::Hashing({.num_bins = 3, .mask_value = true, .name = "h"}); }) ==
        "InvalidArgument: Hashing 'h': expected a string or a number for mask_value, got true.");
  const layers::Hashing hashing({.num_bins = 3, .mask_value = "a", .name = "h"});
  CHECK(error_of([&] { hashing(Tensor::from({1})); }) ==
        "InvalidArgument: Hashing 'h': expected inputs of mask_value's kind (strings), got int32.");
  CHECK(error_of([&] { hashing(Tensor::from({true})); }) ==
        "InvalidArgument: Hashing 'h': expected strings or integers to hash, got bool.");
  const layers::HashedCrossing crossing({.num_bins = 3, .name = "x"});
  const Tensor row = Tensor::from({1, 2});
  CHECK(error_of([&] { crossing(row); }) ==
        "InvalidArgument: HashedCrossing 'x': expected two inputs or more, got 1.");
  CHECK(error_of([&] {
          crossing({row, Tensor::from({1})});
        }) ==
        "InvalidArgument: HashedCrossing 'x': expected inputs of one shape, got (2,) and (1,).");
  CHECK(error_of([&] {
          crossing({some_values({2, 2}), some_values({2, 2})});
        }) ==
        "InvalidArgument: HashedCrossing 'x': expected inputs of shape (), (batch) or (batch, 1), "
        "got (2, 2).");
  CHECK(error_of([&] {
          crossing({some_values({2}), row});
        }) == "InvalidArgument: HashedCrossing 'x': expected strings or integers, got float32.");
}

TEST_CASE("MelSpectrogram conforms") {
  test::check_layer({.name = "MelSpectrogram",
                     .make =
                         [] {
                           return layers::MelSpectrogram({.fft_length = 32,
                                                          .sequence_stride = 8,
                                                          .sampling_rate = 200,
                                                          .num_mel_bins = 5,
                                                          .power_to_db = false});
                         },
                     .inputs = {some_values({3, 64})},
                     .output_shape = {3, 5, 9}});
}

TEST_CASE("what MelSpectrogram refuses") {
  const auto refused = [](const layers::MelSpectrogramOptions& options) {
    return error_of([&] { layers::MelSpectrogram{options}; });
  };
  CHECK(refused({.fft_length = 1, .name = "m"}) ==
        "InvalidArgument: MelSpectrogram 'm': expected fft_length > 1, got 1.");
  CHECK(refused({.fft_length = 1 << 20, .name = "m"}) ==
        "InvalidArgument: MelSpectrogram 'm': expected fft_length of 65536 or less, got 1048576.");
  CHECK(
      refused({.fft_length = 8, .sequence_length = 9, .name = "m"}) ==
      "InvalidArgument: MelSpectrogram 'm': expected a sequence_length of 1 to fft_length (8), got "
      "9.");
  CHECK(refused({.sequence_stride = 0, .name = "m"}) ==
        "InvalidArgument: MelSpectrogram 'm': expected sequence_stride > 0, got 0.");
  CHECK(refused({.window = "blackman", .name = "m"}) ==
        "InvalidArgument: MelSpectrogram 'm': unknown window 'blackman'. Known: hann, hamming.");
  CHECK(refused({.min_freq = 9000, .name = "m"}) ==
        "InvalidArgument: MelSpectrogram 'm': expected frequencies 0 <= min_freq < max_freq, got "
        "9000 and 8000.");
  const layers::MelSpectrogram layer({.fft_length = 64, .name = "m"});
  CHECK(error_of([&] {
          layer(some_values({2, 32}));
        }) ==
        "InvalidArgument: MelSpectrogram 'm': expected signals of 33 samples or more, half of a "
        "frame, got (2, 32).");
  CHECK(error_of([&] {
          layer(some_values({2, 64, 1}));
        }) ==
        "InvalidArgument: MelSpectrogram 'm': expected a signal (samples) or a batch of them, got "
        "(2, 64, 1).");
}
