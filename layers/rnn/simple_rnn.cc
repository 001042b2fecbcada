// SPDX-License-Identifier: Apache-2.0
#include "layers/rnn/simple_rnn.h"

#include "layers/rnn/recurrent_cell.h"
#include "layers/rnn/recurrent_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, SimpleRNNCellOptions& options) {
  fields("units", options.units);
  fields("activation", options.activation);
  fields("use_bias", options.use_bias);
  visit_initializers(fields, options);
  visit_bounds(fields, options);
  fields("seed", options.seed);
}
template <class Fields>
void visit_fields(Fields& fields, SimpleRNNOptions& options) {
  visit_loop_fields(fields, options);
  fields("units", options.units);
  fields("activation", options.activation);
  fields("use_bias", options.use_bias);
  visit_initializers(fields, options);
  visit_bounds(fields, options);  // Keras doesn't write the seed here
}

namespace {

class SimpleRNNCellLayer : public RecurrentCell<SimpleRNNCellOptions> {
 public:
  explicit SimpleRNNCellLayer(const SimpleRNNCellOptions& options)
      : RecurrentCell("SimpleRNNCell", options, 1) {}

  std::vector<Tensor> advance(const Tensor& projected, const std::vector<Tensor>& states,
                              const StepConstants& constants) const override {
    const Tensor h = options_.activation(projected + recurrent(states.at(0), constants));
    return {h, h};
  }
};

SimpleRNNCellOptions cell_options_of(const SimpleRNNOptions& options) {
  auto cell = shared_cell_options<SimpleRNNCellOptions>(options, "simple_rnn_cell");
  cell.units = options.units;
  return cell;
}

}  // namespace

SimpleRNNCell::SimpleRNNCell(const SimpleRNNCellOptions& options)
    : LayerHandle(std::make_shared<SimpleRNNCellLayer>(options)) {}

SimpleRNNCell SimpleRNNCell::from_config(const Json& config) {
  return SimpleRNNCell(read_layer_options<SimpleRNNCellOptions>(config));
}

SimpleRNN::SimpleRNN(const SimpleRNNOptions& options)
    : LayerHandle(std::make_shared<RecurrentLayerOf<SimpleRNNOptions>>(
          "SimpleRNN", options, SimpleRNNCell(cell_options_of(options)))) {}

SimpleRNN SimpleRNN::from_config(const Json& config) {
  return SimpleRNN(read_layer_options<SimpleRNNOptions>(config));
}

void SimpleRNN::reset_state() const { as_recurrent(*this, "SimpleRNN").reset_state(); }
std::vector<Variable> SimpleRNN::states() const {
  return as_recurrent(*this, "SimpleRNN").states();
}

}  // namespace cornu::layers
