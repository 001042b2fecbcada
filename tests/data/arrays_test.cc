// SPDX-License-Identifier: Apache-2.0
// Labels and sequences as arrays; the values are those of keras.utils.
#include "data/arrays.h"

#include <doctest/doctest.h>

#include "framework/core/error.h"

using namespace cornu;

TEST_CASE("classes become vectors with a one") {
  const Tensor y = data::to_categorical(Tensor{0, 1, 2, 3}, 4);
  CHECK(y.shape() == Shape{4, 4});
  CHECK(y.dtype() == DType::Float32);
  CHECK(y.to_vector<float>() == std::vector<float>{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
  // A last axis of size 1, as in label files, is dropped; the number of classes is the largest
  // label plus 1.
  CHECK(data::to_categorical(Tensor::from<uint8_t>({2, 0}, {2, 1})).to_vector<float>() ==
        std::vector<float>{0, 0, 1, 1, 0, 0});
  CHECK(data::to_categorical(Tensor::from<int64_t>({0, 1, 1, 0}, {2, 2})).shape() ==
        Shape{2, 2, 2});
  CHECK(data::to_categorical(Tensor{1.0f}, 3).to_vector<float>() == std::vector<float>{0, 1, 0});
  CHECK(data::to_categorical(Tensor{0, 1}, 0).shape() == Shape{2, 2});  // 0 means None
  CHECK_THROWS_WITH_AS(data::to_categorical(Tensor{1, 3}, 3),
                       "to_categorical: expected classes from 0 to 2, got 3. Give another "
                       "num_classes, or count the classes from 0.",
                       InvalidArgument);
  CHECK_THROWS_AS(data::to_categorical(Tensor{-1, 0}), InvalidArgument);
}

TEST_CASE("sequences become one array, filled up or cut at either end") {
  const std::vector<std::vector<int64_t>> sequences = {{1}, {2, 3}, {4, 5, 6}};
  auto padded = [&](const data::PadSequencesOptions& options) {
    return data::pad_sequences(sequences, options).to_vector<int32_t>();
  };
  using Numbers = std::vector<int32_t>;
  CHECK(data::pad_sequences(sequences).shape() == Shape{3, 3});
  CHECK(padded({}) == Numbers{0, 0, 1, 0, 2, 3, 4, 5, 6});
  CHECK(padded({.value = -1}) == Numbers{-1, -1, 1, -1, 2, 3, 4, 5, 6});
  CHECK(padded({.padding = "post"}) == Numbers{1, 0, 0, 2, 3, 0, 4, 5, 6});
  CHECK(padded({.maxlen = 2}) == Numbers{0, 1, 2, 3, 5, 6});
  CHECK(padded({.maxlen = 2, .truncating = "post"}) == Numbers{0, 1, 2, 3, 4, 5});
  CHECK(padded({.maxlen = 4, .padding = "post"}) == Numbers{1, 0, 0, 0, 2, 3, 0, 0, 4, 5, 6, 0});
  // No float32 equals that number.
  CHECK(padded({.maxlen = 1, .value = 16777217}) == Numbers{1, 3, 6});
  CHECK(data::pad_sequences(std::vector<Tensor>(1, Tensor::from<int64_t>({}, {0})),
                            {.maxlen = 1, .value = 16777217})
            .item<int32_t>() == 16777217);
  CHECK(data::pad_sequences(sequences, {.maxlen = 0}).shape() == Shape{3, 0});
  CHECK(data::pad_sequences(std::vector<Tensor>{}).shape() == Shape{0, 0});

  // Time steps of several numbers, and a sequence without any.
  const Tensor steps = data::pad_sequences(
      {Tensor::from<float>({1, 2, 3, 4}, {2, 2}), Tensor::from<float>({}, {0, 2})},
      {.maxlen = 3, .dtype = "float32", .value = 0.5});
  CHECK(steps.shape() == Shape{2, 3, 2});
  CHECK(steps.to_vector<float>() ==
        std::vector<float>{0.5, 0.5, 1, 2, 3, 4, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5});

  CHECK_THROWS_WITH_AS(padded({.padding = "front"}),
                       "pad_sequences: padding: expected \"pre\" or \"post\", got \"front\".",
                       InvalidArgument);
  CHECK_THROWS_WITH_AS(
      data::pad_sequences({Tensor{300, 2}}, {.dtype = "uint8"}),
      "pad_sequences: expected numbers that fit uint8, got 300. Give another dtype.",
      InvalidArgument);
  CHECK_THROWS_AS(data::pad_sequences({Tensor{3, 2}}, {.dtype = "uint8", .value = 300}),
                  InvalidArgument);
  const auto refused = [](const Tensor& numbers, const char* dtype) {
    CHECK_THROWS_AS(data::pad_sequences({numbers}, {.dtype = dtype}), InvalidArgument);
  };
  refused(Tensor{-1}, "uint32");
  refused(Tensor{-1}, "uint64");
  refused(Tensor::from<uint32_t>({3000000000}), "int32");
  refused(Tensor::from<uint8_t>({200}), "int8");
  refused(Tensor{2147483648.0f}, "int32");
  refused(Tensor{std::nanf("")}, "int32");
  CHECK(data::pad_sequences({Tensor{2147483520.0f}}).item<int32_t>() == 2147483520);
  CHECK(data::pad_sequences({Tensor{2.75f}}, {.maxlen = 2, .value = 1.5}).to_vector<int32_t>() ==
        Numbers{1, 2});
  CHECK_THROWS_AS(padded({.maxlen = -1}), InvalidArgument);
  CHECK_THROWS_AS(data::pad_sequences({Tensor{1, 2}, Tensor{{1, 2}}}), InvalidArgument);
  CHECK_THROWS_AS(data::pad_sequences({Tensor(1)}), InvalidArgument);
}

TEST_CASE("sequences of texts of one length") {
  using Texts = std::vector<std::string>;
  const std::vector<Texts> sequences = {{"1"}, {"1", "2"}, {"1", "2", "3"}};
  const auto padded = [&](data::PadSequencesOptions options) {
    options.dtype = "string";
    options.value = "pad";
    return data::pad_sequences(sequences, options).to_vector<std::string>();
  };
  CHECK(padded({}) == Texts{"pad", "pad", "1", "pad", "1", "2", "1", "2", "3"});
  CHECK(padded({.padding = "post"}) == Texts{"1", "pad", "pad", "1", "2", "pad", "1", "2", "3"});
  CHECK(padded({.maxlen = 2}) == Texts{"pad", "1", "1", "2", "2", "3"});
  CHECK(padded({.maxlen = 2, .truncating = "post"}) == Texts{"pad", "1", "1", "2", "1", "2"});
  const Tensor pairs = data::pad_sequences(
      {Tensor::from(Texts{"a", "b"}, {1, 2}), Tensor::from(Texts{"c", "d", "e", "f"}, {2, 2})},
      {.dtype = "string", .value = ""});
  CHECK(pairs.shape() == Shape{2, 2, 2});
  CHECK(pairs.to_vector<std::string>() == Texts{"", "", "a", "b", "c", "d", "e", "f"});

  CHECK_THROWS_WITH_AS(
      data::pad_sequences(sequences, {.value = "pad"}),
      "pad_sequences: a value that is a text doesn't go with dtype int32. Texts are "
      "filled up with one, .dtype = \"string\" and .value = \"\", numbers with a "
      "number.",
      InvalidArgument);
  CHECK_THROWS_AS(data::pad_sequences(sequences, {.dtype = "string"}), InvalidArgument);
  CHECK_THROWS_WITH_AS(data::pad_sequences(sequences),
                       "pad_sequences: expected sequences of numbers, got string.",
                       InvalidArgument);
  CHECK_THROWS_WITH_AS(data::pad_sequences({Tensor{1, 2}}, {.dtype = "string", .value = ""}),
                       "pad_sequences: expected sequences of texts, got int32.", InvalidArgument);
}
