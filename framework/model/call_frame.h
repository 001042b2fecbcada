// SPDX-License-Identifier: Apache-2.0
// Which layer calls which: layers called during a first call become the caller's. Internal.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>

#include "framework/model/layer.h"

namespace cornu::internal {

// A layer's call, or a model's step, in progress on this thread until the guard ends.
class [[nodiscard]] CallFrame {
 public:
  // A call, and each kind of step of a model, may call other layers.
  enum class Phase : unsigned { Call = 1, TrainStep = 2, TestStep = 4, PredictStep = 8 };

  // Waits while another thread makes the first call of this phase.
  CallFrame(Layer& layer, Phase phase);
  // Layers called within have an owner already: a functional model's, a loss function's.
  CallFrame();
  ~CallFrame();
  CallFrame(const CallFrame&) = delete;
  CallFrame& operator=(const CallFrame&) = delete;

  // The call went well: the first one is over. FailedPrecondition when layers with weights were
  // made within it.
  void finish();

  // For a layer that is about to be called: makes it the caller's where this is the caller's first
  // call. True when it isn't, and no layer in progress has this one.
  static bool is_stray(Layer& callee);
  // Whether `part` is this layer, or below it.
  static bool has_within(const Layer& whole, const Layer& part);
  // FailedPrecondition where a stray layer's weights or losses would be lost.
  static void require_nothing_lost(const Layer& stray);
  // How many of layer.tracked() are there because a call came by them: the last ones.
  static size_t taken_in(const Layer& layer);
  // Takes a layer that goes away back from those that have it without owning it.
  static void take_back(const Layer& gone);

 private:
  void take_in(Layer& callee);

  CallFrame* outer_;
  Layer* layer_ = nullptr;
  Phase phase_ = Phase::Call;
  bool first_ = false;
  std::unique_lock<std::recursive_mutex> lock_;
};

// InvalidArgument where `layer`, which `what` ("add") was given to make a part of `of`, has that
// within already.
void require_outside(const Layer& layer, const Layer& of, const char* what);

// A call of a layer, on this thread. FailedPrecondition, naming the layer, when calls are within
// each other so deep as only a layer that calls itself makes them.
class [[nodiscard]] CallDepth {
 public:
  explicit CallDepth(const Layer& layer);
  ~CallDepth();
  CallDepth(const CallDepth&) = delete;
  CallDepth& operator=(const CallDepth&) = delete;
};

// The call's training flag and depth; restored when the guard ends.
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
