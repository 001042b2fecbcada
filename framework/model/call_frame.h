// SPDX-License-Identifier: Apache-2.0
// Tracks which layer calls which: layers called during a first call become sub-layers of the
// caller. Internal.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>

#include "framework/model/layer.h"

namespace cornu::internal {

// RAII guard marking a layer's call, or a model's step, as in progress on this thread.
class [[nodiscard]] CallFrame {
 public:
  // A layer's call, and each kind of model step, may call other layers.
  enum class Phase : unsigned { Call = 1, TrainStep = 2, TestStep = 4, PredictStep = 8 };

  // Blocks while another thread makes the first call of this phase.
  CallFrame(Layer& layer, Phase phase);
  // For calls whose layers already have an owner, such as those of a functional model or a loss
  // function.
  CallFrame();
  ~CallFrame();
  CallFrame(const CallFrame&) = delete;
  CallFrame& operator=(const CallFrame&) = delete;

  // Marks the call as successful, so the first call is over. Throws FailedPrecondition when layers
  // with weights were created within the call.
  void finish();

  // To be called before `callee` is called. During the caller's first call, makes `callee` a
  // sub-layer of the caller. Returns whether `callee` is stray: this isn't the first call, and no
  // layer in progress contains `callee`.
  static bool note_call(Layer& callee);
  // Returns whether `part` is `whole` itself or one of its descendants.
  static bool has_within(const Layer& whole, const Layer& part);
  // Throws FailedPrecondition when a stray layer's weights or losses would be lost.
  static void require_nothing_lost(const Layer& stray);
  // Returns how many of layer.tracked() were added by calls rather than by track(); they come last.
  static size_t taken_in(const Layer& layer);
  // Removes a layer that is being destroyed from the layers that refer to it without owning it.
  static void take_back(const Layer& gone);

 private:
  void take_in(Layer& callee);

  CallFrame* outer_;
  Layer* layer_ = nullptr;
  Phase phase_ = Phase::Call;
  bool first_ = false;
  std::unique_lock<std::recursive_mutex> lock_;
};

// Throws InvalidArgument when `layer`, which was passed to `what` ("add") to become a part of `of`,
// already contains `of`.
void require_outside(const Layer& layer, const Layer& of, const char* what);

// Guard for a layer's call on this thread. Throws FailedPrecondition, naming the layer, when calls
// are nested so deeply that a layer must be calling itself.
class [[nodiscard]] CallDepth {
 public:
  explicit CallDepth(const Layer& layer);
  ~CallDepth();
  CallDepth(const CallDepth&) = delete;
  CallDepth& operator=(const CallDepth&) = delete;
};

// Sets the training flag and call depth for a call, and restores them when the guard ends.
class [[nodiscard]] CallScope {
 public:
  explicit CallScope(const std::optional<bool>& training);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;
  static bool outermost();

 private:
  std::optional<bool> previous_training_;
};

}  // namespace cornu::internal
