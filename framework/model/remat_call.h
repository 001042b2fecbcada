// SPDX-License-Identifier: Apache-2.0
// Applies to a layer's call the RematScope in which the layer was created. Internal.
#pragma once

#include <optional>

#include "framework/model/layer.h"
#include "framework/model/remat.h"

namespace cornu::internal {

// Guard for a layer call in progress on this thread.
class [[nodiscard]] RematCall {
 public:
  RematCall(const Layer& layer, const std::optional<RematScopeOptions>& made_in);
  ~RematCall();
  RematCall(const RematCall&) = delete;
  RematCall& operator=(const RematCall&) = delete;

  // For modes with a size threshold, the outputs decide whether the call is rematerialized.
  void finish(const Tensors& outputs);
  // Whether the layer in progress recomputes its activations.
  static bool covers_activations();

 private:
  std::optional<RematRegion> region_;
  std::optional<int64_t> threshold_;
  bool outer_covers_;
};

}  // namespace cornu::internal
