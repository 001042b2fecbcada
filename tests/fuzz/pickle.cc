// SPDX-License-Identifier: Apache-2.0
// Pickles: traverses the contents as far as possible.
#include "data/readers/pickle.h"

#include "tests/fuzz/support.h"

namespace {

using cornu::data::PickleKind;
using cornu::data::PickleValue;

void visit(const PickleValue& value, int depth, int& budget) {
  using cornu::fuzz::attempt;
  if (depth == 0 || --budget < 0) return;
  attempt([&] { value.to_tensor(); });
  attempt([&] { value.to_ints(); });
  attempt([&] { value.to_ragged(); });
  attempt([&] { value.at("data"); });
  attempt([&] { value.as_str(); });
  attempt([&] { value.as_float(); });
  attempt([&] {
    for (size_t i = 0; i < value.size() && budget > 0; ++i) {
      if (value.kind() == PickleKind::Dict) {
        visit(value.entry(i).first, depth - 1, budget);
        visit(value.entry(i).second, depth - 1, budget);
      } else {
        visit(value[i], depth - 1, budget);
      }
    }
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cornu;
  const auto bytes = fuzz::bytes_of(fuzz::text_of(data, size));
  int budget = 100;
  return fuzz::attempt([&] { visit(data::parse_pickle(bytes, "file"), 5, budget); });
}
