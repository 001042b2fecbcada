// SPDX-License-Identifier: Apache-2.0
// How a loop over time runs a cell. Internal: included by layers/rnn's .cc files.
#pragma once

#include <memory>
#include <vector>

#include "framework/model/layer.h"
#include "framework/ops/recurrent.h"
#include "layers/rnn/rnn_cell.h"

namespace cornu::layers {

class SteppedCell;

// Values that are the same in all steps of a sequence.
struct StepConstants {
  std::vector<Tensor> weights;          // cast, and split if gates have separate masks
  std::vector<Tensor> input_masks;      // for dropout, (batch, …); empty: no dropout
  std::vector<Tensor> recurrent_masks;  // for recurrent_dropout
  // For stacked cells: their constants, and the cells as run by steps.
  std::vector<StepConstants> cells = {};
  std::vector<std::shared_ptr<SteppedCell>> stepped = {};
};

// A cell for which part of the work is done for a whole sequence at once: a step is
// advance(project(x)).
class SteppedCell : public RNNCell {
 public:
  // The size of a step's last axis for which the weights were created; kUnknown before that, or if
  // any size is accepted.
  virtual int64_t features() const { return kUnknown; }
  // Draws masks in training, and casts weights. step_input: (batch, …); its values aren't used.
  virtual StepConstants prepare(const Tensor& step_input, const CallArgs& args) = 0;
  // Computes what doesn't depend on states, for inputs (time, batch, …) with any number of steps.
  virtual Tensor project(const Tensor& inputs, const StepConstants& constants) const = 0;
  // The same for the input of a single step, (batch, …).
  virtual Tensor project_step(const Tensor& input, const StepConstants& constants) const;
  // Returns {output, states…} for one step's slice of the result of project.
  virtual std::vector<Tensor> advance(const Tensor& projected, const std::vector<Tensor>& states,
                                      const StepConstants& constants) const = 0;

  // Runs all steps as a single op, if the cell has one for such constants: returns the first state
  // after each step in the order of `projected` (time, batch, …), which is the cell's output unless
  // the step is masked; then the final states. Empty if there is no such op.
  virtual std::vector<Tensor> advance_all(const Tensor&, const std::vector<Tensor>&,
                                          const StepConstants&,
                                          const ops::RecurrenceOptions&) const {
    return {};
  }

 protected:
  // A single step, for the cell's call: takes {input, states…}.
  Tensors step(const Tensors& inputs, const CallArgs& args);
};

// Returns the SteppedCell of a cell: the cell itself or, for a user's cell, an adapter whose steps
// are calls of the cell. Throws InvalidArgument for a layer that isn't a cell.
std::shared_ptr<SteppedCell> stepped(const LayerHandle& cell, const CallArgs& args);
// Throws InvalidArgument, naming `owner`, for a layer that isn't an RNNCell.
const RNNCell& as_cell(const LayerHandle& layer, const std::string& owner);
// Throws InvalidArgument, naming `owner`, for a cell without states.
void require_states(const LayerHandle& cell, const std::string& owner);

}  // namespace cornu::layers
