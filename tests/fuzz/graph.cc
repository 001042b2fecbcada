// SPDX-License-Identifier: Apache-2.0
// Graphs as text: everything that can be read is written, and reads back the same.
#include "framework/graph/graph.h"

#include "tests/fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cornu;
  return fuzz::attempt([&] {
    const std::string text = parse_graph(fuzz::text_of(data, size)).to_string();
    fuzz::require(parse_graph(text).to_string() == text, "a graph's text reads back to the same");
  });
}
