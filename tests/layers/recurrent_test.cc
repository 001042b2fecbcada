// SPDX-License-Identifier: Apache-2.0
// Recurrent layers beyond golden values and conformance: states, custom cells, dropout, errors.
#include <doctest/doctest.h>

#include "framework/core/random.h"
#include "framework/graph/function.h"
#include "framework/model/input.h"
#include "framework/model/layer_registry.h"
#include "framework/ops/ops.h"
#include "framework/train/model.h"
#include "layers/layers.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/scratch.h"

using namespace cornu;
using test::distance;
using test::error_of;
using test::some_values;

namespace {

const Tensor kX = some_values({2, 6, 3});

// h' = h + x: a sum over time.
class SumCell : public Layer, public layers::RNNCell {
 public:
  explicit SumCell(int64_t given_states = 1) : given_states_(given_states) {}
  std::vector<int64_t> state_size() const override { return {3}; }
  Tensors call_list(const Tensors& inputs, const CallArgs&) override {
    const Tensor next = inputs[0] + inputs[1];
    std::vector<Tensor> outputs = {next * 2};
    outputs.resize(static_cast<size_t>(1 + given_states_), next);
    return outputs;
  }

 private:
  int64_t given_states_;
};

class StatelessCell : public Layer, public layers::RNNCell {
 public:
  std::vector<int64_t> state_size() const override { return {}; }
  Tensors call_list(const Tensors& inputs, const CallArgs&) override { return inputs[0]; }
};

LayerHandle stateful_lstm() {
  return layers::LSTM({.units = 4, .return_sequences = true, .stateful = true});
}

}  // namespace

TEST_CASE("a stateful layer goes on where the last call ended, eagerly and compiled") {
  const LayerHandle whole = layers::LSTM({.units = 4, .return_sequences = true});
  const Tensor expected = whole(kX);
  for (const bool compiled : {false, true}) {
    CAPTURE(compiled);
    const layers::LSTM parts({.units = 4, .return_sequences = true, .stateful = true});
    parts.build({2, 3, 3});
    parts.set_weights(whole.get_weights());
    const Function traced = function([&](const Tensor& x) { return Tensor(parts(x)); });
    const auto call = [&](int64_t begin) {
      const Tensor x = kX(Slice(), Slice(begin, begin + 3));
      return compiled ? Tensor(traced(x)) : Tensor(parts(x));
    };
    for (int round = 0; round < 2; ++round) {
      CHECK(distance(call(0), expected(Slice(), Slice(0, 3))) < 1e-6);
      CHECK(distance(call(3), expected(Slice(), Slice(3, 6))) < 1e-6);
      parts.reset_state();
    }
  }
}

TEST_CASE("recurrent layers of all kinds have states that can be reset") {
  const auto check = [](const auto& layer) {
    const Tensor fresh = layer(kX);
    CHECK(distance(layer(kX), fresh) > 1e-3);
    layer.reset_state();
    CHECK(distance(layer(kX), fresh) == 0);
  };
  const layers::SimpleRNN simple({.units = 4, .stateful = true});
  const layers::LSTM lstm({.units = 4, .stateful = true});
  const layers::RNN rnn(layers::LSTMCell({.units = 4}), {.stateful = true});
  check(simple);
  check(layers::GRU({.units = 4, .stateful = true}));
  check(lstm);
  check(rnn);
  check(layers::Bidirectional(lstm));
  CHECK(simple.states().size() == 1);
  CHECK(lstm.states().size() == 2);
  CHECK(rnn.states().size() == 2);
}

TEST_CASE("a model resets the states of all layers within, also one from a file") {
  const test::Scratch scratch;
  const Tensor inputs = Input({.batch_shape = {2, 3, 3}});
  const layers::GRU first({.units = 4, .return_sequences = true, .stateful = true});
  const layers::Bidirectional second(layers::LSTM({.units = 2, .stateful = true}));
  Model inner(inputs, first(inputs));
  Model model(inputs, layers::Dense({.units = 1})(second(inner(inputs))));
  const Tensor x = kX(Slice(2), Slice(3));
  const Tensor fresh = model.predict(x, {.verbose = 0});
  CHECK(test::distance(model.predict(x, {.verbose = 0}), fresh) > 1e-3);
  model.reset_states();
  CHECK(test::distance(first.states().at(0), ops::zeros({2, 4})) == 0);
  CHECK(test::distance(model.predict(x, {.verbose = 0}), fresh) == 0);

  // The final state of one layer is the initial state of another.
  const layers::GRU reuse({.units = 4, .return_sequences = true});
  reuse(x);
  reuse.set_weights(first.get_weights());
  const Tensor last = first.states().at(0).value();
  CHECK(test::distance(reuse({x, last}), first(x)) < 1e-6);
  CHECK(reuse.states().empty());

  model.save(scratch.path("states.keras"));
  Model loaded = load_model(scratch.path("states.keras"));
  loaded.predict(x, {.verbose = 0});
  for (const LayerHandle& layer : loaded.layers()) layer.reset_states();
  CHECK(test::distance(loaded.predict(x, {.verbose = 0}), fresh) < 1e-6);
}

TEST_CASE("states of a stateful layer are state, not weights") {
  const LayerHandle lstm = stateful_lstm();
  lstm(kX);
  CHECK(lstm.weights().size() == 3);
  CHECK(lstm.variables().size() == 6);  // two states, and the seed
}

TEST_CASE("a cell alone is a step of its layer") {
  const layers::GRUCell cell({.units = 4});
  const layers::RNN rnn(cell, {.return_sequences = true, .return_state = true});
  const Tensors all = rnn(kX);
  Tensor h = ops::zeros({2, 4});
  for (int64_t step = 0; step < 6; ++step) {
    const Tensors one = cell({kX(Slice(), step), h});
    REQUIRE(one.size() == 2);
    h = one[1];
    CHECK(distance(one[0], all[0](Slice(), step)) < 1e-6);
  }
  CHECK(distance(h, all[1]) < 1e-6);
}

TEST_CASE("a cell of the user's") {
  const layers::RNN rnn(make_layer<SumCell>(), {.return_state = true});
  const Tensors outputs = rnn(kX);
  CHECK(distance(outputs[0], ops::sum(kX, 1) * 2) < 1e-6);
  CHECK(distance(outputs[1], ops::sum(kX, 1)) < 1e-6);
  const Function traced = function([&](const Tensor& x) { return Tensor(rnn(x)[0]); });
  CHECK(distance(traced(kX), outputs[0]) < 1e-6);
  CHECK(error_of([] {
          layers::RNN(make_layer<SumCell>(2))(kX);
        }).find("expected a cell that gives an output and 1 states, got 3 tensors") !=
        std::string::npos);
  const auto stateless = make_layer<StatelessCell>();
  for (const layers::RNN& none :
       {layers::RNN(stateless), layers::RNN({stateless, layers::LSTMCell({.units = 1})})}) {
    CHECK(error_of([&] { none(kX); }).find("expected a cell with a state") != std::string::npos);
  }
}

TEST_CASE("units whose gates would be too many") {
  constexpr int64_t kMany = int64_t{1} << 62;  // the product with four gates is 2^64
  const Tensor pictures = ops::ones({1, 2, 3, 3, 1});
  const auto refuses = [](const LayerHandle& layer, const Tensor& x) {
    return error_of([&] {
             layer(x);
           }).find("whose product fits 64 bits, got 4 * 4611686018427387904") != std::string::npos;
  };
  CHECK(refuses(layers::LSTM({.units = kMany}), kX));
  CHECK(refuses(layers::ConvLSTM2D({.filters = kMany, .kernel_size = 1}), pictures));
}

TEST_CASE("a cell computes in its own dtype, and the layer around it gives its own") {
  const layers::SimpleRNNCell cell({.units = 4, .dtype = "float32"});
  const layers::RNN plain(cell, {.return_sequences = true, .return_state = true});
  const Tensors expected = plain(kX);
  for (const bool unroll : {false, true}) {
    const layers::RNN half(cell, {.return_sequences = true,
                                  .return_state = true,
                                  .unroll = unroll,
                                  .dtype = "mixed_float16"});
    const Tensors given = half(kX);
    for (size_t i = 0; i < 2; ++i) {
      CHECK(given[i].dtype() == DType::Float16);
      CHECK(distance(ops::cast(given[i], DType::Float32), expected[i]) < 2e-3);
    }
    const Tensor state = ops::ones({2, 4}, DType::Float16);
    CHECK(half({kX, state})[1].dtype() == DType::Float16);
  }
  // Stacked cells of different dtypes.
  const layers::GRUCell wide({.units = 3, .dtype = "float64"});
  const Tensor mask = ops::ones({2, 6}, DType::Bool);
  for (const bool masked : {false, true}) {
    const layers::RNN stacked({wide, cell}, {.return_state = true});
    const Tensors given = stacked(masked ? kX.with_mask(mask) : kX);
    for (const Tensor& tensor : given) CHECK(tensor.dtype() == DType::Float32);
    const Tensor by_hand = plain(layers::RNN(wide, {.return_sequences = true})(kX))[1];
    CHECK(distance(given[0], by_hand) < 1e-6);
  }
}

TEST_CASE("one mask of dropout serves all steps") {
  set_random_seed(5);
  const layers::SimpleRNN rnn({.units = 3,
                               .activation = "linear",
                               .use_bias = false,
                               .kernel_initializer = "identity",
                               .recurrent_initializer = "zeros",
                               .dropout = 0.5,
                               .return_sequences = true});
  const Tensor ones = ops::ones({40, 5, 3});
  const Tensor y = rnn(ones, {.training = true});
  const Tensor first = y(Slice(), Slice(0, 1));
  CHECK(distance(y, ops::broadcast_to(first, y.shape())) == 0);
  const auto kept = ops::sum(ops::cast(ops::greater(first, 0), DType::Float32)).item<float>();
  CHECK(kept > 30);
  CHECK(kept < 90);
  CHECK(ops::max(first).item<float>() == 2);
  CHECK(distance(rnn(ones, {.training = true}), y) > 0);
}

TEST_CASE("the loop is one node, whatever its length") {
  const layers::LSTM lstm({.units = 4});
  const auto nodes = [&](int64_t steps) {
    const Function traced = function([&](const Tensor& x) { return Tensor(lstm(x)); });
    traced(some_values({2, steps, 3}));
    return traced.compile_reports().at(0).traced_nodes;
  };
  CHECK(nodes(5) == nodes(50));
}

TEST_CASE("TimeDistributed of frozen weights takes all steps at once in training") {
  const layers::Dense dense({.units = 4});
  const layers::TimeDistributed distributed(dense);
  const auto nodes = [&](int64_t steps) {
    const Function traced =
        function([&](const Tensor& x) { return Tensor(distributed(x, {.training = true})); });
    traced(some_values({2, steps, 3}));
    return traced.compile_reports().at(0).traced_nodes;
  };
  const auto trained = nodes(5);
  dense.set_trainable(false);
  CHECK(nodes(6) == trained);
  CHECK(nodes(50) == trained);
  dense.set_trainable(true);
  distributed.set_trainable(false);
  CHECK(nodes(7) == trained);
}

TEST_CASE("TimeDistributed gives a layer with states one step after the other") {
  for (const bool is_frozen : {false, true}) {
    for (const bool training : {false, true}) {
      CAPTURE(is_frozen);
      CAPTURE(training);
      const layers::LSTM lstm({.units = 2, .stateful = true});
      const layers::TimeDistributed distributed(lstm);
      distributed.build({2, 4, 5, 3});
      const layers::LSTM alone({.units = 2, .stateful = true});
      alone.build({2, 5, 3});
      alone.set_weights(lstm.get_weights());
      lstm.set_trainable(!is_frozen);
      for (const int64_t call : {1, 2}) {
        const Tensor x = some_values({2, 4, 5, 3}, call);
        const Tensor y = distributed(x, {.training = training});
        for (int64_t step = 0; step < 4; ++step) {
          const Tensor expected = alone(x(Slice(), step), {.training = training});
          CHECK(distance(y(Slice(), step), expected) < 1e-6);
        }
      }
    }
  }
}

TEST_CASE("TimeDistributed updates statistics step by step") {
  const layers::TimeDistributed steps(layers::BatchNormalization({.momentum = 0.5}));
  const layers::BatchNormalization alone({.momentum = 0.5});
  const Tensor y = steps(kX, {.training = true});
  for (int64_t step = 0; step < 6; ++step) {
    CHECK(distance(y(Slice(), step), alone(kX(Slice(), step), {.training = true})) < 1e-6);
  }
  const auto found = steps.get_weights();
  const auto expected = alone.get_weights();
  for (size_t i = 0; i < found.size(); ++i) CHECK(distance(found[i], expected[i]) < 1e-6);
}

// When a call has a single tensor, Keras passes the mask attached to it as `mask`. For several
// tensors, it looks for arguments named after them ("sequences_mask"), which recurrent layers don't
// have: steps are masked only by a mask that the call gives, and outputs keep the mask of the
// sequences.
TEST_CASE("beside initial states, the mask that rides on sequences masks no step, as in Keras") {
  const Tensor mask = ops::reshape(Tensor::from({true, true, false, true, false, false,  //
                                                 false, true, true, true, true, false}),
                                   {2, 6});
  const Tensor masked = kX.with_mask(mask);
  const Tensor state = some_values({2, 4});
  const std::vector<std::pair<LayerHandle, int>> cases = {
      {layers::SimpleRNN({.units = 4, .return_sequences = true}), 1},
      {layers::LSTM({.units = 4, .return_sequences = true}), 2},
      {layers::Bidirectional(layers::GRU({.units = 4, .return_sequences = true})), 2}};
  for (const auto& one : cases) {
    const LayerHandle& layer = one.first;
    CAPTURE(layer.name());
    const auto call = [&](const Tensor& x, bool given) {
      std::vector<Tensor> inputs(static_cast<size_t>(one.second) + 1, state);
      inputs[0] = x;
      std::vector<Tensor> masks(given ? inputs.size() : 0);
      if (given) masks[0] = mask;
      return Tensor(layer(Tensors(inputs), {.mask = masks}));
    };
    const Tensors alone = one.second == 1 ? Tensors{kX, state} : Tensors{kX, state, state};
    CHECK(distance(layer(alone, {.mask = mask}), call(kX, true)) == 0);
    const Tensor plain = call(kX, false);
    CHECK(distance(call(masked, false), plain) == 0);
    CHECK(call(masked, false).mask().defined());
    CHECK(distance(call(kX, true), plain) > 1e-3);
    CHECK(distance(call(masked, true), call(kX, true)) == 0);
    CHECK(distance(layer(masked), layer(kX)) > 1e-3);
  }
}

TEST_CASE("what users are told of recurrent layers") {
  clear_session();
  const layers::LSTM lstm({.units = 4, .name = "lstm"});
  CHECK(
      error_of([&] {
        lstm(some_values({2, 3}));
      }) ==
      "InvalidArgument: LSTM 'lstm': expected sequences of 3 axes, (batch, time, …), got (2, 3).");
  CHECK(error_of([&] {
          lstm({kX, ops::zeros({2, 4})});
        }) == "InvalidArgument: LSTM 'lstm': expected 2 initial states, got 1.");
  CHECK(error_of([&] {
          lstm({kX, ops::zeros({2, 4}), ops::zeros({2, 5})});
        })
            .starts_with("InvalidArgument: LSTM 'lstm': expected state 1 of shape (2, 4), got (2, "
                         "5)."));
  CHECK(error_of([&] {
          lstm({{"sequences", kX}, {"initial_states", kX}});
        }) ==
        "InvalidArgument: LSTM 'lstm': its call has no argument 'initial_states'. Did you mean "
        "'initial_state'? Known: sequences, initial_state.");
  CHECK(error_of([&] {
          lstm(kX, {.settings = Json::object({{"unroll", true}})});
        }).starts_with("InvalidArgument: LSTM 'lstm': its call has no argument 'unroll'."));
  CHECK(
      error_of([&] {
        lstm(kX, {.mask = {ops::ones({2, 5}, DType::Bool)}});
      })
          .starts_with("InvalidArgument: LSTM 'lstm': expected a mask of shape (batch, time), got "
                       "(2, 5) for sequences of shape (2, 6, 3)."));
  CHECK(error_of([&] {
          lstm.reset_state();
        }).starts_with("FailedPrecondition: LSTM 'lstm' has no state to reset."));
  CHECK(error_of([] { layers::GRU({.units = 0}); }).find("expected units > 0, got 0.") !=
        std::string::npos);
  CHECK(error_of([] {
          layers::RNN(layers::Dense({.units = 2, .name = "d"}));
        }).find("expected a cell, got Dense 'd'.") != std::string::npos);
  CHECK(error_of([] {
          layers::Bidirectional(layers::Dense({.units = 2, .name = "d"}));
        }).find("expected a recurrent layer (LSTM, GRU, SimpleRNN, RNN), got Dense 'd'.") !=
        std::string::npos);
  CHECK(error_of([] {
          layers::Bidirectional(layers::LSTM({.units = 2}), {.merge_mode = "concatenate"});
        }).find("Did you mean 'concat'?") != std::string::npos);
  CHECK(error_of([] {
          layers::Bidirectional(layers::LSTM({.units = 2}),
                                {.backward_layer = layers::LSTM({.units = 2})});
        }).find("expected one layer that goes backwards and one that doesn't") !=
        std::string::npos);
  const LayerHandle stateful = stateful_lstm();
  CHECK(error_of([&] {
          stateful(Input({.shape = {6, 3}}));
        }).find("expected a known batch size, got (None, 6, 3). Give Input a batch_shape.") !=
        std::string::npos);
  stateful(kX);
  CHECK(error_of([&] {
          stateful(some_values({3, 6, 3}));
        }).find("expected state 0 of shape (3, 4), got (2, 4).") != std::string::npos);
}

TEST_CASE("ConvLSTM of one pixel is an LSTM") {
  const layers::LSTM lstm({.units = 4, .recurrent_dropout = 0.1, .return_sequences = true});
  const layers::ConvLSTM2D conv({.filters = 4, .kernel_size = 1, .return_sequences = true});
  const Tensor expected = lstm(kX);
  const Tensor pixels = ops::reshape(kX, {2, 6, 1, 1, 3});
  conv(pixels);
  std::vector<Tensor> weights = lstm.get_weights();
  weights[0] = ops::reshape(weights[0], {1, 1, 3, 16});
  weights[1] = ops::reshape(weights[1], {1, 1, 4, 16});
  conv.set_weights(weights);
  CHECK(distance(ops::reshape(conv(pixels), {2, 6, 4}), expected) < 1e-6);
}

TEST_CASE("a stateful ConvLSTM goes on where the last call ended") {
  const Tensor x = some_values({2, 6, 5, 3});
  const layers::ConvLSTM1D whole({.filters = 2, .kernel_size = 2, .return_sequences = true});
  const Tensor expected = whole(x);
  const layers::ConvLSTM1D parts(
      {.filters = 2, .kernel_size = 2, .return_sequences = true, .stateful = true});
  parts.build({2, 3, 5, 3});
  parts.set_weights(whole.get_weights());
  for (int round = 0; round < 2; ++round) {
    for (int64_t begin = 0; begin < 6; begin += 3) {
      CHECK(distance(parts(x(Slice(), Slice(begin, begin + 3))),
                     expected(Slice(), Slice(begin, begin + 3))) < 1e-6);
    }
    parts.reset_state();
  }
}

TEST_CASE("what users are told of ConvLSTM") {
  clear_session();
  CHECK(error_of([] {
          layers::ConvLSTM2D({.kernel_size = 3, .name = "c"});
        }).find("expected filters > 0, got 0.") != std::string::npos);
  const layers::ConvLSTM2D conv({.filters = 2, .kernel_size = 3, .name = "conv"});
  CHECK(error_of([&] {
          conv(some_values({2, 5, 5, 3}));
        }).find("ConvLSTM2D 'conv': expected sequences of 5 axes") != std::string::npos);
  CHECK(error_of([&] {
          conv(Input({.shape = {4, kUnknown, 5, 3}}));
        }).find("expected a known axis 1, got (None, None, 5, 3).") != std::string::npos);
  const Tensor x = some_values({2, 3, 5, 5, 3});
  CHECK(error_of([&] {
          conv({x, ops::zeros({2, 5, 5, 2}), ops::zeros({2, 3, 3, 2})});
        }).find("expected state 0 of shape (2, 3, 3, 2), got (2, 5, 5, 2).") != std::string::npos);
  CHECK(error_of([&] {
          layers::ConvLSTM2D({.filters = 2, .kernel_size = 3})(some_values({2, 3, 2, 5, 3}));
        }).find("expected spatial axes of at least (3, 3), the window, got (2, 2, 5, 3).") !=
        std::string::npos);
}

TEST_CASE("sequences of other features than the weights were made for") {
  const Tensor five = some_values({2, 4, 5});
  const Tensor seven = some_values({2, 4, 7});
  const auto check_refused = [&](const LayerHandle& layer, const std::string& who) {
    layer(five);
    const std::string begin = "InvalidArgument: " + who +
                              ": expected 5 elements on axis -1, as when the layer was built, got ";
    CHECK(error_of([&] { layer(seven); }) ==
          begin + "(2, 4, 7). Another size needs another layer.");
    CHECK(error_of([&] {
            layer(Input({.shape = {kUnknown, 7}}));
          }) == begin + "(None, None, 7). Another size needs another layer.");
    layer(Input({.shape = {kUnknown, 5}}));
  };
  check_refused(layers::LSTM({.units = 3, .name = "a"}), "LSTM 'a'");
  check_refused(layers::GRU({.units = 3, .name = "b"}), "GRU 'b'");
  check_refused(layers::SimpleRNN({.units = 3, .name = "c"}), "SimpleRNN 'c'");
  check_refused(layers::RNN(layers::GRUCell({.units = 3}), {.name = "d"}), "RNN 'd'");
  check_refused(layers::RNN(layers::StackedRNNCells(
                                {layers::LSTMCell({.units = 3}), layers::GRUCell({.units = 2})}),
                            {.name = "e"}),
                "RNN 'e'");
  check_refused(layers::Bidirectional(layers::LSTM({.units = 3, .name = "f"})), "LSTM 'forward_f'");
  const layers::ConvLSTM2D conv({.filters = 2, .kernel_size = 3, .name = "g"});
  conv(some_values({1, 2, 6, 6, 3}));
  CHECK(error_of([&] {
          conv(some_values({1, 2, 6, 6, 4}));
        }) ==
        "InvalidArgument: ConvLSTM2D 'g': expected 3 elements on axis -1, as when the layer was "
        "built, got (1, 2, 6, 6, 4). Another size needs another layer.");
}
