// SPDX-License-Identifier: Apache-2.0
// The dtype policy of a program: whole models created and trained under each policy.
#include <doctest/doctest.h>

#include <cmath>

#include "framework/callbacks/callbacks.h"
#include "framework/core/random.h"
#include "framework/model/dtype_policy.h"
#include "framework/model/input.h"
#include "framework/ops/ops.h"
#include "framework/train/model.h"
#include "layers/layers.h"
#include "optimizers/optimizers.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::error_of;

namespace {

class PolicyScope {
 public:
  explicit PolicyScope(const std::string& name) : before_(dtype_policy().name()) {
    set_dtype_policy(name);
  }
  ~PolicyScope() { set_dtype_policy(before_); }

 private:
  std::string before_;
};

// From images to sequences to classes: convolution, normalization, recurrence and attention.
Model model_of_many() {
  set_random_seed(3);
  const Tensor pictures = Input({.shape = {8, 8, 2}});
  Tensor x = layers::Conv2D({.filters = 4, .kernel_size = 3, .padding = "same"})(pictures);
  x = layers::ReLU()(layers::BatchNormalization()(x));
  x = layers::AveragePooling2D({.pool_size = 2})(layers::DepthwiseConv2D({.kernel_size = 3})(x));
  x = layers::Reshape({.target_shape = {9, 4}})(x);
  x = layers::GRU({.units = 4, .return_sequences = true})(x);
  x = x + layers::LSTM({.units = 4, .return_sequences = true})(x);
  x = layers::LayerNormalization()(
      x + layers::MultiHeadAttention({.num_heads = 2, .key_dim = 3})({x, x}));
  x = layers::Dense({.units = 6, .activation = "gelu"})(layers::Flatten()(x));
  x = layers::Dropout({.rate = 0.1, .seed = 1})(x);
  const Tensor logits = layers::Dense({.units = 3, .dtype = "float32"})(x);
  return Model(pictures, layers::Softmax({.dtype = "float32"})(logits));
}

struct Trained {
  std::vector<double> losses;
  Tensor predictions;
};

Trained train(const Model& made) {
  Model model = made;
  const Tensor x = random::uniform({24, 8, 8, 2}, {.seed = 5});
  const Tensor y = ops::cast(ops::sum(x, {1, 2, 3}) > 64, DType::Int32);
  model.compile({.optimizer = optimizers::Adam({.learning_rate = 0.01}),
                 .loss = "sparse_categorical_crossentropy"});
  const auto history =
      model.fit(x, y, {.batch_size = 10, .epochs = 3, .verbose = 0, .shuffle = false});
  return {history["loss"], model.predict(x, {.verbose = 0})};
}

}  // namespace

TEST_CASE("a model is made and trained under each policy") {
  const Trained expected = train(model_of_many());
  for (const char* name : {"float64", "mixed_bfloat16", "mixed_float16", "bfloat16", "float16"}) {
    CAPTURE(std::string(name));
    const PolicyScope scope(name);
    const DTypePolicy policy = dtype_policy();
    CHECK(policy.name() == name);
    const Model model = model_of_many();
    for (const LayerHandle& layer : model.layers()) {
      const std::string own = layer.get().dtype_policy().name();
      CHECK((own == name || own == "float32"));  // the last ones, for which it was specified
    }
    CHECK(model.trainable_weights()[0].dtype() == policy.variable);
    const Trained found = train(model);
    const bool exact = policy.variable == DType::Float64;
    // 16-bit weights lose part of each step, and float16 skips steps that overflow.
    const double close = exact ? 1e-4 : policy.name() == "mixed_bfloat16" ? 0.05 : 0.2;
    CHECK(found.predictions.dtype() == DType::Float32);
    for (size_t i = 0; i < expected.losses.size(); ++i) {
      CHECK(std::abs(found.losses[i] - expected.losses[i]) < close);
    }
    CHECK(test::distance(found.predictions, expected.predictions) < (exact ? 1e-3 : 0.2));
  }
  CHECK(dtype_policy().name() == "float32");
}

TEST_CASE("a policy is of layers that are made under it, and is in their config") {
  const layers::Dense before({.units = 2});
  const PolicyScope scope("mixed_bfloat16");
  const layers::Dense after({.units = 2});
  const layers::Dense told({.units = 2, .dtype = "float32"});
  const Tensor x = ops::ones({1, 3});
  CHECK(Tensor(before(x)).dtype() == DType::Float32);
  CHECK(Tensor(after(x)).dtype() == DType::BFloat16);
  CHECK(after.weights()[0].dtype() == DType::Float32);
  CHECK(Tensor(told(x)).dtype() == DType::Float32);
  const Json config = after.get().get_config();
  CHECK(config.at("dtype").at("config").at("name").as_string() == "mixed_bfloat16");
  set_dtype_policy("float32");
  CHECK(Tensor(layers::Dense::from_config(config)(x)).dtype() == DType::BFloat16);
}

TEST_CASE("what is no policy") {
  CHECK(error_of([] { set_dtype_policy("int32"); }) ==
        "InvalidArgument: set_dtype_policy: expected a policy of floating-point weights, got "
        "'int32'. Known: float32, float64, float16, bfloat16, mixed_float16, mixed_bfloat16.");
  CHECK(error_of([] { set_dtype_policy("mixed_bfloat"); }).find("mixed_bfloat") !=
        std::string::npos);
  CHECK(dtype_policy().name() == "float32");
}
