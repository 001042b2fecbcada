// SPDX-License-Identifier: Apache-2.0
// The loop over time shared by all recurrent layers. Internal: included by their .cc files.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "layers/keras_layer.h"
#include "layers/rnn/stepped_cell.h"

namespace cornu::layers {

// How the loop runs, and what it returns.
struct LoopOptions {
  bool return_sequences = false;
  bool return_state = false;
  bool go_backwards = false;
  bool stateful = false;
  bool unroll = false;
  bool zero_output_for_mask = false;
};

template <class Fields, class Options>
void visit_loop_fields(Fields& fields, Options& options) {
  fields("return_sequences", options.return_sequences);
  fields("return_state", options.return_state);
  fields("go_backwards", options.go_backwards);
  fields("stateful", options.stateful);
  fields("unroll", options.unroll);
  fields("zero_output_for_mask", options.zero_output_for_mask);
}

template <class Options>
LoopOptions loop_options(const Options& options) {
  return {options.return_sequences, options.return_state, options.go_backwards,
          options.stateful,         options.unroll,       options.zero_output_for_mask};
}

// A layer that runs a cell over axis 1 of its input, (batch, time, …).
class RecurrentLayer : public KerasLayer {
 public:
  const CallSignature& call_signature() const override;
  bool supports_masking() const override { return true; }
  void build_list(const std::vector<Shape>& shapes) override;
  Tensors call_list(const Tensors& inputs, const CallArgs& args) override;
  // Outputs already have the masks set by call_list.
  Tensor compute_mask(const Tensors&, const Tensor&) const override { return {}; }

  const LoopOptions& loop() const { return loop_; }
  const LayerHandle& cell() const { return cell_; }
  // Zeros the states. Throws FailedPrecondition unless the layer is stateful and built.
  void reset_state();
  const std::vector<Variable>& states() const { return states_; }

 protected:
  // `rank` of the input; kUnknown: any with features.
  RecurrentLayer(std::string class_name, const LayerOptions& options, LayerHandle cell,
                 const LoopOptions& loop, int64_t rank = 3);
  void check_input(const Shape& shape) const override;
  void zero_states() const override;

 private:
  struct Ran;
  struct Start;
  Ran run(const Tensor& x, const Start& start, const SteppedCell& cell,
          const StepConstants& constants) const;
  Ran run_at_once(const std::vector<Tensor>& all, const Tensor& mask, bool from_zeros) const;
  Ran run_steps(const Tensor& projected, const Tensor& mask, std::vector<Tensor> states,
                const SteppedCell& cell, const StepConstants& constants) const;
  Start first_states(const Tensors& inputs, const Tensor& step_input, const RNNCell& cell) const;

  LayerHandle cell_;
  LoopOptions loop_;
  int64_t rank_;
  std::vector<Variable> states_;  // if stateful
};

// A RecurrentLayer whose config consists of its options.
template <class Options>
class RecurrentLayerOf : public RecurrentLayer {
 public:
  RecurrentLayerOf(std::string class_name, const Options& options, LayerHandle cell,
                   int64_t rank = 3)
      : RecurrentLayer(std::move(class_name), base_options(options), std::move(cell),
                       loop_options(options), rank),
        options_(options) {}

  Json get_config() const override {
    Json config = Layer::get_config();
    write_options(config, options_);
    return config;
  }

 protected:
  Options options_;
};

// The RecurrentLayer behind a handle.
RecurrentLayer& as_recurrent(const LayerHandle& layer, const std::string& owner);

}  // namespace cornu::layers
