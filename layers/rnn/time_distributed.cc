// SPDX-License-Identifier: Apache-2.0
#include "layers/rnn/time_distributed.h"

#include <algorithm>

#include "framework/ops/ops.h"
#include "layers/core/wrapper.h"
#include "layers/keras_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields&, TimeDistributedOptions&) {}

namespace {

Tensor batches_of_steps(const Tensor& x) {
  return ops::reshape(x, Shape({x.dim(0) * x.dim(1)}).concat(x.shape().slice(2)));
}

Tensor step_of(const Tensor& x, int64_t step) {
  return ops::squeeze(ops::slice_axis(x, 1, step, step + 1), 1);
}

class TimeDistributedLayer : public WrapperOf<KerasLayer> {
 public:
  TimeDistributedLayer(const LayerHandle& layer, const TimeDistributedOptions& options)
      : WrapperOf(layer, "TimeDistributed", base_options(options)) {}
  bool supports_masking() const override { return true; }

  void build(const Shape& shape) override {
    WrapperOf::build(Shape({shape[0]}).concat(shape.slice(2)));
  }

  Tensor call(const Tensor& x, const CallArgs& args) override {
    const Tensor& mask = args.mask;
    require(
        !mask.defined() || (mask.rank() >= 2 && mask.dim(0) == x.dim(0) && mask.dim(1) == x.dim(1)),
        "expected a mask that begins with the axes (batch, time) of the input, got {} for {}.",
        mask.defined() ? mask.shape() : Shape(), x.shape());
    const bool in_turn = has_state() || (args.training && keeps_statistics());
    return in_turn ? step_by_step(x, mask, args) : all_at_once(x, mask, args);
  }

 protected:
  void check_input(const Shape& shape) const override {
    require(shape.rank() >= 3, "expected an input of 3 axes or more, (batch, time, …), got {}.",
            shape);
  }

 private:
  // Whether calls change state for the next call, per example of the batch, like a stateful RNN.
  bool has_state() const {
    return std::ranges::any_of(layer().variables(), [](const Variable& variable) {
      return variable.synchronization() == VariableSynchronization::OnRead;
    });
  }

  // Whether calls in training update weights, such as moving statistics, which each step must see
  // as the previous one left them. Weights of layers that are merely frozen don't count.
  bool keeps_statistics() const {
    const std::vector<Variable> weights = layer().weights();
    return std::any_of(weights.begin(), weights.end(),
                       [](const Variable& weight) { return !weight.trainable(); });
  }

  Tensor all_at_once(const Tensor& x, const Tensor& mask, const CallArgs& args) const {
    Tensor steps = batches_of_steps(x);
    if (mask.defined()) steps = steps.with_mask(batches_of_steps(mask));
    const Tensor y = layer()(steps, args);
    return ops::reshape(y, Shape({x.dim(0), x.dim(1)}).concat(y.shape().slice(1)));
  }

  Tensor step_by_step(const Tensor& x, const Tensor& mask, const CallArgs& args) const {
    std::vector<Tensor> outputs;
    for (int64_t step = 0; step < x.dim(1); ++step) {
      Tensor input = step_of(x, step);
      if (mask.defined()) input = input.with_mask(step_of(mask, step));
      outputs.push_back(layer()(input, args));
    }
    return ops::stack(outputs, 1);
  }
};

}  // namespace

TimeDistributed::TimeDistributed(const LayerHandle& layer, const TimeDistributedOptions& options)
    : LayerHandle(std::make_shared<TimeDistributedLayer>(layer, options)) {}

TimeDistributed TimeDistributed::from_config(const Json& config) {
  return TimeDistributed(layer_from_json(config.at("layer")),
                         read_layer_options<TimeDistributedOptions>(config));
}

}  // namespace cornu::layers
