// SPDX-License-Identifier: Apache-2.0
// Steps on single batches.
#include <limits>
#include <utility>
#include <vector>

#include "framework/train/array_source.h"
#include "framework/train/body.h"
#include "framework/train/joined_batches.h"
#include "framework/train/string_inputs.h"
#include "framework/train/trainer.h"

namespace cornu {

Tensors Trainer::predict_on_batch(Model& model, const Tensors& given) {
  const RunsAlone alone;
  const Tensors x = given_inputs(given);
  const Tensors inputs = without_strings(model, x, false);
  if (has_strings(inputs)) return traced_body(model, Kind::Predict, {x, {}, {}});
  std::vector<Tensors> parts = run(model, Kind::Predict, Batch{inputs, {}, {}});
  if (parts.size() == 1) return std::move(parts.front());
  JoinedBatches joined(title_of(model), [&] { return output_names(model, parts[0]).list; });
  for (Tensors& part : parts) joined.add(std::move(part));
  return joined.join();
}

namespace {

Batch one_batch(const Tensors& x, const Tensors& y, const Tensors& sample_weight,
                const ClassWeight& class_weight = {}) {
  constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
  const auto source =
      with_class_weight(make_array_source(x, y, sample_weight, {.batch_size = kAll}), class_weight);
  Batch batch;
  source->iterate()->next(batch);
  require_numbers_beside_x(batch);
  return batch;
}

}  // namespace

Logs Trainer::train_on_batch(Model& model, const Tensors& x, const Tensors& y,
                             const TrainOnBatchOptions& options) {
  require_compiled(model, "train_on_batch");
  const TrainingScope alone = train_alone(model);
  const MetricScope metrics = metric_scope(model);
  model.reset_metrics();  // the metrics are this batch's alone (Keras's rule)
  return read_logs(
      run(model, Kind::Train, one_batch(x, y, options.sample_weight, options.class_weight))
          .front());
}

Logs Trainer::test_on_batch(Model& model, const Tensors& x, const Tensors& y,
                            const TestOnBatchOptions& options) {
  require_compiled(model, "test_on_batch");
  const MetricScope metrics = metric_scope(model);
  model.reset_metrics();  // the metrics are this batch's alone (Keras's rule)
  return read_logs(run(model, Kind::Test, one_batch(x, y, options.sample_weight)).front());
}

}  // namespace cornu
