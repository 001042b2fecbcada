// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/adapt_data.h"

namespace cornu::layers {

AdaptData AdaptData::of_batches(Give give) {
  AdaptData data{Tensor()};
  data.give_ = std::move(give);
  return data;
}

AdaptData AdaptData::of_input(std::shared_ptr<BatchSource> source, std::string name) {
  AdaptData data(source);
  data.input_ = std::move(name);
  return data;
}

void AdaptData::for_each_batch(const AdaptOptions& options,
                               const std::function<void(const Tensor&)>& f) const {
  check<InvalidArgument>(!options.steps || *options.steps > 0, "adapt: expected steps > 0, got {}.",
                         options.steps.value_or(0));
  if (give_) return give_(f);
  if (is_whole()) {
    check<InvalidArgument>(examples_.defined() && examples_.num_elements() > 0,
                           "adapt: expected examples, got none.");
    check<InvalidArgument>(!options.steps,
                           "adapt: steps are for datasets: a tensor is taken as a whole.");
    f(examples_.host());
    return;
  }
  check<InvalidArgument>(options.steps || source_->cardinality() != kInfiniteCardinality,
                         "adapt: the dataset never ends. Say how many batches to read, as "
                         "adapt(dataset, {{.steps = 100}}) does.");
  const auto batches = source_->iterate();
  int64_t count = 0;
  for (Batch batch; count != options.steps.value_or(-1) && batches->next(batch); ++count) {
    if (input_.empty()) {
      check<InvalidArgument>(batch.x.size() == 1,
                             "adapt: expected batches of one input, got {} inputs. Choose one by "
                             "the dataset's map().",
                             batch.x.size());
    } else {
      check<InvalidArgument>(batch.x.has_names(),
                             "adapt: expected dictionaries, with a value for '{}', got inputs "
                             "without names.",
                             input_);
    }
    f((input_.empty() ? batch.x[0] : batch.x.at(input_)).host());
  }
  check<InvalidArgument>(count > 0, "adapt: expected batches, got none: the dataset is empty.");
}

}  // namespace cornu::layers
