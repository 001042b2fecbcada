// SPDX-License-Identifier: Apache-2.0
// Files of lines, and of records of one length.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/dataset.h"
#include "data/file_names.h"

namespace cornu::data {

struct TextLineOptions {
  std::string compression_type = "";               // or "GZIP", "ZLIB"
  std::optional<int64_t> buffer_size = {};         // bytes read at a time; none, 0: 256 KiB
  std::optional<int64_t> num_parallel_reads = {};  // as TFRecordOptions'
};

// The lines of the files as string scalars, without their ends ("\n"), and without any "\r" (as
// tf.data has it). A last line may do without an end; a byte order mark stays in the first one.
// NotFound, while iterating, where there is no such file. Reference: tf.data.TextLineDataset.
Dataset TextLineDataset(const FileNames& filenames, const TextLineOptions& options = {});

struct FixedLengthRecordOptions {
  int64_t header_bytes = 0;                        // left out at the beginning of each file
  int64_t footer_bytes = 0;                        // and at its end
  std::optional<int64_t> buffer_size = {};         // bytes read at a time; none, 0: 256 KiB
  std::string compression_type = "";               // or "GZIP", "ZLIB"
  std::optional<int64_t> num_parallel_reads = {};  // as TFRecordOptions'
};

// The files' records of `record_bytes` (>= 1) each, as string scalars. InvalidArgument, while
// iterating, naming the file, when what is between header and footer doesn't divide by them.
// skip() reads nothing where files aren't compressed. Reference: tf.data.FixedLengthRecordDataset.
Dataset FixedLengthRecordDataset(const FileNames& filenames, int64_t record_bytes,
                                 const FixedLengthRecordOptions& options = {});

}  // namespace cornu::data
