// SPDX-License-Identifier: Apache-2.0
// Files of elements, as written by cache, snapshot and save.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "data/element.h"
#include "data/readers/output_file.h"
#include "data/readers/tf_record.h"

namespace cornu::data {

// The format is a TFRecord file. The first record is JSON: the elements' spec and what produced
// them. The last record is their number. Each of the others is an element: for each tensor the rank
// (4 bytes), the sizes of its axes (8 bytes each) and its values; for a string, its length (8
// bytes) and bytes. Numbers are little-endian.

// Writes an element file. Throws the same errors as write_file_atomically. Must be used by one
// thread at a time.
class ElementFileWriter {
 public:
  // `pipeline`: describes what produces the elements; `seeds`: the seeds it drew.
  ElementFileWriter(const std::string& path, Compression compression, const ElementSpec& spec,
                    const std::string& pipeline, const std::string& seeds = {},
                    Appears appears = Appears::Whole);

  // Throws Internal unless the element conforms to the file's spec.
  void write(const Element& element);
  void close();  // a file that isn't closed is lost
  int64_t count() const { return count_; }

 private:
  void write_record(std::string_view record);

  OutputFile file_;
  ElementSpec spec_;
  int64_t count_ = 0;
};

// Reads an element file. Throws DataLoss, naming the file and the element, when it is damaged or
// truncated. Allocates no more memory than the file's size. Must be used by one thread at a time.
class ElementFileReader {
 public:
  ElementFileReader(const std::string& path, Compression compression);

  const ElementSpec& spec() const { return spec_; }
  const std::string& pipeline() const { return pipeline_; }
  const std::string& seeds() const { return seeds_; }
  // Returns false at the end, and after an element that can't be read.
  bool next(Element& element);
  bool skip();  // skips one element

 private:
  // Reads the record of an element; returns false at the end.
  bool next_record() {
    return until_damage_([this] { return read_record(); });
  }
  bool read_record();

  std::string path_;
  TFRecordReader records_;
  UntilDamage until_damage_;
  ElementSpec spec_;
  std::string pipeline_;
  std::string seeds_;
  std::string record_;
  int64_t count_ = 0;
  bool ended_ = false;
};

}  // namespace cornu::data
