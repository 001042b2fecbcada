// SPDX-License-Identifier: Apache-2.0
// Readers of the built-in links, each of which creates a link from what its write() has written.
// Each is defined in its node's file.
#pragma once

#include "data/serialization/link.h"

namespace cornu::data {

NodePtr read_assert_cardinality(LinkReader& link);
NodePtr read_audio_files(LinkReader& link);
NodePtr read_batch(LinkReader& link);
NodePtr read_bucket(LinkReader& link);
NodePtr read_cache(LinkReader& link);
NodePtr read_choose(LinkReader& link);
NodePtr read_concatenate(LinkReader& link);
NodePtr read_copy_to_device(LinkReader& link);
NodePtr read_counter(LinkReader& link);
NodePtr read_csv(LinkReader& link);
NodePtr read_csv_batches(LinkReader& link);
NodePtr read_csv_records(LinkReader& link);
NodePtr read_element_list(LinkReader& link);
NodePtr read_enumerate(LinkReader& link);
NodePtr read_even_shard(LinkReader& link);
NodePtr read_file_numbers(LinkReader& link);
NodePtr read_filter(LinkReader& link);
NodePtr read_fixed_length_records(LinkReader& link);
NodePtr read_ignore_errors(LinkReader& link);
NodePtr read_images(LinkReader& link);
NodePtr read_map(LinkReader& link);
NodePtr read_padded_batch(LinkReader& link);
NodePtr read_prefetch(LinkReader& link);
NodePtr read_ragged_batch(LinkReader& link);
NodePtr read_random(LinkReader& link);
NodePtr read_range(LinkReader& link);
NodePtr read_divide(LinkReader& link);
NodePtr read_rejection_resample(LinkReader& link);
NodePtr read_repeat(LinkReader& link);
NodePtr read_sample(LinkReader& link);
NodePtr read_saved_elements(LinkReader& link);
NodePtr read_scan(LinkReader& link);
NodePtr read_series_windows(LinkReader& link);
NodePtr read_shard(LinkReader& link);
NodePtr read_shard_hint(LinkReader& link);
NodePtr read_shuffle(LinkReader& link);
NodePtr read_skip(LinkReader& link);
NodePtr read_take(LinkReader& link);
NodePtr read_tensor_slices(LinkReader& link);
NodePtr read_tensors(LinkReader& link);
NodePtr read_text_files(LinkReader& link);
NodePtr read_text_lines(LinkReader& link);
NodePtr read_tf_records(LinkReader& link);
NodePtr read_unbatch(LinkReader& link);
NodePtr read_unique(LinkReader& link);
NodePtr read_with_options(LinkReader& link);
NodePtr read_with_state(LinkReader& link);
NodePtr read_zip(LinkReader& link);

// Reads "num_parallel_calls" after it was resolved. Throws InvalidArgument for a number that a map
// can't have.
int64_t read_calls(LinkReader& link);

}  // namespace cornu::data
