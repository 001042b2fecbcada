// SPDX-License-Identifier: Apache-2.0
// Models that export_ rejects, and the bytes it writes. onnx_models_test.cc runs exported models.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "framework/core/random.h"
#include "framework/core/strings.h"
#include "framework/ops/ops.h"
#include "framework/saving/onnx/onnx_proto.h"
#include "framework/train/model.h"
#include "layers/layers.h"
#include "tests/support/errors.h"
#include "tests/support/events.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

using test::contains;
using test::Message;
using test::message_of;
using test::Scratch;

class Drawing : public Layer {
 public:
  using Layer::Layer;
  Tensor call(const Tensor& x, const CallArgs&) override { return x + random::uniform(x.shape()); }
};

class Factored : public Layer {
 public:
  using Layer::Layer;
  Tensor call(const Tensor& x, const CallArgs&) override { return ops::cholesky(x); }
};

class Plain : public Model {
 public:
  Tensor call(const Tensor& x, const CallArgs&) override { return x * 2; }
};

Model two_layers() {
  return Sequential(
      {Input({.shape = {4}, .name = "given"}), layers::Dense({.units = 3, .name = "first"}),
       layers::Dense({.units = 2, .use_bias = false, .name = "second"})},
      {.name = "m"});
}

TEST_CASE("export_ says what it can't do") {
  const Scratch scratch;
  const std::string path = scratch.path("m.onnx");
  Model model = two_layers();
  CHECK(message_of<Unimplemented>([&] { model.export_(path, {.format = "tf_saved_model"}); }) ==
        "Sequential 'm': export_ writes the format \"onnx\", not \"tf_saved_model\". TensorFlow's "
        "SavedModel is written by Python Keras, of the file that save('x.keras') writes.");
  CHECK(message_of([&] { model.export_(path, {.opset_version = 17}); }) ==
        "Sequential 'm': export_ expected an opset_version from 18 to 23, got 17.");
  CHECK(message_of([&] {
          model.export_(path, {.input_signature = {{.shape = {2, 4}}, {.shape = {2, 4}}}});
        }) == "Sequential 'm': export_ expected an input_signature of 1 inputs, got 2.");
  Model unbuilt = Sequential({layers::Dense({.units = 2})}, {.name = "unbuilt"});
  CHECK(contains(message_of<FailedPrecondition>([&] { unbuilt.export_(path); }), "unbuilt"));
  const auto plain = make_layer<Plain>();
  Model subclass = *plain;
  subclass.predict_on_batch(ops::ones({2, 3}));
  CHECK(contains(message_of<FailedPrecondition>([&] { subclass.export_(path); }),
                 "export_ doesn't know its inputs. Give them, for example with .input_signature = "
                 "{{.shape = {kUnknown, 28, 28, 1}}}."));
  CHECK(scratch.names().empty());
  CHECK(contains(message_of<NotFound>([&] { model.export_(scratch.path("no/m.onnx")); }), "no/m"));
}

TEST_CASE("what ONNX doesn't have is refused by layer and op, and the file stays what it was") {
  const Scratch scratch;
  const std::string path = scratch.path("m.onnx");
  Model model = two_layers();
  model.export_(path);
  const std::string before = test::contents(scratch.path("m.onnx"));

  Model drawing = Sequential({Input({.shape = {4}}), make_layer<Drawing>()}, {.name = "d"});
  CHECK(message_of<Unimplemented>([&] { drawing.export_(path); }) ==
        "ONNX: Sequential 'd' draws random numbers when it predicts, which an ONNX model can't do "
        "as Cornu does. Omit what draws them.");
  Model factored = Sequential({Input({.shape = {3, 3}}), make_layer<Factored>()}, {.name = "f"});
  CHECK(
      message_of<Unimplemented>([&] { factored.export_(path); }) ==
      "ONNX: layer 'f/factored', op 'cholesky' can't be exported: no operator of ONNX is known for "
      "it. Export a model that ends before it, or that has another layer in its place.");
  Model stateful = Sequential({Input({.shape = {5, 2}, .batch_size = 3}),
                               layers::GRU({.units = 2, .stateful = true, .name = "g"})});
  CHECK(contains(message_of<Unimplemented>([&] { stateful.export_(path); }),
                 "and an ONNX model keeps no state between runs. Make the layer without stateful = "
                 "true"));
  const layers::StringLookup lookup({.vocabulary = {"a", "b"}});
  Model texts =
      Sequential({Input({.shape = {2}, .dtype = "string", .name = "text"}), lookup}, {.name = "t"});
  CHECK(message_of<Unimplemented>([&] { texts.export_(path); }) ==
        "Sequential 't': its input 'text' is of strings, which Cornu's ops don't take. Export "
        "the part of the model behind the layers that make numbers of them.");
  CHECK(test::contents(scratch.path("m.onnx")) == before);
}

TEST_CASE("what follows an axis of unknown size in no simple way is refused") {
  const Scratch scratch;
  const std::string path = scratch.path("m.onnx");
  Model pooled = Sequential({Input({.shape = {kUnknown, 3}}),
                             layers::AdaptiveAveragePooling1D({.output_size = 3, .name = "a"})},
                            {.name = "p"});
  CHECK(message_of<FailedPrecondition>([&] { pooled.export_(path); }) ==
        "ONNX: layer 'p/a', op 'transpose' depends on the size of an axis that isn't known, in a "
        "way that can't be written for all sizes (for other sizes it is 'constant'). Export the "
        "model for fixed ones, with .input_signature = {{.shape = {32, …}}}.");
  pooled.export_(path, {.input_signature = {{.shape = {kUnknown, 9, 3}}}});
  CHECK(scratch.names() == std::vector<std::string>{"m.onnx"});
  Model added =
      Sequential({Input({.shape = {kUnknown, 3}}), layers::LSTM({.units = 2, .unroll = true})});
  CHECK(contains(message_of<FailedPrecondition>([&] { added.export_(path); }),
                 "ONNX: the model depends on the size of an axis that isn't known, in a way that "
                 "can't be written for all sizes (4088 ops for some sizes, 4105 for others)"));
}

std::string names_of(const Message& graph, int list, int name) {
  std::vector<std::string> names;
  for (const std::string& item : graph.all(list)) names.push_back(Message(item).text(name));
  return join(names, " ");
}

TEST_CASE("the bytes of a model") {
  const Scratch scratch;
  Model model = two_layers();
  model.export_(scratch.path("m.onnx"));
  model.export_(scratch.path("again.onnx"));
  const std::string bytes = test::contents(scratch.path("m.onnx"));
  CHECK(bytes == test::contents(scratch.path("again.onnx")));
  const Message file(bytes);
  CHECK(file.number(1) == 8);  // IR version
  CHECK(file.text(2) == "cornu");
  CHECK(file.message(8).number(2) == 18);  // operator set
  const Message graph = file.message(7);
  CHECK(names_of(graph, 1, 4) == "MatMul Add MatMul");
  CHECK(names_of(graph, 11, 1) == "given");
  CHECK(names_of(graph, 12, 1) == "second");
  CHECK(names_of(graph, 5, 8) == "m/first/kernel m/first/bias m/second/kernel");
  const Message kernel(graph.all(5)[0]);
  CHECK(kernel.numbers.at(1) == std::vector<uint64_t>{4, 3});
  CHECK(kernel.number(2) == 1);  // float32
  const Tensor value = model.weights()[0].value();
  CHECK(kernel.text(9) ==
        std::string(reinterpret_cast<const char*>(value.host().data<float>().data()),
                    4 * 3 * sizeof(float)));

  model.export_(scratch.path("m.onnx"), {.opset_version = 23});
  const std::string later = test::contents(scratch.path("m.onnx"));
  CHECK(Message(later).number(1) == 11);
  CHECK(Message(later).message(8).number(2) == 23);
}

// The weights of a recurrent layer are stored once, regardless of how often it is called.
TEST_CASE("the file of a recurrent layer that is called twice") {
  const Scratch scratch;
  const layers::LSTM layer({.units = 4, .name = "lstm"});
  const Tensor x = Input({.shape = {5, 3}, .name = "x"});
  Model model(x, {Tensor(layer(x)), Tensor(layer(x * 2))}, {.name = "m"});
  model.export_(scratch.path("m.onnx"));
  const Message graph = Message(test::contents(scratch.path("m.onnx"))).message(7);
  const std::string operators = names_of(graph, 1, 4);
  CHECK(operators.find("LSTM") != operators.rfind("LSTM"));
  std::vector<std::string> of_layer;
  for (const std::string& item : graph.all(5)) {
    const std::string name = Message(item).text(8);
    if (contains(name, "lstm_cell")) of_layer.push_back(name.substr(name.rfind('/') + 1));
  }
  std::sort(of_layer.begin(), of_layer.end());
  CHECK(join(of_layer, " ") == "bias kernel recurrent_kernel");
}

std::string joined(const onnx::EncodedModel::Pieces& pieces) {
  std::string bytes;
  for (const auto piece : pieces) {
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  return bytes;
}

onnx::ProtoGraph of_two_tensors() {
  return {.name = "g",
          .nodes = {},
          .initializers = {{"w", ops::arange(100.0).host()}, {"v", ops::arange(3.0).host()}},
          .inputs = {},
          .outputs = {}};
}

TEST_CASE("a model that no file holds") {
  const onnx::ProtoGraph graph = of_two_tensors();
  const auto encoded = [&](onnx::TensorStorage storage) {
    return onnx::encode_model(graph, 18, "Model 'm'", storage);
  };
  const std::string whole = joined(encoded({.location = "m.data"}).file);
  CHECK(joined(encoded({.location = "m.data", .limit = whole.size()}).file) == whole);
  CHECK(message_of<ResourceExhausted>(
            [&] { encoded({.location = "m.data", .limit = whole.size() - 1}); }) ==
        fmt::format("Model 'm': an ONNX file of one piece holds at most {} bytes, but this model "
                    "takes {}. Export it with .save_as_external_data = true, which puts its "
                    "weights into a file of their own.",
                    whole.size() - 1, whole.size()));
  const onnx::TensorStorage beside = {.location = "m.data", .external = true, .threshold = 1};
  const std::string file = joined(encoded(beside).file);
  CHECK(file.size() < 250);
  CHECK(message_of<ResourceExhausted>([&] {
          encoded({.location = "m.data", .external = true, .threshold = 1, .limit = 100});
        }) == fmt::format("Model 'm': an ONNX file of one piece holds at most 100 bytes, but this "
                          "model takes {}. Export it in parts, models of some of its layers each.",
                          file.size()));
}

std::map<std::string, std::string> external_entries(const Message& tensor) {
  std::map<std::string, std::string> entries;
  for (const std::string& item : tensor.all(13)) {
    entries[Message(item).text(1)] = Message(item).text(2);
  }
  return entries;
}

TEST_CASE("external data begins by itself where there is much") {
  const onnx::ProtoGraph graph = of_two_tensors();
  const auto encoded = [&](uint64_t whole) {
    return onnx::encode_model(graph, 18, "Model 'm'",
                              {.location = "m.data", .threshold = 8, .whole = whole});
  };
  CHECK(onnx::TensorStorage{.location = {}}.whole == 1'500'000'000);
  CHECK(encoded(412).data.empty());  // 100 and 3 float32 values
  const onnx::EncodedModel apart = encoded(411);
  const std::string data = joined(apart.data);
  REQUIRE(data.size() == 4096 + 12);  // the second one starts at the next page
  const Message read = Message(joined(apart.file)).message(7);
  const Message w(read.all(5)[0]), v(read.all(5)[1]);
  CHECK(w.number(14) == 1);
  CHECK(w.text(9).empty());
  using Entries = std::map<std::string, std::string>;
  CHECK(external_entries(w) == Entries{{"location", "m.data"}, {"offset", "0"}, {"length", "400"}});
  CHECK(external_entries(v) ==
        Entries{{"location", "m.data"}, {"offset", "4096"}, {"length", "12"}});
  for (size_t i = 0; i < 2; ++i) {
    const Tensor& value = graph.initializers[i].value;
    CHECK(data.substr(i * 4096, value.bytes()) ==
          std::string(reinterpret_cast<const char*>(value.raw()), value.bytes()));
  }
}

TEST_CASE("files of external data") {
  const Scratch scratch;
  const std::string path = scratch.path("ü 'm'.onnx");
  Model model = two_layers();
  const ExportOptions options = {.save_as_external_data = true, .size_threshold = 24};
  model.export_(path, options);
  CHECK(scratch.names() == std::vector<std::string>{"ü 'm'.onnx", "ü 'm'.onnx.data"});
  const std::string file = test::contents(path);
  CHECK(contains(file, "ü 'm'.onnx.data"));
  CHECK(test::contents(path + ".data").size() == 4096 + 24);  // kernels of 48 and 24 bytes

  // If one of the two files can't be written, both stay unchanged.
  std::filesystem::remove(path + ".data");
  std::filesystem::create_directory(path + ".data");
  CHECK(contains(message_of<FailedPrecondition>([&] { model.export_(path, options); }),
                 ".data' can't be written: there is a directory of this name"));
  CHECK(test::contents(path) == file);
  CHECK(scratch.names() == std::vector<std::string>{"ü 'm'.onnx", "ü 'm'.onnx.data"});

  CHECK(message_of([&] { model.export_(path, {.size_threshold = -1}); }) ==
        "Sequential 'm': export_ expected a size_threshold >= 0, got -1.");
  CHECK(contains(message_of([&] { model.export_(scratch.path("\xff.onnx"), options); }),
                 "ONNX: the name of a file of external data must be UTF-8, got '"));
  CHECK(scratch.names().size() == 2);
}

TEST_CASE("names that no ONNX file can have") {
  const Scratch scratch;
  const std::string path = scratch.path("m.onnx");
  const auto refusal = [&](const std::string& name) {
    return message_of([&] {
      two_layers().export_(path, {.input_signature = {{.shape = {2, 4}, .name = name}}});
    });
  };
  CHECK(refusal(std::string("a\0b", 3)) ==
        "ONNX: names in a file are UTF-8 text without zero bytes, got 'a\\x00b'. Give the model, "
        "layer, input or output another name.");
  CHECK(contains(refusal("a\xff"), "ONNX: names in a file are UTF-8 text"));
  for (const char* name : {"m\xc3", "\xed\xa0\x80"}) {
    Model model = Sequential({Input({.shape = {4}}), layers::Dense({.units = 2, .name = name})});
    CHECK(contains(message_of([&] { model.export_(path); }), "ONNX: names in a file are UTF-8"));
    Model named = Sequential({Input({.shape = {4}}), layers::Dense({.units = 2})}, {.name = name});
    CHECK(contains(message_of([&] { named.export_(path); }), "ONNX: names in a file are UTF-8"));
  }
  CHECK(scratch.names().empty());
}

}  // namespace
}  // namespace cornu
