// SPDX-License-Identifier: Apache-2.0
#include "layers/rnn/gru.h"

#include "layers/rnn/recurrent_cell.h"
#include "layers/rnn/recurrent_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, GRUCellOptions& options) {
  fields("units", options.units);
  fields("activation", options.activation);
  fields("recurrent_activation", options.recurrent_activation);
  fields("use_bias", options.use_bias);
  visit_initializers(fields, options);
  visit_bounds(fields, options);
  fields("seed", options.seed);
}
template <class Fields>
void visit_fields(Fields& fields, GRUOptions& options) {
  visit_loop_fields(fields, options);
  fields("units", options.units);
  fields("activation", options.activation);
  fields("recurrent_activation", options.recurrent_activation);
  fields("use_bias", options.use_bias);
  visit_initializers(fields, options);
  visit_bounds(fields, options);
  fields("seed", options.seed);
}

namespace {

class GRUCellLayer : public RecurrentCell<GRUCellOptions> {
 public:
  explicit GRUCellLayer(const GRUCellOptions& options) : RecurrentCell("GRUCell", options, 3) {}

  std::vector<Tensor> advance(const Tensor& projected, const std::vector<Tensor>& states,
                              const StepConstants& constants) const override {
    const Tensor& h = states.at(0);
    const std::vector<Tensor> x = ops::split(projected, 3, -1);
    const auto gates = [&](const Tensor& of_z, const Tensor& of_r) {
      return std::make_pair(options_.recurrent_activation(x[0] + of_z),
                            options_.recurrent_activation(x[1] + of_r));
    };
    Tensor update;
    Tensor candidate;
    if (options_.reset_after) {
      Tensor products = recurrent(h, constants);
      if (bias().defined()) products = products + compute(bias())(1);
      const std::vector<Tensor> product = ops::split(products, 3, -1);
      const auto [z, r] = gates(product[0], product[1]);
      update = z;
      candidate = x[2] + r * product[2];
    } else {
      const auto [z, r] = gates(recurrent_gate(h, 0, constants), recurrent_gate(h, 1, constants));
      update = z;
      candidate = x[2] + recurrent_gate(r * h, 2, constants);
    }
    const Tensor next = update * h + (1 - update) * options_.activation(candidate);
    return {next, next};
  }

  std::vector<Tensor> advance_all(const Tensor& projected, const std::vector<Tensor>& states,
                                  const StepConstants& constants,
                                  const ops::RecurrenceOptions& options) const override {
    if (!options_.reset_after || !has_op(projected, constants)) return {};
    const Tensor added =
        bias().defined() ? compute(bias())(1) : ops::zeros({columns()}, projected.dtype());
    const ops::GruResult result =
        ops::gru(projected, states.at(0), constants.weights.at(0), added, options);
    return {result.outputs, result.h};
  }

 protected:
  Shape bias_shape() const override {
    return options_.reset_after ? Shape({2, columns()}) : Shape({columns()});
  }
  Tensor input_bias(const Tensor& bias) const override {
    return options_.reset_after ? bias(0) : bias;
  }
  bool cut_recurrent_kernel() const override { return !options_.reset_after; }
};

GRUCellOptions cell_options_of(const GRUOptions& options) {
  auto cell = shared_cell_options<GRUCellOptions>(options, "gru_cell");
  cell.units = options.units;
  cell.recurrent_activation = options.recurrent_activation;
  cell.reset_after = options.reset_after;
  return cell;
}

}  // namespace

GRUCell::GRUCell(const GRUCellOptions& options)
    : LayerHandle(std::make_shared<GRUCellLayer>(options)) {}

GRUCell GRUCell::from_config(const Json& config) {
  return GRUCell(read_layer_options<GRUCellOptions>(config));
}

GRU::GRU(const GRUOptions& options)
    : LayerHandle(std::make_shared<RecurrentLayerOf<GRUOptions>>(
          "GRU", options, GRUCell(cell_options_of(options)))) {}

GRU GRU::from_config(const Json& config) { return GRU(read_layer_options<GRUOptions>(config)); }

void GRU::reset_state() const { as_recurrent(*this, "GRU").reset_state(); }
std::vector<Variable> GRU::states() const { return as_recurrent(*this, "GRU").states(); }

}  // namespace cornu::layers
