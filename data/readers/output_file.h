// SPDX-License-Identifier: Apache-2.0
// Files written piece by piece, compressed or not.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "data/readers/input_file.h"

namespace cornu::data {

// When a file is there.
enum class Appears {
  Whole,  // when it is closed: whole or not at all, and on the disk then
  // From the beginning, as far as it is written: one of many, in a new folder that counts when all
  // are on the disk (sync_files).
  Growing,
};

// Errors as write_file_atomically's. Used by one thread at a time.
class OutputFile {
 public:
  // `level`: of compression, 0 to 9; InvalidArgument for others.
  OutputFile(const std::string& path, Compression compression, const std::optional<int64_t>& level,
             Appears appears = Appears::Whole);
  ~OutputFile();  // what isn't closed is lost, or incomplete
  OutputFile(OutputFile&&) noexcept;

  // FailedPrecondition after close().
  void write(std::string_view bytes);
  void flush();
  void close();  // later calls do nothing

 private:
  struct State;
  State& opened();
  std::unique_ptr<State> state_;
};

}  // namespace cornu::data
