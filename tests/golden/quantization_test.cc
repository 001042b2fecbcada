// SPDX-License-Identifier: Apache-2.0
// Quantized layers compared with real Keras: their weights, in memory and in files, their configs
// and outputs; and the results of quantizers.
#include <doctest/doctest.h>

#include <cmath>

#include "framework/model/layer_registry.h"
#include "framework/model/quantizers.h"
#include "framework/model/saved_parts.h"
#include "framework/model/serialized.h"
#include "framework/ops/ops.h"
#include "layers/core/lora.h"
#include "layers/layers.h"
#include "tests/golden/layer_case.h"

using namespace cornu;
using cornu::test::difference;
using cornu::test::golden_tensors;

namespace {

constexpr test::Tolerance kClose = {.relative = 2e-5, .absolute = 2e-6};
// A scale that is rounded to bfloat16 changes the integers, too.
constexpr test::Tolerance kHalf = {.relative = 0.03, .absolute = 0.03};

void check_variables(const std::vector<Variable>& weights, const Json& expected) {
  REQUIRE(weights.size() == expected.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    CAPTURE(weights[i].path());
    CHECK(weights[i].path() == expected[i].at("path").as_string());
    CHECK(weights[i].trainable() == expected[i].at("trainable").as_bool());
    CHECK(difference(weights[i].value(), expected[i], kClose) == "");
  }
}

void check_file(const LayerHandle& layer, const Json& expected) {
  const auto parts = saved_parts_of(layer.get());
  const auto saved = parts->saved_weights(layer.get().own_weights_in_order());
  REQUIRE(saved.size() == expected.size());
  for (size_t i = 0; i < saved.size(); ++i) {
    CAPTURE(saved[i].path());
    CHECK(difference(parts->saved_value(saved[i]), expected[i], kClose) == "");
  }
}

void enable_lora(const LayerHandle& layer, const Json& lora) {
  layers::LoraOptions options{.rank = lora.at("rank").as_int()};
  if (const Json* alpha = lora.find("lora_alpha")) options.lora_alpha = alpha->as_double();
  layer.enable_lora(options);
}

void check_layer(const Json& item) {
  const std::vector<Tensor> inputs = golden_tensors(item.at("inputs"));
  const LayerHandle layer = layer_from_json(item.at("object"));
  layer.get().ensure_built({inputs[0].shape()});
  layer.set_weights(golden_tensors(item.at("weights")));
  QuantizationConfig config;
  set_from_config(item.at("config"), config);
  layer.quantize({.mode = item.at("mode").as_string(), .config = config});
  check_variables(layer.weights(), item.at("quantized"));
  if (!item.at("lora").is_null()) {
    enable_lora(layer, item.at("lora"));
    layer.set_weights(golden_tensors(item.at("adapted")));
  }
  check_variables(layer.weights(), item.at("adapted"));
  CHECK(difference(serialize_layer(layer.get()), item.at("quantized_object")) == "");
  check_file(layer, item.at("saved"));
  CallOptions options;
  if (const Json* settings = item.at("call_arguments").find("settings")) {
    options.settings = *settings;
  }
  const auto check_call = [&](const LayerHandle& called) {
    const DType computed = called.get().compute_dtype();
    const Tensor output = called(inputs[0], options);
    CHECK(output.dtype() == computed);
    check_outputs(std::vector<Tensor>{ops::cast(output, DType::Float32)}, item.at("outputs"),
                  size_of(computed) == 2 ? kHalf : kClose);
  };
  check_call(layer);
  if (!item.at("lora").is_null())
    return;  // a layer made from the config has a different
             // lora_alpha
  // A layer made from its config has quantized weights from the beginning.
  const LayerHandle again = layer_from_json(item.at("quantized_object"));
  again.get().ensure_built({inputs[0].shape()});
  again.set_weights(golden_tensors(item.at("adapted")));
  check_call(again);
}

void check_quantizer(const Json& item) {
  const Quantizer quantizer = quantizer_from_json(item.at("quantizer"));
  CHECK(difference(serialize(quantizer), item.at("quantizer")) == "");
  const Quantized made = (*quantizer)(golden_tensors(item.at("inputs"))[0], {});
  check_outputs(std::vector<Tensor>{made.values, made.scale}, item.at("outputs"), kClose);
}

void check_matrix(const Json& item) {
  const Tensor x = golden_tensors(item.at("inputs"))[0];
  if (item.at("function") == Json("pack_int4")) {
    const int64_t axis = item.at("axis").as_int();
    const DType dtype = dtype_from_string(item.at("dtype").as_string());
    const quantizers::PackedInt4 made = quantizers::pack_int4(x, axis, dtype);
    CHECK(made.packed_shape == item.at("packed_shape").as_shape());
    CHECK(made.orig_len == item.at("orig_len").as_int());
    const Tensor back = quantizers::unpack_int4(made.packed, made.orig_len, axis, dtype);
    check_outputs(std::vector<Tensor>{made.packed, back}, item.at("outputs"), kClose);
    return;
  }
  const std::vector<int64_t> range = item.at("value_range").as_ints();
  const auto made = quantizers::abs_max_quantize_grouped_with_zero_point(
      x, item.at("block_size").as_int(), {.value_range = {range[0], range[1]}});
  check_outputs(std::vector<Tensor>{made.values, made.scale, made.zero_point}, item.at("outputs"),
                kClose);
}

}  // namespace

TEST_CASE("quantized layers have Keras's weights, files, configs and outputs") {
  int layers_checked = 0, quantizers_checked = 0, matrices_checked = 0;
  for (const Json& item : test::golden_cases("quantization").as_array()) {
    CAPTURE(item.at("name").as_string());
    if (item.find("quantizer")) {
      check_quantizer(item);
      ++quantizers_checked;
    } else if (item.find("function")) {
      check_matrix(item);
      ++matrices_checked;
    } else {
      check_layer(item);
      ++layers_checked;
    }
  }
  CHECK(layers_checked >= 68);
  CHECK(quantizers_checked >= 4);
  CHECK(matrices_checked >= 12);
}
