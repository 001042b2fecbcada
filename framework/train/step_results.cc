// SPDX-License-Identifier: Apache-2.0
#include "framework/train/step_results.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "framework/graph/replica.h"
#include "framework/graph/trace.h"
#include "framework/ops/ops.h"

namespace cornu::internal {
namespace {

void average_over_replicas(std::vector<Tensors::Named>& figures) {
  std::vector<Tensor> values;
  for (const auto& [name, value] : figures) values.push_back(value);
  const std::vector<bool> differs = may_differ(values);
  const bool has_examples = current_replica()->examples > 0;
  std::vector<Tensor> parts = {Tensor::scalar(has_examples ? 1.0f : 0.0f)};
  for (size_t i = 0; i < values.size(); ++i) {
    if (differs[i]) parts.push_back(has_examples ? values[i] : Tensor::scalar(0.0f));
  }
  if (parts.size() == 1) return;
  const std::vector<Tensor> sums = ops::all_reduce(parts);
  const Tensor count = ops::maximum(sums[0], 1.0f);
  size_t next = 1;
  for (size_t i = 0; i < values.size(); ++i) {
    if (differs[i]) figures[i].second = sums[next++] / count;
  }
}

}  // namespace

Tensors step_results(const NamedValues<Tensor>& results, const std::string& title) {
  std::vector<Tensors::Named> figures;
  for (const auto& [name, value] : results) {
    check<InvalidArgument>(value.num_elements() == 1,
                           "{}: expected one number for '{}', as logs and the history hold, got "
                           "shape {}. Reduce it (ops::mean, ops::sum), or give the metric the "
                           "option that makes one of them: average of F1Score, class_aggregation "
                           "of R2Score, a single threshold.",
                           title, name, value.shape());
    figures.emplace_back(name, ops::reshape(ops::cast(value, DType::Float32), Shape{}));
  }
  std::stable_sort(figures.begin(), figures.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  check<InvalidArgument>(!figures.empty(),
                         "{}: its step returned no metrics. Return at least the "
                         "loss.",
                         title);
  if (replicas_in_sync() > 1) average_over_replicas(figures);
  return Tensors::named(std::move(figures));
}

}  // namespace cornu::internal
