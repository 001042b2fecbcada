// SPDX-License-Identifier: Apache-2.0
#include "data/serialization/links.h"

namespace cornu::data {
namespace {

constexpr size_t kMaxInputs = 1 << 16;

void register_links(Registry<LinkKind>& registry) {
  const auto source = [&](const char* kind, NodePtr (*read)(LinkReader&)) {
    registry.add(kind, {0, 0, read});
  };
  const auto transform = [&](const char* kind, NodePtr (*read)(LinkReader&)) {
    registry.add(kind, {1, 1, read});
  };
  source("counter", read_counter);
  source("element_list", read_element_list);
  source("file_numbers", read_file_numbers);
  source("random", read_random);
  source("range", read_range);
  source("tensor_slices", read_tensor_slices);
  source("tensors", read_tensors);
  transform("assert_cardinality", read_assert_cardinality);
  transform("audio_files", read_audio_files);
  transform("batch", read_batch);
  transform("bucket_by_sequence_length", read_bucket);
  transform("cache", read_cache);
  registry.add("choose_from_datasets", {2, kMaxInputs, read_choose});
  registry.add("concatenate", {2, 2, read_concatenate});
  transform("copy_to_device", read_copy_to_device);
  transform("csv", read_csv);
  transform("csv_batches", read_csv_batches);
  transform("csv_records", read_csv_records);
  transform("enumerate", read_enumerate);
  transform("even_shard", read_even_shard);
  transform("filter", read_filter);
  transform("fixed_length_records", read_fixed_length_records);
  transform("ignore_errors", read_ignore_errors);
  transform("images", read_images);
  transform("map", read_map);
  transform("padded_batch", read_padded_batch);
  transform("prefetch", read_prefetch);
  transform("ragged_batch", read_ragged_batch);
  transform("divide", read_divide);
  transform("rejection_resample", read_rejection_resample);
  transform("repeat", read_repeat);
  registry.add("sample_from_datasets", {1, kMaxInputs, read_sample});
  transform("saved_elements", read_saved_elements);
  transform("scan", read_scan);
  transform("series_windows", read_series_windows);
  transform("shard", read_shard);
  transform("shard_hint", read_shard_hint);
  transform("shuffle", read_shuffle);
  transform("skip", read_skip);
  transform("take", read_take);
  transform("text_files", read_text_files);
  transform("text_lines", read_text_lines);
  transform("tf_records", read_tf_records);
  transform("unbatch", read_unbatch);
  transform("unique", read_unique);
  transform("with_options", read_with_options);
  transform("with_state", read_with_state);
  registry.add("zip", {1, kMaxInputs, read_zip});
}

}  // namespace

Registry<LinkKind>& link_registry() {
  static auto& registry = make_registry<LinkKind>("link of a dataset", register_links);
  return registry;
}

}  // namespace cornu::data
