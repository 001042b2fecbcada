// SPDX-License-Identifier: Apache-2.0
// Automatic differentiation: records ops, plays their gradients backwards (tf.GradientTape).
#pragma once

#include <initializer_list>
#include <memory>
#include <vector>

#include "framework/core/tensors.h"
#include "framework/core/variable.h"

namespace cornu {

enum class UnconnectedGradients { None, Zero };

struct GradientTapeOptions {
  bool persistent = false;  // gradient() may be called more than once
  bool watch_accessed_variables = true;
};

struct GradientOptions {
  Tensors output_gradients = {};  // of the targets, by target; none: ones
  // What a source that no target depends on gets: an undefined tensor or zeros.
  UnconnectedGradients unconnected_gradients = UnconnectedGradients::None;
};

// Records the ops of this thread from its construction to its end that depend on something watched:
// every trainable variable that is read, and what watch() was called on. Works on values and under
// a trace. A compiled function that uses something watched is run op by op instead. Tapes nest: an
// outer tape sees the gradient computation of an inner one, which gives gradients of higher order.
//
//   GradientTape tape;
//   Tensor loss = loss_fn(y, model(x, {.training = true}));
//   auto gradients = tape.gradient(loss, model.trainable_variables());
//
// Use it on the thread that made it.
class GradientTape {
 public:
  explicit GradientTape(const GradientTapeOptions& options = {});
  ~GradientTape();
  GradientTape(const GradientTape&) = delete;
  GradientTape& operator=(const GradientTape&) = delete;

  // Records what depends on this tensor, or on this variable's later reads, too. InvalidArgument
  // when its dtype is no floating-point one.
  void watch(const Tensor& tensor);
  void watch(const Variable& variable);

  // The gradient of the sum of all elements of `target` (several: of all of them) with respect to
  // each source, of its shape and dtype. A target or source may be anything that was recorded.
  //
  // Unless the tape is persistent it stops recording first and is used up: FailedPrecondition when
  // called again. A persistent tape that still records sees this computation as well; end it or
  // stop_recording() where that isn't wanted. Unimplemented, naming the op, when one on the way has
  // no gradient defined; ops that aren't differentiable (comparisons, argmax, …) stop gradients.
  std::vector<Tensor> gradient(const Tensors& target, const std::vector<Variable>& sources,
                               const GradientOptions& options = {});
  std::vector<Tensor> gradient(const Tensors& target, const std::vector<Tensor>& sources,
                               const GradientOptions& options = {});
  std::vector<Tensor> gradient(const Tensors& target, std::initializer_list<Variable> sources,
                               const GradientOptions& options = {});
  std::vector<Tensor> gradient(const Tensors& target, std::initializer_list<Tensor> sources,
                               const GradientOptions& options = {});
  Tensor gradient(const Tensors& target, const Variable& source,
                  const GradientOptions& options = {});
  Tensor gradient(const Tensors& target, const Tensor& source, const GradientOptions& options = {});

  // The gradient of each element of `target` by itself: of shape target.shape + source.shape;
  // undefined (or zeros) where the target doesn't depend on the source. It costs as much as one
  // gradient() for each element of the target, and uses the tape up in the same way.
  std::vector<Tensor> jacobian(
      const Tensor& target, const std::vector<Tensor>& sources,
      UnconnectedGradients unconnected_gradients = UnconnectedGradients::None);
  std::vector<Tensor> jacobian(
      const Tensor& target, const std::vector<Variable>& sources,
      UnconnectedGradients unconnected_gradients = UnconnectedGradients::None);
  Tensor jacobian(const Tensor& target, const Tensor& source,
                  UnconnectedGradients unconnected_gradients = UnconnectedGradients::None);
  Tensor jacobian(const Tensor& target, const Variable& source,
                  UnconnectedGradients unconnected_gradients = UnconnectedGradients::None);
  // For a target (batch, …) whose rows depend on the same row of the source (batch, …) alone: the
  // jacobian of each row, (batch,) + target.shape[1:] + source.shape[1:]. It costs as much as one
  // gradient() for each element of a row. InvalidArgument when the batch sizes differ.
  Tensor batch_jacobian(const Tensor& target, const Tensor& source,
                        UnconnectedGradients unconnected_gradients = UnconnectedGradients::None);

  // This tape sees nothing until the guard ends.
  class [[nodiscard]] StopRecording {
   public:
    explicit StopRecording(GradientTape& tape);
    ~StopRecording();
    StopRecording(const StopRecording&) = delete;
    StopRecording& operator=(const StopRecording&) = delete;

   private:
    GradientTape& tape_;
    bool was_recording_;
  };
  StopRecording stop_recording() { return StopRecording(*this); }

  // Forgets what was recorded, and records anew.
  void reset();

  // The variables watched so far, in the order of their first reads.
  std::vector<Variable> watched_variables() const;

 private:
  class Recorder;
  template <class Source>
  std::vector<Tensor> take_gradients(const Tensors& target, const std::vector<Source>& sources,
                                     const GradientOptions& options);
  template <class Source>
  std::vector<Tensor> take_jacobians(const Tensor& target, const std::vector<Source>& sources,
                                     UnconnectedGradients unconnected);

  std::unique_ptr<Recorder> recorder_;
};

}  // namespace cornu
