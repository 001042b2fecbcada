// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "distribute/cluster/cluster_resolver.h"
#include "framework/strategy/strategy.h"

namespace cornu::distribute {

struct TPUClusterResolverOptions {
  // None, "" or "local": the TPUs of this machine.
  std::optional<std::string> tpu = {};
};

// The TPUs that a program trains on (tf.distribute.cluster_resolver.TPUClusterResolver). Unlike in
// TensorFlow these are always this machine's own: Unimplemented for a name or an address. A
// resolver knows of no cluster; num_accelerators() says how many TPUs there are, which the PJRT
// plugin tells (docs/tpu.md). FailedPrecondition, with what was looked for, where there are none.
class TPUClusterResolver : public ClusterResolver {
 public:
  explicit TPUClusterResolver(const TPUClusterResolverOptions& options = {});
};

// Synchronous training on all TPUs of the machine (tf.distribute.TPUStrategy): as MirroredStrategy,
// on these devices. Where all replicas have as many examples a step is one program, whose
// reductions the TPUs do among themselves.
//
//   distribute::TPUStrategy strategy;
//   auto scope = strategy.scope();
//   … make and compile a model …
class TPUStrategy : public Strategy {
 public:
  explicit TPUStrategy(const TPUClusterResolver& resolver = TPUClusterResolver());
};

}  // namespace cornu::distribute
