// SPDX-License-Identifier: Apache-2.0
#include "framework/strategy/loss_parts.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "framework/core/per_thread.h"
#include "framework/strategy/replica_context.h"

namespace cornu {
namespace {

// Values of traces that are still being recorded; steps of several replicas are traced.
using Part = std::pair<std::weak_ptr<SymbolOwner>, int64_t>;
std::vector<Part>& parts() {
  return per_thread([] { return std::vector<Part>(); });
}

bool is_part(const Tensor& value) {
  return std::ranges::any_of(parts(), [&](const Part& part) {
    return part.second == value.symbol_id() && part.first.lock() == value.symbol_owner();
  });
}

}  // namespace

void note_loss_part(const Tensor& value) {
  if (replicas_in_sync() == 1 || !value.is_symbolic()) return;
  std::erase_if(parts(), [](const Part& part) { return part.first.expired(); });
  parts().emplace_back(value.symbol_owner(), value.symbol_id());
}

Tensor as_added_loss(const Tensor& loss) {
  if (replicas_in_sync() == 1 || !loss.is_symbolic() || !is_part(loss)) return loss;
  return distribute::unscale_loss_for_distribution(loss);
}

}  // namespace cornu
