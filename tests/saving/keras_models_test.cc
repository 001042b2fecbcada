// SPDX-License-Identifier: Apache-2.0
// Models that real Keras loads and saves again. keras_models.py is the Python side.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "framework/io/atomic_file.h"
#include "framework/saving/hdf5_file.h"
#include "framework/train/trainer.h"
#include "tests/saving/models.h"
#include "tests/support/python.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

using test::numbers;
using test::Scratch;

struct Case {
  Model model;
  Tensors x;
};

Case trained_cnn() {
  Sequential model = test::small_cnn();
  const Tensor x = numbers({6, 8, 8}, 255);
  model.compile(
      {.optimizer = "adam",
       .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
       .metrics = {"accuracy",
                   metrics::SparseCategoricalAccuracy({.name = "a", .dtype = "float64"}),
                   metrics::SparseTopKCategoricalAccuracy({.k = 2, .dtype = "float16"})}});
  model.fit(x, Tensor::from(std::vector<int32_t>{0, 1, 2, 0, 1, 2}),
            {.batch_size = 3, .verbose = 0});
  return {model, x};
}

Case ops_and_shared_layers() {
  return {test::op_model(), {numbers({5, 3}), numbers({5, 3}, -0.5F)}};
}

// A model that is part of the whole model, and also of another part.
Case shared_between() {
  const Tensor a = Input({.shape = {4}});
  Model inner(a, layers::Dense({.units = 4, .activation = "tanh"})(a));
  const Tensor x = Input({.shape = {4}});
  Model outer(x, inner(x));
  Model model(x, layers::Add()({inner(x), outer(x)}));
  return {model, {numbers({5, 4})}};
}

Case nested() {
  const Sequential inner(Input({.shape = {4}}),
                         {layers::Dense({.units = 3, .activation = "relu"}),
                          layers::BatchNormalization(), layers::Dropout({.rate = 0.5})},
                         {.name = "inner"});
  const Tensor a = Input({.shape = {4}, .name = "a"});
  const Tensor b = Input({.shape = {4}, .name = "b"});
  const LayerHandle shared(inner);
  const Tensor sum = layers::Add()({shared(a), shared(b)});
  const Tensor y = layers::Dense({.units = 2, .name = "y"})(sum);
  Model model({a, b}, y);
  const Tensors x = {numbers({5, 4}), numbers({5, 4}, 0.5F)};
  model.compile(
      {.optimizer = optimizers::SGD({.learning_rate = 0.1, .momentum = 0.9}), .loss = "mse"});
  model.fit(x, numbers({5, 2}), {.verbose = 0});
  return {model, x};
}

// A model trained with an optimizer that has special state.
Case trained_with(const Optimizer& optimizer) {
  Sequential model(Input({.shape = {4}}),
                   {layers::Dense({.units = 3, .activation = "tanh", .name = "first"}),
                    layers::Dense({.units = 2, .name = "last"})});
  model.compile({.optimizer = optimizer, .loss = "mse"});
  const Tensor x = numbers({6, 4});
  model.fit(x, numbers({6, 2}, 0.3F), {.batch_size = 2, .epochs = 2, .verbose = 0});
  return {model, x};
}

void add_optimizers(std::map<std::string, Case>& cases) {
  cases.emplace("adafactor", trained_with(optimizers::Adafactor({.learning_rate = 0.1})));
  cases.emplace("muon", trained_with(optimizers::Muon({.use_ema = true})));
  cases.emplace("schedule_free", trained_with(optimizers::ScheduleFreeAdamW()));
  cases.emplace("loss_scale",
                trained_with(optimizers::LossScaleOptimizer(
                    {.inner_optimizer = optimizers::Adam(), .dynamic_growth_steps = 4})));
  // Around these optimizers, Keras's files lack a part of the state.
  cases.emplace(
      "loss_scale_nadam",
      trained_with(optimizers::LossScaleOptimizer({.inner_optimizer = optimizers::Nadam()})));
  cases.emplace(
      "loss_scale_adafactor",
      trained_with(optimizers::LossScaleOptimizer({.inner_optimizer = optimizers::Adafactor()})));
  const optimizers::OptimizerMap map(
      optimizers::SGD({.momentum = 0.9}),
      {{".*bias", optimizers::Adam()}, {".*last/kernel", optimizers::Adam({.beta_1 = 0.5})}});
  cases.emplace("multi", trained_with(optimizers::MultiOptimizer({.optimizer_map = map})));
}

// Ignores the variables that the optimizer's files lack.
void check_same(const std::vector<Variable>& found, const std::vector<Variable>& wanted,
                const Optimizer& optimizer) {
  const std::vector<Variable> unsaved = optimizer.impl().unsaved_variables();
  REQUIRE(found.size() == wanted.size());
  for (size_t i = 0; i < found.size(); ++i) {
    CAPTURE(wanted[i].path());
    CHECK(found[i].name() == wanted[i].name());
    const auto is_it = [&](const Variable& variable) { return variable.id() == wanted[i].id(); };
    if (std::ranges::any_of(unsaved, is_it)) continue;
    CHECK(test::distance(found[i].value(), wanted[i].value()) == 0);
  }
}

void check_same_state(const Optimizer& back, const Optimizer& expected) {
  check_same(back.variables(), expected.variables(), expected);
  const auto found = back.impl().parts();
  const auto wanted = expected.impl().parts();
  REQUIRE(found.size() == wanted.size());
  for (size_t i = 0; i < found.size(); ++i) {
    check_same(found[i].second.variables(), wanted[i].second.variables(), expected);
  }
}

// Parts of tensors, and ops that don't belong to a layer.
Case parts() {
  const Tensor x = Input({.shape = {6}, .name = "x"});
  const Tensor images = Input({.shape = {4, 6}, .name = "images"});
  const std::vector<Tensor> thirds = ops::split(x, 3, -1);
  const Tensor kind = ops::argmax(x, -1);
  const Tensor one = ops::one_hot(kind, 6) + ops::zeros_like(x);
  const Tensor row = images(Slice(), 1, Slice({}, {}, -1));
  const Tensor some = ops::take(images, Tensor::from<int32_t>({0, 2}), 1);
  const Tensor padded = ops::pad(x(Slice(), Slice(1, 6, 2)), {{0, 0}, {1, 2}}, 3.0F);
  const std::vector<Tensor> all = {x(Slice(), Slice(1, 4)),
                                   thirds[0] * thirds[2],
                                   one,
                                   row,
                                   ops::sum(some, 1),
                                   padded,
                                   ops::einsum("bij,bj->bi", {images, x}),
                                   ops::matmul(images, images, {.transpose_x2 = true})(Slice(), 0),
                                   ops::cumsum(x, 1),
                                   x(ellipsis, newaxis, 0)};
  return {Model({x, images}, layers::concatenate(all)), {numbers({5, 6}), numbers({5, 4, 6})}};
}

// A mask attached to a tensor, and one passed as an argument.
Case masked() {
  const Tensor words = Input({.shape = {4}, .dtype = DType::Int32, .name = "words"});
  const Tensor x = layers::Embedding({.input_dim = 6, .output_dim = 3, .mask_zero = true})(words);
  const Tensor riding = layers::GlobalAveragePooling1D()(x);
  const Tensor given = layers::GlobalAveragePooling1D()(x, {.mask = ops::greater(words, 2)});
  const Tensor indices = Tensor::from<int32_t>({1, 3, 0, 0, 5, 4, 3, 2, 0, 1, 0, 4}, {3, 4});
  return {Model(words, layers::concatenate({riding, given})), indices};
}

// Image layers that only change sizes in inference.
Case pictures() {
  Sequential model({
      Input({.shape = {9, 8, 3}}),
      layers::Resizing({.height = 7, .width = 6}),
      layers::RandomFlip("horizontal"),
      layers::RandomRotation({.factor = {-0.1, 0.2}, .seed = 3}),
      layers::RandomZoom({.height_factor = 0.1, .fill_mode = "constant"}),
      layers::RandomTranslation({.height_factor = 0.1, .width_factor = {0.1, 0.2}}),
      layers::RandomContrast({.factor = 0.1}),
      layers::RandomBrightness({.factor = 0.1, .value_range = {0.0, 1.0}}),
      layers::CenterCrop({.height = 5, .width = 4}),
      layers::Conv2D({.filters = 2, .kernel_size = 3}),
  });
  return {model, numbers({4, 9, 8, 3})};
}

// Layers that have learned from data.
Case categories() {
  const Tensor numbers_in = Input({.shape = {3}, .name = "numbers"});
  const Tensor ids = Input({.shape = {2}, .dtype = DType::Int64, .name = "ids"});
  const layers::Normalization normalization;
  normalization.adapt(numbers({20, 3}, 3));
  const layers::Discretization bins({.num_bins = 4});
  bins.adapt(numbers({20, 3}, 3));
  const layers::IntegerLookup lookup({.vocabulary = {4, 9}, .output_mode = "count"});
  const layers::CategoryEncoding encoding({.num_tokens = 12});
  const layers::Hashing hashing({.num_bins = 6, .salt = {1, 2}});
  const Model model({numbers_in, ids}, Tensors({normalization(numbers_in), bins(numbers_in),
                                                lookup(ids), encoding(ids), hashing(ids)}));
  return {model, {numbers({4, 3}), Tensor::from<int64_t>({4, 1, 9, 9, 0, 11, 3, 4}, {4, 2})}};
}

// An encoder of one sequence, and a decoder that starts from its final states.
Case recurrent() {
  const Tensor words = Input({.shape = {5}, .dtype = DType::Int32, .name = "words"});
  const Tensor start = Input({.shape = {3, 4}, .name = "start"});
  const Tensor x = layers::Embedding({.input_dim = 6, .output_dim = 3, .mask_zero = true})(words);
  const Tensors read = layers::LSTM({.units = 4, .return_state = true})(x);
  const Tensor written = layers::LSTM({.units = 4, .return_sequences = true})(
      {{"sequences", start}, {"initial_state", read[1]}, {"initial_state", read[2]}});
  const Tensor both = layers::Bidirectional(layers::GRU({.units = 3, .return_sequences = true}))(x);
  const Tensor each = layers::TimeDistributed(layers::Dense({.units = 2}))(written);
  const Tensor plain = layers::SimpleRNN({.units = 2, .go_backwards = true})(both);
  const Tensor stacked =
      layers::RNN({layers::LSTMCell({.units = 3}), layers::GRUCell({.units = 2})},
                  {.zero_output_for_mask = true})(x);
  const Tensor indices =
      Tensor::from<int32_t>({1, 3, 0, 0, 5, 4, 3, 2, 0, 0, 0, 0, 0, 0, 1}, {3, 5});
  return {Model({words, start}, {read[0], each, plain, stacked}), {indices, numbers({3, 3, 4})}};
}

// Attention: arguments by name and by position, settings, masks attached to tensors. Each attention
// layer has its own masked tensor, since Keras's layer removes the masks from its inputs.
Case attending() {
  const Tensor words = Input({.shape = {5}, .dtype = DType::Int32, .name = "words"});
  const Tensor other = Input({.shape = {3, 4}, .name = "other"});
  const auto embedded = [&] {
    return Tensor(layers::Embedding({.input_dim = 6, .output_dim = 4, .mask_zero = true})(words));
  };
  const Tensor x = embedded();
  const layers::MultiHeadAttention heads({.num_heads = 2, .key_dim = 3});
  const Json causal = Json::object({{"use_causal_mask", true}});
  const Tensor itself = heads({x, x}, {.settings = causal});
  const Tensor across = layers::MultiHeadAttention(
      {.num_heads = 2, .key_dim = 2, .value_dim = 3, .dropout = 0.1, .use_gate = true})(
      {{"query", other}, {"value", embedded()}, {"key", itself}});
  const Tensor grouped = layers::GroupQueryAttention(
      {.head_dim = 2, .num_query_heads = 4, .num_key_value_heads = 2})({other, other});
  const Tensors scored = layers::Attention({.use_scale = true})(
      {other, embedded()}, {.settings = Json::object({{"return_attention_scores", true}})});
  const Tensor added = layers::AdditiveAttention()({other, across}, {.settings = causal});
  const Tensor dense = layers::EinsumDense(
      {.equation = "...x,xy->...y", .output_shape = {3}, .bias_axes = "y"})(grouped);
  const Tensor indices =
      Tensor::from<int32_t>({1, 3, 0, 0, 5, 4, 3, 2, 0, 0, 2, 0, 0, 0, 1}, {3, 5});
  return {Model({words, other}, {itself, across, scored[0], scored[1], added, dense}),
          {indices, numbers({3, 3, 4})}};
}

// Tokens to vectors and back with the same layer, equations, wrappers, adaptive pooling.
Case both_ways() {
  const Tensor words = Input({.shape = {5}, .dtype = DType::Int32, .name = "words"});
  const Tensor picture = Input({.shape = {4, 5, 3}, .name = "picture"});
  const layers::ReversibleEmbedding embedding(
      {.input_dim = 7, .output_dim = 4, .tie_weights = false, .mask_zero = true});
  Tensor x = layers::RMSNormalization()(embedding(words));
  x = layers::EinsumDense(
      {.equation = "abc,cde->abde", .output_shape = {kUnknown, 2, 2}, .bias_axes = "de"})(x);
  x = layers::EinsumDense({.equation = "...cd,cde->...e", .output_shape = {4}})(x);
  const Tensor logits = embedding(x, {.settings = Json::object({{"reverse", true}})});
  Tensor y =
      layers::SpectralNormalization(layers::Conv2D({.filters = 3, .kernel_size = 2}))(picture);
  y = layers::AdaptiveAveragePooling2D({.output_size = {3, 4}})(y);
  y = layers::Reshape({.target_shape = {3, 2, 2, 3}})(y);
  y = layers::Conv3DTranspose({.filters = 2, .kernel_size = 2})(y);
  const Tensor z = layers::AdaptiveMaxPooling3D({.output_size = 2})(y);
  const Tensor indices =
      Tensor::from<int32_t>({1, 3, 0, 0, 5, 4, 6, 2, 0, 0, 0, 0, 0, 0, 1}, {3, 5});
  return {Model({words, picture}, {logits, z}), {indices, numbers({3, 4, 5, 3})}};
}

// Kernels adapted by small matrices; files contain their sum.
Case lora() {
  const Tensor words = Input({.shape = {5}, .dtype = DType::Int32, .name = "words"});
  Tensor x = layers::Embedding({.input_dim = 6, .output_dim = 4, .lora_rank = 2})(words);
  x = layers::Conv1D({.filters = 4, .kernel_size = 2, .lora_rank = 1, .lora_alpha = 3})(x);
  const layers::EinsumDense dense({.equation = "abc,cd->abd", .output_shape = {4, 3}});
  x = dense(x);
  dense.enable_lora({.rank = 2, .lora_alpha = 4});
  const layers::ReversibleEmbedding both_ways({.input_dim = 6, .output_dim = 3, .lora_rank = 2});
  const Tensor logits = both_ways(x, {.settings = Json::object({{"reverse", true}})});
  const Tensor vectors = layers::Cropping1D({.cropping = {0, 1}})(both_ways(words));
  x = layers::Concatenate()({logits, vectors});
  Model model(words,
              layers::Dense({.units = 2, .lora_rank = 2})(layers::GlobalAveragePooling1D()(x)));
  model.compile({.optimizer = "adam", .loss = "mse"});
  const Tensor indices = Tensor::from<int32_t>({1, 3, 0, 0, 5, 4, 3, 2, 0, 0}, {2, 5});
  model.fit(indices, numbers({2, 2}), {.epochs = 3, .verbose = 0});
  return {model, indices};
}

// Inputs that are also outputs, and constants shaped like a placeholder of known shape.
Case ends() {
  const Tensor x = Input({.batch_shape = {4, 3}, .name = "x"});
  const Tensor from = Input({.name = "from", .tensor = x});
  return {Model({x, from}, {x, ops::zeros_like(x), ops::full_like(from, 2), from}),
          {numbers({4, 3}), numbers({4, 3}, 2)}};
}

Case identity() {
  const Tensor x = Input({.shape = {3}, .name = "x"});
  return {Model(x, x), numbers({4, 3})};
}

class Branches : public Model {
 public:
  Branches() : Model(ModelOptions{}) {}
  Tensor call(const Tensor& x, const CallArgs& args) override {
    return last_(mid_(early_(zed_(x)), args));
  }

 private:
  layers::Dense zed_ = track("zed", layers::Dense({.units = 4}));
  layers::Dense early_ = track("early", layers::Dense({.units = 4, .activation = "relu"}));
  layers::BatchNormalization mid_ = track("mid", layers::BatchNormalization());
  layers::Dense last_ = track("_last", layers::Dense({.units = 2}));
};

void write_values(const std::string& path, Model& model, const Tensors& x) {
  Hdf5Writer writer;
  for (size_t i = 0; i < x.size(); ++i) writer.write(fmt::format("x/{}", i), x[i]);
  const Tensors y = test::predictions(model, x);
  for (size_t i = 0; i < y.size(); ++i) writer.write(fmt::format("y/{}", i), y[i]);
  if (model.compiled()) {
    writer.write("iterations", Tensor::scalar(model.optimizer().iterations()));
  }
  write_file_atomically(path, writer.take_bytes());
}

std::vector<std::string> serialized_metrics(const Model& model) {
  std::vector<std::string> result;
  for (const auto& entry : model.trainer().options().metrics.entries()) {
    for (const Metric& metric : entry.list) result.push_back(serialize(metric).dump());
  }
  return result;
}

TEST_CASE("Keras opens models that Cornu saved, and Cornu those that Keras saved again") {
  const Scratch scratch;
  std::map<std::string, Case> cases;
  cases.emplace("cnn", trained_cnn());
  cases.emplace("ops", ops_and_shared_layers());
  cases.emplace("nested", nested());
  cases.emplace("shared_between", shared_between());
  cases.emplace("masked", masked());
  cases.emplace("parts", parts());
  cases.emplace("pictures", pictures());
  cases.emplace("categories", categories());
  cases.emplace("recurrent", recurrent());
  cases.emplace("attending", attending());
  cases.emplace("ends", ends());
  cases.emplace("lora", lora());
  cases.emplace("identity", identity());
  add_optimizers(cases);
  cases.emplace("both_ways", both_ways());
  for (auto& [name, item] : cases) {
    item.model.save(scratch.path(name + ".keras"));
    item.model.save_weights(scratch.path(name + ".weights.h5"));
    item.model.save(scratch.path(name + ".h5"));
    write_values(scratch.path(name + ".values.h5"), item.model, item.x);
  }
  const Tensor x = numbers({4, 3});
  Branches branches;
  write_values(scratch.path("branches.values.h5"), branches, x);
  branches.save_weights(scratch.path("branches.weights.h5"));
  REQUIRE(test::run_python(CORNU_KERAS_MODELS_SCRIPT, fmt::format("'{}'", scratch.path())) == 0);
  for (auto& [key, item] : cases) {
    const std::string name = key;
    CAPTURE(name);
    const Tensors expected = test::predictions(item.model, item.x);
    Model back = load_model(scratch.path("back_" + name + ".keras"));
    CHECK(test::distance(test::predictions(back, item.x), expected) < 1e-5);
    CHECK(back.compiled() == item.model.compiled());
    if (back.compiled()) {
      check_same_state(back.optimizer(), item.model.optimizer());
      CHECK(serialized_metrics(back) == serialized_metrics(item.model));
    }
    Model clone = clone_model(item.model);
    clone.load_weights(scratch.path("back_" + name + ".weights.h5"));
    CHECK(test::distance(test::predictions(clone, item.x), expected) < 1e-5);
  }
  Branches others;
  REQUIRE(test::distance(test::predictions(others, x), test::predictions(branches, x)) > 1e-3);
  others.load_weights(scratch.path("back_branches.weights.h5"));
  CHECK(test::distance(test::predictions(others, x), test::predictions(branches, x)) < 1e-5);
}

// Returns an input and Keras's prediction.
std::pair<Tensor, Tensor> values_of(const std::string& path) {
  const Hdf5Reader file = Hdf5Reader::open(path);
  const auto read = [&](const char* name) {
    const auto [shape, dtype] = file.describe(name);
    return file.read(name, shape, dtype);
  };
  return {read("x/0"), read("y/0")};
}

TEST_CASE("models that Keras quantizes load, and those that are quantized here load there") {
  const Scratch scratch;
  const std::string folder = fmt::format("'{}'", scratch.path());
  REQUIRE(test::run_python(CORNU_KERAS_QUANTIZED_SCRIPT, folder) == 0);
  const auto int4 = [](int64_t block_size) {
    return QuantizeOptions{.config = quantizers::Int4QuantizationConfig{.block_size = block_size}};
  };
  const std::map<std::string, QuantizeOptions> modes = {
      {"int8", {.mode = "int8"}}, {"int4", int4(-1)}, {"blocks", int4(3)}};
  std::vector<std::pair<std::string, QuantizeOptions>> models;
  for (const auto& [mode, options] : modes) {
    for (const char* name :
         {"dense", "einsum_dense", "embedding", "reversible_embedding", "deep"}) {
      models.emplace_back(fmt::format("{}.{}", mode, name), options);
    }
  }
  for (const auto& item : models) {
    const std::string name = item.first;
    CAPTURE(name);
    const auto path = [&](const char* kind) {
      return scratch.path(fmt::format("{}.{}", name, kind));
    };
    for (const std::string kind : {"none", "quantized", "config", "policy"}) {
      CAPTURE(kind);
      Model model = load_model(path((kind + ".keras").c_str()));
      const auto [x, y] = values_of(path((kind + ".values.h5").c_str()));
      CHECK(test::distance(test::predictions(model, x), y) < 1e-4);
      // Quantizing the unquantized model here gives the same.
      const bool is_quantized = kind == "quantized";
      if (is_quantized) model = load_model(path("none.keras"));
      if (is_quantized) model.quantize(item.second);
      CHECK(test::distance(test::predictions(model, x), y) < 1e-4);
      model.save(path((kind + ".back.keras").c_str()));
      if (!is_quantized) continue;
      model.save_weights(path("quantized.back.weights.h5"));
      Model clone = clone_model(model);
      clone.load_weights(path("quantized.weights.h5"));
      CHECK(test::distance(test::predictions(clone, x), y) < 1e-4);
    }
  }
  CHECK(test::run_python(CORNU_KERAS_QUANTIZED_SCRIPT, folder + " back") == 0);
}

Json json_of(const Tensor& tensor) {
  Json::Array list;
  if (tensor.rank() > 1) {
    for (int64_t row = 0; row < tensor.dim(0); ++row) {
      list.push_back(json_of(tensor.rows(row, row + 1).with_shape(tensor.shape().slice(1))));
    }
  } else if (tensor.dtype() == DType::String) {
    for (const std::string& text : tensor.data<std::string>()) list.emplace_back(text);
  } else {
    for (const double number : test::numbers_of(tensor)) list.emplace_back(number);
  }
  return list;
}

TEST_CASE("vocabularies go to Keras and come back") {
  const Scratch scratch;
  const Tensor words = Tensor::from({"cat", "\xc3\xa9t\xc3\xa9", "cat", "dog"});
  const layers::StringLookup lookup({.mask_token = "", .name = "lookup"});
  const layers::StringLookup weighed({.output_mode = "tf_idf", .name = "weighed"});
  const layers::StringLookup given({.vocabulary = {"dog"}, .name = "given"});
  for (const layers::StringLookup& layer : {lookup, weighed}) layer.adapt(words);
  const layers::TextVectorization texts(
      {.split = {}, .ngrams = 2, .output_sequence_length = 4, .name = "texts"});
  texts.adapt(Tensor::from({"cat", "dog", "dog", "cat"}, {2, 2}));
  const Tensor in = Input({.shape = {2}, .dtype = "string"});
  Model model({in}, Tensors({lookup(in), weighed(in), given(in), texts(in)}));
  const Tensor x = Tensor::from({"dog", "cat", "", "\xc3\xa9t\xc3\xa9", "x", "cat"}, {3, 2});
  const Tensors y = model(x);
  Json values = Json::object({{"x", Json::array({json_of(x)})}});
  Json::Array outputs;
  for (const Tensor& output : y) outputs.push_back(json_of(output));
  values.set("y", outputs);
  Json vocabularies = Json::object();
  for (const layers::StringLookup& layer : {lookup, weighed, given}) {
    vocabularies.set(layer.name(), json_of(Tensor::from(layer.get_vocabulary())));
  }
  vocabularies.set("texts", json_of(Tensor::from(texts.get_vocabulary())));
  values.set("vocabularies", vocabularies);
  const std::string text = values.dump();
  write_file_atomically(scratch.path("values.json"),
                        std::as_bytes(std::span(text.data(), text.size())));
  model.save(scratch.path("words.keras"));
  REQUIRE(test::run_python(CORNU_KERAS_WORDS_SCRIPT, fmt::format("'{}'", scratch.path())) == 0);
  Model back = load_model(scratch.path("back.keras"));
  CHECK(test::distance(back(x), y) < 1e-6);
}

}  // namespace
}  // namespace cornu
