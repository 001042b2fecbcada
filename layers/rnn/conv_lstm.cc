// SPDX-License-Identifier: Apache-2.0
#include "layers/rnn/conv_lstm.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "framework/core/checked.h"
#include "layers/convolutional/conv_base.h"
#include "layers/rnn/recurrent_cell.h"
#include "layers/rnn/recurrent_layer.h"

namespace cornu::layers {

template <class Fields, int kAxes>
void visit_fields(Fields& fields, ConvLSTMOptions<kAxes>& options) {
  visit_loop_fields(fields, options);
  fields("filters", options.filters);
  visit_window_fields(fields, options);
  fields("activation", options.activation);
  fields("recurrent_activation", options.recurrent_activation);
  fields("use_bias", options.use_bias);
  visit_initializers(fields, options);
  fields("unit_forget_bias", options.unit_forget_bias);
  visit_bounds(fields, options);
  fields("seed", options.seed);
}

namespace {

constexpr int64_t kGates = 4;

template <int kAxes>
class ConvLSTMCell : public ConvBase<ConvLSTMOptions<kAxes>, kAxes>, public SteppedCell {
  using Options = ConvLSTMOptions<kAxes>;
  using Base = ConvBase<Options, kAxes>;
  using Base::compute;
  using Base::options_;

 public:
  explicit ConvLSTMCell(const Options& options) : Base("ConvLSTMCell", options) {
    this->require(options.filters > 0, "expected filters > 0, got {}.", options.filters);
    options_.dropout = std::clamp(options.dropout, 0.0, 1.0);
    options_.recurrent_dropout = std::clamp(options.recurrent_dropout, 0.0, 1.0);
    generator_.emplace(
        this->add_state("seed_generator_state", random::SeedGenerator::initial_state(options.seed)),
        options.seed);
  }

  const CallSignature& call_signature() const override {
    static const CallSignature signature{.inputs = {"inputs", "states"}, .built = 1};
    return signature;
  }
  void build_list(const std::vector<Shape>& shapes) override {
    this->check_input(shapes.at(0));
    const Shape& shape = shapes[0];
    for (int64_t axis = 1; axis <= kAxes; ++axis) this->known_axis(shape, axis);
    const int64_t channels = this->set_channels(shape);
    const int64_t columns = checked_multiply(kGates, options_.filters, this->label());
    kernel_ = this->add_weight({.shape = this->kernel_shape(channels, columns),
                                .initializer = options_.kernel_initializer,
                                .regularizer = options_.kernel_regularizer,
                                .constraint = options_.kernel_constraint,
                                .name = "kernel"});
    recurrent_kernel_ = this->add_weight({.shape = this->kernel_shape(options_.filters, columns),
                                          .initializer = options_.recurrent_initializer,
                                          .regularizer = options_.recurrent_regularizer,
                                          .constraint = options_.recurrent_constraint,
                                          .name = "recurrent_kernel"});
    if (!options_.use_bias) return;
    bias_ = this->add_weight(
        {.shape = {columns},
         .initializer = options_.unit_forget_bias
                            ? with_forget_bias(options_.bias_initializer, options_.filters)
                            : options_.bias_initializer,
         .regularizer = options_.bias_regularizer,
         .constraint = options_.bias_constraint,
         .name = "bias"});
  }
  Tensors call_list(const Tensors& inputs, const CallArgs& args) override {
    return step(inputs, args);
  }

  std::vector<int64_t> state_size() const override { return {options_.filters, options_.filters}; }
  int64_t features() const override { return this->channels(); }

  std::vector<Tensor> get_initial_state(const Tensor& step_input) const override {
    const Tensor zeros = ops::zeros(state_shape(step_input.shape()), step_input.dtype());
    return {zeros, zeros};
  }

  StepConstants prepare(const Tensor& step_input, const CallArgs& args) override {
    StepConstants constants;
    const auto drops = [&](double rate) { return args.training && rate > 0 && rate < 1; };
    if (drops(options_.dropout)) {
      constants.input_masks = draw(ops::ones_like(step_input), options_.dropout);
    }
    if (drops(options_.recurrent_dropout)) {
      const Tensor ones = ops::ones(state_shape(step_input.shape()), step_input.dtype());
      constants.recurrent_masks = draw(ones, options_.recurrent_dropout);
    }
    const Tensor weights = compute(recurrent_kernel_);
    constants.weights = constants.recurrent_masks.empty() ? std::vector<Tensor>{weights}
                                                          : ops::split(weights, kGates, -1);
    return constants;
  }

  // The steps of all rows form a single batch.
  Tensor project(const Tensor& inputs, const StepConstants& constants) const override {
    const Shape& shape = inputs.shape();
    this->require(shape[0] != kUnknown || shape[1] != kUnknown,
                  "expected a known number of steps, or of rows, got sequences of neither.");
    const std::vector<Tensor>& masks = constants.input_masks;
    const std::vector<Tensor> kernels = masks.empty() ? std::vector<Tensor>{compute(kernel_)}
                                                      : ops::split(compute(kernel_), kGates, -1);
    std::vector<Tensor> parts;
    for (size_t i = 0; i < kernels.size(); ++i) {
      const Tensor x = masks.empty() ? inputs : inputs * masks[i];
      const Tensor rows = ops::reshape(x, Shape{-1}.concat(shape.slice(2)));
      parts.push_back(ops::conv(rows, kernels[i],
                                {.strides = options_.strides.values(),
                                 .padding = options_.padding,
                                 .dilation_rate = options_.dilation_rate.values()}));
    }
    const Tensor y = parts.size() == 1 ? parts[0] : ops::concatenate(parts, -1);
    const Shape steps = {shape[0] == kUnknown ? -1 : shape[0],
                         shape[1] == kUnknown ? -1 : shape[1]};
    const Tensor result = ops::reshape(y, steps.concat(y.shape().slice(1)));
    return bias_.defined() ? result + compute(bias_) : result;
  }

  std::vector<Tensor> advance(const Tensor& projected, const std::vector<Tensor>& states,
                              const StepConstants& constants) const override {
    const std::vector<Tensor> z =
        ops::split(projected + recurrent(states.at(0), constants), kGates, -1);
    const Tensor input = options_.recurrent_activation(z[0]);
    const Tensor forget = options_.recurrent_activation(z[1]);
    const Tensor c = forget * states.at(1) + input * options_.activation(z[2]);
    const Tensor h = options_.recurrent_activation(z[3]) * options_.activation(c);
    return {h, h, c};
  }

 private:
  Tensor recurrent(const Tensor& h, const StepConstants& constants) const {
    const ops::ConvOptions same = {.padding = "same"};
    const std::vector<Tensor>& masks = constants.recurrent_masks;
    if (masks.empty()) return ops::conv(h, constants.weights.at(0), same);
    std::vector<Tensor> parts;
    for (size_t i = 0; i < masks.size(); ++i) {
      parts.push_back(ops::conv(h * masks[i], constants.weights.at(i), same));
    }
    return ops::concatenate(parts, -1);
  }

  Shape state_shape(const Shape& step) const {
    Shape shape = {step[0]};
    for (int axis = 0; axis < kAxes; ++axis) {
      const int64_t size = step[axis + 1];
      const int64_t stride = options_.strides[axis];
      const int64_t extent =
          dilated_extent(options_.kernel_size[axis], options_.dilation_rate[axis], this->label());
      shape.push_back(options_.padding == "same" ? (size + stride - 1) / stride
                                                 : (size - extent) / stride + 1);
    }
    shape.push_back(options_.filters);
    return shape;
  }

  std::vector<Tensor> draw(const Tensor& ones, double rate) {
    std::vector<Tensor> masks;
    for (int64_t i = 0; i < kGates; ++i) {
      masks.push_back(random::dropout(ones, rate, {.seed = generator_->next()}));
    }
    return masks;
  }

  Variable kernel_;
  Variable recurrent_kernel_;
  Variable bias_;
  std::optional<random::SeedGenerator> generator_;
};

template <int kAxes>
LayerHandle cell_of(const ConvLSTMOptions<kAxes>& options) {
  ConvLSTMOptions<kAxes> cell = options;
  cell.name = "conv_lstm_cell";
  cell.data_format = {};
  cell.activity_regularizer = {};
  return LayerHandle(std::make_shared<ConvLSTMCell<kAxes>>(cell));
}

template <int kAxes>
class ConvLSTMLayer : public RecurrentLayerOf<ConvLSTMOptions<kAxes>> {
 public:
  explicit ConvLSTMLayer(const ConvLSTMOptions<kAxes>& options)
      : RecurrentLayerOf<ConvLSTMOptions<kAxes>>(fmt::format("ConvLSTM{}D", kAxes), options,
                                                 cell_of(options), kAxes + 3) {
    this->options_.data_format = check_data_format(this->label(), options.data_format);
  }
};

}  // namespace

template <int kAxes>
ConvLSTM<kAxes>::ConvLSTM(const ConvLSTMOptions<kAxes>& options)
    : LayerHandle(std::make_shared<InDataFormat<ConvLSTMLayer<kAxes>, kAxes>>(options)) {}

template <int kAxes>
ConvLSTM<kAxes> ConvLSTM<kAxes>::from_config(const Json& config) {
  return ConvLSTM(read_layer_options<ConvLSTMOptions<kAxes>>(config));
}

template <int kAxes>
void ConvLSTM<kAxes>::reset_state() const {
  as_recurrent(*this, fmt::format("ConvLSTM{}D", kAxes)).reset_state();
}

template class ConvLSTM<1>;
template class ConvLSTM<2>;
template class ConvLSTM<3>;

}  // namespace cornu::layers
