// SPDX-License-Identifier: Apache-2.0
// Only the rows of a table that a step names are summed, read and written.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/backends/cuda/lookups.h"
#include "tests/backends/cuda/lowered_run.h"

namespace cornu::cuda::testing {
namespace {

void check_lookups(const std::string& dtype, bool adagrad) {
  CAPTURE(dtype);
  CAPTURE(adagrad);
  const bool half = is_half(dtype_from_string(dtype));
  const auto lines = check_program_like_cpu(
      [&] {
        Lookups lookups(dtype, adagrad);
        std::vector<Tensor> results;
        for (int k = 0; k < 4; ++k) {  // captured from the second step on
          results.push_back(
              ops::cast(lookups.step(numbers({3, 8191, 3, -1, 0, 40 + k}), numbers({3, 5, -2, 5})),
                        "float64"));
        }
        results.push_back(ops::cast(lookups.table.value(), "float64"));
        results.push_back(ops::cast(lookups.accumulated.value(), "float64"));
        return results;
      },
      half ? 2e-2 : 1e-6);
  CHECK(std::ranges::any_of(lines, [](const std::string& line) { return line == "update_rows"; }));
  // No array is as large as the table, which is updated in place.
  const int64_t bytes = Lookups::kRows * Lookups::kWidth * (half ? 2 : 4);
  for (const char* what : {"fill", "copy"}) {
    CHECK(std::ranges::count(lines, fmt::format("{} {} bytes", what, bytes)) == 0);
  }
}

TEST_CASE("a step reads and writes the rows that its lookups name") {
  check_lookups("float32", false);
  check_lookups("float32", true);
  check_lookups("bfloat16", true);
  check_lookups("float16", false);
}

TEST_CASE("a batch of nothing leaves a table as it is") {
  check_program_like_cpu(
      [] {
        Lookups lookups("float32", true);
        std::vector<Tensor> results;
        for (int k = 0; k < 3; ++k) results.push_back(lookups.step(numbers({}), numbers({})));
        results.push_back(lookups.table.value());
        return results;
      },
      0);
}

}  // namespace
}  // namespace cornu::cuda::testing
