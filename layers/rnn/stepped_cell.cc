// SPDX-License-Identifier: Apache-2.0
#include "layers/rnn/stepped_cell.h"

#include <utility>

#include "framework/ops/ops.h"

namespace cornu::layers {

std::vector<Tensor> RNNCell::get_initial_state(const Tensor& step_input) const {
  std::vector<Tensor> states;
  for (const int64_t size : state_size()) {
    states.push_back(ops::zeros({step_input.dim(0), size}, step_input.dtype()));
  }
  return states;
}

Tensors SteppedCell::step(const Tensors& inputs, const CallArgs& args) {
  const std::vector<Tensor>& list = inputs.list();
  const StepConstants constants = prepare(list.at(0), args);
  return advance(project_step(list[0], constants), {list.begin() + 1, list.end()}, constants);
}

Tensor SteppedCell::project_step(const Tensor& input, const StepConstants& constants) const {
  return ops::squeeze(project(ops::expand_dims(input, 0), constants), 0);
}

namespace {

// A user's cell: any part of a step may depend on the states.
class CalledCell : public SteppedCell {
 public:
  CalledCell(LayerHandle cell, const RNNCell& sizes, CallArgs args)
      : cell_(std::move(cell)), sizes_(sizes), args_(std::move(args)) {}
  std::vector<int64_t> state_size() const override { return sizes_.state_size(); }
  int64_t output_size() const override { return sizes_.output_size(); }
  std::vector<Tensor> get_initial_state(const Tensor& step_input) const override {
    return sizes_.get_initial_state(step_input);
  }
  StepConstants prepare(const Tensor&, const CallArgs&) override { return {}; }
  Tensor project(const Tensor& inputs, const StepConstants&) const override { return inputs; }
  std::vector<Tensor> advance(const Tensor& x, const std::vector<Tensor>& states,
                              const StepConstants&) const override {
    std::vector<Tensor> inputs = states;
    inputs.insert(inputs.begin(), x);
    std::vector<Tensor> outputs = cell_(inputs, args_).list();
    check<InvalidArgument>(outputs.size() == inputs.size(),
                           "{} '{}': expected a cell that gives an output and {} states, got {} "
                           "tensors. Its call takes and gives as many states as state_size() says.",
                           cell_.get().class_name(), cell_.name(), states.size(), outputs.size());
    return outputs;
  }

 private:
  LayerHandle cell_;
  const RNNCell& sizes_;
  CallArgs args_;
};

}  // namespace

std::shared_ptr<SteppedCell> stepped(const LayerHandle& cell, const CallArgs& args) {
  if (auto known = std::dynamic_pointer_cast<SteppedCell>(cell.shared())) return known;
  return std::make_shared<CalledCell>(cell, as_cell(cell, "RNN"), args);
}

const RNNCell& as_cell(const LayerHandle& layer, const std::string& owner) {
  const auto* cell = dynamic_cast<const RNNCell*>(&layer.get());
  check<InvalidArgument>(cell != nullptr,
                         "{}: expected a cell, got {} '{}'. Take LSTMCell, GRUCell or "
                         "SimpleRNNCell; a class of your own derives from Layer and RNNCell.",
                         owner, layer.get().class_name(), layer.name());
  return *cell;
}

void require_states(const LayerHandle& cell, const std::string& owner) {
  check<InvalidArgument>(!as_cell(cell, owner).state_size().empty(),
                         "{}: expected a cell with a state, but the state_size() of {} '{}' has "
                         "no members.",
                         owner, cell.get().class_name(), cell.name());
}

}  // namespace cornu::layers
