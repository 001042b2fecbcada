// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/recurrent.h"

#include "framework/ops/creation.h"
#include "framework/ops/definition.h"
#include "framework/ops/matmul.h"
#include "framework/ops/recurrent_states.h"
#include "framework/ops/reduce.h"
#include "framework/ops/register.h"
#include "framework/ops/shape.h"

namespace cornu::ops {

using namespace internal;

namespace {

// Checks the operands of a recurrence: `count` of float32, of which the first is (time, batch,
// gates * units), perhaps followed by a mask.
class Recurrence {
 public:
  Recurrence(TypeSpan in, size_t count, int64_t gates, std::string_view op)
      : in_(in), gates_(gates), op_(op) {
    if (in.size() != count + 1) require_inputs(in, count, op);
    for (const TensorType& type : in.first(count)) {
      check<InvalidArgument>(type.dtype == DType::Float32, "{}: expected float32, got {}.", op,
                             type.dtype);
    }
    const Shape& inputs = in[0].shape;
    check<InvalidArgument>(
        inputs.rank() == 3 && inputs[0] >= 1 && inputs[2] >= gates && inputs[2] % gates == 0,
        "{}: expected inputs (time, batch, {} units), time >= 1, got {}.", op, gates, inputs);
    require_sizes(inputs, op);
    units_ = inputs[2] / gates;
    if (in.size() == count) return;
    check<InvalidArgument>(in[count].dtype == DType::Bool, "{}: expected a mask of bool, got {}.",
                           op, in[count].dtype);
    require_shape(in[count], {inputs[0], inputs[1]}, op, "mask");
  }

  TensorType state() const { return {DType::Float32, {in_[0].shape[1], units_}}; }
  TensorType states() const {  // of all steps
    return {DType::Float32, {in_[0].shape[0], in_[0].shape[1], units_}};
  }
  void require_state(size_t i, std::string_view what) const {
    require_shape(in_[i], state().shape, op_, what);
  }
  void require_states(size_t i) const {
    require_shape(in_[i], states().shape, op_, "a value of each step");
  }
  void require_kernel(size_t i) const {
    require_shape(in_[i], {units_, gates_ * units_}, op_, "recurrent_kernel");
  }

 private:
  TypeSpan in_;
  int64_t gates_;
  std::string_view op_;
  int64_t units_ = 0;
};

// lstm: inputs, h, c, recurrent_kernel, [mask] -> h of all steps, c of all steps, gates.
Types infer_lstm(TypeSpan in, const Attributes&) {
  const Recurrence recurrence(in, 4, 4, "lstm");
  recurrence.require_state(1, "h");
  recurrence.require_state(2, "c");
  recurrence.require_kernel(3);
  return {recurrence.states(), recurrence.states(), in[0]};
}

// lstm_grad: gates, c of all steps, c before, recurrent_kernel, the gradients of h and c of all
// steps, [mask] -> the gradients of inputs, h and c before.
Types infer_lstm_grad(TypeSpan in, const Attributes&) {
  const Recurrence recurrence(in, 6, 4, "lstm_grad");
  recurrence.require_state(2, "c");
  recurrence.require_kernel(3);
  for (const size_t i : {1, 4, 5}) recurrence.require_states(i);
  return {in[0], in[2], in[2]};
}

// gru: inputs, h, recurrent_kernel, recurrent_bias, [mask] -> h of all steps, gates, the
// candidates' products.
Types infer_gru(TypeSpan in, const Attributes&) {
  const Recurrence recurrence(in, 4, 3, "gru");
  recurrence.require_state(1, "h");
  recurrence.require_kernel(2);
  require_shape(in[3], {in[0].shape[2]}, "gru", "recurrent_bias");
  return {recurrence.states(), in[0], recurrence.states()};
}

// gru_grad: gates, h of all steps, h before, recurrent_kernel, the gradient of h of all steps, the
// candidates' products, [mask] -> the gradients of inputs, h before, and the products of h and
// recurrent_kernel.
Types infer_gru_grad(TypeSpan in, const Attributes&) {
  const Recurrence recurrence(in, 6, 3, "gru_grad");
  recurrence.require_state(2, "h");
  recurrence.require_kernel(3);
  for (const size_t i : {1, 4, 5}) recurrence.require_states(i);
  return {in[0], in[2], in[0]};
}

Tensor gradient_or_zeros(const VjpContext& c, size_t output) {
  const Tensor& gradient = c.gradient(output);
  return gradient.defined() ? gradient : zeros_like(c.out(output));
}

// The operands of a gradient: those given, and the mask if the recurrence has one.
std::vector<Tensor> with_mask(const VjpContext& c, std::vector<Tensor> operands) {
  if (c.inputs.size() > 4) operands.push_back(c.in(4));
  return operands;
}

// The gradient of the recurrent kernel, given that of its products.
Tensor of_recurrent_kernel(const VjpContext& c, const Tensor& of_products) {
  const Tensor previous = states_before(c.out(0), c.in(1), c.attributes.get_bool("reverse"));
  return matmul(reshape(previous, {-1, previous.dim(2)}),
                reshape(of_products, {-1, of_products.dim(2)}), {.transpose_x1 = true});
}

// Gradients through the states; autodiff/recurrent_vjps.h has those through the other results, and
// those of the gradients.
Gradients lstm_vjp(const VjpContext& c) {
  const std::vector<Tensor> found =
      apply(op<"lstm_grad">(),
            with_mask(c, {c.out(2), c.out(1), c.in(2), c.in(3), gradient_or_zeros(c, 0),
                          gradient_or_zeros(c, 1)}),
            c.attributes);
  Gradients result = {found[0], found[1], found[2], of_recurrent_kernel(c, found[0])};
  result.resize(c.inputs.size());
  return result;
}

Gradients gru_vjp(const VjpContext& c) {
  const std::vector<Tensor> found =
      apply(op<"gru_grad">(),
            with_mask(c, {c.out(1), c.out(0), c.in(1), c.in(2), gradient_or_zeros(c, 0), c.out(2)}),
            c.attributes);
  Gradients result = {found[0], found[1], of_recurrent_kernel(c, found[2]), sum(found[2], {0, 1})};
  result.resize(c.inputs.size());
  return result;
}

// The states (time, batch, units) after the step that ran last.
Tensor last_of(const Tensor& states, const RecurrenceOptions& options) {
  const int64_t last = options.go_backwards ? 0 : states.dim(0) - 1;
  return squeeze(slice_axis(states, 0, last, last + 1), 0);
}

std::vector<Tensor> run_recurrence(const OpDef& op, std::vector<Tensor> inputs,
                                   const RecurrenceOptions& options) {
  if (options.mask.defined()) inputs.push_back(options.mask);
  return apply(op, inputs, {{"reverse", options.go_backwards}});
}

}  // namespace

Tensor internal::states_before(const Tensor& states, const Tensor& first, bool reverse) {
  const Tensor row = expand_dims(first, 0);
  return reverse ? concatenate({slice_axis(states, 0, 1), row}, 0)
                 : concatenate({row, slice_axis(states, 0, 0, states.dim(0) - 1)}, 0);
}

LstmResult lstm(const Tensor& inputs, const Tensor& h, const Tensor& c,
                const Tensor& recurrent_kernel, const RecurrenceOptions& options) {
  const std::vector<Tensor> outputs =
      run_recurrence(op<"lstm">(), {inputs, h, c, recurrent_kernel}, options);
  return {outputs[0], last_of(outputs[0], options), last_of(outputs[1], options)};
}

GruResult gru(const Tensor& inputs, const Tensor& h, const Tensor& recurrent_kernel,
              const Tensor& recurrent_bias, const RecurrenceOptions& options) {
  const Tensor outputs =
      run_recurrence(op<"gru">(), {inputs, h, recurrent_kernel, recurrent_bias}, options)[0];
  return {outputs, last_of(outputs, options)};
}

void register_recurrent(OpRegistry& registry) {
  registry.add({.name = "lstm", .infer = infer_lstm, .vjp = lstm_vjp, .traits = {}});
  registry.add({.name = "lstm_grad", .infer = infer_lstm_grad, .vjp = {}, .traits = {}});
  registry.add({.name = "gru", .infer = infer_gru, .vjp = gru_vjp, .traits = {}});
  registry.add({.name = "gru_grad", .infer = infer_gru_grad, .vjp = {}, .traits = {}});
}

}  // namespace cornu::ops
