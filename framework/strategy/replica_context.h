// SPDX-License-Identifier: Apache-2.0
// What a step does with the other replicas that run it, and the values that it takes from parts of
// a batch.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "framework/core/tensors.h"
#include "framework/graph/communicator.h"
#include "framework/graph/replica.h"
#include "framework/strategy/per_replica.h"

namespace cornu {

class Strategy;

namespace distribute {

// What a step knows of the replica it runs as (tf.distribute.ReplicaContext). Its collectives are
// ops of the traced step: every replica must call the same ones in the same order, whatever its
// data are.
class ReplicaContext {
 public:
  int64_t num_replicas_in_sync() const { return replicas_; }
  // This replica's number among all workers' replicas, an int64 scalar.
  Tensor replica_id_in_sync_group() const;
  // The reduction over all replicas; the value itself with one. Differentiable for sums and means.
  // Means of integers are float32, sums of bools int32.
  Tensor all_reduce(ReduceOp op, const Tensor& value) const;
  std::vector<Tensor> all_reduce(ReduceOp op, const std::vector<Tensor>& values) const;
  // The replicas' values, one after the other along `axis`. Differentiable. Their shapes may differ
  // along the axis alone; between several processes, and in branches and loops, not even there
  // (InvalidArgument, or FailedPrecondition).
  Tensor all_gather(const Tensor& value, int64_t axis = 0) const;
  // Calls merge(strategy, values) once for all replicas: there strategy.reduce(…) of the values is
  // one over all replicas, and variables may be assigned what has been reduced. In a branch or loop
  // all replicas must come to it, or none.
  using Merge = std::function<Tensors(const Strategy& strategy, const PerReplica& values)>;
  Tensors merge_call(const Merge& merge, const Tensors& values = {}) const;

  explicit ReplicaContext(int64_t replicas) : replicas_(replicas) {}

 private:
  int64_t replicas_;
};

// The context of the step being traced or run on this thread; outside of steps that of a single
// replica. FailedPrecondition in the cross-replica context of several.
ReplicaContext get_replica_context();
// Whether this is outside of steps in a strategy's scope, or within a merge_call.
bool in_cross_replica_context();

struct AverageLossOptions {
  // One for each example, also as (n, 1), or for each loss: broadcast from the left.
  Tensor sample_weight = {};
  // None: the number of examples of all replicas.
  std::optional<int64_t> global_batch_size = {};
};

// The sum of a replica's per-example losses divided by the global batch size
// (tf.nn.compute_average_loss): the replicas' sum is the mean over the batch.
Tensor compute_average_loss(const Tensor& per_example_loss, const AverageLossOptions& options = {});

// A loss object's value in a step is this replica's part of the whole batch's. Over the replica's
// share of all examples it is the mean of its own, as trackers expect it in a train_step of one's
// own: metrics::Mean then has the whole batch's. The loss itself with one replica.
//
//   tracker.update_state(distribute::unscale_loss_for_distribution(loss));
//
// (keras.src.losses.loss, which multiplies by the number of replicas: the same where all have
// equally many examples.)
Tensor unscale_loss_for_distribution(const Tensor& loss);

// The sum of a regularization loss, which each replica adds, by the replica's share of all examples
// (tf.nn.scale_regularization_loss, which divides by the number of replicas: the same where all
// have equally many).
Tensor scale_regularization_loss(const Tensor& loss);

}  // namespace distribute

// ---- what losses, metrics, layers and optimizers are made of ----

// A replica's value as reductions take it: integers are float32 in means, bools int32 in sums.
Tensor operand_of_reduction(ReduceOp op, const Tensor& value);
// The sum over all replicas of a step; the value itself with one replica.
Tensor sum_over_replicas(const Tensor& value);
std::vector<Tensor> sum_over_replicas(const std::vector<Tensor>& values);
// The same of tensors that are zero but for a few rows.
std::vector<Tensor> sum_sparse_over_replicas(const std::vector<Tensor>& values);
// A value that is the sum of all replicas' parts, but whose gradient is that of this replica's
// part: gradients are summed over replicas later.
Tensor sum_of_parts(const Tensor& part);
// A value that each replica has for its whole part of a batch, by its share of all examples: the
// replicas' sum is their mean. Zeros where it has no examples.
Tensor by_share_of_examples(const Tensor& value);
// FailedPrecondition, naming `what`, in the cross-replica context of several replicas: outside of
// steps in a strategy's scope, and in a merge_call.
void require_replica_context(const char* what);

}  // namespace cornu
