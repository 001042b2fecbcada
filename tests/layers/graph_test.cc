// SPDX-License-Identifier: Apache-2.0
// What layers become in a traced graph: as few ops as possible, in forms that passes recognize.
#include <doctest/doctest.h>

#include <algorithm>

#include "framework/graph/trace.h"
#include "framework/model/input.h"
#include "framework/ops/ops.h"
#include "framework/train/model.h"
#include "layers/layers.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;

namespace {

// The names of the ops that a call records, except constants.
std::vector<std::string> ops_of(const LayerHandle& layer, const Tensor& input,
                                const CallArgs& args = {}) {
  layer(input, args);
  const TracedGraph traced = trace({type_of(input)}, [&](const std::vector<Tensor>& inputs) {
    return layer(inputs[0], args).list();
  });
  std::vector<std::string> names;
  for (const Node& node : traced.graph.nodes) {
    if (node.op->name != "constant") names.push_back(node.op->name);
  }
  return names;
}

using Names = std::vector<std::string>;
const Tensor kImages = test::some_values({2, 6, 6, 3});
const Tensor kBytes = Tensor::from<uint8_t>({1, 2, 3, 4}, {2, 2});

}  // namespace

TEST_CASE("layers trace to lean graphs") {
  CHECK(ops_of(layers::Dense({.units = 3, .activation = "relu"}), test::some_values({2, 4})) ==
        Names{"matmul", "add", "relu"});
  CHECK(ops_of(layers::Dense({.units = 3, .use_bias = false}), test::some_values({2, 4})) ==
        Names{"matmul"});
  CHECK(ops_of(layers::Conv2D({.filters = 2, .kernel_size = 3, .activation = "relu"}), kImages) ==
        Names{"conv", "add", "relu"});
  CHECK(ops_of(layers::MaxPooling2D(), kImages) == Names{"max_pool"});
  CHECK(ops_of(layers::AveragePooling2D(), kImages) == Names{"avg_pool"});
  CHECK(ops_of(layers::Flatten(), kImages) == Names{"reshape"});
  CHECK(ops_of(layers::Reshape({-1}), kImages) == Names{"reshape"});
  CHECK(ops_of(layers::Rescaling({.scale = 1.0 / 255}), kBytes) == Names{"cast", "multiply"});
  CHECK(ops_of(layers::Rescaling({.scale = 2, .offset = 1}), kImages) == Names{"multiply", "add"});
  CHECK(ops_of(layers::Activation("relu"), kImages) == Names{"relu"});
  CHECK(ops_of(layers::Dropout({.rate = 0.5}), kImages).empty());
  CHECK(ops_of(layers::Identity(), kImages).empty());
}

TEST_CASE("attention that drops nothing holds no matrix of all scores") {
  constexpr int64_t kSteps = 37;  // no other axis has this size
  const Tensor x = test::some_values({2, kSteps, 16});
  const auto holds_scores = [&](const LayerHandle& layer, const CallOptions& options) {
    layer({x, x}, options);
    const TracedGraph traced =
        trace({type_of(x), type_of(x)}, [&](const std::vector<Tensor>& inputs) {
          return layer({inputs[0], inputs[1]}, options).list();
        });
    for (const Node& node : traced.graph.nodes) {
      for (const ValueId id : node.outputs) {
        const auto& sizes = traced.graph.type(id).shape.dims();
        if (std::count(sizes.begin(), sizes.end(), kSteps) > 1) return true;
      }
    }
    return false;
  };
  const layers::MultiHeadAttention heads({.num_heads = 8, .key_dim = 64, .dropout = 0.1});
  const layers::GroupQueryAttention groups(
      {.head_dim = 8, .num_query_heads = 4, .num_key_value_heads = 2, .dropout = 0.1});
  const layers::Attention plain({.use_scale = true, .dropout = 0.1});
  const Json causal = Json::object({{"use_causal_mask", true}});
  const Json scored = Json::object({{"return_attention_scores", true}});
  for (const LayerHandle& layer : {LayerHandle(heads), LayerHandle(groups), LayerHandle(plain)}) {
    CHECK_FALSE(holds_scores(layer, {.training = false}));
    CHECK_FALSE(holds_scores(layer, {.training = false, .settings = causal}));
    // The scores are found when they exist.
    CHECK(holds_scores(layer, {.training = true}));
    CHECK(holds_scores(layer, {.training = false, .settings = scored}));
  }
  CHECK_FALSE(
      holds_scores(layers::MultiHeadAttention({.num_heads = 2, .key_dim = 4}), {.training = true}));
  CHECK_FALSE(holds_scores(layers::Attention(), {.training = true}));
}

TEST_CASE("mixed precision computes in 16 bits on float32 weights") {
  const layers::Dense dense({.units = 3, .dtype = "mixed_bfloat16"});
  const Tensor y = dense(test::some_values({2, 4}));
  CHECK(y.dtype() == DType::BFloat16);
  CHECK(dense.weights()[0].dtype() == DType::Float32);
  const layers::BatchNormalization batch({.dtype = "mixed_bfloat16"});
  CHECK(Tensor(batch(y, {.training = true})).dtype() == DType::BFloat16);
  CHECK(batch.weights()[2].dtype() == DType::Float32);
}

TEST_CASE("a functional model computes in the dtypes of its Inputs") {
  const Tensor x = Input({.shape = {3}, .dtype = DType::Float64});
  Model model(x, layers::Dense({.units = 2, .dtype = "float64"})(x + 0.5 * x));
  const double third = 1.0 / 3;  // not representable in float32 with the same precision
  const Tensor y = model(ops::full({1, 3}, third, DType::Float64));
  CHECK(y.dtype() == DType::Float64);
  const Tensor kernel = model.get_weights()[0];
  CHECK(test::distance(y, ops::sum(kernel * (1.5 * third), 0, true)) < 1e-15);
}
