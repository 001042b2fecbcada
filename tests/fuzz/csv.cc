// SPDX-License-Identifier: Apache-2.0
// CSV files: the records must not depend on how much is read at a time.
#include "data/readers/csv_columns.h"
#include "data/readers/csv_inference.h"
#include "tests/fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cornu;
  using namespace cornu::data;
  if (size == 0) return 0;
  const std::string path = fuzz::scratch_file(".csv");
  std::ofstream(path, std::ios::binary) << fuzz::text_of(data + 1, size - 1);
  CsvLayout layout{.format = {',', data[0] % 2 == 0}, .na_value = "NA", .columns = {}, .fields = 0};
  layout.columns.push_back({"a", 0, CsvDefault(0.0)});
  layout.columns.push_back({"b", 1, CsvDefault("")});
  CsvReader whole(path, Compression::None, layout.format);
  CsvReader pieces(path, Compression::None, layout.format, 1);
  CsvTypeGuess guess("NA");
  std::string_view record, same;
  while (whole.next(record)) {
    fuzz::require(pieces.next(same) && record == same, "pieces are of one whole");
    fuzz::require(whole.line() == pieces.line(), "lines are counted");
    CsvFields fields(record, layout.format);
    for (std::string_view field; fields.next(field);) guess.see(field);
    fuzz::attempt([&] { CsvColumns(layout, {}).add(record, [] { return "record"; }); });
  }
  fuzz::require(!pieces.next(same), "both end together");
  guess.type();
  return 0;
}
