// SPDX-License-Identifier: Apache-2.0
#include "framework/strategy/replica_context.h"

#include <algorithm>

#include "framework/graph/reduce_op.h"
#include "framework/graph/replica.h"
#include "framework/ops/ops.h"
#include "framework/strategy/strategy.h"

namespace cornu {
namespace {

bool is_cross_replica() { return has_strategy() && !current_replica(); }

}  // namespace

void require_replica_context(const char* what) {
  check<FailedPrecondition>(!merging_replicas() || replicas_in_sync() == 1,
                            "{} was called in a merge_call, in the cross-replica context of "
                            "strategy '{}'. Call it in the step itself, which each replica runs.",
                            what, get_strategy().name());
  check<FailedPrecondition>(
      !is_cross_replica() || get_strategy().num_replicas_in_sync() == 1,
      "{} was called in the cross-replica context of strategy '{}', outside of a step. Call it in "
      "a function that Strategy::run runs on each replica.",
      what, has_strategy() ? get_strategy().name() : "");
}

Tensor operand_of_reduction(ReduceOp op, const Tensor& value) {
  if (op == ReduceOp::Mean && !is_floating(value.dtype())) return ops::cast(value, DType::Float32);
  const bool counts = op == ReduceOp::Sum && value.dtype() == DType::Bool;
  return counts ? ops::cast(value, DType::Int32) : value;
}

Tensor sum_over_replicas(const Tensor& value) {
  return replicas_in_sync() == 1 ? value : ops::all_reduce(value, "sum");
}

std::vector<Tensor> sum_over_replicas(const std::vector<Tensor>& values) {
  return replicas_in_sync() == 1 ? values : ops::all_reduce(values, "sum");
}

std::vector<Tensor> sum_sparse_over_replicas(const std::vector<Tensor>& values) {
  return replicas_in_sync() == 1 ? values : ops::all_reduce_sparse(values);
}

Tensor sum_of_parts(const Tensor& part) {
  return replicas_in_sync() == 1 ? part : ops::sum_of_parts(part);
}

Tensor by_share_of_examples(const Tensor& value) {
  if (replicas_in_sync() == 1) return value;
  const auto examples = static_cast<double>(current_replica()->examples);
  const Tensor all = sum_of_known(examples);
  // Values computed from no examples may be NaN. Gradients still flow back: zeros, supplied by the
  // optimizer. Every replica reads the sum, since all replicas must have the same sums.
  const Tensor share = ops::cast(ops::divide_no_nan(Tensor::scalar(examples), all), value.dtype());
  if (examples == 0)
    return ops::where(Tensor::scalar(false), value, ops::zeros_like(value) * share);
  return value * share;
}

namespace distribute {

Tensor ReplicaContext::replica_id_in_sync_group() const { return replica_value(ReplicaValue::Id); }

Tensor ReplicaContext::all_reduce(ReduceOp op, const Tensor& value) const {
  return all_reduce(op, std::vector<Tensor>{value}).front();
}

std::vector<Tensor> ReplicaContext::all_reduce(ReduceOp op,
                                               const std::vector<Tensor>& values) const {
  std::vector<Tensor> summable;
  for (const Tensor& value : values) summable.push_back(operand_of_reduction(op, value));
  if (replicas_ == 1) return summable;
  return ops::all_reduce(summable, name_of(op));
}

namespace {

// The sizes of all replicas along the axis in the all_gather of this number in the trace; empty if
// they are equal.
std::vector<int64_t> sizes_of_gather(int64_t number) {
  const auto& gathered = current_replica()->gathered;
  const auto at = static_cast<size_t>(number);
  return at < gathered.size() ? gathered[at] : std::vector<int64_t>();
}

Shape with_size(const Shape& shape, int64_t axis, int64_t size) {
  std::vector<int64_t> dims = shape.dims();
  dims[static_cast<size_t>(axis)] = size;
  return Shape(dims);
}

// The replicas' values, padded to `most` along the axis and concatenated.
Tensor gathered_in_places(const Tensor& value, int64_t replicas, int64_t axis, int64_t most,
                          int64_t number) {
  const int64_t missing = most - value.dim(axis);
  const Tensor padded =
      missing == 0
          ? value
          : ops::concatenate(
                {value, ops::zeros(with_size(value.shape(), axis, missing), value.dtype())}, axis);
  // Puts each replica's value at its position among zeros: the sum contains all of them.
  const Tensor here =
      ops::equal(ops::arange(0, replicas, 1, DType::Int64), replica_value(ReplicaValue::Id));
  std::vector<int64_t> places(static_cast<size_t>(value.rank()) + 1, 1);
  places[static_cast<size_t>(axis)] = replicas;
  const Tensor spread =
      ops::where(ops::reshape(here, Shape(places)), ops::expand_dims(padded, axis),
                 ops::zeros(Shape{}, value.dtype()));
  return ops::reshape(ops::all_reduce_of_gathered(spread, value.shape(), axis, number),
                      with_size(value.shape(), axis, most * replicas));
}

}  // namespace

Tensor ReplicaContext::all_gather(const Tensor& value, int64_t axis) const {
  check<InvalidArgument>(value.rank() > 0,
                         "all_gather: expected a tensor with axes, got a scalar. Give it one "
                         "first: ops::expand_dims(x, 0).");
  if (replicas_ == 1) return value;
  const int64_t along = value.shape().normalize_axis(axis, "all_gather");
  const Tensor own = value.dtype() == DType::Bool ? ops::cast(value, DType::UInt8) : value;
  std::vector<Replica::Gather>& gathers = current_replica()->gathers;
  const auto number = static_cast<int64_t>(gathers.size());
  gathers.push_back({along, own.shape()});
  const std::vector<int64_t> sizes = sizes_of_gather(number);
  const int64_t most = sizes.empty() ? own.dim(along) : *std::ranges::max_element(sizes);
  const Tensor all = gathered_in_places(own, replicas_, along, most, number);
  if (sizes.empty()) return ops::cast(all, value.dtype());
  std::vector<Tensor> parts;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t begin = static_cast<int64_t>(i) * most;
    if (sizes[i] > 0) parts.push_back(ops::slice_axis(all, along, begin, begin + sizes[i]));
  }
  return ops::cast(ops::concatenate(parts, along), value.dtype());
}

Tensors ReplicaContext::merge_call(const Merge& merge, const Tensors& values) const {
  check<InvalidArgument>(merge != nullptr, "merge_call: expected a function, got none.");
  check<FailedPrecondition>(
      !merging_replicas(),
      "merge_call was called within another merge_call, where there is no replica context.");
  const MergeScope scope;
  return merge(get_strategy(), PerReplica({values}));
}

ReplicaContext get_replica_context() {
  check<FailedPrecondition>(!merging_replicas(),
                            "get_replica_context: a merge_call is in cross-replica context. Use "
                            "the strategy that it is given.");
  require_replica_context("get_replica_context");
  return ReplicaContext(replicas_in_sync());
}

bool in_cross_replica_context() { return merging_replicas() || is_cross_replica(); }

int64_t InputContext::get_per_replica_batch_size(int64_t global_batch_size) const {
  check<InvalidArgument>(global_batch_size % num_replicas_in_sync == 0,
                         "InputContext: expected a global batch size divisible by {} replicas, got "
                         "{}.",
                         num_replicas_in_sync, global_batch_size);
  return global_batch_size / num_replicas_in_sync;
}

namespace {

// Converts weights to factors of losses: broadcast from the left, and without a superfluous last
// axis of size 1.
Tensor as_factors(const Tensor& sample_weight, const Tensor& losses) {
  Tensor weights = ops::cast(sample_weight, losses.dtype());
  const Shape& shape = losses.shape();
  if (weights.rank() == shape.rank() + 1 && weights.shape().back() == 1) {
    weights = ops::squeeze(weights, -1);
  }
  while (weights.rank() < shape.rank()) weights = ops::expand_dims(weights, -1);
  bool fits = weights.rank() == shape.rank();
  for (int64_t axis = 0; fits && axis < shape.rank(); ++axis) {
    fits = weights.dim(axis) == shape[axis] || weights.dim(axis) == 1;
  }
  check<InvalidArgument>(fits,
                         "compute_average_loss: expected a sample_weight that fits losses of shape "
                         "{}, one for each example or for each loss, got shape {}.",
                         shape, sample_weight.shape());
  return weights;
}

}  // namespace

Tensor compute_average_loss(const Tensor& per_example_loss, const AverageLossOptions& options) {
  require_replica_context("compute_average_loss");
  check<InvalidArgument>(per_example_loss.rank() > 0,
                         "compute_average_loss: expected a loss for each example, got a scalar. "
                         "Make the loss with Reduction::None.");
  check<InvalidArgument>(!options.global_batch_size || *options.global_batch_size > 0,
                         "compute_average_loss: expected a global_batch_size of at least 1, got "
                         "{}.",
                         options.global_batch_size.value_or(0));
  Tensor losses = per_example_loss;
  if (options.sample_weight.defined()) {
    losses = losses * as_factors(options.sample_weight, losses);
  }
  const Tensor sum = ops::sum(losses);
  if (options.global_batch_size) {
    return sum / static_cast<double>(*options.global_batch_size);
  }
  const auto examples = static_cast<double>(per_example_loss.dim(0));
  return ops::divide_no_nan(sum, ops::cast(sum_of_known(examples), sum.dtype()));
}

Tensor unscale_loss_for_distribution(const Tensor& loss) {
  if (replicas_in_sync() == 1) return loss;  // also outside of steps
  require_replica_context("unscale_loss_for_distribution");
  const auto examples = static_cast<double>(current_replica()->examples);
  const Tensor all = sum_of_known(examples);  // on every replica, with or without examples
  return loss * ops::cast(all / std::max(examples, 1.0), loss.dtype());
}

Tensor scale_regularization_loss(const Tensor& loss) {
  require_replica_context("scale_regularization_loss");
  return by_share_of_examples(ops::sum(loss));
}

}  // namespace distribute
}  // namespace cornu
