// SPDX-License-Identifier: Apache-2.0
// Rematerialization (gradient checkpointing): memory for computation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/graph/remat_region.h"

namespace cornu {

struct RematScopeOptions {
  // "full": layers keep nothing but what they are given and give.
  // "activations": layers with an activation don't keep what that computes.
  // "larger_than": as "full", of layers that give more than output_size_threshold elements.
  // "list_of_layers": as "full", of the layers named in layer_names.
  // None: of no layer, as without a scope; in a scope within another one.
  std::optional<std::string> mode = "full";
  int64_t output_size_threshold = 1024;
  std::vector<std::string> layer_names = {};
};

// keras.RematScope. Layers that are made on this thread until it ends compute their values once
// more for gradients instead of keeping them: a training step takes less memory, and more time.
// What is computed once more is the same to the bit (dropout's choices, too); sums of gradients may
// be rounded otherwise, as other ops are fused with them. Scopes nest: the innermost counts.
//
// A layer within another one that does so is a part of that, which keeps nothing of it; models
// leave it to their layers. It is about compiled functions, as fit's steps are; with run_eagerly,
// and for ops that are called on placeholders, it has no effect.
// InvalidArgument for another mode.
//
//   RematScope scope;
//   Sequential model({layers::Dense({.units = 4096, .activation = "gelu"}), …});
class [[nodiscard]] RematScope {
 public:
  explicit RematScope(const RematScopeOptions& options = {});
  ~RematScope();
  RematScope(const RematScope&) = delete;
  RematScope& operator=(const RematScope&) = delete;

  // Of the innermost one on this thread: null without, or where its mode is None.
  static const RematScopeOptions* current();

 private:
  RematScopeOptions options_;
  const RematScopeOptions* outer_;
};

// keras.remat: a function that does what f does, but keeps nothing for gradients beside what it is
// given and what it gives.
template <class F>
auto remat(F f) {
  return [f = std::move(f)](auto&&... arguments) -> decltype(auto) {
    const RematRegion region;
    return f(std::forward<decltype(arguments)>(arguments)...);
  };
}

}  // namespace cornu
