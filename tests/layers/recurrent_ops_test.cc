// SPDX-License-Identifier: Apache-2.0
// LSTM and GRU run as a single op, with or without masks, and give what their steps give. Unrolled
// layers run step by step.
#include <doctest/doctest.h>

#include <algorithm>

#include "framework/autodiff/gradient_tape.h"
#include "framework/core/random.h"
#include "framework/graph/function.h"
#include "framework/graph/trace.h"
#include "framework/ops/ops.h"
#include "layers/layers.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::distance;
using test::some_values;

namespace {

enum class Mask { None, Holes, Right, Dark };

// What a layer is called with, and how it runs.
struct Case {
  int64_t batch = 5, steps = 6, units = 4;
  Mask mask = Mask::Holes;
  bool sequences = false, backwards = false, zeros = false, initial = false, stateful = false;

  std::string text() const {
    return fmt::format(
        "batch {} steps {} units {} mask {} sequences {} backwards {} zeros {} initial {} stateful "
        "{}",
        batch, steps, units, static_cast<int>(mask), sequences, backwards, zeros, initial,
        stateful);
  }
};

Tensor mask_of(const Case& c) {
  if (c.mask == Mask::Dark) return ops::zeros({c.batch, c.steps}, DType::Bool);
  const Tensor row = ops::expand_dims(ops::arange(c.batch), 1);
  const Tensor step = ops::arange(c.steps);
  if (c.mask == Mask::Right) return step < ops::mod(row * 3, c.steps + 1);
  return ops::logical_and(ops::mod(step * 5 + row * 3, 7) < 4, ops::not_equal(ops::mod(row, 4), 2));
}

template <class Options>
Options options_of(const Case& c, bool unroll) {
  Options options;
  options.units = c.units;
  options.bias_initializer = "glorot_uniform";
  options.return_sequences = c.sequences;
  options.return_state = true;
  options.go_backwards = c.backwards;
  options.stateful = c.stateful;
  options.unroll = unroll;
  options.zero_output_for_mask = c.zeros;
  return options;
}

LayerHandle make_layer_of(const Case& c, bool gru, bool unroll) {
  if (!gru) {
    auto options = options_of<layers::LSTMOptions>(c, unroll);
    options.bias_initializer = "ones";
    return layers::LSTM(options);
  }
  return layers::GRU(options_of<layers::GRUOptions>(c, unroll));
}

// The results of a call (of two, if stateful), then the gradients of the sequences, the initial
// states and the weights.
std::vector<Tensor> everything(const LayerHandle& layer, const Case& c, bool gru, bool compiled) {
  const auto run = [&](const std::vector<Tensor>& in) {
    GradientTape tape;
    for (const Tensor& x : in) tape.watch(x);
    std::vector<Tensor> inputs = in;
    CallOptions call;
    if (c.mask != Mask::None) {
      std::vector<Tensor> masks(inputs.size());
      masks[0] = mask_of(c);
      call.mask = masks;
    }
    std::vector<Tensor> results = layer(Tensors(inputs), call).list();
    if (c.stateful) results = layer(Tensors(inputs), call).list();
    Tensor loss = 0.0F;
    for (const Tensor& result : results) loss = loss + ops::sum(result * ops::cos(result * 3));
    for (const Tensor& gradient :
         tape.gradient(loss, in, {.unconnected_gradients = UnconnectedGradients::Zero})) {
      results.push_back(gradient);
    }
    return results;
  };
  std::vector<Tensor> in = {some_values({c.batch, c.steps, 3})};
  for (uint64_t i = 0; c.initial && i < (gru ? 1U : 2U); ++i) {
    in.push_back(some_values({c.batch, c.units}, 10 + i));
  }
  std::vector<Tensor> results = compiled ? function(run).call(in) : run(in);
  GradientTape tape;
  const Tensor y = layer(in[0], {.mask = {mask_of(c)}})[0];
  const Tensor loss = ops::sum(ops::sin(y));
  for (const Tensor& gradient :
       tape.gradient(loss, layer.trainable_variables(),
                     {.unconnected_gradients = UnconnectedGradients::Zero})) {
    results.push_back(gradient);
  }
  return results;
}

void check_case(const Case& c, bool compiled) {
  INFO(c.text());
  CAPTURE(compiled);
  for (const bool gru : {false, true}) {
    CAPTURE(gru);
    const LayerHandle unrolled = make_layer_of(c, gru, true);
    unrolled.build({c.batch, c.steps, 3});
    const LayerHandle layer = make_layer_of(c, gru, false);
    layer.build({c.batch, c.steps, 3});
    layer.set_weights(unrolled.get_weights());
    const std::vector<Tensor> expected = everything(unrolled, c, gru, true);
    const std::vector<Tensor> found = everything(layer, c, gru, compiled);
    REQUIRE(found.size() == expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      CAPTURE(i);
      CHECK(distance(found[i], expected[i]) < 1e-5);
    }
  }
}

// Whether a graph of this call has a node of such an op.
bool has_node(const LayerHandle& layer, const std::string& op, bool is_masked) {
  const Tensor x = some_values({2, 6, 3});
  layer(x);
  const Graph graph =
      trace({{DType::Float32, {2, 6, 3}}, {DType::Bool, {2, 6}}},
            [&](const std::vector<Tensor>& in) {
              return std::vector<Tensor>{layer(is_masked ? in[0].with_mask(in[1]) : in[0])[0]};
            },
            {})
          .graph;
  return std::ranges::any_of(graph.nodes, [&](const Node& node) { return node.is(op); });
}

}  // namespace

TEST_CASE("masked LSTM and GRU give what their steps give, in all ways of running") {
  constexpr Mask kMasks[] = {Mask::Holes, Mask::Right, Mask::Dark};
  for (unsigned bits = 0; bits < 16; ++bits) {
    check_case({.mask = kMasks[bits % 3],
                .sequences = (bits & 1U) != 0,
                .backwards = (bits & 2U) != 0,
                .zeros = (bits & 4U) != 0,
                .initial = (bits & 8U) != 0},
               bits % 5 < 3);
  }
}

TEST_CASE("LSTM and GRU without masks give what their steps give") {
  for (unsigned bits = 0; bits < 8; ++bits) {
    check_case({.mask = Mask::None,
                .sequences = (bits & 1U) != 0,
                .backwards = (bits & 2U) != 0,
                .initial = (bits & 4U) != 0},
               bits % 3 == 0);
  }
}

TEST_CASE("stateful LSTM and GRU begin masked sequences where the last call ended") {
  for (const Mask mask : {Mask::None, Mask::Holes, Mask::Dark}) {
    for (const bool sequences : {false, true}) {
      check_case({.mask = mask,
                  .sequences = sequences,
                  .zeros = sequences && mask == Mask::Holes,
                  .stateful = true},
                 sequences);
    }
  }
}

TEST_CASE("masked LSTM and GRU of uneven sizes") {
  for (const int64_t units : {1, 17, 65}) {
    for (const int64_t batch : {0, 1, 33}) {
      const int64_t steps = (units + batch) % 2 == 0 ? 1 : 7;
      check_case({.batch = batch,
                  .steps = steps,
                  .units = units,
                  .sequences = batch != 0,
                  .initial = batch == 1},
                 true);
    }
  }
}

TEST_CASE("LSTM and GRU are a single op where there is one") {
  for (const bool is_masked : {false, true}) {
    CAPTURE(is_masked);
    CHECK(has_node(layers::LSTM({.units = 4}), "lstm", is_masked));
    CHECK(has_node(layers::GRU({.units = 4}), "gru", is_masked));
    CHECK(has_node(layers::GRU({.units = 4, .use_bias = false}), "gru", is_masked));
    CHECK(has_node(layers::RNN(layers::GRUCell({.units = 4})), "gru", is_masked));
    CHECK(has_node(layers::Bidirectional(layers::LSTM({.units = 4})), "lstm", is_masked));
    for (const LayerHandle& steps : std::vector<LayerHandle>{
             layers::GRU({.units = 4, .reset_after = false}),
             layers::GRU({.units = 4, .activation = "relu"}), layers::SimpleRNN({.units = 4}),
             layers::LSTM({.units = 4, .recurrent_activation = "hard_sigmoid"})}) {
      CHECK(has_node(steps, "scan", is_masked));
    }
  }
}

TEST_CASE("a mask with more axes than time is applied step by step") {
  const layers::GRU gru({.units = 3, .return_sequences = true});
  const Tensor x = some_values({2, 6, 3});
  const Tensor mask = some_values({2, 6, 1}, 4) > 0;
  const Tensor flat = ops::squeeze(mask, -1);
  CHECK(distance(gru(x, {.mask = {mask}}), gru(x, {.mask = {flat}})) < 1e-6);
}
