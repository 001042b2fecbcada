// SPDX-License-Identifier: Apache-2.0
// Loops as nodes of a graph. Internal to framework/ops and autodiff.
//
// "scan" runs its body `length` times. Its inputs are the carries' first values, xs (slices along
// axis 0 are what the body takes), what the body reads unchanged in each turn, and, where it is
// "counted", how many turns there really are (int64, at most `length`). Its outputs are the last
// carries and all ys, stacked; turns that there weren't leave zeros.
//
// "while" runs its body as long as its condition holds, at most `maximum` times (-1: without a
// bound). Its inputs are the variables and what condition and body read unchanged. Its outputs are
// the variables, the number of turns (int64) and, where there is a bound, all ys.
//
// Bodies take carries, slices and captures, and give the next carries and then the ys. A loop that
// "saves" gives all that its gradient needs of each turn as further ys.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "framework/graph/trace.h"

namespace cornu::ops::internal {

struct ScanResult {
  std::vector<Tensor> carries;
  std::vector<Tensor> ys;
};

using ScanFunction =
    std::function<ScanResult(const std::vector<Tensor>& carries, const std::vector<Tensor>& x)>;

struct ScanPlan {
  std::vector<Tensor> init;
  std::vector<Tensor> xs;
  int64_t length = 0;
  bool reverse = false;
  Tensor count = {};              // an int64 scalar where there may be fewer turns; else undefined
  std::string_view who = "scan";  // for messages
  std::string_view what = "carry";  // the same
};

// Traces f once and applies "scan". What f draws is drawn anew in each turn, and variables that it
// assigns are carried. InvalidArgument when a carry changes its type.
ScanResult traced_scan(const ScanFunction& f, const ScanPlan& plan);

// InvalidArgument, naming carry and types, unless all carries kept their types.
void require_kept_types(const std::vector<Tensor>& before, const std::vector<Tensor>& after,
                        std::string_view who, std::string_view what);

// Applies "scan" or "while" (by `op`), as one that saves where a tape follows its inputs and it is
// bounded.
std::vector<Tensor> apply_loop(const OpDef& op, const std::vector<Tensor>& inputs,
                               const Attributes& attributes);

// The attributes of the same loop as one that saves. Loops in its body save too.
Attributes saving(const Attributes& loop);

// Adds the key of a loop's next turn to its body.
ValueId next_turns_key(Graph& body, ValueId key);

// By node: is it cheaper to compute anew, from what it reads, than to save? Constants and what is
// made of them alone, and ops that arrange anew.
std::vector<bool> recomputed_nodes(const Graph& body);

}  // namespace cornu::ops::internal
