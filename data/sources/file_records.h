// SPDX-License-Identifier: Apache-2.0
// Reads the records, lines or rows of files, one file after another.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "data/node.h"

namespace cornu::data {

// How files of one format are read.
struct FileFormat {
  std::string name;      // for errors: "TFRecordDataset"
  std::string describe;  // including what its elements depend on
  ElementSpec spec;
  std::function<StreamPtr<Element>(const std::string& path)> open;
  std::function<void(LinkWriter& link)> write;  // see Node::write
  bool placed = false;                          // whether open() returns PlacedTextStreams
};

// The numbers of records in files. Thread-safe.
class RecordCounts {
 public:
  // The number of records, up to where the file is damaged. Skims the file on the first call for
  // it.
  int64_t of(const std::string& path, const FileFormat& format);

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, int64_t> counts_;  // by format and path
};

// Elements of the files in `names` (string scalars), one file after another. With `parallel_reads`
// = n, n files are read at a time, each on a prefetch thread, taking an element from each in turn,
// like tf.data's num_parallel_reads; kAutotune: in the files' order, on one prefetch thread. Throws
// InvalidArgument when `names` aren't string scalars, and for other numbers.
NodePtr make_file_records(NodePtr names, FileFormat format,
                          const std::optional<int64_t>& parallel_reads);

// A string scalar.
Tensor text_scalar(std::string text);

// Base class of streams whose elements are string scalars.
class TextStream : public Stream<Element> {
 public:
  bool next(Element& element) final;
  // Returns false at the end.
  virtual bool next_text(std::string& text) = 0;
};

// A TextStream of a file whose texts can be read again given the bytes where they begin.
class PlacedTextStream : public TextStream {
 public:
  // The place of the text that was returned last.
  virtual int64_t place() const = 0;
  // Makes the next text the one that begins at `place`. Throws DataLoss when the file is shorter.
  virtual void go_to_place(int64_t place) = 0;
};

// The spec of string scalars.
ElementSpec text_spec();

}  // namespace cornu::data
