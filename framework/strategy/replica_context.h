// SPDX-License-Identifier: Apache-2.0
// Communication of a step with the other replicas that run it, and values computed from parts of a
// batch.
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

// A step's view of the replica it runs as (tf.distribute.ReplicaContext). Its collectives are ops
// of the traced step: every replica must call the same ones in the same order, regardless of its
// data.
class ReplicaContext {
 public:
  int64_t num_replicas_in_sync() const { return replicas_; }
  // This replica's number among the replicas of all workers, an int64 scalar.
  Tensor replica_id_in_sync_group() const;
  // Reduces over all replicas; returns the value itself with a single one. Differentiable for sums
  // and means. Means of integers are float32, sums of bools int32.
  Tensor all_reduce(ReduceOp op, const Tensor& value) const;
  std::vector<Tensor> all_reduce(ReduceOp op, const std::vector<Tensor>& values) const;
  // Concatenates the replicas' values along `axis`. Differentiable. Shapes may differ only along
  // the axis; between several processes, and in branches and loops, not even there (throws
  // InvalidArgument or FailedPrecondition).
  Tensor all_gather(const Tensor& value, int64_t axis = 0) const;
  // Calls merge(strategy, values) once for all replicas: in it, strategy.reduce(…) of the values
  // reduces over all replicas, and variables may be assigned reduced values. Inside a branch or
  // loop, either all replicas or none must reach it.
  using Merge = std::function<Tensors(const Strategy& strategy, const PerReplica& values)>;
  Tensors merge_call(const Merge& merge, const Tensors& values = {}) const;

  explicit ReplicaContext(int64_t replicas) : replicas_(replicas) {}

 private:
  int64_t replicas_;
};

// The context of the step being traced or run on this thread; outside of steps, that of a single
// replica. Throws FailedPrecondition in the cross-replica context of several replicas.
ReplicaContext get_replica_context();
// Whether the caller is in a strategy's scope but outside of steps, or in a merge_call.
bool in_cross_replica_context();

struct AverageLossOptions {
  // One weight per example, optionally as (n, 1), or per loss: broadcast from the left.
  Tensor sample_weight = {};
  // None: the number of examples of all replicas.
  std::optional<int64_t> global_batch_size = {};
};

// The sum of a replica's per-example losses divided by the global batch size
// (tf.nn.compute_average_loss): the replicas' sum is the mean over the batch.
Tensor compute_average_loss(const Tensor& per_example_loss, const AverageLossOptions& options = {});

// The value of a loss object in a step is this replica's part of the whole batch's loss. Dividing
// it by the replica's share of all examples gives the mean over its own examples, as trackers
// expect it in a custom train_step: metrics::Mean then computes the value for the whole batch. With
// one replica, returns the loss itself.
//
//   tracker.update_state(distribute::unscale_loss_for_distribution(loss));
//
// (keras.src.losses.loss multiplies by the number of replicas instead, which is the same if all
// have equally many examples.)
Tensor unscale_loss_for_distribution(const Tensor& loss);

// Multiplies the sum of a regularization loss, which each replica adds, by the replica's share of
// all examples (tf.nn.scale_regularization_loss divides by the number of replicas instead, which is
// the same if all have equally many).
Tensor scale_regularization_loss(const Tensor& loss);

}  // namespace distribute

// ---- building blocks of losses, metrics, layers and optimizers ----

// Converts a replica's value to the dtype used in reductions: integers to float32 for means, bools
// to int32 for sums.
Tensor operand_of_reduction(ReduceOp op, const Tensor& value);
// The sum over all replicas of a step; the value itself with one replica.
Tensor sum_over_replicas(const Tensor& value);
std::vector<Tensor> sum_over_replicas(const std::vector<Tensor>& values);
// Likewise for tensors that are zero except for a few rows.
std::vector<Tensor> sum_sparse_over_replicas(const std::vector<Tensor>& values);
// The sum of all replicas' parts, but with the gradient of this replica's part: gradients are
// summed over the replicas later.
Tensor sum_of_parts(const Tensor& part);
// Multiplies a value for this replica's whole part of a batch by its share of all examples: the sum
// over the replicas is then the mean. Zeros if it has no examples.
Tensor by_share_of_examples(const Tensor& value);
// Throws FailedPrecondition, naming `what`, in the cross-replica context of several replicas: in a
// strategy's scope outside of steps, and in a merge_call.
void require_replica_context(const char* what);

}  // namespace cornu
