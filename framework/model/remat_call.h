// SPDX-License-Identifier: Apache-2.0
// A layer's call by the RematScope that it was made in. Internal.
#pragma once

#include <optional>

#include "framework/model/layer.h"
#include "framework/model/remat.h"

namespace cornu::internal {

// In progress on this thread until the guard ends.
class [[nodiscard]] RematCall {
 public:
  RematCall(const Layer& layer, const std::optional<RematScopeOptions>& made_in);
  ~RematCall();
  RematCall(const RematCall&) = delete;
  RematCall& operator=(const RematCall&) = delete;

  // What the call has given decides where the mode goes by sizes.
  void finish(const Tensors& outputs);
  // Whether the layer in progress computes its activations once more.
  static bool covers_activations();

 private:
  std::optional<RematRegion> region_;
  std::optional<int64_t> threshold_;
  bool outer_covers_;
};

}  // namespace cornu::internal
