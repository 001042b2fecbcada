// SPDX-License-Identifier: Apache-2.0
// Writes files incrementally, optionally compressing them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "data/readers/input_file.h"

namespace cornu::data {

// When a file becomes visible.
enum class Appears {
  Whole,  // when it is closed: completely or not at all, and then it is on the disk
  // From the beginning, growing as it is written; for files in a new folder that becomes valid once
  // all of them are on the disk (sync_files).
  Growing,
};

// Throws the same errors as write_file_atomically. Must be used by one thread at a time.
class OutputFile {
 public:
  // `level`: the compression level, 0 to 9; throws InvalidArgument for others.
  OutputFile(const std::string& path, Compression compression, const std::optional<int64_t>& level,
             Appears appears = Appears::Whole);
  ~OutputFile();  // a file that isn't closed is lost or incomplete
  OutputFile(OutputFile&&) noexcept;

  // Throws FailedPrecondition after close().
  void write(std::string_view bytes);
  void flush();
  void close();  // further calls are no-ops

 private:
  struct State;
  State& opened();
  std::unique_ptr<State> state_;
};

}  // namespace cornu::data
