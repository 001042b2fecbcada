// SPDX-License-Identifier: Apache-2.0
// TFRecord files: records of bytes, each with checksums.
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
  std::optional<int64_t> buffer_size = {};  // bytes read at a time; none, 0: 256 KiB
  // n: n files are read at a time, each on a thread of its own, and give a record each in turn;
  // kAutotune: file after file, on a thread that works ahead. None: on the thread that iterates.
  std::optional<int64_t> num_parallel_reads = {};
};

// The records of the files, as string scalars:
//
//   auto records = data::TFRecordDataset({"a.tfrecord", "b.tfrecord"});
//
// skip(), and so a restored position, reads no payloads where files aren't compressed. Errors are
// thrown by the iterator where the file is reached: NotFound when there is none; DataLoss, with the
// file, the record's number, its place and checksums, for a damaged or truncated one. A length in a
// damaged file never takes more memory than the file has bytes. Reference: tf.data.TFRecordDataset.
Dataset TFRecordDataset(const FileNames& filenames, const TFRecordOptions& options = {});

struct TFRecordWriterOptions {
  std::string compression_type = "";              // or "GZIP", "ZLIB"
  std::optional<int64_t> compression_level = {};  // 0 (none) to 9 (best); none: zlib's default
};

// Writes a TFRecord file. It appears under its name, whole, when it is closed
// (write_file_atomically says how, and which errors there are): a program that dies leaves what was
// there before. Used by one thread at a time. Reference: tf.io.TFRecordWriter.
class TFRecordWriter {
 public:
  explicit TFRecordWriter(const std::filesystem::path& path,
                          const TFRecordWriterOptions& options = {});
  // Closes, unless an exception is on its way: then the file isn't put in place. What goes wrong is
  // logged, so call close() to know.
  ~TFRecordWriter();
  TFRecordWriter(TFRecordWriter&&) noexcept;
  TFRecordWriter& operator=(TFRecordWriter&&) = delete;

  // Appends a record. FailedPrecondition after close(), and of a writer that was moved from.
  void write(std::string_view record);
  // Gives what was written to the system.
  void flush();
  // Ends the file and puts it in place. Later calls do nothing.
  void close();

 private:
  struct State;
  State& state() const;
  std::unique_ptr<State> state_;
};

}  // namespace cornu::data
