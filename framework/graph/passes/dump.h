// SPDX-License-Identifier: Apache-2.0
// What a compilation makes of a graph, as text, for people.
#pragma once

#include <string>

#include "framework/graph/graph.h"

namespace cornu::passes {

// The files of one compilation in the folder $CORNU_DUMP_GRAPH, which is made; without that
// variable, none: "<name>.<stage's number>.<stage>.txt", and "<name>-2.…" where the process has
// compiled something of that name before (other shapes, another model). A folder that can't be
// written to is told by one warning.
class Dump {
 public:
  explicit Dump(const std::string& name);

  void write(const std::string& stage, const Graph& graph);
  bool is_wanted() const { return !prefix_.empty(); }
  void write_text(const std::string& stage, const std::string& text);

 private:
  std::string prefix_;  // of the files' paths; empty: none are written
  int number_ = 0;
};

}  // namespace cornu::passes
