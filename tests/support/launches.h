// SPDX-License-Identifier: Apache-2.0
// The launches that programs enqueue on a GPU.
#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/files.h"
#include "tests/support/scratch.h"

namespace cornu::test {

// Returns the launches of the programs that `run` compiles, one per line.
template <class Run>
std::vector<std::string> launches_of(Run run) {
  const Scratch folder;
  {
    const testing::EnvironmentScope dump("CORNU_DUMP_GRAPH", folder.path());
    run();
  }
  std::vector<std::string> lines;
  for (const std::string& name : folder.names()) {
    if (!contains(name, "launches")) continue;
    std::ifstream file(folder.path(name));
    for (std::string line; std::getline(file, line);) lines.push_back(line);
  }
  return lines;
}

inline int64_t count_lines(const std::vector<std::string>& lines, const std::string& text) {
  return std::ranges::count_if(lines,
                               [&](const std::string& line) { return contains(line, text); });
}

}  // namespace cornu::test
