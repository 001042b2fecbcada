// SPDX-License-Identifier: Apache-2.0
#include "data/batched_features.h"

#include <algorithm>
#include <utility>

#include "data/tf_record.h"
#include "framework/core/error.h"
#include "framework/core/strings.h"

namespace cornu::data {
namespace {

constexpr const char* kBatchedFeatures = "make_batched_features_dataset";

// Splits an element into a pair: its other members, and the member `label`.
Element with_label_apart(const Element& element, const std::string& label,
                         const std::vector<std::string>& names) {
  std::vector<std::pair<std::string, Element>> others;
  for (const std::string& name : names) {
    if (name != label) others.emplace_back(name, element.component(name));
  }
  return Element::tuple({Element::dict(others), element.component(label)});
}

void require_label(const std::string& label, const std::vector<std::string>& names) {
  check<InvalidArgument>(std::ranges::count(names, label) > 0,
                         "{}: expected a label_key that is one of the features, got '{}'.{}",
                         kBatchedFeatures, label, did_you_mean(label, names));
  check<InvalidArgument>(names.size() > 1,
                         "{}: expected features besides the label '{}', got none.",
                         kBatchedFeatures, label);
}

}  // namespace

Dataset make_batched_features_dataset(const std::vector<std::string>& file_pattern,
                                      int64_t batch_size, const Features& features,
                                      const BatchedFeaturesOptions& options) {
  check<InvalidArgument>(options.reader_num_threads >= 1 && options.parser_num_threads >= 1,
                         "{}: expected at least one thread to read and one to parse, got {} and "
                         "{}.",
                         kBatchedFeatures, options.reader_num_threads, options.parser_num_threads);
  std::vector<std::string> names;
  for (const auto& [name, feature] : features) names.push_back(name);
  if (options.label_key) require_label(*options.label_key, names);
  const ExampleParser parser(features);

  const Dataset files =
      Dataset::list_files(file_pattern, {.shuffle = options.shuffle, .seed = options.shuffle_seed});
  const bool several = options.reader_num_threads > 1;
  Dataset records = TFRecordDataset(
      files,
      {.compression_type = options.compression_type,
       .num_parallel_reads = several ? std::optional(options.reader_num_threads) : std::nullopt});
  if (options.shuffle) {
    records = records.shuffle(options.shuffle_buffer_size, {.seed = options.shuffle_seed});
  }
  const bool full = options.drop_final_batch || !options.num_epochs;
  Dataset batches = records.repeat(options.num_epochs.value_or(-1))
                        .batch(batch_size, {.drop_remainder = full})
                        .map(parser, {.num_parallel_calls = options.parser_num_threads});
  if (options.label_key) {
    batches = batches.map([label = *options.label_key, names](const Element& element) {
      return with_label_apart(element, label, names);
    });
  }
  return batches.prefetch(options.prefetch_buffer_size);
}

}  // namespace cornu::data
