// SPDX-License-Identifier: Apache-2.0
// tf.train.Example and SequenceExample: parsed, written, and damaged.
#include <doctest/doctest.h>

#include "data/batched_features.h"
#include "data/example.h"
#include "data/node.h"
#include "data/tf_record.h"
#include "framework/core/hex.h"
#include "framework/core/proto_wire.h"
#include "framework/ops/indexing.h"
#include "tests/data/support.h"
#include "tests/golden/golden.h"

using namespace cornu;
using namespace cornu::testing;
using data::Element;
using data::Example;
using data::FixedLenFeature;
using data::FixedLenSequenceFeature;
using data::VarLenFeature;
using Texts = std::vector<std::string>;

namespace {

std::string row(int64_t i) {
  return Example(
             {{"label", Tensor::scalar(i)},
              {"weights", Tensor::from({0.5f * static_cast<float>(i), 1.0f})},
              {"words", Tensor::from(Texts(static_cast<size_t>(i), "w" + std::to_string(i)), {i})}})
      .serialize();
}

const data::Features kFeatures = {{"weights", FixedLenFeature{{2, 1}, "float32"}},
                                  {"label", FixedLenFeature{{}, "int64"}},
                                  {"words", VarLenFeature{"string"}},
                                  {"none", FixedLenFeature{{2}, "int64", 7}}};

}  // namespace

TEST_CASE("parse_single_example and parse_example give what an example holds") {
  const Element one = data::parse_single_example(Tensor::scalar(row(2)), kFeatures);
  CHECK(data::spec_of(one).to_string() ==
        "{weights: float32 (2, 1), label: int64 (), words: string (2,), none: int64 (2,)}");
  CHECK(one["weights"].to_vector<float>() == std::vector<float>{1, 1});
  CHECK(one["label"].item<int64_t>() == 2);
  CHECK(one["words"].to_vector<std::string>() == Texts{"w2", "w2"});
  CHECK(one["none"].to_vector<int64_t>() == std::vector<int64_t>{7, 7});

  const Element three = data::parse_example(Tensor::from({row(1), row(0), row(2)}), kFeatures);
  CHECK(data::spec_of(three).to_string() ==
        "{weights: float32 (3, 2, 1), label: int64 (3,), words: string (3, 2), "
        "none: int64 (3, 2)}");
  CHECK(three["label"].to_vector<int64_t>() == std::vector<int64_t>{1, 0, 2});
  CHECK(three["weights"].to_vector<float>() == std::vector<float>{0.5, 1, 0, 1, 1, 1});
  CHECK(three["words"].to_vector<std::string>() == Texts{"w1", "", "", "", "w2", "w2"});
  const Element none = data::parse_example(Tensor::empty({0}, DType::String), kFeatures);
  CHECK(none["weights"].shape() == Shape{0, 2, 1});
}

TEST_CASE("rows of one shape are as many as an example has") {
  const auto with = [](std::vector<int64_t> values) {
    return values.empty() ? Example().serialize()
                          : Example({{"x", Tensor::from(values)}}).serialize();
  };
  const data::Features features = {
      {"x", FixedLenSequenceFeature{{2}, "int64", /*allow_missing=*/true, -1}}};
  const Element rows =
      data::parse_example(Tensor::from({with({1, 2}), with({}), with({3, 4, 5, 6})}), features);
  CHECK(rows["x"].shape() == Shape{3, 2, 2});
  CHECK(rows["x"].to_vector<int64_t>() ==
        std::vector<int64_t>{1, 2, -1, -1, -1, -1, -1, -1, 3, 4, 5, 6});
  CHECK(data::parse_single_example(Tensor::scalar(with({})), features)["x"].shape() == Shape{0, 2});
  CHECK(message_of<InvalidArgument>([&] {
          data::parse_single_example(Tensor::scalar(with({1, 2, 3})), features);
        }) ==
        "parse_single_example: example 0: the feature 'x' was expected to have rows of 2 values, "
        "of the shape (2,), it has 3 values.");
}

TEST_CASE("examples in files are parsed by a map") {
  const TempFolder folder;
  {
    data::TFRecordWriter writer(folder / "r");
    for (int i = 0; i < 5; ++i) writer.write(row(i));
  }
  const auto records = data::TFRecordDataset(folder / "r");
  const auto batches = records.batch(2).map(data::ExampleParser(kFeatures));
  CHECK(batches.element_spec().to_string() ==
        "{weights: float32 (None, None, None), label: int64 (None,), words: string (None, None), "
        "none: int64 (None, None)}");
  std::vector<int64_t> labels;
  for (const auto& batch : batches) {
    for (int64_t label : batch["label"].to_vector<int64_t>()) labels.push_back(label);
  }
  CHECK(labels == std::vector<int64_t>{0, 1, 2, 3, 4});
  int64_t count = 0;
  for (const auto& example : records.map([](const Tensor& record) {
         return data::parse_single_example(record, {{"label", FixedLenFeature{{}, "int64"}}});
       })) {
    CHECK(example["label"].item<int64_t>() == count++);
  }
}

TEST_CASE("make_batched_features_dataset gives batches of the examples in files") {
  const TempFolder folder;
  for (int file = 0; file < 2; ++file) {
    data::TFRecordWriter writer(folder / ("r" + std::to_string(file)));
    for (int i = 0; i < 3; ++i) writer.write(row(file * 3 + i));
  }
  const std::string files = (folder / "r*").string();
  const auto labels = [](const data::Dataset& batches, int64_t limit = INT64_MAX) {
    std::vector<std::vector<int64_t>> result;
    for (const auto& batch : batches.take(limit)) result.push_back(numbers(batch["label"]));
    return result;
  };
  const auto in_order =
      data::make_batched_features_dataset(files, 4, kFeatures, {.num_epochs = 2, .shuffle = false});
  CHECK(labels(in_order) ==
        std::vector<std::vector<int64_t>>{{0, 1, 2, 3}, {4, 5, 0, 1}, {2, 3, 4, 5}});
  const auto by_turns = data::make_batched_features_dataset(
      files, 4, kFeatures,
      {.num_epochs = 1, .shuffle = false, .reader_num_threads = 2, .drop_final_batch = true});
  CHECK(labels(by_turns) == std::vector<std::vector<int64_t>>{{0, 3, 1, 4}});
  const auto shuffled = [&](int64_t seed) {
    return labels(data::make_batched_features_dataset(files, 4, kFeatures, {.shuffle_seed = seed}),
                  6);
  };
  CHECK(shuffled(5) == shuffled(5));
  CHECK(shuffled(5) != shuffled(6));
  for (const auto& batch : shuffled(5)) CHECK(batch.size() == 4);

  const auto pairs = data::make_batched_features_dataset(
      files, 2, kFeatures, {.label_key = "label", .num_epochs = 1, .shuffle = false});
  for (const auto& pair : pairs) {
    CHECK(pair.size() == 2);
    CHECK(pair.component(0).structure()->num_components() == 1);
    CHECK(pair[0]["weights"](0, 0, 0).item<float>() ==
          0.5f * static_cast<float>(pair.tensor(1)(0).item<int64_t>()));
  }
  CHECK(message_of<InvalidArgument>([&] {
          data::make_batched_features_dataset(files, 2, kFeatures, {.label_key = "lable"});
        }) ==
        "make_batched_features_dataset: expected a label_key that is one of the features, got "
        "'lable'. Did you mean 'label'? Known: weights, label, words, none.");
  CHECK(message_of<InvalidArgument>([&] {
          data::make_batched_features_dataset(files, 2, {{"label", FixedLenFeature{{}, "int64"}}},
                                              {.label_key = "label"});
        }) ==
        "make_batched_features_dataset: expected features besides the label 'label', got none.");
  CHECK(message_of<InvalidArgument>([&] {
          data::make_batched_features_dataset(files, 2, kFeatures, {.reader_num_threads = 0});
        }) ==
        "make_batched_features_dataset: expected at least one thread to read and one to parse, got "
        "0 and 2.");
}

TEST_CASE("a parser of features of fixed lengths works on batches where batches follow") {
  const TempFolder folder;
  {
    data::TFRecordWriter writer(folder / "r");
    for (int i = 0; i < 5; ++i) writer.write(row(i));
  }
  const auto records = data::TFRecordDataset(folder / "r");
  const data::Features fixed = {kFeatures[0], kFeatures[1], kFeatures[3]};
  const data::ExampleParser parser(fixed);
  const auto order_of = [](const data::Dataset& dataset) {
    const std::string chain = data::describe_chain(*dataset.node());
    return chain.find("map") < chain.find("batch") ? "map, batch" : "batch, map";
  };
  const auto batches = records.map(parser).batch(2);
  CHECK(order_of(batches) == "batch, map");
  CHECK(batches.element_spec().to_string() ==
        "{weights: float32 (None, 2, 1), label: int64 (None,), none: int64 (None, 2)}");
  const auto by_lambda = records.map([&](const Tensor& record) { return parser(record); }).batch(2);
  CHECK(order_of(by_lambda) == "map, batch");
  auto expected = by_lambda.iterator();
  Element other;
  for (const Element& batch : batches) {
    REQUIRE(expected.next(other));
    CHECK(batch["weights"].to_vector<float>() == other["weights"].to_vector<float>());
    CHECK(batch["label"].to_vector<int64_t>() == other["label"].to_vector<int64_t>());
    CHECK(batch["none"].to_vector<int64_t>() == other["none"].to_vector<int64_t>());
  }
  CHECK_FALSE(expected.next(other));
  // Batches of batches: one example axis for each.
  const auto nested = records.batch(1).map(parser).batch(2, {.drop_remainder = true});
  CHECK(order_of(nested) == "batch, map");
  CHECK(nested.element_spec().to_string() ==
        "{weights: float32 (2, None, 2, 1), label: int64 (2, None), none: int64 (2, None, 2)}");
  int64_t count = 0;
  for (const auto& batch : nested) {
    CHECK(batch["weights"].shape() == Shape{2, 1, 2, 1});
    CHECK(batch["label"].to_vector<int64_t>() == std::vector<int64_t>{count, count + 1});
    count += 2;
  }
  CHECK(count == 4);
  // Features of variable length: each batch is padded by itself.
  CHECK(order_of(records.map(data::ExampleParser(kFeatures)).batch(1)) == "map, batch");
  CHECK_THROWS_WITH_AS(data::Dataset::range(3).map(parser), doctest::Contains("got int64 ()"),
                       InvalidArgument);
}

TEST_CASE("sequence examples give a context and lists with a row for each step") {
  data::SequenceExample example;
  example.set_context("id", 5);
  example.set_list("frames", {Tensor::from({1.0f, 2.0f}), Tensor::from({3.0f, 4.0f})});
  example.set_list("tags", {Tensor::from({"a"}), Tensor::from({"b", "c"})});
  const Tensor bytes = Tensor::scalar(example.serialize());
  const data::Features lists = {{"frames", FixedLenSequenceFeature{{2}, "float32"}},
                                {"tags", VarLenFeature{"string"}},
                                {"none", FixedLenSequenceFeature{{3}, "int64", true}}};
  const data::Features context = {{"id", FixedLenFeature{{}, "int64"}}};
  const Element both = data::parse_single_sequence_example(bytes, context, lists);
  CHECK(data::spec_of(both).to_string() ==
        "({id: int64 ()}, {frames: float32 (2, 2), tags: string (2, 2), none: int64 (0, 3)})");
  CHECK(both.component(0)["id"].item<int64_t>() == 5);
  CHECK(both.component(1)["frames"].to_vector<float>() == std::vector<float>{1, 2, 3, 4});
  CHECK(both.component(1)["tags"].to_vector<std::string>() == Texts{"a", "", "b", "c"});
  CHECK(data::spec_of(data::parse_single_sequence_example(bytes, {}, lists)).types.size() == 3);
  CHECK(data::parse_single_sequence_example(bytes, context, {})["id"].item<int64_t>() == 5);
  CHECK(message_of<InvalidArgument>([&] {
          data::parse_single_sequence_example(bytes, {},
                                              {{"gone", FixedLenSequenceFeature{{2}, "float32"}}});
        }) ==
        "parse_single_sequence_example: example 0: the feature list 'gone' is missing. Give it "
        "allow_missing, where it may be.");
  CHECK(message_of<InvalidArgument>([&] {
          data::parse_single_sequence_example(
              bytes, {}, {{"frames", FixedLenSequenceFeature{{3}, "float32"}}});
        }) ==
        "parse_single_sequence_example: example 0: the feature 'frames' was expected to have "
        "3 values, of the shape (3,), it has 2.");
}

TEST_CASE("batches of sequence examples are TensorFlow's") {
  const data::Features context = {{"id", FixedLenFeature{{}, "int64"}},
                                  {"words", VarLenFeature{"string"}}};
  const data::Features lists = {{"frames", FixedLenSequenceFeature{{2}, "float32", true}},
                                {"tags", VarLenFeature{"string"}},
                                {"counts", FixedLenSequenceFeature{{}, "int64", true}}};
  for (const Json& item : test::golden_cases("sequence_examples").as_array()) {
    CAPTURE(item.at("name").as_string());
    std::vector<std::string> messages;
    for (size_t i = 0; i < item.at("hex").size(); ++i) {
      const std::string digits = item.at("hex")[i].as_string();
      std::string& bytes = messages.emplace_back(digits.size() / 2, '\0');
      REQUIRE(from_hex(digits, std::as_writable_bytes(std::span(bytes))));
    }
    const Element all = data::parse_sequence_example(Tensor::from(messages), context, lists);
    REQUIRE(all.size() == 3);
    const auto check_all = [](const Element& found, const Json& expected) {
      for (const auto& member : expected.as_object()) {
        const std::string& key = member.first;
        CAPTURE(key);
        const Tensor tensor = found.component(key).tensor(0);
        const Tensor wanted = test::golden_tensor(member.second);
        CHECK(tensor.dtype() == wanted.dtype());
        CHECK(tensor.shape() == wanted.shape());
        CHECK(tensor.to_string() == wanted.to_string());
      }
    };
    check_all(all.component(0), item.at("context"));
    check_all(all.component(1), item.at("lists"));
    check_all(all.component(2), item.at("lengths"));
  }
}

TEST_CASE("what batches of sequence examples lack") {
  data::SequenceExample one;
  one.set_list("frames", {Tensor::from({1.0f, 2.0f})});
  const Tensor both = Tensor::from({one.serialize(), data::SequenceExample().serialize()});
  const data::Features frames = {{"frames", FixedLenSequenceFeature{{2}, "float32", true}}};
  const Element padded = data::parse_sequence_example(
      both, {}, {{"frames", FixedLenSequenceFeature{{2}, "float32", true, Tensor(-1.0)}}});
  CHECK(padded.component(0)["frames"].to_vector<float>() == std::vector<float>{1, 2, -1, -1});
  CHECK(padded.component(1)["frames"].to_vector<int64_t>() == std::vector<int64_t>{1, 0});
  CHECK(message_of<InvalidArgument>([&] {
          data::parse_sequence_example(both, {},
                                       {{"frames", FixedLenSequenceFeature{{2}, "float32"}}});
        }) ==
        "parse_sequence_example: example 1: the feature list 'frames' is missing. Give it "
        "allow_missing, where it may be.");
  CHECK(message_of<InvalidArgument>([&] {
          data::parse_sequence_example(both, {},
                                       {{"frames", FixedLenSequenceFeature{{3}, "float32", true}}});
        }) ==
        "parse_sequence_example: example 0: the feature 'frames' was expected to have 3 values, of "
        "the shape (3,), it has 2.");
  CHECK(message_of<InvalidArgument>([&] {
          data::parse_sequence_example(both, {}, {{"frames", FixedLenFeature{{2}, "float32"}}});
        }).find("was expected to be a FixedLenSequenceFeature") != std::string::npos);
  CHECK_THROWS_AS(data::parse_sequence_example(Tensor::scalar("x"), {}, frames), InvalidArgument);
  const Element none = data::parse_sequence_example(Tensor::empty({0}, DType::String), {}, frames);
  CHECK(none.component(0)["frames"].shape() == Shape{0, 0, 2});
  CHECK(message_of<DataLoss>([&] {
          data::parse_sequence_example(Tensor::from({one.serialize(), std::string("\x12\x7f")}), {},
                                       frames);
        }).find("parse_sequence_example: example 1 is damaged") == 0);
}

TEST_CASE("what an example lacks, or has otherwise, is told with the feature's name") {
  const auto error_of = [](const data::Feature& feature, const char* key = "label") {
    return message_of<InvalidArgument>([&] {
      data::parse_example(Tensor::from({row(0), row(1)}), {{key, feature}});
    });
  };
  CHECK(error_of(FixedLenFeature{{}, "int64"}, "lable") ==
        "parse_example: example 0: the feature 'lable' (int64 ()) is missing, and there is no "
        "default for it.");
  CHECK(error_of(FixedLenFeature{{}, "float32"}) ==
        "parse_example: example 0: the feature 'label' was expected to be float32, it is int64.");
  CHECK(error_of(FixedLenFeature{{3}, "int64"}) ==
        "parse_example: example 0: the feature 'label' was expected to have 3 values, of the shape "
        "(3,), it has 1.");
  CHECK(error_of(FixedLenFeature{{3}, "int32"}) ==
        "parse_example: the feature 'label' was expected to be int64, float32 or string, got "
        "int32.");
  CHECK(error_of(FixedLenFeature{{3}, "int64", Tensor::from({1.5f, 2.0f})}) ==
        "parse_example: the default_value of the feature 'label' was expected to be int64, got "
        "float32.");
  CHECK(error_of(FixedLenFeature{{3}, "int64", Tensor::from({int64_t{1}, int64_t{2}})}) ==
        "parse_example: the default_value of the feature 'label' was expected to be a scalar or of "
        "the shape (3,), got the shape (2,).");
  CHECK(message_of<InvalidArgument>([] {
          data::parse_example(Tensor::scalar(row(0)), kFeatures);
        }) == "parse_example: expected serialized examples, string (examples,), got string ().");
  CHECK(message_of<InvalidArgument>([] { data::ExampleParser({}); }) ==
        "ExampleParser: expected features, got none.");
  CHECK(message_of<InvalidArgument>([] {
          data::ExampleParser({{"x", VarLenFeature{"int64"}}, {"x", VarLenFeature{"int64"}}});
        }) == "ExampleParser: the feature 'x' comes twice.");
  CHECK(message_of<InvalidArgument>([] {
          Example({{"x", Tensor::scalar(uint64_t{1} << 63)}}).serialize();
        }) == "Example: the feature 'x' has numbers that int64 hasn't.");
  CHECK(message_of<InvalidArgument>([] {
          Example({{"x", Tensor()}}).serialize();
        }).starts_with("Example: the feature 'x' was expected to have values, got "));
  CHECK(error_of(FixedLenFeature{{3}, "int64", 1.5}) ==
        "parse_example: the default_value of the feature 'label' was expected to be a number that "
        "int64 has, got 1.5.");
  CHECK_THROWS_AS(data::ExampleParser({{"x", FixedLenFeature{{int64_t{1} << 58}, "int64", 1}}}),
                  Error);
  CHECK_THROWS_AS(
      data::parse_single_example(Tensor::scalar(row(0)),
                                 {{"label", FixedLenFeature{{int64_t{1} << 58}, "int64"}}}),
      Error);
}

TEST_CASE("bytes that are no example are told with the feature's name and their place") {
  const auto error_of = [](const std::string& bytes) {
    return message_of<DataLoss>([&] {
      data::parse_example(Tensor::from({row(0), bytes}), {{"label", FixedLenFeature{{}, "int64"}}});
    });
  };
  CHECK(error_of("no example at all") ==
        "parse_example: example 1 is damaged at byte 0 of 17: an unknown type.");
  const std::string good = Example({{"label", 3}}).serialize();
  CHECK(good.size() == 18);
  CHECK(error_of(good.substr(0, 17)) ==
        "parse_example: example 1 is damaged at byte 1 of 17: a length beyond the end.");
  std::string bad = good;
  bad[17] = '\x80';  // the value
  CHECK(error_of(bad) ==
        "parse_example: example 1 is damaged, key 'label', at byte 17 of 18: a cut-off number.");
  bad = good;
  bad[16] = 9;  // the length of the values
  CHECK(error_of(bad) ==
        "parse_example: example 1 is damaged, key 'label', at byte 16 of 18: a length beyond the "
        "end.");
}

TEST_CASE("numbers that aren't packed, and lists in pieces, are read as packed ones") {
  using namespace data;
  std::string list;
  for (const uint64_t value : {5, 300}) {
    list += '\x08';
    wire::put_varint(list, value);
  }
  wire::put_bytes(list, 1, "\x07");
  std::string feature, entry, map, example;
  wire::put_bytes(feature, 3, list);
  wire::put_bytes(entry, 1, "x");
  wire::put_bytes(entry, 2, feature);
  wire::put_bytes(map, 1, entry);
  wire::put_bytes(example, 1, map);
  CHECK(parse_single_example(Tensor::scalar(example), {{"x", VarLenFeature{"int64"}}})["x"]
            .to_vector<int64_t>() == std::vector<int64_t>{5, 300, 7});
}
