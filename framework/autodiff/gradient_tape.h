// SPDX-License-Identifier: Apache-2.0
// Automatic differentiation: records ops and computes their gradients in reverse (tf.GradientTape).
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
  Tensors output_gradients = {};  // of the targets, in order; if empty: ones
  // The gradient of a source that no target depends on: an undefined tensor or zeros.
  UnconnectedGradients unconnected_gradients = UnconnectedGradients::None;
};

// From construction to destruction, records the ops on this thread that depend on something
// watched: every trainable variable that is read, and whatever watch() was called on. Works on
// values and under a trace. A compiled function that uses something watched runs op by op instead.
// Tapes nest: an outer tape sees the gradient computation of an inner one, which yields
// higher-order gradients.
//
//   GradientTape tape;
//   Tensor loss = loss_fn(y, model(x, {.training = true}));
//   auto gradients = tape.gradient(loss, model.trainable_variables());
//
// A tape must be used on the thread that created it.
class GradientTape {
 public:
  explicit GradientTape(const GradientTapeOptions& options = {});
  ~GradientTape();
  GradientTape(const GradientTape&) = delete;
  GradientTape& operator=(const GradientTape&) = delete;

  // Records what depends on this tensor, or on later reads of this variable. Throws InvalidArgument
  // when the dtype isn't a floating-point one.
  void watch(const Tensor& tensor);
  void watch(const Variable& variable);

  // Returns the gradient of the sum of all elements of `target` (of all targets, if there are
  // several) with respect to each source, with the source's shape and dtype. A target or source may
  // be anything that was recorded.
  //
  // Unless the tape is persistent, this stops recording and uses the tape up: calling it again
  // throws FailedPrecondition. A persistent tape that is still recording also records this
  // computation; destroy it or call stop_recording() to avoid that. Throws Unimplemented, naming
  // the op, when an op on the way has no gradient; ops that aren't differentiable (comparisons,
  // argmax, …) stop gradients.
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

  // Returns the gradient of each individual element of `target`, with shape target.shape +
  // source.shape; undefined (or zeros) when the target doesn't depend on the source. Costs as much
  // as one gradient() per element of the target, and uses the tape up in the same way.
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
  // For a target (batch, …) whose rows depend only on the same row of the source (batch, …):
  // returns the jacobian of each row, with shape (batch,) + target.shape[1:] + source.shape[1:].
  // Costs as much as one gradient() per element of a row. Throws InvalidArgument when the batch
  // sizes differ.
  Tensor batch_jacobian(const Tensor& target, const Tensor& source,
                        UnconnectedGradients unconnected_gradients = UnconnectedGradients::None);

  // Hides everything from this tape until the guard is destroyed.
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

  // Discards what was recorded, and starts recording from scratch.
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
