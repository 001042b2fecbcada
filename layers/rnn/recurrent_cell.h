// SPDX-License-Identifier: Apache-2.0
// Code shared by cells with gates. Internal: included by their .cc files.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "framework/core/checked.h"
#include "framework/ops/ops.h"
#include "layers/keras_layer.h"
#include "layers/rnn/stepped_cell.h"

namespace cornu::layers {

// The fields shared by all cells and the layers around them, in Keras's order; a class's own fields
// are in between.
template <class Fields, class Options>
void visit_initializers(Fields& fields, Options& options) {
  fields("kernel_initializer", options.kernel_initializer);
  fields("recurrent_initializer", options.recurrent_initializer);
  fields("bias_initializer", options.bias_initializer);
}
template <class Fields, class Options>
void visit_bounds(Fields& fields, Options& options) {
  fields("kernel_regularizer", options.kernel_regularizer);
  fields("recurrent_regularizer", options.recurrent_regularizer);
  fields("bias_regularizer", options.bias_regularizer);
  if constexpr (requires { options.activity_regularizer; }) {
    fields("activity_regularizer", options.activity_regularizer);
  }
  fields("kernel_constraint", options.kernel_constraint);
  fields("recurrent_constraint", options.recurrent_constraint);
  fields("bias_constraint", options.bias_constraint);
  fields("dropout", options.dropout);
  fields("recurrent_dropout", options.recurrent_dropout);
  if constexpr (requires { options.reset_after; }) fields("reset_after", options.reset_after);
}

// Returns the options for the cell within a layer.
template <class CellOptions, class Options>
CellOptions shared_cell_options(const Options& options, const char* name) {
  CellOptions cell;
  cell.activation = options.activation;
  cell.use_bias = options.use_bias;
  cell.kernel_initializer = options.kernel_initializer;
  cell.recurrent_initializer = options.recurrent_initializer;
  cell.bias_initializer = options.bias_initializer;
  cell.kernel_regularizer = options.kernel_regularizer;
  cell.recurrent_regularizer = options.recurrent_regularizer;
  cell.bias_regularizer = options.bias_regularizer;
  cell.kernel_constraint = options.kernel_constraint;
  cell.recurrent_constraint = options.recurrent_constraint;
  cell.bias_constraint = options.bias_constraint;
  cell.dropout = options.dropout;
  cell.recurrent_dropout = options.recurrent_dropout;
  cell.seed = options.seed;
  cell.name = name;
  cell.dtype = options.dtype;
  cell.trainable = options.trainable;
  return cell;
}

// Initializes the biases of an LSTM's gates, where those of the forget gate start at 1.
inline Initializer with_forget_bias(const Initializer& given, int64_t units) {
  return [units, others = given ? given : Initializer("zeros")](const Shape&, DType dtype) {
    return ops::concatenate(
        {(*others)({units}, dtype), ops::ones({units}, dtype), (*others)({2 * units}, dtype)});
  };
}

// A cell with `gates` gates: its input and its first state h are each multiplied by a kernel whose
// columns belong to the gates. Like Keras, draws one dropout mask for all gates or, with
// recurrent_dropout, one for each.
template <class Options>
class RecurrentCell : public KerasLayerOf<Options>, public SteppedCell {
 public:
  const CallSignature& call_signature() const override {
    static const CallSignature signature{.inputs = {"inputs", "states"}, .built = 1};
    return signature;
  }
  void build_list(const std::vector<Shape>& shapes) override {
    check_input(shapes.at(0));
    this->build(shapes[0]);
  }
  Tensors call_list(const Tensors& inputs, const CallArgs& args) override {
    check_input(inputs[0].shape());
    this->require(inputs.size() == state_size().size() + 1,
                  "expected an input and {} states, got {} tensors.", state_size().size(),
                  inputs.size());
    return this->step(inputs, args);
  }
  std::vector<int64_t> state_size() const override { return {options_.units}; }
  int64_t features() const override { return features_; }

  StepConstants prepare(const Tensor& step_input, const CallArgs& args) override {
    StepConstants constants;
    const bool each = options_.recurrent_dropout > 0 && gates_ > 1;
    if (args.training && drops(options_.dropout)) {
      constants.input_masks = draw(step_input, options_.dropout, each);
    }
    if (args.training && drops(options_.recurrent_dropout)) {
      const Tensor state = ops::zeros({step_input.dim(0), options_.units}, compute_dtype());
      constants.recurrent_masks = draw(state, options_.recurrent_dropout, each);
    }
    const Tensor weights = compute(recurrent_kernel_);
    const bool cut = constants.recurrent_masks.size() > 1 || cut_recurrent_kernel();
    constants.weights = cut ? ops::split(weights, gates_, 1) : std::vector<Tensor>{weights};
    return constants;
  }

  Tensor project(const Tensor& inputs, const StepConstants& constants) const override {
    const std::vector<Tensor>& masks = constants.input_masks;
    Tensor result;
    if (masks.size() > 1) {
      const std::vector<Tensor> kernels = ops::split(compute(kernel_), gates_, 1);
      std::vector<Tensor> parts;
      for (size_t i = 0; i < masks.size(); ++i) {
        parts.push_back(ops::matmul(inputs * masks[i], kernels[i]));
      }
      result = ops::concatenate(parts, -1);
    } else {
      result = ops::matmul(masks.empty() ? inputs : inputs * masks[0], compute(kernel_));
    }
    return bias_.defined() ? result + input_bias(compute(bias_)) : result;
  }
  // A product takes any number of axes before the last.
  Tensor project_step(const Tensor& input, const StepConstants& constants) const override {
    return project(input, constants);
  }

 protected:
  using Base = KerasLayerOf<Options>;
  using Base::compute;
  using Base::compute_dtype;
  using Base::options_;

  RecurrentCell(const std::string& class_name, const Options& options, int64_t gates)
      : Base(class_name, options), gates_(gates) {
    this->require(options.units > 0, "expected units > 0, got {}.", options.units);
    options_.dropout = std::clamp(options.dropout, 0.0, 1.0);
    options_.recurrent_dropout = std::clamp(options.recurrent_dropout, 0.0, 1.0);
    generator_.emplace(
        this->add_state("seed_generator_state", random::SeedGenerator::initial_state(options.seed)),
        options.seed);
  }

  void check_input(const Shape& shape) const override {
    this->require(shape.rank() == 2, "expected an input of one step, (batch, features), got {}.",
                  shape);
    if (features_ != kUnknown) this->require_axis(shape, -1, features_);
  }

  void build(const Shape& shape) override {
    features_ = this->known_axis(shape, -1);
    const int64_t columns = this->columns();
    kernel_ = this->add_weight({.shape = {features_, columns},
                                .initializer = options_.kernel_initializer,
                                .regularizer = options_.kernel_regularizer,
                                .constraint = options_.kernel_constraint,
                                .name = "kernel"});
    recurrent_kernel_ = this->add_weight({.shape = {options_.units, columns},
                                          .initializer = options_.recurrent_initializer,
                                          .regularizer = options_.recurrent_regularizer,
                                          .constraint = options_.recurrent_constraint,
                                          .name = "recurrent_kernel"});
    if (!options_.use_bias) return;
    bias_ = this->add_weight({.shape = bias_shape(),
                              .initializer = bias_initializer(),
                              .regularizer = options_.bias_regularizer,
                              .constraint = options_.bias_constraint,
                              .name = "bias"});
  }

  // The number of units of all gates.
  int64_t columns() const { return checked_multiply(gates_, options_.units, this->label()); }
  virtual Shape bias_shape() const { return {columns()}; }
  virtual Initializer bias_initializer() const { return options_.bias_initializer; }
  // The part of the bias that is added to the product of the input.
  virtual Tensor input_bias(const Tensor& bias) const { return bias; }
  // Whether steps use the recurrent kernel separately for each gate, even without masks.
  virtual bool cut_recurrent_kernel() const { return false; }
  // Whether this rate enables dropout. With several gates, a rate of 1 disables it.
  bool drops(double rate) const { return rate > 0 && (rate < 1 || gates_ == 1); }

  // The product of h and the recurrent kernel, for all gates in constants.weights.
  Tensor recurrent(const Tensor& h, const StepConstants& constants) const {
    const std::vector<Tensor>& masks = constants.recurrent_masks;
    if (constants.weights.size() == 1) {
      return ops::matmul(masks.empty() ? h : h * masks[0], constants.weights[0]);
    }
    std::vector<Tensor> parts;
    for (size_t i = 0; i < constants.weights.size(); ++i) {
      parts.push_back(recurrent_gate(h, i, constants));
    }
    return ops::concatenate(parts, -1);
  }
  // The product for a single gate, if the kernel is split.
  Tensor recurrent_gate(const Tensor& h, size_t gate, const StepConstants& constants) const {
    const std::vector<Tensor>& masks = constants.recurrent_masks;
    const Tensor masked = masks.empty() ? h : h * masks[std::min(gate, masks.size() - 1)];
    return ops::matmul(masked, constants.weights.at(gate));
  }

  // Whether an op for a whole sequence computes such steps: it has the default activations.
  bool has_op(const Tensor& projected, const StepConstants& constants) const {
    return options_.activation.name() == "tanh" &&
           options_.recurrent_activation.name() == "sigmoid" && constants.recurrent_masks.empty() &&
           projected.dtype() == DType::Float32 && projected.dim(0) > 0;
  }

  const Variable& bias() const { return bias_; }

 private:
  std::vector<Tensor> draw(const Tensor& like, double rate, bool each) {
    std::vector<Tensor> masks;
    for (int64_t i = 0; i < (each ? gates_ : 1); ++i) {
      masks.push_back(random::dropout(ops::ones_like(like), rate, {.seed = generator_->next()}));
    }
    return masks;
  }

  int64_t gates_;
  int64_t features_ = kUnknown;
  Variable kernel_;
  Variable recurrent_kernel_;
  Variable bias_;
  std::optional<random::SeedGenerator> generator_;
};

}  // namespace cornu::layers
