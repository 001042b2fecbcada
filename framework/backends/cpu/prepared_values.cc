// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/prepared_values.h"

#include <algorithm>

namespace cornu::cpu {
namespace {

constexpr size_t kMaxEntries = 64;

}  // namespace

PreparedValues::PreparedValues(Graph graph) : graph_(std::move(graph)) {
  const std::vector<int32_t> uses = graph_.use_counts();
  for (size_t i = 0; i < graph_.states.size(); ++i) {
    // One use is the state's own end.
    if (uses[static_cast<size_t>(graph_.states[i].in)] > 1) read_.push_back(i);
  }
}

PreparedValues::Values PreparedValues::of(std::span<const Variable> variables,
                                          std::span<void* const> states,
                                          FunctionRef<uint64_t(size_t)> version) {
  Versions versions;
  versions.reserve(read_.size());
  for (size_t state : read_) {
    versions.emplace_back(variables[state].number(), version(state));
  }
  const std::lock_guard lock(mutex_);
  const auto same = [&](const Entry& entry) {
    return std::equal(versions.begin(), versions.end(), entry.versions.begin(),
                      [](const auto& a, const auto& b) { return a.first == b.first; });
  };
  const auto found = std::find_if(entries_.begin(), entries_.end(), same);
  if (found != entries_.end()) {
    std::rotate(found, found + 1, entries_.end());
    if (entries_.back().versions == versions) return entries_.back().values;
    entries_.pop_back();
  } else if (entries_.size() == kMaxEntries) {
    entries_.erase(entries_.begin());
  }
  entries_.push_back({std::move(versions), compute(states)});
  return entries_.back().values;
}

PreparedValues::Values PreparedValues::compute(std::span<void* const> states) {
  if (!program_ || threads_ != compute_threads()) {
    program_ = std::make_unique<Program>(graph_);
    threads_ = compute_threads();
  }
  auto values = std::make_shared<std::vector<Tensor>>();
  const std::vector<void*> outputs = allocate_outputs(graph_, *values);
  // Not from the pool of workspaces, as it is rarely needed.
  const Tensor workspace =
      Tensor::empty({static_cast<int64_t>(program_->workspace_bytes())}, DType::UInt8);
  program_->run({.inputs = {},
                 .states = states,
                 .outputs = outputs,
                 .workspace = const_cast<std::byte*>(workspace.address()),
                 .group = nullptr});
  return values;
}

}  // namespace cornu::cpu
