// SPDX-License-Identifier: Apache-2.0
// Dumps the graphs of a compilation as human-readable text.
#pragma once

#include <string>

#include "framework/graph/graph.h"

namespace cornu::passes {

// The files of one compilation in the folder $CORNU_DUMP_GRAPH, which is created if needed; nothing
// is written if the variable isn't set. Files are named "<name>.<stage's number>.<stage>.txt", or
// "<name>-2.…" if the process has already compiled something of that name (other shapes, another
// model). If the folder can't be written to, warns once.
class Dump {
 public:
  explicit Dump(const std::string& name);

  void write(const std::string& stage, const Graph& graph);
  bool is_wanted() const { return !prefix_.empty(); }
  void write_text(const std::string& stage, const std::string& text);

 private:
  std::string prefix_;  // path prefix of the files; empty: none are written
  int number_ = 0;
};

}  // namespace cornu::passes
