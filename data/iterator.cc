// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <exception>
#include <utility>

#include "data/dataset.h"
#include "data/iteration.h"
#include "data/node.h"
#include "data/transforms/batching_node.h"
#include "framework/core/logging.h"
#include "framework/strategy/source_position.h"

namespace cornu::data {
namespace {

using Clock = std::chrono::steady_clock;

int64_t nanoseconds(Clock::time_point time) {
  return time.time_since_epoch() / std::chrono::nanoseconds(1);
}

// The dataset whose elements the last link that makes batches puts together; null if there is none.
const Node* batched_in(const Node& end) {
  for (const Node* link = &end; link->inputs().size() == 1; link = &link->input()) {
    if (dynamic_cast<const BatchingNode*>(link)) return &link->input();
  }
  return nullptr;
}

thread_local int calls_here = 0;

// A call of an iterator, for as long as it runs.
class Call {
 public:
  explicit Call(std::atomic<bool>& running) : running_(running) {
    constexpr int kMax = 256;
    check<FailedPrecondition>(calls_here < kMax,
                              "Iterator: {} calls of iterators are within each other here. A "
                              "dataset's function must not iterate that dataset, nor one that is "
                              "made from it: the calls would never end.",
                              kMax);
    check<FailedPrecondition>(
        !running.exchange(true, std::memory_order_acquire),
        "Iterator: called while another call of it runs. An iterator is for one thread at a time: "
        "make one for each, or lock a mutex around its calls.");
    ++calls_here;
  }
  ~Call() {
    --calls_here;
    running_.store(false, std::memory_order_release);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  std::atomic<bool>& running_;
};

}  // namespace

struct Iterator::State {
  State(NodePtr of, NodePtr counted_by, std::string which)
      : node(std::move(of)),
        counter(std::move(counted_by)),
        part(std::move(which)),
        iteration(node->options()) {
    pass = counter->passes().begin(part);
    for (const auto* seed : drawn_seeds(*node)) iteration.seeds[seed] = seed->load();
    if (!iteration.options.statistics && !statistics_asked_for()) return;
    iteration.recorder = std::make_shared<Recorder>(*node);
    counter->statistics().begin(iteration.recorder);
  }
  ~State() {
    stream.reset();
    end_statistics();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  static Pass pass_of(const Iteration& iteration, int64_t pass) {
    Pass first;
    first.iteration = &iteration;
    return first.below(pass);
  }

  // Opens the stream on first use, since a restored iterator needs a different one.
  Stream<Element>& opened() {
    if (!stream) {
      Pass first = pass_of(iteration, pass);
      first.any_order = true;
      stream = node->stream(first);
    }
    return *stream;
  }

  bool next(Element& element) {
    if (!iteration.recorder) return give(element);
    bool more = false;
    {
      const Recorder::Wait wait(*iteration.recorder);
      more = give(element);
    }
    if (!more) end_statistics();
    return more;
  }

  bool give(Element& element) {
    Stream<Element>& elements = opened();
    if (!iteration.demand.is_watched()) return elements.next(element);
    const auto start = Clock::now();
    if (!elements.next(element)) return false;
    iteration.demand.given(nanoseconds(start), nanoseconds(Clock::now()));
    return true;
  }

  // Called at the end of the pass, or when it is abandoned.
  void end_statistics() {
    if (!iteration.recorder || !counter->statistics().end(iteration.recorder)) return;
    const Statistics all = iteration.recorder->statistics();
    if (!statistics_asked_for() || all.stages.empty()) return;
    logging::info(fmt::format("Dataset, pass {}:\n{}", pass, all.to_string()));
  }

  SourcePosition position() const {
    SourcePosition here{describe_chain(node->whole()), pass, consumed, {}};
    here.next_pass = counter->passes().next(part);
    for (const auto* seed : drawn_seeds(*node)) here.seeds.push_back(iteration.seeds.at(seed));
    return here;
  }
  SourcePosition position_of_new() const {
    check<FailedPrecondition>(consumed == 0 && !stream,
                              "Dataset: a position can be restored by a new iterator only.");
    return position();
  }
  // The number of elements, up to `most`, of a link of the chain in a saved position's pass.
  int64_t count(const Node& link, const SourcePosition& saved, int64_t most) const {
    Iteration counting(iteration.options);
    const auto seeds = drawn_seeds(*node);
    for (size_t i = 0; i < seeds.size(); ++i) counting.seeds[seeds[i]] = saved.seeds[i];
    return link.elements(pass_of(counting, saved.pass))->skip(most);
  }
  // Which part of the whole dataset this is; empty for the whole.
  std::string share() const { return &node->whole() == node.get() ? "" : node->describe(); }

  NodePtr node;
  NodePtr counter;
  std::string part;
  int64_t pass = 0;
  int64_t consumed = 0;
  Iteration iteration;
  StreamPtr<Element> stream;  // uses the iteration
  std::exception_ptr error;   // the error that ended it
  mutable std::atomic<bool> running = false;
};

Iterator::Iterator(NodePtr node, NodePtr counter, std::string part)
    : state_(std::make_unique<State>(std::move(node), std::move(counter), std::move(part))) {}
Iterator::Iterator(Iterator&&) noexcept = default;
Iterator& Iterator::operator=(Iterator&&) noexcept = default;
Iterator::~Iterator() = default;

Iterator::State& Iterator::state() const {
  check<FailedPrecondition>(state_ != nullptr, "Iterator: used after it was moved from.");
  return *state_;
}

bool Iterator::next(Element& element) {
  check<NotTraceable>(!TracedFunctionScope::active(),
                      "Iterator: a dataset can't be iterated while a function is traced.");
  State& here = state();
  const Call call(here.running);
  if (here.error) std::rethrow_exception(here.error);
  try {
    if (!here.next(element)) return false;
  } catch (...) {
    here.error = std::current_exception();
    throw;
  }
  ++here.consumed;
  return true;
}

Statistics Iterator::stats() const {
  const Recorder* recorder = state().iteration.recorder.get();
  return recorder ? recorder->statistics() : Statistics();
}

Json Iterator::save() const {
  const State& here = state();
  const Call call(here.running);
  Json json = here.position().to_json();
  // At the beginning there is no state to save. After an error, the streams are past the failed
  // element: only the number of elements gives the position before it, so that it is computed
  // again.
  const bool tells = here.consumed > 0 && !here.error;
  check<FailedPrecondition>(
      tells || here.consumed == 0 || !here.iteration.any_order,
      "Dataset: after an error there is no position where elements come as they are ready. Save it "
      "before, or set `deterministic` to true.");
  Json tree = tells ? here.stream->save() : Json();
  if (!tree.is_null()) {
    json.set("state", std::move(tree));
    json.set("share", here.share());
  }
  return SourcePosition::sealed(std::move(json));
}

void Iterator::restore(const Json& json) {
  const Call call(state().running);
  go_to(SourcePosition::read(json, state().position_of_new(), "Dataset"), json);
}

void Iterator::restore_examples(const Json& json) {
  const State& state = this->state();
  const Call call(state.running);
  SourcePosition here = state.position_of_new();
  if (const Node* batched = batched_in(state.node->whole())) {
    const auto examples = batched->cardinality();
    if (examples != kInfiniteCardinality) here.examples = examples;
    if (!examples) {
      here.count_examples = [&state, batched](const SourcePosition& saved, int64_t most) {
        return state.count(*batched, saved, most);
      };
    }
  }
  go_to(SourcePosition::read_examples(json, here, "Dataset"), json);
}

void Iterator::go_to(const SourcePosition& saved, const Json& json) {
  State& state = this->state();
  const auto seeds = drawn_seeds(*state.node);
  for (size_t i = 0; i < seeds.size(); ++i) {
    state.iteration.seeds[seeds[i]] = saved.seeds[i];
    seeds[i]->store(saved.seeds[i]);  // for later iterators; existing ones keep their own
  }
  state.pass = saved.pass;
  state.counter->passes().set_next(state.part, saved.next_pass);
  const Json* tree = json.find("state");
  const Json* share = json.find("share");
  if (!saved.rebatched && tree && share && *share == Json(state.share())) {
    try {
      state.opened().restore(*tree);
    } catch (Error& error) {
      error.add_place("Dataset");
      throw;
    }
    state.consumed = saved.consumed;
  } else {  // a count is sufficient, also for elements that were divided among others
    Stream<Element>& elements = state.opened();
    check<FailedPrecondition>(
        saved.consumed == 0 || !state.iteration.any_order,
        "Dataset: the position is that of another worker's part, and elements come as they are "
        "ready, so it isn't known which ones have been used. Set `deterministic` to true, or "
        "resume with the same number of workers.");
    state.consumed = elements.skip(saved.consumed);
    saved.check_reached(state.consumed, "Dataset");
  }
}

}  // namespace cornu::data
