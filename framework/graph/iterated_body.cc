// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/iterated_body.h"

#include <algorithm>

namespace cornu {
namespace {

constexpr size_t kAlignment = 256;  // of the buffers for carries

std::vector<size_t> bytes_of(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<size_t> bytes;
  for (ValueId id : values) bytes.push_back(graph.type(id).bytes());
  return bytes;
}

}  // namespace

IteratedBody::IteratedBody(Graph& body, size_t carries, size_t xs, const Graph* whole)
    : carries_(carries),
      xs_(xs),
      input_bytes_(bytes_of(body, body.inputs)),
      output_bytes_(bytes_of(body, body.outputs)),
      input_steps_(whole ? bytes_of(*whole, whole->inputs) : input_bytes_),
      output_steps_(whole ? bytes_of(*whole, whole->outputs) : output_bytes_) {
  find_sources(body);
  chain_.assign(carries_, kNone);
  shared_.assign(carries_, kNone);
  for (size_t i = 0; i < carries_; ++i) place_carry(i);
  operands_.resize(input_bytes_.size());
  next_.resize(carries_);
  results_.resize(body.outputs.size());
}

void IteratedBody::copy(void* to, const void* from, size_t bytes) {
  if (bytes > 0 && to != from) run_->machine.copy(to, from, bytes);
}

void IteratedBody::start(const LoopRun& run) {
  run_ = &run;
  std::copy_n(run.in, operands_.size(), operands_.begin());
  // The last iteration, if known in advance, writes to the outputs.
  write_to_output_ = run.iterations < 0 || run.iterations % 2 == 1;
}

void IteratedBody::run_all(const LoopRun& run, bool reverse) {
  start(run);
  for (int64_t iteration = 0; iteration < run.iterations; ++iteration) {
    const int64_t slot = reverse ? run.iterations - 1 - iteration : iteration;
    const int64_t next = reverse ? slot - 1 : slot + 1;
    run_iteration(slot, iteration + 1 < run.iterations ? next : -1, iteration == 0);
  }
  finish(run.iterations);
}

int64_t IteratedBody::run_while(const LoopRun& run, int64_t maximum, FunctionRef<bool()> goes_on) {
  start(run);
  int64_t iterations = 0;
  while (iterations != maximum && goes_on()) {
    run_iteration(iterations, iterations + 1 == maximum ? -1 : iterations + 1, iterations == 0);
    ++iterations;
  }
  finish(iterations);
  return iterations;
}

void IteratedBody::run_iteration(int64_t slot, int64_t next_slot, bool first) {
  for (size_t i = carries_; i < carries_ + xs_; ++i) {
    operands_[i] = static_cast<const std::byte*>(run_->in[i]) + offset(input_steps_[i], slot);
  }
  for (size_t i = 0; i < carries_; ++i) {
    if (chain_[i] != kNone && first) move_to_chain(i, slot);
    next_[i] = place_of_next(i, slot, next_slot);
  }
  for (size_t i = outputs(); i-- > 0;) {  // a carry's memory takes precedence over a y's
    if (sources_[i].produced) results_[sources_[i].index] = place_of_output(i, slot);
  }
  run_->machine.run(operands_, results_, run_->scratch + spare_bytes_);
  for (size_t i = 0; i < outputs(); ++i) {
    if (is_chained(i)) continue;
    const Source& source = sources_[i];
    copy(place_of_output(i, slot),
         source.produced ? results_[source.index] : operands_[source.index], output_bytes_[i]);
  }
  for (size_t i = 0; i < carries_; ++i) operands_[i] = next_[i];
  write_to_output_ = !write_to_output_;
}

void IteratedBody::finish(int64_t iterations) {
  for (size_t i = 0; i < carries_; ++i) copy(run_->out[i], operands_[i], output_bytes_[i]);
  for (size_t i = carries_; iterations < run_->slots && i < outputs(); ++i) {
    zero_unused(i, iterations);
  }
}

void IteratedBody::zero_unused(size_t output, int64_t iterations) {
  const size_t bytes = output_bytes_[output];
  if (bytes == 0) return;
  if (bytes == output_steps_[output]) {
    run_->machine.zero(slice(output, iterations), offset(bytes, run_->slots - iterations));
    return;
  }
  for (int64_t slot = iterations; slot < run_->slots; ++slot) {
    run_->machine.zero(slice(output, slot), bytes);
  }
}

void* IteratedBody::slice(size_t output, int64_t slot) const {
  return static_cast<std::byte*>(stack(output)) + offset(output_steps_[output], slot);
}

bool IteratedBody::is_chained(size_t output) const {
  return output >= carries_ && !sources_[output].produced && sources_[output].index < carries_ &&
         chain_[sources_[output].index] == output;
}

// Finds the source of each output, and reduces the graph's outputs to those it computes, each once.
void IteratedBody::find_sources(Graph& graph) {
  const std::vector<int32_t> producers = graph.producers();
  std::vector<ValueId> produced;
  for (ValueId id : graph.outputs) {
    int32_t node = producers[static_cast<size_t>(id)];
    while (node >= 0 &&
           graph.nodes[static_cast<size_t>(node)].is("reshape")) {  // has no memory of its own
      id = graph.nodes[static_cast<size_t>(node)].inputs[0];
      node = producers[static_cast<size_t>(id)];
    }
    std::vector<ValueId>& known = node >= 0 ? produced : graph.inputs;
    const auto at = std::find(known.begin(), known.end(), id);
    sources_.push_back({node >= 0, static_cast<size_t>(at - known.begin())});
    if (at == known.end()) known.push_back(id);
  }
  graph.outputs = std::move(produced);
}

void IteratedBody::place_carry(size_t carry) {
  spare_offsets_.push_back(spare_bytes_);
  if (is_fixed(carry)) return;
  for (size_t i = outputs(); i-- > carries_;) {
    if (sources_[i] == Source{false, carry}) chain_[carry] = i;
    if (sources_[i] == sources_[carry]) shared_[carry] = i;
  }
  if (std::find(sources_.begin(), sources_.begin() + static_cast<int64_t>(carry),
                sources_[carry]) != sources_.begin() + static_cast<int64_t>(carry)) {
    shared_[carry] = kNone;  // already used by an earlier carry
  }
  if (chain_[carry] == kNone && shared_[carry] == kNone) {
    spare_bytes_ += (output_bytes_[carry] + kAlignment - 1) / kAlignment * kAlignment;
  }
}

void IteratedBody::move_to_chain(size_t carry, int64_t slot) {
  void* begin = slice(chain_[carry], slot);
  copy(begin, operands_[carry], output_bytes_[carry]);
  operands_[carry] = begin;
}

const void* IteratedBody::place_of_next(size_t i, int64_t slot, int64_t next_slot) const {
  if (is_fixed(i)) return operands_[i];
  if (chain_[i] != kNone) return next_slot < 0 ? run_->out[i] : slice(chain_[i], next_slot);
  if (shared_[i] != kNone) return slice(shared_[i], slot);
  return write_to_output_ ? run_->out[i] : run_->scratch + spare_offsets_[i];
}

void* IteratedBody::place_of_output(size_t i, int64_t slot) const {
  return i < carries_ ? const_cast<void*>(next_[i]) : slice(i, slot);
}

}  // namespace cornu
