// SPDX-License-Identifier: Apache-2.0
// What export_ refuses, and the bytes it writes. What runs of them: onnx_models_test.cc.
#include <doctest/doctest.h>

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
  CHECK(
      message_of<Unimplemented>([&] { drawing.export_(path); }) ==
      "ONNX: Sequential 'd' draws random numbers when it predicts, which an ONNX model can't do as "
      "Cornu does. Leave out what draws them.");
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
  Model padded = Sequential(
      {Input({.shape = {kUnknown, 3}}),
       layers::Conv1D(
           {.filters = 2, .kernel_size = 3, .strides = 2, .padding = "same", .name = "c"})},
      {.name = "p"});
  CHECK(
      message_of<FailedPrecondition>([&] { padded.export_(path); }) ==
      "ONNX: layer 'p/c', op 'conv_channels_second' depends on the size of an axis that isn't "
      "known, in a way that can't be written for all sizes (padding isn't always the same). Export "
      "the model for fixed ones, with .input_signature = {{.shape = {32, …}}}.");
  padded.export_(path, {.input_signature = {{.shape = {kUnknown, 9, 3}}}});
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

TEST_CASE("a model that no file holds") {
  const onnx::ProtoGraph graph{.name = "g",
                               .nodes = {},
                               .initializers = {{"w", ops::zeros({100}).host()}},
                               .inputs = {},
                               .outputs = {}};
  const std::string whole = onnx::encode_model(graph, 18, "Model 'm'");
  CHECK(onnx::encode_model(graph, 18, "Model 'm'", whole.size()) == whole);
  CHECK(message_of<ResourceExhausted>(
            [&] { onnx::encode_model(graph, 18, "Model 'm'", whole.size() - 1); }) ==
        fmt::format(
            "Model 'm': an ONNX file of one piece holds at most {} bytes, but this model takes "
            "{}. Export it in parts, models of some of its layers each.",
            whole.size() - 1, whole.size()));
}

}  // namespace
}  // namespace cornu
