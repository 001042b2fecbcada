// SPDX-License-Identifier: Apache-2.0
// Elements in files: what cache, snapshot and save write.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "data/element.h"
#include "data/readers/output_file.h"
#include "data/readers/tf_record.h"

namespace cornu::data {

// A TFRecord file. The first record is JSON: the elements' kind and what made them; the last one
// their number; each of the others an element: for each tensor the rank (4 bytes), the sizes of its
// axes (8 each) and its values, of strings each one's length (8) and bytes; lowest bytes first.

// Writes one. Errors as write_file_atomically's. Used by one thread at a time.
class ElementFileWriter {
 public:
  // `pipeline`: what makes the elements, as text; `seeds`: those that it drew.
  ElementFileWriter(const std::string& path, Compression compression, const ElementSpec& spec,
                    const std::string& pipeline, const std::string& seeds = {},
                    Appears appears = Appears::Whole);

  // Internal unless the element is of the file's kind.
  void write(const Element& element);
  void close();  // what isn't closed is lost
  int64_t count() const { return count_; }

 private:
  void write_record(std::string_view record);

  OutputFile file_;
  ElementSpec spec_;
  int64_t count_ = 0;
};

// Reads one. DataLoss, naming the file and the element, for what is damaged or cut off. Allocates
// no more than the file holds. Used by one thread at a time.
class ElementFileReader {
 public:
  ElementFileReader(const std::string& path, Compression compression);

  const ElementSpec& spec() const { return spec_; }
  const std::string& pipeline() const { return pipeline_; }
  const std::string& seeds() const { return seeds_; }
  // False at the end, and behind what can't be read.
  bool next(Element& element);
  bool skip();  // leaves one out

 private:
  // An element's; false at the end.
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
