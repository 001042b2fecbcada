// SPDX-License-Identifier: Apache-2.0
// What files of records, lines or rows give, file after file.
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

// How one file of a kind is read.
struct FileFormat {
  std::string name;      // for errors: "TFRecordDataset"
  std::string describe;  // with what its elements depend on
  ElementSpec spec;
  std::function<StreamPtr<Element>(const std::string& path)> open;
  std::function<void(LinkWriter& link)> write;  // see Node::write
  bool placed = false;                          // open() gives PlacedTextStreams
};

// How many records files have. Thread-safe.
class RecordCounts {
 public:
  // Up to where it is damaged. Passes over the file when it is asked for the first time.
  int64_t of(const std::string& path, const FileFormat& format);

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, int64_t> counts_;  // by format and path
};

// Elements of the files that `names` (string scalars) gives, one file after another. With
// `parallel_reads` of n, n files are read at a time, each on a thread that works ahead, and give an
// element each in turn, as tf.data's num_parallel_reads does; kAutotune: in the files' order, on
// one thread that works ahead. InvalidArgument for other elements than string scalars, and other
// numbers.
NodePtr make_file_records(NodePtr names, FileFormat format,
                          const std::optional<int64_t>& parallel_reads);

// A string scalar.
Tensor text_scalar(std::string text);

// A stream whose elements are string scalars.
class TextStream : public Stream<Element> {
 public:
  bool next(Element& element) final;
  // False at the end.
  virtual bool next_text(std::string& text) = 0;
};

// The same of a file whose texts can be had again by the bytes where they begin.
class PlacedTextStream : public TextStream {
 public:
  // Of the text that was given last.
  virtual int64_t place() const = 0;
  // The next text is the one that begins there. DataLoss when the file is shorter.
  virtual void go_to_place(int64_t place) = 0;
};

// Of string scalars.
ElementSpec text_spec();

}  // namespace cornu::data
