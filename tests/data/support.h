// SPDX-License-Identifier: Apache-2.0
// Helpers shared by the tests of data pipelines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "tests/support/files.h"

namespace cornu::testing {

// All numbers of a tensor of any integer type.
std::vector<int64_t> numbers(const Tensor& tensor);
// All numbers of a pass, or of the rest of one (at most `limit` elements), element by element.
std::vector<int64_t> numbers(data::Iterator& iterator, int64_t limit = INT64_MAX);
std::vector<int64_t> numbers(const data::Dataset& dataset, int64_t limit = INT64_MAX);

// All strings of a pass.
std::vector<std::string> texts(const data::Dataset& dataset);

// A position without its checksum, so that tests can change it.
Json unsealed(const Json& position);

// Returns the bytes of a file.
std::string read_text(const std::filesystem::path& path);
void write_text(const std::filesystem::path& path, const std::string& bytes);
std::string gzip_of(const std::string& bytes);

// 0, 1, …, count - 1 as a dataset of rows, which exercises the code path that uses row numbers.
data::Dataset rows_to(int64_t count);

}  // namespace cornu::testing
