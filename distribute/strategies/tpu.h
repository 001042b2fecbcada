// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "distribute/cluster/cluster_resolver.h"
#include "framework/strategy/strategy.h"

namespace cornu::distribute {

struct TPUClusterResolverOptions {
  // nullopt, "" or "local": the TPUs of this machine.
  std::optional<std::string> tpu = {};
};

// The TPUs that a program trains on (tf.distribute.cluster_resolver.TPUClusterResolver). Unlike in
// TensorFlow, these are always this machine's own: throws Unimplemented for a name or an address.
// The resolver has no cluster; num_accelerators() returns the number of TPUs reported by the PJRT
// plugin (docs/tpu.md). Throws FailedPrecondition, stating what was looked for, when there are
// none.
class TPUClusterResolver : public ClusterResolver {
 public:
  explicit TPUClusterResolver(const TPUClusterResolverOptions& options = {});
};

// Synchronous training on all TPUs of the machine (tf.distribute.TPUStrategy): like
// MirroredStrategy, on these devices. If all replicas have the same number of examples, a step is a
// single program, whose reductions the TPUs perform among themselves.
//
//   distribute::TPUStrategy strategy;
//   auto scope = strategy.scope();
//   … make and compile a model …
class TPUStrategy final : public Strategy {
 public:
  explicit TPUStrategy(const TPUClusterResolver& resolver = TPUClusterResolver());
};

}  // namespace cornu::distribute
