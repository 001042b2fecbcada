// SPDX-License-Identifier: Apache-2.0
// Loops as nodes of a graph. Internal to framework/ops and autodiff.
//
// "scan" runs its body `length` times. Its inputs are the initial values of the carries, xs (the
// body receives slices along axis 0), invariant operands of the body and, if it is "counted", the
// actual number of iterations (int64, at most `length`). Its outputs are the final carries and all
// ys, stacked; slices of iterations that didn't run are zeros.
//
// "while" runs its body as long as its condition holds, at most `maximum` times (-1: unbounded).
// Its inputs are the variables and the invariant operands of condition and body. Its outputs are
// the variables, the number of iterations (int64) and, if it is bounded, all ys.
//
// Bodies take carries, slices and captures, and return the next carries, followed by the ys. A loop
// that "saves" returns everything its gradient needs of each iteration as additional ys.
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
  Tensor count = {};                // an int64 scalar if there may be fewer iterations
  std::string_view who = "scan";    // for messages
  std::string_view what = "carry";  // likewise
};

// Traces f once and applies "scan". Random ops in f draw new numbers in each iteration, and
// variables that it assigns are carried. Throws InvalidArgument when a carry changes its type.
ScanResult traced_scan(const ScanFunction& f, const ScanPlan& plan);

// Throws InvalidArgument, naming carry and types, unless all carries kept their types.
void require_kept_types(const std::vector<Tensor>& before, const std::vector<Tensor>& after,
                        std::string_view who, std::string_view what);

// Applies "scan" or "while" (by `op`); saves if the loop is bounded and a tape follows its inputs.
std::vector<Tensor> apply_loop(const OpDef& op, const std::vector<Tensor>& inputs,
                               const Attributes& attributes);

// The attributes of the same loop as one that saves, including the loops in its body.
Attributes saving(const Attributes& loop);

// Adds the key of a loop's next iteration to its body.
ValueId next_turns_key(Graph& body, ValueId key);

// By node: whether it is cheaper to recompute it from its operands than to save it: constants,
// values computed from constants only, and ops that only rearrange.
std::vector<bool> recomputed_nodes(const Graph& body);

}  // namespace cornu::ops::internal
