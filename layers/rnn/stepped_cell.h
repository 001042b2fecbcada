// SPDX-License-Identifier: Apache-2.0
// How a loop over time runs a cell. Internal: layers/rnn's .cc files include it.
#pragma once

#include <memory>
#include <vector>

#include "framework/model/layer.h"
#include "layers/rnn/rnn_cell.h"

namespace cornu::layers {

class SteppedCell;

// What is the same in all steps of a sequence.
struct StepConstants {
  std::vector<Tensor> weights;          // cast, and cut where gates have masks of their own
  std::vector<Tensor> input_masks;      // of dropout, (batch, …); none: no dropout
  std::vector<Tensor> recurrent_masks;  // of recurrent_dropout
  // Of stacked cells, and these as steps run them.
  std::vector<StepConstants> cells = {};
  std::vector<std::shared_ptr<SteppedCell>> stepped = {};
};

// A cell part of whose work for a sequence is done at once: advance(project(x)) is a step.
class SteppedCell : public RNNCell {
 public:
  // The size of a step's last axis that the weights were made for; kUnknown before, or for any.
  virtual int64_t features() const { return kUnknown; }
  // Draws masks in training, and casts weights. step_input: (batch, …), whose values aren't used.
  virtual StepConstants prepare(const Tensor& step_input, const CallArgs& args) = 0;
  // Of inputs (time, batch, …) of any number of steps, what depends on no state.
  virtual Tensor project(const Tensor& inputs, const StepConstants& constants) const = 0;
  // {output, states…} of one step's part of what project gave.
  virtual std::vector<Tensor> advance(const Tensor& projected, const std::vector<Tensor>& states,
                                      const StepConstants& constants) const = 0;

  // All steps as one op, where the cell has one for such constants: the outputs in the order of
  // `projected` (time, batch, …), then the states behind the last step. Empty: it has none.
  virtual std::vector<Tensor> advance_all(const Tensor&, const std::vector<Tensor>&,
                                          const StepConstants&, bool /*go_backwards*/) const {
    return {};
  }

 protected:
  // A step by itself, as the cell's call: of {input, states…}.
  Tensors step(const Tensors& inputs, const CallArgs& args);
};

// The SteppedCell of a cell: itself, or for a user's cell one whose steps are its calls. `owner` is
// named in the InvalidArgument for a layer that is no cell.
std::shared_ptr<SteppedCell> stepped(const LayerHandle& cell, const CallArgs& args);
// InvalidArgument, naming `owner`, for a layer that is no RNNCell.
const RNNCell& as_cell(const LayerHandle& layer, const std::string& owner);

}  // namespace cornu::layers
