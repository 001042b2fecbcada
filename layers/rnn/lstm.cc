// SPDX-License-Identifier: Apache-2.0
#include "layers/rnn/lstm.h"

#include "layers/rnn/recurrent_cell.h"
#include "layers/rnn/recurrent_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, LSTMCellOptions& options) {
  fields("units", options.units);
  fields("activation", options.activation);
  fields("recurrent_activation", options.recurrent_activation);
  fields("use_bias", options.use_bias);
  fields("unit_forget_bias", options.unit_forget_bias);
  visit_initializers(fields, options);
  visit_bounds(fields, options);
  fields("seed", options.seed);
}
template <class Fields>
void visit_fields(Fields& fields, LSTMOptions& options) {
  visit_loop_fields(fields, options);
  fields("units", options.units);
  fields("activation", options.activation);
  fields("recurrent_activation", options.recurrent_activation);
  fields("use_bias", options.use_bias);
  visit_initializers(fields, options);
  fields("unit_forget_bias", options.unit_forget_bias);
  visit_bounds(fields, options);
  fields("seed", options.seed);
}

namespace {

class LSTMCellLayer : public RecurrentCell<LSTMCellOptions> {
 public:
  explicit LSTMCellLayer(const LSTMCellOptions& options) : RecurrentCell("LSTMCell", options, 4) {}

  std::vector<int64_t> state_size() const override { return {options_.units, options_.units}; }

  std::vector<Tensor> advance(const Tensor& projected, const std::vector<Tensor>& states,
                              const StepConstants& constants) const override {
    const std::vector<Tensor> z = ops::split(projected + recurrent(states.at(0), constants), 4, -1);
    const Tensor input = options_.recurrent_activation(z[0]);
    const Tensor forget = options_.recurrent_activation(z[1]);
    const Tensor c = forget * states.at(1) + input * options_.activation(z[2]);
    const Tensor h = options_.recurrent_activation(z[3]) * options_.activation(c);
    return {h, h, c};
  }

  std::vector<Tensor> advance_all(const Tensor& projected, const std::vector<Tensor>& states,
                                  const StepConstants& constants,
                                  const ops::RecurrenceOptions& options) const override {
    if (!has_op(projected, constants)) return {};
    const ops::LstmResult result =
        ops::lstm(projected, states.at(0), states.at(1), constants.weights.at(0), options);
    return {result.outputs, result.h, result.c};
  }

 protected:
  Initializer bias_initializer() const override {
    if (!options_.unit_forget_bias) return options_.bias_initializer;
    return with_forget_bias(options_.bias_initializer, options_.units);
  }
};

LSTMCellOptions cell_options_of(const LSTMOptions& options) {
  auto cell = shared_cell_options<LSTMCellOptions>(options, "lstm_cell");
  cell.units = options.units;
  cell.recurrent_activation = options.recurrent_activation;
  cell.unit_forget_bias = options.unit_forget_bias;
  return cell;
}

}  // namespace

LSTMCell::LSTMCell(const LSTMCellOptions& options)
    : LayerHandle(std::make_shared<LSTMCellLayer>(options)) {}

LSTMCell LSTMCell::from_config(const Json& config) {
  return LSTMCell(read_layer_options<LSTMCellOptions>(config));
}

LSTM::LSTM(const LSTMOptions& options)
    : LayerHandle(std::make_shared<RecurrentLayerOf<LSTMOptions>>(
          "LSTM", options, LSTMCell(cell_options_of(options)))) {}

LSTM LSTM::from_config(const Json& config) { return LSTM(read_layer_options<LSTMOptions>(config)); }

void LSTM::reset_state() const { as_recurrent(*this, "LSTM").reset_state(); }
std::vector<Variable> LSTM::states() const { return as_recurrent(*this, "LSTM").states(); }

}  // namespace cornu::layers
