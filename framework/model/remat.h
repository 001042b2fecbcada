// SPDX-License-Identifier: Apache-2.0
// Rematerialization (gradient checkpointing): trades computation for memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/graph/remat_region.h"

namespace cornu {

struct RematScopeOptions {
  // "full": layers store nothing but their inputs and outputs.
  // "activations": layers with an activation don't store its intermediate values.
  // "larger_than": like "full", for layers whose outputs have more than output_size_threshold
  // elements.
  // "list_of_layers": like "full", for the layers named in layer_names.
  // None: no rematerialization, as without a scope; for use within another scope.
  std::optional<std::string> mode = "full";
  int64_t output_size_threshold = 1024;
  std::vector<std::string> layer_names = {};
};

// keras.RematScope. Layers created on this thread while the scope is alive recompute their
// intermediate values for gradients instead of storing them: a training step takes less memory and
// more time. Recomputed values are bitwise identical (dropout masks, too); sums of gradients may be
// rounded differently because other ops are fused with them. Scopes nest, and the innermost one
// applies.
//
// A rematerialized layer within another one is part of the outer one's region, which stores none of
// its values; models leave rematerialization to their layers. The scope affects compiled functions,
// such as the steps of fit; it has no effect with run_eagerly or on ops called on placeholders.
// Throws InvalidArgument for an unknown mode.
//
//   RematScope scope;
//   Sequential model({layers::Dense({.units = 4096, .activation = "gelu"}), …});
class [[nodiscard]] RematScope {
 public:
  explicit RematScope(const RematScopeOptions& options = {});
  ~RematScope();
  RematScope(const RematScope&) = delete;
  RematScope& operator=(const RematScope&) = delete;

  // Options of the innermost scope on this thread; null when there is none or its mode is None.
  static const RematScopeOptions* current();

 private:
  RematScopeOptions options_;
  const RematScopeOptions* outer_;
};

// keras.remat: returns a function that does what f does but stores only its inputs and outputs for
// gradients.
template <class F>
auto remat(F f) {
  return [f = std::move(f)](auto&&... arguments) -> decltype(auto) {
    const RematRegion region;
    return f(std::forward<decltype(arguments)>(arguments)...);
  };
}

}  // namespace cornu
