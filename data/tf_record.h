// SPDX-License-Identifier: Apache-2.0
// TFRecord files: sequences of binary records with checksums.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "data/dataset.h"
#include "data/file_names.h"

namespace cornu::data {

struct TFRecordOptions {
  std::string compression_type = "";        // or "GZIP", "ZLIB"
  std::optional<int64_t> buffer_size = {};  // bytes read at a time; nullopt or 0: 256 KiB
  // n: n files are read at a time, each on its own thread, taking one record from each in turn;
  // kAutotune: one file after another, on a prefetch thread. nullopt: on the iterating thread.
  std::optional<int64_t> num_parallel_reads = {};
};

// The records of the files, as string scalars:
//
//   auto records = data::TFRecordDataset({"a.tfrecord", "b.tfrecord"});
//
// If files aren't compressed, skip(), and thus restoring a position, reads no payloads. Errors are
// thrown by the iterator when the file is reached: NotFound when it doesn't exist; DataLoss, with
// the file, the record's index, its offset and checksums, when it is damaged or truncated. A wrong
// length in a damaged file never causes more memory to be allocated than the file has bytes.
// Reference: tf.data.TFRecordDataset.
Dataset TFRecordDataset(const FileNames& filenames, const TFRecordOptions& options = {});

struct TFRecordWriterOptions {
  std::string compression_type = "";              // or "GZIP", "ZLIB"
  std::optional<int64_t> compression_level = {};  // 0 (none) to 9 (best); nullopt: zlib's default
};

// Writes a TFRecord file. The complete file appears under its name when it is closed (see
// write_file_atomically for details and errors); if the program dies, an existing file is left
// unchanged. Must be used by one thread at a time. Reference: tf.io.TFRecordWriter.
class TFRecordWriter {
 public:
  explicit TFRecordWriter(const std::filesystem::path& path,
                          const TFRecordWriterOptions& options = {});
  // Closes the file, unless an exception is propagating: then the file isn't put in place. Errors
  // are only logged; call close() to detect them.
  ~TFRecordWriter();
  TFRecordWriter(TFRecordWriter&&) noexcept;
  TFRecordWriter& operator=(TFRecordWriter&&) = delete;

  // Appends a record. Throws FailedPrecondition after close(), and for a moved-from writer.
  void write(std::string_view record);
  // Passes buffered data to the operating system.
  void flush();
  // Completes the file and puts it in place. Further calls are no-ops.
  void close();

 private:
  struct State;
  State& state() const;
  std::unique_ptr<State> state_;
};

}  // namespace cornu::data
