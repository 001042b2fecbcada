// SPDX-License-Identifier: Apache-2.0
// Files that TensorBoard reads (tensorflow/core/util/event.proto, in TFRecord frames).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "framework/io/file_descriptor.h"

namespace cornu {

// This machine's name, as it stands in the names of TensorBoard's files.
std::string host_name();

// A file of tensorflow.Event messages in `folder`, named as TensorFlow names it:
// "events.out.tfevents.<seconds>.<host>.<process>.<number>.v2", the number being one more for each
// file of the process. Events are collected until flush() gives them to the system, all by one call
// where the system takes them: a process that is killed leaves whole records. Used by one thread at
// a time.
class EventFile {
 public:
  // Makes the file with its first record, the version; the folder must be there. Errors as
  // write_file_atomically's.
  explicit EventFile(const std::string& folder);

  const std::string& path() const { return path_; }
  // An event of now: a serialized tensorflow.Summary.Value, …
  void add_value(int64_t step, std::string_view value);
  // … or a serialized tensorflow.GraphDef.
  void add_graph(std::string_view graph);
  // On an error the file ends as it did before, and what was collected is lost. Errors as
  // write_file_atomically's: ResourceExhausted when the disk is full. Later events can be written
  // when there is space again.
  void flush();

 private:
  explicit EventFile(std::pair<std::string, int> made)  // a path, and its file
      : path_(std::move(made.first)), file_(made.second) {}
  void add(int64_t step, uint32_t field, std::string_view content);

  std::string path_;
  FileDescriptor file_;
  int64_t written_ = 0;  // bytes, all of whole records
  std::string pending_;  // records to be written
  bool torn_ = false;    // it ends with a part of a record
};

}  // namespace cornu
