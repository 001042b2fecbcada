// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "distribute/cluster/cluster_resolver.h"
#include "distribute/parameter_server/partitioners.h"
#include "framework/strategy/strategy.h"

namespace cornu::distribute {

struct ParameterServerStrategyOptions {
  // The tasks: workers, parameter servers, and this process, the chief. nullopt: as given by the
  // environment (TF_CONFIG).
  std::optional<ClusterResolver> cluster = {};
  // Determines the number of shards of each variable; null: variables are kept whole.
  Partitioner variable_partitioner = {};
  // See ServerOptions.
  bool insecure = false;
};

// Asynchronous training (tf.distribute.ParameterServerStrategy): variables created in its scope are
// kept by parameter servers, and steps run on workers, each at its own pace. This process, the
// chief, coordinates; workers and servers run the same program and wait in Server::join.
//
//   distribute::ParameterServerStrategy strategy({.cluster = cluster});
//   distribute::ClusterCoordinator coordinator(strategy);
//   auto scope = strategy.scope();
//   … make a model, an optimizer and a step …
//   coordinator.schedule(step, dataset);
//
// A step reads the variables at its beginning. Optimizer updates, sums (assign_add, metrics) and
// moving averages are computed by the servers on the values current at that time, so that no
// worker's contribution is lost; any other assignment replaces the current value. A variable in
// several shards is read shard by shard.
//
// The constructor waits for the servers, and logs which ones are missing; workers may come later. A
// worker that dies is used again once it is restarted, and its step is run elsewhere: what it had
// updated already isn't updated a second time. When a server is lost, the next call throws
// Unavailable: the values are gone, and the job has to start over from a checkpoint.
//
// When the strategy's last handle is destroyed, the tasks release what they keep for it and wait
// for the next one: a program may have several, one after another. When the program exits with code
// 0, Server::join returns in all tasks. After an error or a kill, they wait for the program to be
// restarted.
//
// fit keeps up to two steps per worker in flight: the values that callbacks get after a batch are
// those of an earlier step. `run` (and with it evaluate) assigns a step to a worker and waits for
// it. Outside of steps, reading a variable queries its servers, and assigning one writes to them.
//
// Throws InvalidArgument in a process that isn't the chief, and for a cluster without workers or
// ps.
class ParameterServerStrategy final : public Strategy {
 public:
  explicit ParameterServerStrategy(const ParameterServerStrategyOptions& options = {});
};

}  // namespace cornu::distribute
