// SPDX-License-Identifier: Apache-2.0
// Serializing and deserializing datasets.
#include "data/serialization.h"

#include <doctest/doctest.h>

#include <functional>
#include <map>

#include "data/csv.h"
#include "data/image_dataset.h"
#include "data/node.h"
#include "data/readers/image/image_files.h"
#include "data/serialization/link.h"
#include "data/split_dataset.h"
#include "data/text_dataset.h"
#include "data/text_files.h"
#include "data/tf_record.h"
#include "data/timeseries_dataset.h"
#include "data/transforms/transforms.h"
#include "framework/core/random.h"
#include "framework/io/fuzzing.h"
#include "framework/ops/ops.h"
#include "layers/preprocessing/random_brightness.h"
#include "layers/preprocessing/random_flip.h"
#include "tests/data/support.h"
#include "tests/support/files.h"
#include "tests/support/sanitized.h"

using namespace cornu;
using namespace cornu::testing;
using data::Dataset;
using data::deserialize;
using data::Element;
using data::serialize;
using data::SerializedDataset;

namespace {

std::string text_of(const Dataset& dataset, int64_t passes = 1) {
  std::string text;
  for (int64_t pass = 0; pass < passes; ++pass) {
    for (const Element& element : dataset) {
      for (const Tensor& tensor : element.tensors()) text += tensor.to_string() + ";";
      text += "\n";
    }
  }
  return text;
}

Dataset sent(const Dataset& dataset) {
  return deserialize(SerializedDataset::from_bytes(serialize(dataset).to_bytes()));
}

std::vector<std::string> next_texts(data::Iterator& iterator, int64_t count = INT64_MAX) {
  std::vector<std::string> texts;
  Element element;
  for (int64_t i = 0; i < count && iterator.next(element); ++i) {
    texts.emplace_back();
    for (const Tensor& tensor : element.tensors()) texts.back() += tensor.to_string();
  }
  return texts;
}

// Checks that the deserialized dataset equals the original in everything observable.
void check_sent(const std::string& name, const Dataset& dataset) {
  CAPTURE(name);
  const SerializedDataset serialized = serialize(dataset);
  CAPTURE(serialized.pipeline);
  const Dataset copy = sent(dataset);
  CHECK(copy.element_spec() == dataset.element_spec());
  CHECK(copy.cardinality() == dataset.cardinality());
  CHECK(copy.node()->batch_size() == dataset.node()->batch_size());
  CHECK(copy.options().distribute.auto_shard_policy ==
        dataset.options().distribute.auto_shard_policy);
  CHECK(data::describe_chain(*copy.node()) == data::describe_chain(*dataset.node()));
  CHECK(serialize(copy).pipeline == serialized.pipeline);
  CHECK(serialize(copy).blobs == serialized.blobs);
  CHECK(fingerprint(copy) == fingerprint(dataset));
  const std::string wanted = text_of(dataset, 2);
  CHECK(!wanted.empty());
  CHECK(text_of(copy, 2) == wanted);
  // Positions work in both directions.
  for (const bool back : {false, true}) {
    const Dataset& from = back ? copy : dataset;
    const Dataset& to = back ? dataset : copy;
    auto iterator = from.iterator();
    next_texts(iterator, 2);
    const Json position = Json::parse(iterator.save().dump());
    auto restored = to.iterator();
    restored.restore(position);
    CHECK(next_texts(restored) == next_texts(iterator));
  }
}

Dataset ten() { return Dataset::range(10); }
Tensor rows() { return Tensor::from({1.5, 2.5, 3.5, 4.5, 5.5}); }

}  // namespace

TEST_CASE("sources") {
  check_sent("range", Dataset::range(3, 20, 4));
  check_sent("range of a type", Dataset::range(3, 20, 4, {.output_type = DType::Float32}));
  check_sent("counter", Dataset::counter(-3, 2).take(7));
  check_sent("counter of a type", Dataset::counter(-3, 2, DType::Int32).take(7));
  check_sent("random", Dataset::random().take(4));
  check_sent("random of a seed",
             Dataset::random({.seed = 5, .rerandomize_each_iteration = true}).take(4));
  check_sent("slices", Dataset::from_tensor_slices({rows(), Tensor::from({1, 2, 3, 4, 5})}));
  check_sent("dictionaries",
             Dataset::from_tensor_slices(Element{{{"a", rows()}, {"b", rows()}}, rows()}));
  check_sent("tensors", Dataset::from_tensors(rows()));
  const std::string bytes("\xff\0\"\n", 4);
  check_sent("strings", Dataset::from_tensor_slices(
                            Tensor::from(std::vector<std::string>{"one", "\u00e4", bytes, ""})));
  for (const DType dtype : {DType::Bool, DType::UInt8, DType::Int8, DType::Float16, DType::BFloat16,
                            DType::Float64, DType::UInt64}) {
    check_sent(to_string(dtype), Dataset::from_tensor_slices(ops::cast(rows(), dtype)));
  }
}

TEST_CASE("transforms") {
  const Dataset d = ten();
  const auto rows_of = Dataset::from_tensor_slices({rows(), rows()});
  check_sent("assert_cardinality", d.assert_cardinality(10));
  check_sent("batch", rows_of.batch(2, {.drop_remainder = true}));
  check_sent("batch of several calls",
             d.shuffle(4).batch(2, {.num_parallel_calls = 3, .deterministic = true}));
  check_sent("cache", d.shuffle(4).cache());
  check_sent("choose", Dataset::choose_from_datasets({d, d.skip(3)}, Dataset::range(2).repeat(),
                                                     {.stop_on_empty_dataset = false}));
  check_sent("concatenate", d.concatenate(d.take(3)));
  check_sent("enumerate", rows_of.enumerate(4));
  check_sent("ignore_errors", d.ignore_errors({.log_warning = true}));
  check_sent("padded_batch",
             d.batch(3).padded_batch(2, {.padded_shapes = {{4}}, .padding_values = {Tensor(-1)}}));
  check_sent("prefetch", d.prefetch(2).prefetch(data::kAutotune));
  check_sent("ragged_batch", d.batch(3).ragged_batch(2));
  check_sent("ragged_batch of int32",
             d.batch(3).ragged_batch(2, {.row_splits_dtype = DType::Int32}));
  check_sent("repeat", d.shuffle(3).repeat(2));
  check_sent("endless repeat", d.shuffle(3).repeat().take(25));
  check_sent("sample", Dataset::sample_from_datasets({d, d, d}, {.weights = {0.25, 0, 3}}));
  check_sent("shard", d.shard(3, 1));
  check_sent("shuffle", rows_of.shuffle(3));
  check_sent("shuffle of a seed", d.shuffle(3, {.seed = -4, .reshuffle_each_iteration = false}));
  check_sent("skip and take", d.skip(2).take(5));
  check_sent("unbatch", d.batch(3).unbatch());
  check_sent("unique", d.concatenate(d).unique());
  check_sent("with_options", d.with_options({{data::AutoShardPolicy::File}}));
  check_sent("zip", Dataset::zip({rows_of, d.shuffle(3)}));
  check_sent("zip of names", Dataset::zip({{{"a", rows_of}, {"b", d.shuffle(3)}}, d}));
  // Datasets created by strategies.
  check_sent("even_shard", Dataset(data::make_even_shard(d.batch(3).node(), 3, 2)));
  check_sent("divide", Dataset(data::make_divide(d.batch(4).node(), 2)));
}

TEST_CASE("functions travel as graphs") {
  const Dataset d = ten();
  const auto odd = [](const Tensor& x) { return ops::equal(ops::mod(x, 2), 1); };
  check_sent("map", d.map([](const Tensor& x) { return std::pair(x * 2, ops::cast(x, "float32")); },
                          {.num_parallel_calls = 3}));
  check_sent("map and batch", d.map([](const Tensor& x) { return x * 2 + 1; }).batch(3));
  check_sent("batch and map",
             d.batch(3).map([](const Tensor& x) { return std::pair(x * 2, ops::sum(x)); }));
  check_sent("batches of any size",
             Dataset::from_tensor_slices(ops::ones({5, 2, 3}, DType::Float32))
                 .batch(2)
                 .map([](const Tensor& x) {
                   return std::pair(ops::expand_dims(x, -1), ops::reshape(x, {-1, 6}) / 255.0f);
                 }));
  check_sent("map and shuffle", Dataset::from_tensor_slices(rows())
                                    .map([](const Tensor& x) { return x * 2; })
                                    .shuffle(3)
                                    .batch(2));
  check_sent("random", d.map([](const Tensor& x) {
    return std::pair(x, random::uniform({2}) + random::normal({2}));
  }));
  check_sent("random batches", d.batch(3).map([](const Tensor& x) {
    return ops::cast(x, "float32") * random::uniform({});
  }));
  check_sent("filter", d.filter(odd));
  check_sent("take_while", d.take_while([](const Tensor& x) { return ops::less(x, 6); }));
  check_sent("scan", d.scan(Tensor::scalar(int64_t{1}), [](const Tensor& sum, const Tensor& x) {
    return std::pair(sum + x, std::pair(sum, x));
  }));
  check_sent("rejection_resample",
             d.rejection_resample([](const Tensor& x) { return ops::mod(x, 2); }, {0.3, 0.7},
                                  {.initial_dist = {0.5, 0.5}}));
  const Dataset words = d.batch(4);
  check_sent("bucket",
             words.bucket_by_sequence_length([](const Tensor& x) { return ops::sum(x) * 0 + 3; },
                                             {2, 5}, {2, 1, 1}, {.padding_values = {Tensor(-1)}}));
  check_sent("a loop", d.map([](const Tensor& x) {
    return ops::fori_loop(
        0, 3, [&](const Tensor&, const Tensor& y) { return y * 2 + x; }, x);
  }));
  const layers::RandomFlip flip({.seed = 3});
  const layers::RandomBrightness brightness({.factor = 0.5, .seed = 4});
  check_sent("layers", Dataset::from_tensor_slices(ops::ones({5, 4, 4, 3}, DType::Float32))
                           .map([=](const Tensor& x) { return brightness(flip(x)); }));
  check_sent("dictionaries", d.map([](const Tensor& x) {
    return Element{Tensors::named({{"a", x}, {"b", x + 1}}), x};
  }));
}

TEST_CASE("readers of files keep their paths") {
  const TempFolder folder;
  const std::string lines = folder / "lines.csv";
  write_text(lines, "x,y\n1,2\n3,4\n5,6\n");
  const std::string records = folder / "records";
  {
    data::TFRecordWriter writer(records);
    for (const char* text : {"one", "two", "three"}) writer.write(text);
  }
  check_sent("lines", data::TextLineDataset(lines, {.num_parallel_reads = 2}));
  check_sent("list_files", Dataset::list_files({lines, records}));
  check_sent("of listed files", data::TextLineDataset(Dataset::list_files({lines, lines})));
  check_sent("fixed lengths", data::FixedLengthRecordDataset(lines, 4, {.header_bytes = 4}));
  check_sent("records", data::TFRecordDataset({records, records}));
  check_sent("csv", data::CsvDataset(lines, {DType::Int32, 0.5}, {.header = true}));
  check_sent("csv columns",
             data::make_csv_dataset({lines}, 2, {.label_name = "y", .num_epochs = 1}));
  std::filesystem::create_directories(folder / "texts/a");
  std::filesystem::create_directories(folder / "texts/b");
  write_text(folder / "texts/a/1.txt", "first");
  write_text(folder / "texts/b/2.txt", "second");
  std::filesystem::create_directories(folder / "images/a");
  for (const char* name : {"images/a/1.png", "images/a/2.png"}) {
    data::save_img(folder / name, ops::ones({4, 3, 3}, "uint8"), {.scale = false});
  }
  check_sent("images",
             data::image_dataset_from_directory(folder / "images", {.label_mode = "categorical",
                                                                    .batch_size = 1,
                                                                    .image_size = {2, 2},
                                                                    .num_parallel_calls = 2}));
  check_sent("texts", data::text_dataset_from_directory(folder / "texts", {.batch_size = 1}));
  check_sent("series", data::timeseries_dataset_from_array(rows(), rows(), 2, {.batch_size = 2}));
  check_sent("split", data::split_dataset(ten().batch(2), {.left_size = 0.5}).first);
}

TEST_CASE("what is used twice is sent once") {
  const Dataset shuffled = ten().shuffle(10);
  const Dataset both = Dataset::zip({shuffled, shuffled});
  CHECK(serialize(both).pipeline.find("\"shuffle\"") ==
        serialize(both).pipeline.rfind("\"shuffle\""));
  check_sent("zip of one", both);

  const Tensor large = ops::arange(20'000);
  const Dataset twice =
      Dataset::from_tensor_slices({large, large})
          .take(3)
          .map([=](const Tensor& x, const Tensor& y) { return x + y + ops::sum(large); });
  check_sent("blobs", twice);
  const SerializedDataset serialized = serialize(twice);
  CHECK(serialized.blobs.size() == 1);
  CHECK(serialized.pipeline.size() < 3000);
  CHECK(serialized.blobs.begin()->second.size() == 80'000 + std::string("int32 20000\n").size());
  const std::vector<std::string> texts(3000, "a string of some length");
  const SerializedDataset strings =
      serialize(Dataset::from_tensor_slices(Tensor::from(texts)).take(2));
  CHECK(strings.blobs.size() == 1);
  CHECK(text_of(deserialize(strings)) ==
        text_of(Dataset::from_tensor_slices(Tensor::from(texts)).take(2)));
}

TEST_CASE("fingerprints") {
  const auto build = [](int64_t size, std::optional<int64_t> seed) {
    return ten().shuffle(size, {.seed = seed}).batch(2);
  };
  CHECK(fingerprint(build(4, {})) == fingerprint(build(4, {})));
  CHECK(fingerprint(build(4, {})).size() == 64);
  CHECK(fingerprint(build(4, {}).prefetch(1)) == fingerprint(build(4, {}).prefetch(2)));
  CHECK(fingerprint(build(4, {}).prefetch(1)) != fingerprint(build(4, {})));
  CHECK(fingerprint(build(4, {})) != fingerprint(build(5, {})));
  CHECK(fingerprint(build(4, 1)) != fingerprint(build(4, 2)));
  CHECK(fingerprint(build(4, 1)) != fingerprint(build(4, {})));
  // Neither the size of read buffers nor measuring and tuning matter.
  const auto lines = [](std::optional<int64_t> size) {
    return fingerprint(data::TextLineDataset("f", {.buffer_size = size}));
  };
  CHECK(lines({}) == lines(1000));
  const auto records = [](std::optional<int64_t> size) {
    return fingerprint(data::TFRecordDataset("f", {.buffer_size = size}));
  };
  CHECK(records({}) == records(1000));
  const auto fixed = [](std::optional<int64_t> size) {
    return fingerprint(data::FixedLengthRecordDataset("f", 4, {.buffer_size = size}));
  };
  CHECK(fixed({}) == fixed(1000));
  const auto csv = [](std::optional<int64_t> size) {
    return fingerprint(data::CsvDataset("f", {0}, {.buffer_size = size}));
  };
  CHECK(csv({}) == csv(1000));
  data::Options tuned;
  tuned.autotune = {.enabled = false, .cpu_budget = 3, .ram_budget = 1000};
  tuned.statistics = true;
  CHECK(fingerprint(ten().with_options(tuned)) == fingerprint(ten().with_options({})));
  CHECK(fingerprint(ten().with_options({.deterministic = false})) !=
        fingerprint(ten().with_options({})));
  // Serializing draws no seeds from the program's sequence.
  set_random_seed(3);
  const uint64_t next = next_seed();
  set_random_seed(3);
  const SerializedDataset serialized = serialize(ten().shuffle(2, {.seed = 1}));
  deserialize(serialized);
  CHECK(next_seed() == next);
}

TEST_CASE("what can't travel says why") {
  const Dataset d = ten();
  const auto message = [](const Dataset& dataset) {
    CHECK_THROWS_AS(fingerprint(dataset), FailedPrecondition);
    return message_of<FailedPrecondition>([&] { serialize(dataset); });
  };
  const auto pairs = [](const Dataset& window) { return window.batch(2); };
  CHECK(
      message(Dataset::from_generator([] { return std::optional<Element>(Tensor::scalar(1)); }, {})
                  .batch(2)) ==
      "generator(int32 ()): it can't be serialized: its generator is C++ code, which another "
      "process hasn't. Write its elements to files (TFRecordWriter), or give them by "
      "from_tensor_slices.");
  const std::string gives =
      "it can't be serialized: its function is C++ code that gives datasets, which another process "
      "hasn't. Iterate it there, or make its elements by map.";
  CHECK(contains(message(d.flat_map([](const Tensor&) { return Dataset::range(2); })),
                 "flat_map(to int64 ()): " + gives));
  CHECK(contains(message(d.interleave([](const Tensor&) { return Dataset::range(2); })), gives));
  CHECK(contains(message(d.window(2).flat_map(pairs)), gives));
  CHECK(
      contains(message(d.group_by_window([](const Tensor& x) { return ops::mod(x, 2); },
                                         [=](int64_t, const Dataset& g) { return pairs(g); }, 2)),
               "group_by_window(2, to int64 (None,)): it can't be serialized: its function is C++ "
               "code that gives datasets"));
  const std::string host = ": it can't be serialized: its function runs on the host, op by op, ";
  CHECK(contains(
      message(d.map([](const Tensor& x) { return Tensor::scalar(x.item<int64_t>()); })),
      "map" + host + "since it asks for the values of tensors. Write it so that it can be traced"));
  CHECK(contains(message(d.filter([](const Tensor& x) { return Tensor(x.item<int64_t>() > 2); })),
                 "filter" + host));
  CHECK(contains(message(d.map([](const Tensor& x) { return x; }, {.traced = false})),
                 host + "as its options say (traced)."));
  CHECK(contains(
      message(Dataset::from_tensors(Tensor::scalar("a")).map([](const Tensor& x) { return x; })),
      host + "since its elements have strings."));
  const Variable weight(Tensor::scalar(2.0f), {.name = "weight"});
  CHECK(contains(
      message(Dataset::from_tensor_slices(rows()).map([=](const Tensor& x) { return x * weight; })),
      "map: it can't be serialized: its function reads the variable '"));
  CHECK(contains(message(d.batch(3).map([](const Tensor& x) { return x + x.dim(0); })),
                 "map: it can't be serialized: what its function computes depends on the sizes of "
                 "axes that vary: the op 'add' isn't the same for all."));
  CHECK(contains(message(Dataset::from_tensor_slices(rows()).batch(3).map(
                     [](const Tensor& x) { return ops::mean(x); })),
                 "isn't the same for all. A mean over such an axis divides by its size, a random "
                 "op draws as many numbers. Make elements of one shape first, for example with "
                 "batch(n, {.drop_remainder = true}), or apply it before batch()."));
  class Own : public data::Node {
   public:
    using Node::Node;
    std::string describe() const override { return "own"; }
    data::StreamPtr<Element> elements(data::Pass pass) const override {
      return input().elements(pass);
    }
  };
  CHECK(message(Dataset(std::make_shared<Own>(std::vector{d.node()}))) ==
        "own: it can't be serialized, since its class doesn't override write(). See "
        "data/serialization/link.h.");
}

namespace {

void check_damaged(const std::string& pipeline, const std::string& expected) {
  CAPTURE(pipeline);
  const std::string text = message_of([&] { deserialize({pipeline, {}}); });
  CHECK(contains(text, expected));
}

// One link over range(4); `inputs` may list that input twice.
std::string over_range(const std::string& kind, const std::string& config,
                       const std::string& inputs = "0") {
  return R"({"version":1,"links":[{"kind":"range","inputs":[],"config":{"start":0,"stop":4,)"
         R"("step":1}},{"kind":")" +
         kind + R"(","inputs":[)" + inputs + R"(],"config":)" + config + R"(}],"end":1})";
}

}  // namespace

TEST_CASE("damaged pipelines are typed errors that say what is wrong") {
  check_damaged("", "JSON");
  check_damaged("{}", "deserialize: expected 'version' in {}.");
  check_damaged(R"({"version":2,"links":[],"end":0})", "expected version 1, got 2.");
  check_damaged(R"({"version":1,"links":[],"end":0})", "expected the number of a link in [0, 0)");
  check_damaged(over_range("takes", "{}"),
                "link 1 (takes): Unknown link of a dataset 'takes'. Did you mean 'take'?");
  check_damaged(over_range("take", "{}"), "link 1 (take): expected 'count' in {}.");
  check_damaged(over_range("take", R"({"count":"a"})"), "link 1 (take): ");
  check_damaged(over_range("take", R"({"count":1})", "0,0"), "expected 1 inputs, got 2.");
  check_damaged(over_range("take", R"({"count":1})", "1"), "the number of a link in [0, 1), got 1");
  check_damaged(over_range("take", R"({"count":1})", "-1"), "the number of a link in [0, 1), got");
  check_damaged(over_range("batch", R"({"batch_size":-1,"drop_remainder":false})"),
                "expected a batch_size of at least 1, got -1.");
  check_damaged(
      over_range("shuffle", R"({"buffer_size":3,"seed":null,"reshuffle_each_iteration":true})"),
      "expected the seed that it drew, got none.");
  check_damaged(over_range("filter", R"({"stops":false,"element":{"types":[["int64",[]]],)"
                                     R"("structure":null}})"),
                "expected elements of the kind (int64 (), bool ()), got int64 ().");
  check_damaged(over_range("scan", "{}"), "expected a map of pairs with a state, got range(0, 4,");
  check_damaged(over_range("text_lines", R"({"compression_type":"","buffer_size":null,)"
                                         R"("num_parallel_reads":null})"),
                "expected filenames that are string scalars, got int64 ().");
  check_damaged(over_range("tensors", R"({"tensors":{}})", ""), "expected 'tensors' in {}.");
  const auto tensor = [](const std::string& json) {
    return over_range("tensors", R"({"tensors":{"structure":null,"tensors":[)" + json + "]}}", "");
  };
  check_damaged(tensor(R"({"dtype":"int32","shape":[1000000000000],"hex":""})"),
                "expected the elements of a tensor of int32 (1000000000000,)");
  check_damaged(tensor(R"({"dtype":"int32","shape":[-5],"hex":""})"), "expected a shape, got [-5]");
  check_damaged(tensor(R"({"dtype":"int3","shape":[],"hex":""})"), "int3");
  check_damaged(tensor(R"({"dtype":"int8","shape":[],"hex":"0g"})"), "expected hexadecimal digits");
  check_damaged(tensor(R"({"blob":"abc"})"), "the blob abc is missing.");
  const auto map = [](const std::string& graph) {
    return over_range("map", R"({"who":"map","num_parallel_calls":1,"of_batches":false,)"
                             R"("structure":null,"draws_random":false,"constants":[],"graph":")" +
                                 graph + "\"}");
  };
  check_damaged(map("graph("), "link 1 (map): Graph text, line 1: expected");
  check_damaged(map("graph(%0: float32[]) {\\n return %0\\n}"),
                "expected a graph whose input 0 is int64 (), got float32 ().");
  check_damaged(map("graph(%0: int64[], %1: int64[]) {\\n return %0\\n}"),
                "expected a graph of 1 inputs without states, got 2");
  check_damaged(map("graph(%0: int64[]) {\\n return %0, %0\\n}"),
                "expected a structure of the 2 results, got one of 1.");
}

TEST_CASE("a blob is what its key says") {
  const Dataset dataset = Dataset::from_tensors(ops::arange(20'000));
  SerializedDataset serialized = serialize(dataset);
  std::string& blob = serialized.blobs.begin()->second;
  blob.back() ^= 1;
  CHECK(contains(message_of([&] { deserialize(serialized); }),
                 "is damaged: its SHA-256 is another one."));
  serialized.blobs.clear();
  CHECK_THROWS_AS(deserialize(serialized), DataLoss);

  const std::string bytes = serialize(dataset).to_bytes();
  CHECK(text_of(deserialize(SerializedDataset::from_bytes(bytes))) == text_of(dataset));
  for (const size_t size : {size_t{0}, size_t{8}, size_t{71}, size_t{90}, bytes.size() - 1}) {
    CHECK_THROWS_AS(SerializedDataset::from_bytes(bytes.substr(0, size)), DataLoss);
  }
  if (!kChecksumsMatter) return;
  std::string other = bytes;
  other[200] ^= 1;
  CHECK_THROWS_WITH_AS(SerializedDataset::from_bytes(other),
                       "a serialized dataset is damaged: its SHA-256 is another one.", DataLoss);
}

TEST_CASE("pipelines that would take too long are refused") {
  std::string deep = R"({"version":1,"links":[{"kind":"range","inputs":[],"config":{"start":0,)"
                     R"("stop":4,"step":1}})";
  std::string wide = deep;
  std::string pairs = deep;
  for (int i = 0; i < 5000; ++i) {
    const std::string input = std::to_string(i);
    deep += R"(,{"kind":"take","inputs":[)" + input + R"(],"config":{"count":1}})";
    if (i >= 100) continue;
    wide += R"(,{"kind":"concatenate","inputs":[)" + input + "," + input + R"(],"config":{}})";
    pairs += R"(,{"kind":"zip","inputs":[)" + input + "," + input + R"(],"config":{}})";
  }
  check_damaged(deep + R"(],"end":5000})", "at most 1024 links behind one another, got more.");
  check_damaged(wide + R"(],"end":100})", "at most 16384 links, each counted as often as it is");
  check_damaged(pairs + R"(],"end":100})", "at most 16384 links, each counted as often as it is");

  Dataset chain = ten();
  for (int i = 0; i < 2000; ++i) chain = chain.take(5);
  CHECK_THROWS_AS(serialize(chain), FailedPrecondition);
}

TEST_CASE("links of one's own are registered") {
  class Twice : public data::Node {
   public:
    explicit Twice(data::NodePtr input) : Node({std::move(input)}) {}
    std::string describe() const override { return "twice"; }
    void write(data::LinkWriter& link) const override { link.kind("test_twice")("count", 2); }
    data::StreamPtr<Element> elements(data::Pass pass) const override {
      return input().elements(pass);
    }
  };
  data::link_registry().add("test_twice", {1, 1, [](data::LinkReader& link) -> data::NodePtr {
                                             CHECK(link.get<int64_t>("count") == 2);
                                             return std::make_shared<Twice>(link.input());
                                           }});
  check_sent("one's own", Dataset(std::make_shared<Twice>(ten().node())));
}

namespace {

// Puts a few mistakes into the text: changed characters, numbers out of range, parts that are
// removed or repeated.
std::string with_mistakes(std::string text, PhiloxEngine& engine) {
  const auto below = [&](size_t count) { return static_cast<size_t>(engine.below(count)); };
  const std::string characters = "0123456789-.[]{},:\"%az";
  const std::vector<std::string> numbers = {"-1", "0", "9223372036854775807", "1e300", "70000"};
  for (size_t mistakes = 1 + below(3); mistakes-- > 0;) {
    const size_t at = below(text.size());
    const size_t length = 1 + below(20);
    switch (below(4)) {
      case 0:
        text[at] = characters[below(characters.size())];
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(below(text.size()), length));
        break;
      default: {
        const size_t begin = text.find_first_of("0123456789", at);
        if (begin == std::string::npos) break;
        const size_t end = text.find_first_not_of("0123456789", begin);
        text.replace(begin, end - begin, numbers[below(numbers.size())]);
      }
    }
  }
  return text;
}

}  // namespace

TEST_CASE("mistakes in a pipeline give typed errors, or another pipeline") {
  const auto lengths = [](const Tensor& x) { return ops::sum(x) * 0 + 3; };
  const auto sums = [](const Tensor& sum, const Tensor& x) { return std::pair(sum + x, x); };
  const Tensor steps = ops::arange(6);
  const std::vector<Dataset> datasets = {
      ten().shuffle(3).repeat(2).batch(4, {.drop_remainder = true}).prefetch(2),
      ten().map([](const Tensor& x) { return x * 2 + 1; }).batch(3),
      ten().map([](const Tensor& x) { return std::pair(x, random::uniform({2})); }),
      ten().scan(Tensor::scalar(int64_t{0}), sums).enumerate().skip(1).take(3),
      ten().batch(4).bucket_by_sequence_length(lengths, {2, 5}, {2, 1, 1}),
      ten().batch(3).padded_batch(2).unbatch().cache().ignore_errors(),
      Dataset::sample_from_datasets({ten(), ten().concatenate(ten())}, {.weights = {1, 2}}),
      Dataset::from_tensor_slices(Element{{{"a", rows()}, {"b", rows()}}, rows()}).shard(2, 1),
      Dataset::zip({ten(), Dataset::random().with_options({})})
          .filter([](const Tensor& x, const Tensor& y) { return ops::less(x, y); }),
      data::CsvDataset("a", {DType::Int32, 0.5, "none"}, {.exclude_cols = {1}}),
      data::FixedLengthRecordDataset(Dataset::from_tensor_slices(Tensor::from({"a", "b"})), 4),
      data::timeseries_dataset_from_array(steps, steps, 2, {.batch_size = 2}),
  };
  PhiloxEngine engine(11, 0);
  int64_t read = 0;
  for (const Dataset& dataset : datasets) {
    const std::string pipeline = serialize(dataset).pipeline;
    for (int64_t i = 0; i < cases(500, 100); ++i) {
      const std::string text = with_mistakes(pipeline, engine);
      CAPTURE(text);
      try {
        const Dataset other = deserialize({text, {}});
        CHECK(!data::describe_chain(*other.node()).empty());
        CHECK(serialize(deserialize(serialize(other))).pipeline == serialize(other).pipeline);
        ++read;
      } catch (const Error& error) {
        CHECK(error.code() != StatusCode::Internal);
      }
    }
  }
  CHECK(read > cases(100, 20));
}
