// SPDX-License-Identifier: Apache-2.0
// Event files for TensorBoard (tensorflow/core/util/event.proto, in TFRecord format).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "framework/io/file_descriptor.h"

namespace cornu {

// This machine's name, as used in the names of TensorBoard's files.
std::string host_name();

// A file of tensorflow.Event messages in `folder`, named as in TensorFlow:
// "events.out.tfevents.<seconds>.<host>.<process>.<number>.v2", where the number is incremented for
// each file of the process. Events are buffered until flush() passes them to the operating system,
// in a single write if possible, so that a process that is killed leaves complete records. Must be
// used by one thread at a time.
class EventFile {
 public:
  // Creates the file with its first record, the version; the folder must exist. Throws the same
  // errors as write_file_atomically.
  explicit EventFile(const std::string& folder);

  const std::string& path() const { return path_; }
  // Adds an event with the current time: a serialized tensorflow.Summary.Value, …
  void add_value(int64_t step, std::string_view value);
  // … or a serialized tensorflow.GraphDef.
  void add_graph(std::string_view graph);
  // On an error, the file keeps its previous contents, and the buffered events are lost. Throws the
  // same errors as write_file_atomically, e.g. ResourceExhausted when the disk is full. Later
  // events can be written when there is space again.
  void flush();

 private:
  explicit EventFile(std::pair<std::string, int> made)  // the path and the file descriptor
      : path_(std::move(made.first)), file_(made.second) {}
  void add(int64_t step, uint32_t field, std::string_view content);

  std::string path_;
  FileDescriptor file_;
  int64_t written_ = 0;  // bytes of complete records
  std::string pending_;  // records to be written
  bool torn_ = false;    // the file ends with an incomplete record
};

}  // namespace cornu
