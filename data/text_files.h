// SPDX-License-Identifier: Apache-2.0
// Datasets of text lines and of fixed-length records.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/dataset.h"
#include "data/file_names.h"

namespace cornu::data {

struct TextLineOptions {
  std::string compression_type = "";               // or "GZIP", "ZLIB"
  std::optional<int64_t> buffer_size = {};         // bytes read at a time; nullopt or 0: 256 KiB
  std::optional<int64_t> num_parallel_reads = {};  // see TFRecordOptions
};

// The lines of the files as string scalars, without line ends ("\n") and without any "\r" (as in
// tf.data). The last line may lack a line end; a byte order mark stays in the first line. Throws
// NotFound, while iterating, when a file doesn't exist. Reference: tf.data.TextLineDataset.
Dataset TextLineDataset(const FileNames& filenames, const TextLineOptions& options = {});

struct FixedLengthRecordOptions {
  int64_t header_bytes = 0;                        // skipped at the beginning of each file
  int64_t footer_bytes = 0;                        // skipped at its end
  std::optional<int64_t> buffer_size = {};         // bytes read at a time; nullopt or 0: 256 KiB
  std::string compression_type = "";               // or "GZIP", "ZLIB"
  std::optional<int64_t> num_parallel_reads = {};  // see TFRecordOptions
};

// The records of the files, of `record_bytes` (>= 1) each, as string scalars. Throws
// InvalidArgument, naming the file, while iterating, when the size between header and footer isn't
// a multiple of `record_bytes`. skip() reads nothing if files aren't compressed. Reference:
// tf.data.FixedLengthRecordDataset.
Dataset FixedLengthRecordDataset(const FileNames& filenames, int64_t record_bytes,
                                 const FixedLengthRecordOptions& options = {});

}  // namespace cornu::data
