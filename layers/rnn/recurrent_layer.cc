// SPDX-License-Identifier: Apache-2.0
#include "layers/rnn/recurrent_layer.h"

#include <memory>

#include "framework/ops/ops.h"

namespace cornu::layers {

RecurrentLayer::RecurrentLayer(std::string class_name, const LayerOptions& options,
                               LayerHandle cell, const LoopOptions& loop, int64_t rank)
    : KerasLayer(std::move(class_name), options), loop_(loop), rank_(rank) {
  as_cell(cell, label());
  cell_ = track("cell", std::move(cell));
}

const CallSignature& RecurrentLayer::call_signature() const {
  static const CallSignature signature{.inputs = {"sequences", "initial_state"}, .built = 2};
  return signature;
}

void RecurrentLayer::check_input(const Shape& shape) const {
  if (rank_ == kUnknown) {
    require(shape.rank() >= 3, "expected sequences (batch, time, features, …), got {}.", shape);
  } else {
    require(shape.rank() == rank_, "expected sequences of {} axes, (batch, time, …), got {}.",
            rank_, shape);
  }
  const auto* cell = dynamic_cast<const SteppedCell*>(&cell_.get());
  if (cell && cell->features() != kUnknown) require_axis(shape, -1, cell->features());
}

namespace {

Shape shape_of_step(const Shape& sequences) {
  return Shape({sequences[0]}).concat(sequences.slice(2));
}

// Swaps (batch, time, …) and (time, batch, …).
Tensor with_time_swapped(const Tensor& x) {
  std::vector<int64_t> axes = {1, 0};
  for (int64_t axis = 2; axis < x.rank(); ++axis) axes.push_back(axis);
  return ops::transpose(x, axes);
}

}  // namespace

void RecurrentLayer::build_list(const std::vector<Shape>& shapes) {
  const Shape& shape = shapes.at(0);
  check_input(shape);
  const Shape step = shape_of_step(shape);
  cell_.get().ensure_built({step});
  require_states(cell_, label());
  if (!loop_.stateful) return;
  require(step.is_static(),
          "a stateful layer keeps a state for each row: expected a known batch size, got {}. Give "
          "Input a batch_shape.",
          shape);
  const auto& cell = as_cell(cell_, label());
  for (const Tensor& state : cell.get_initial_state(ops::zeros(step, variable_dtype()))) {
    states_.push_back(add_state("rnn_state", state, VariableSynchronization::OnRead));
  }
}

void RecurrentLayer::reset_state() {
  check<FailedPrecondition>(
      loop_.stateful && built(),
      "{} has no state to reset. Create it with .stateful = true, and call it first.", label());
  zero_states();
}

void RecurrentLayer::zero_states() const {
  for (const Variable& state : states_) state.assign(ops::zeros_like(state.value()));
}

struct RecurrentLayer::Start {
  std::vector<Tensor> states;
  bool given;  // otherwise they are the cell's own
};

// The states before the first step: those passed by the caller, those of the last call, or the
// cell's.
RecurrentLayer::Start RecurrentLayer::first_states(const Tensors& inputs, const Tensor& step_input,
                                                   const RNNCell& cell) const {
  std::vector<Tensor> states = cell.get_initial_state(step_input);
  std::vector<Tensor> given;
  for (size_t i = 1; i < inputs.size(); ++i) given.push_back(inputs[i]);
  if (given.empty()) {
    for (const Variable& state : states_) given.push_back(state.value());
  }
  if (given.empty()) return {states, false};
  require(given.size() == states.size(), "expected {} initial states, got {}.", states.size(),
          given.size());
  for (size_t i = 0; i < states.size(); ++i) {
    require(given[i].shape() == states[i].shape(), "expected state {} of shape {}, got {}.{}", i,
            states[i].shape(), given[i].shape(),
            states_.empty() ? "" : " A stateful layer keeps the batch size that it was built for.");
    states[i] = ops::cast(given[i], states[i].dtype());
  }
  return {states, true};
}

struct RecurrentLayer::Ran {
  Tensor last;     // output of the last step
  Tensor outputs;  // of all steps, (time, batch, …), in processing order
  std::vector<Tensor> states;
};

namespace {

Tensor initial_output(const std::vector<Tensor>& states, const SteppedCell& cell, DType dtype) {
  Shape shape = states.at(0).shape();
  shape[1] = shape.rank() == 2 ? cell.output_size() : shape[1];
  return ops::zeros(shape, dtype);
}

// `now` where the mask (batch, …) of a step, or (time, batch) of all, is true, otherwise `before`.
Tensor masked(const Tensor& mask, const Tensor& now, const Tensor& before) {
  Tensor wide = mask;
  while (wide.rank() < now.rank()) wide = ops::expand_dims(wide, -1);
  return ops::where(wide, now, before);
}

}  // namespace

RecurrentLayer::Ran RecurrentLayer::run(const Tensor& x, const Start& start,
                                        const SteppedCell& cell,
                                        const StepConstants& constants) const {
  const Tensor projected = cell.project(with_time_swapped(x), constants);
  Tensor mask;
  if (x.mask().defined()) mask = with_time_swapped(ops::cast(x.mask(), DType::Bool));
  if (!loop_.unroll && (!mask.defined() || mask.rank() == 2)) {
    const std::vector<Tensor> all = cell.advance_all(
        projected, start.states, constants, {.go_backwards = loop_.go_backwards, .mask = mask});
    if (!all.empty()) return run_at_once(all, mask, !start.given);
  }
  return run_steps(projected, mask, start.states, cell, constants);
}

// `all`: what advance_all returned. A masked step's output isn't the state, but that of the step
// before, and zeros at first; these differ unless the states start `from_zeros`.
RecurrentLayer::Ran RecurrentLayer::run_at_once(const std::vector<Tensor>& all, const Tensor& mask,
                                                bool from_zeros) const {
  Ran ran{all[1], all[0], {all.begin() + 1, all.end()}};
  if (mask.defined() && (loop_.zero_output_for_mask || !from_zeros)) {
    Tensor has_output = mask;
    if (!loop_.zero_output_for_mask) {
      const Tensor steps = ops::cast(mask, DType::Int32);
      has_output = ops::cumsum(steps, 0, {.reverse = loop_.go_backwards}) > 0;
    }
    const auto outputs_of = [](const Tensor& where, const Tensor& states) {
      return masked(where, states, ops::zeros_like(states));
    };
    if (loop_.return_sequences) ran.outputs = outputs_of(has_output, ran.outputs);
    ran.last = outputs_of(has_output(loop_.go_backwards ? 0 : -1), ran.last);
  }
  if (loop_.go_backwards) ran.outputs = ops::flip(ran.outputs, 0);
  return ran;
}

RecurrentLayer::Ran RecurrentLayer::run_steps(const Tensor& projected, const Tensor& mask,
                                              std::vector<Tensor> states, const SteppedCell& cell,
                                              const StepConstants& constants) const {
  const bool has_mask = mask.defined();
  const bool carries_output = has_mask || !loop_.return_sequences;
  std::vector<Tensor> xs = {projected};
  if (has_mask) xs.push_back(mask);
  if (carries_output) {
    states.insert(states.begin(), initial_output(states, cell, cell_.get().compute_dtype()));
  }
  const auto step = [&](const std::vector<Tensor>& carries, const std::vector<Tensor>& slices) {
    const std::vector<Tensor> before(carries.begin() + (carries_output ? 1 : 0), carries.end());
    std::vector<Tensor> after = cell.advance(slices[0], before, constants);
    Tensor output = after.at(0);
    if (has_mask) {
      const Tensor otherwise =
          loop_.zero_output_for_mask ? ops::zeros_like(carries[0]) : carries[0];
      output = masked(slices[1], output, otherwise);
      for (size_t i = 1; i < after.size(); ++i) {
        after[i] = masked(slices[1], after[i], before[i - 1]);
      }
    }
    after.erase(after.begin());
    if (carries_output) after.insert(after.begin(), output);
    std::vector<Tensor> ys;
    if (loop_.return_sequences) ys.push_back(output);
    return std::make_pair(after, ys);
  };
  auto [last, ys] =
      ops::scan(step, states, xs, {.reverse = loop_.go_backwards, .unroll = loop_.unroll});
  Ran ran;
  if (carries_output) {
    ran.last = last.front();
    last.erase(last.begin());
  }
  if (!ys.empty()) ran.outputs = loop_.go_backwards ? ops::flip(ys[0], 0) : ys[0];
  ran.states = std::move(last);
  return ran;
}

Tensors RecurrentLayer::call_list(const Tensors& inputs, const CallArgs& args) {
  check_input(inputs[0].shape());
  const Tensor mask = inputs[0].mask();
  // A cell computes in its own dtype, which therefore is also that of its states.
  const DType dtype = cell_.get().compute_dtype();
  const bool wrong = is_floating(inputs[0].dtype()) && inputs[0].dtype() != dtype;
  const Tensor x = wrong ? ops::cast(inputs[0], dtype).with_mask(mask) : inputs[0];
  require(
      !mask.defined() || (mask.rank() >= 2 && mask.dim(0) == x.dim(0) && mask.dim(1) == x.dim(1)),
      "expected a mask of shape (batch, time), got {} for sequences of shape {}.",
      mask.defined() ? mask.shape() : Shape(), x.shape());
  const std::shared_ptr<SteppedCell> cell = stepped(cell_, args);
  const Tensor step_input = ops::zeros(shape_of_step(x.shape()), dtype);
  const StepConstants constants = cell->prepare(step_input, args);
  // When states are passed, Keras uses only an explicit mask, not the one carried by the sequences.
  const bool is_masked = inputs.size() == 1 || args.mask_given;
  Ran ran = run(is_masked ? x : x.with_mask({}), first_states(inputs, step_input, *cell), *cell,
                constants);
  for (size_t i = 0; i < states_.size(); ++i) states_[i].assign(ran.states[i]);
  Tensor output = loop_.return_sequences ? with_time_swapped(ran.outputs) : ran.last;
  output = ops::cast(output, compute_dtype());
  for (Tensor& state : ran.states) state = ops::cast(state, compute_dtype());
  if (loop_.return_sequences && mask.defined()) output = output.with_mask(mask);
  if (!loop_.return_state) return output;
  ran.states.insert(ran.states.begin(), output);
  return ran.states;
}

RecurrentLayer& as_recurrent(const LayerHandle& layer, const std::string& owner) {
  auto* recurrent = dynamic_cast<RecurrentLayer*>(&layer.get());
  check<InvalidArgument>(recurrent != nullptr,
                         "{}: expected a recurrent layer (LSTM, GRU, SimpleRNN, RNN), got {} '{}'.",
                         owner, layer.get().class_name(), layer.name());
  return *recurrent;
}

}  // namespace cornu::layers
