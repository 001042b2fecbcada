// SPDX-License-Identifier: Apache-2.0
// Layers whose kernel is adapted by two small matrices. tests/golden compares their values with
// Keras's.
#include <doctest/doctest.h>

#include "framework/core/random.h"
#include "framework/core/strings.h"
#include "framework/ops/ops.h"
#include "framework/train/model.h"
#include "framework/train/register_serializable.h"
#include "layers/layers.h"
#include "optimizers/optimizers.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

using test::error_of;

std::vector<std::string> names_of(const std::vector<Variable>& variables) {
  std::vector<std::string> names;
  for (const Variable& variable : variables) names.push_back(variable.name());
  return names;
}

const Tensor& examples() {
  static const Tensor x = ops::reshape(ops::arange(12, DType::Float32), {3, 4}) / 10;
  return x;
}

double distance(const Tensor& a, const Tensor& b) {
  return ops::max(ops::abs(a - b)).item<double>();
}

TEST_CASE("LoRA on a layer that is there: what it computes, and what is trained") {
  const layers::Dense dense({.units = 2, .name = "dense"});
  const Tensor before = dense(examples());
  dense.enable_lora({.rank = 3, .lora_alpha = 6, .b_initializer = "ones"});
  CHECK(names_of(dense.weights()) ==
        std::vector<std::string>{"kernel", "bias", "lora_kernel_a", "lora_kernel_b"});
  CHECK(names_of(dense.trainable_weights()) ==
        std::vector<std::string>{"bias", "lora_kernel_a", "lora_kernel_b"});
  CHECK(dense.weight("lora_kernel_a").path() == "dense/lora_kernel_a");
  const Tensor a = dense.weight("lora_kernel_a"), b = dense.weight("lora_kernel_b");
  CHECK(a.shape() == Shape{4, 3});
  CHECK(b.shape() == Shape{3, 2});
  const Tensor added = 2.0 * ops::matmul(ops::matmul(examples(), a), b);
  CHECK(distance(dense(examples()), before + added) < 1e-5);
  CHECK(dense.get_config().at("lora_rank") == Json(3));
  CHECK(dense.get_config().at("lora_alpha").as_double() == 6);
}

TEST_CASE("training moves the small kernels alone, and files have the sum") {
  const test::Scratch scratch;
  Sequential model(Input({.shape = {4}}), {layers::Dense({.units = 3, .lora_rank = 2}),
                                           layers::Dense({.units = 1, .name = "last"})});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1}), .loss = "mse"});
  const LayerHandle dense = model.layers()[0];
  const Tensor kernel = dense.weight("kernel");
  model.fit(examples(), ops::ones({3, 1}), {.epochs = 3, .verbose = 0});
  CHECK(distance(dense.weight("kernel"), kernel) == 0);
  CHECK(ops::max(ops::abs(dense.weight("lora_kernel_b").value())).item<double>() > 0);
  const Tensor expected = model.predict(examples(), {.verbose = 0});

  model.save(scratch.path("model.keras"));
  Model back = load_model(scratch.path("model.keras"));
  CHECK(distance(back.predict(examples(), {.verbose = 0}), expected) < 1e-6);
  CHECK(back.layers()[0].get_config().at("lora_rank") == Json(2));
  CHECK(distance(back.layers()[0].weight("lora_kernel_a"), ops::zeros({4, 2})) == 0);

  // The same weights work for a model without LoRA.
  model.save_weights(scratch.path("model.weights.h5"));
  Sequential plain(Input({.shape = {4}}),
                   {layers::Dense({.units = 3}), layers::Dense({.units = 1})});
  plain.load_weights(scratch.path("model.weights.h5"));
  CHECK(distance(plain.predict(examples(), {.verbose = 0}), expected) < 1e-6);
}

// Layers within a layer, one of which is a member.
class Block : public Layer {
 public:
  explicit Block(const LayerOptions& options = {}) : Layer(options) {}
  Tensor call(const Tensor& x, const CallArgs& args) override {
    return second_(first_(x, args), args);
  }
  std::string class_name() const override { return "lora_test>Block"; }

 private:
  layers::Dense first_ = track("first", layers::Dense({.units = 3, .name = "query"}));
  layers::Dense second_ = track("second", layers::Dense({.units = 2, .name = "out"}));
};

TEST_CASE("LoRA on layers within a loaded model: of any class, by their handles") {
  register_serializable("lora_test>Block", [](const Json& config) {
    return make_layer<Block>(LayerOptions::from_config(config));
  });
  const test::Scratch scratch;
  const std::string path = scratch.path("model.keras");
  Sequential made(Input({.shape = {4}}), {make_layer<Block>(), layers::Dense({.units = 1})});
  made.save(path);

  Model model = load_model(path);
  int adapted = 0;
  for (const LayerHandle& layer : model.layers()) layer.set_trainable(false);
  for (const LayerHandle& layer : model.flatten_layers()) {
    if (layer.name() != "query") continue;
    layer.set_trainable(true);
    layer.enable_lora({.rank = 2});
    ++adapted;
  }
  CHECK(adapted == 1);
  CHECK(names_of(model.trainable_weights()) ==
        std::vector<std::string>{"bias", "lora_kernel_a", "lora_kernel_b"});
  const Tensor before = model.predict(examples(), {.verbose = 0});
  CHECK(distance(before, made.predict(examples(), {.verbose = 0})) == 0);
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1}), .loss = "mse"});
  model.fit(examples(), ops::ones({3, 1}), {.epochs = 3, .verbose = 0});
  const Tensor expected = model.predict(examples(), {.verbose = 0});
  CHECK(distance(expected, before) > 0);

  // Files have the sums; a model without LoRA takes them.
  model.save_weights(scratch.path("tuned.weights.h5"));
  Model merged = load_model(path);
  merged.load_weights(scratch.path("tuned.weights.h5"));
  CHECK(distance(merged.predict(examples(), {.verbose = 0}), expected) < 1e-6);
  model.save(path);
  CHECK(distance(load_model(path).predict(examples(), {.verbose = 0}), expected) < 1e-6);
}

TEST_CASE("a table that is read both ways is adapted in both, where one way is tied to the other") {
  const Tensor indices = Tensor::from<int32_t>({0, 4, 2}, {1, 3});
  const Tensor rows = ops::reshape(ops::arange(6, DType::Float32), {2, 3}) / 10;
  const CallOptions back{.settings = Json::object({{"reverse", true}})};
  for (const bool tied : {true, false}) {
    CAPTURE(tied);
    const layers::ReversibleEmbedding embedding(
        {.input_dim = 5, .output_dim = 3, .tie_weights = tied, .name = "words"});
    const Tensor vectors = embedding(indices);
    const Tensor logits = embedding(rows, back);
    embedding.enable_lora({.rank = 2, .lora_alpha = 4, .b_initializer = "ones"});
    const Tensor a = embedding.weight("lora_embeddings_a"),
                 b = embedding.weight("lora_embeddings_b");
    const Tensor added = 2.0 * ops::matmul(a, b);
    CHECK(distance(embedding(indices), vectors + ops::take(added, indices, 0)) < 1e-5);
    const Tensor added_back = ops::matmul(rows, ops::transpose(added));
    CHECK(distance(embedding(rows, back), tied ? logits + added_back : logits) < 1e-5);
    CHECK_FALSE(embedding.embeddings().trainable());
    CHECK(embedding.get_config().at("lora_rank") == Json(2));
    CHECK(embedding.get_config().at("lora_alpha").as_double() == 4);
  }
}

TEST_CASE("layers without a weight that LoRA adapts") {
  const char* const why =
      ": it has no weight that LoRA could adapt. Dense, EinsumDense, Embedding, "
      "ReversibleEmbedding, Conv1D, Conv2D and Conv3D have: call enable_lora of such layers within "
      "it, which flatten_layers() finds.";
  const LayerHandle norm = layers::BatchNormalization({.name = "norm"});
  norm.build({1, 4});
  CHECK(error_of([&] { norm.enable_lora({.rank = 2}); }) ==
        "InvalidArgument: BatchNormalization 'norm'" + std::string(why));
  Sequential model({layers::Dense({.units = 1})}, {.name = "model"});
  CHECK(error_of([&] { model.enable_lora({.rank = 2}); }) ==
        "InvalidArgument: Sequential 'model'" + std::string(why));
  CHECK(error_of([&] { make_layer<Block>(LayerOptions{.name = "b"})->enable_lora({.rank = 2}); }) ==
        "InvalidArgument: lora_test>Block 'b'" + std::string(why));
  CHECK(error_of([] { LayerHandle().enable_lora({.rank = 2}); }) ==
        "FailedPrecondition: LayerHandle: expected a layer, got none.");
}

TEST_CASE("what LoRA can't do") {
  const layers::Dense dense({.units = 2, .name = "dense"});
  CHECK(error_of([&] { dense.enable_lora({.rank = 2}); }) ==
        "FailedPrecondition: Dense 'dense': enable_lora needs its weights. Call it when the layer "
        "was built, or make the layer with lora_rank.");
  dense.build({1, 4});
  CHECK(error_of([&] { dense.enable_lora({}); }) ==
        "InvalidArgument: Dense 'dense': expected a rank of LoRA > 0, got 0.");
  dense.enable_lora({.rank = 2});
  CHECK(error_of([&] { dense.enable_lora({.rank = 2}); }) ==
        "FailedPrecondition: Dense 'dense': LoRA is enabled already, which is done once for a "
        "layer.");
  CHECK(error_of([] {
          layers::Conv2D({.filters = 2, .kernel_size = 3, .lora_rank = -1, .name = "c"});
        }) == "InvalidArgument: Conv2D 'c': expected a rank of LoRA > 0, got -1.");
  const layers::Embedding words({.input_dim = 3,
                                 .output_dim = 2,
                                 .embeddings_constraint = "non_neg",
                                 .lora_rank = 1,
                                 .name = "words"});
  CHECK(test::contains(error_of([&] {
                         words.build({1, 4});
                       }),
                       "Embedding 'words': LoRA doesn't go with a constraint of the weight "
                       "'embeddings'. Omit the constraint."));
}

TEST_CASE("a file of a layer whose low-rank weights are larger than its kernel loads") {
  const test::Scratch scratch;
  set_random_seed(1);
  Sequential model(Input({.shape = {4}}), {layers::Dense({.units = 3, .lora_rank = 512})});
  const std::string path = scratch.path("model.keras");
  model.save(path);
  Model loaded = load_model(path);
  CHECK(distance(loaded(examples()), model(examples())) < 1e-6);
}

}  // namespace
}  // namespace cornu
