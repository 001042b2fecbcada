// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "distribute/cluster/cluster_resolver.h"
#include "distribute/parameter_server/partitioners.h"
#include "framework/strategy/strategy.h"

namespace cornu::distribute {

struct ParameterServerStrategyOptions {
  // Who the tasks are: workers, ps, and this process, the chief. None: what the environment says
  // (TF_CONFIG).
  std::optional<ClusterResolver> cluster = {};
  // Into how many shards variables are divided among the servers; none: each is kept whole.
  Partitioner variable_partitioner = {};
  // As Server's.
  bool insecure = false;
};

// Asynchronous training (tf.distribute.ParameterServerStrategy): variables made in its scope are
// kept by parameter servers, and steps run on workers, each at its own pace. This process, the
// chief, coordinates; workers and servers run the same program and wait in Server::join.
//
//   distribute::ParameterServerStrategy strategy({.cluster = cluster});
//   distribute::ClusterCoordinator coordinator(strategy);
//   auto scope = strategy.scope();
//   … make a model, an optimizer and a step …
//   coordinator.schedule(step, dataset);
//
// A step reads the variables at its beginning; an optimizer's update, sums (assign_add, metrics)
// and moving averages are computed by the servers on the values that they have then, so that
// nothing of several workers is lost; what else assign sets replaces what is there. A variable in
// several shards is read shard by shard.
//
// Making the strategy waits for the servers, and says for whom; workers may come later. A worker
// that dies is replaced, when it is started again, and its step run elsewhere: it may have updated
// variables before, which then happens twice. When a server is lost, the next call throws
// Unavailable: the values are gone, and the job begins anew, from a checkpoint.
//
// When the strategy's last handle goes, tasks give back what they keep for it, and wait for the
// next one: a program may have several, one after the other. When the program ends with code 0,
// Server::join returns in all tasks. After an error, or a kill, they wait for the program to be
// started again.
//
// fit has up to two steps for each worker under way: figures that callbacks get after a batch are
// those of a step before. `run` (and with it evaluate) gives a step to a worker, and waits for it.
// Outside of steps, reading a variable asks its servers, and assigning one tells them.
//
// InvalidArgument in a process that isn't the chief, and for a cluster without workers or ps.
class ParameterServerStrategy : public Strategy {
 public:
  explicit ParameterServerStrategy(const ParameterServerStrategyOptions& options = {});
};

}  // namespace cornu::distribute
