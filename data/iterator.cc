// SPDX-License-Identifier: Apache-2.0
#include "data/dataset.h"
#include "data/node.h"

namespace cornu::data {
namespace {

void collect_seeds(const Node& node, std::vector<std::atomic<uint64_t>*>& seeds) {
  for (const NodePtr& input : node.inputs()) collect_seeds(*input, seeds);
  if (auto* seed = node.drawn_seed()) seeds.push_back(seed);
}

// The seeds of those links of the chain that weren't given one.
std::vector<std::atomic<uint64_t>*> drawn_seeds(const Node& node) {
  std::vector<std::atomic<uint64_t>*> seeds;
  collect_seeds(node, seeds);
  return seeds;
}

}  // namespace

struct Iterator::State {
  NodePtr node;
  NodePtr counter;
  int64_t pass = 0;
  int64_t consumed = 0;
  StreamPtr<Element> stream;

  // A stream is opened when it is first needed: a restored iterator opens another one.
  Stream<Element>& opened() {
    if (!stream) stream = node->elements(Pass().below(pass));
    return *stream;
  }
};

Iterator::Iterator(NodePtr node, NodePtr counter) : state_(std::make_unique<State>()) {
  state_->pass = counter->begin_pass();
  state_->node = std::move(node);
  state_->counter = std::move(counter);
}
Iterator::Iterator(Iterator&&) noexcept = default;
Iterator& Iterator::operator=(Iterator&&) noexcept = default;
Iterator::~Iterator() = default;

bool Iterator::next(Element& element) {
  if (!state_->opened().next(element)) return false;
  ++state_->consumed;
  return true;
}

Json Iterator::save() const {
  Json seeds = Json::array();
  for (const auto* seed : drawn_seeds(*state_->node)) {
    seeds.push_back(static_cast<int64_t>(seed->load()));
  }
  return Json::object({{"pipeline", describe_chain(*state_->node)},
                       {"pass", state_->pass},
                       {"consumed", state_->consumed},
                       {"seeds", std::move(seeds)}});
}

void Iterator::restore(const Json& position) {
  State& state = *state_;
  check<FailedPrecondition>(state.consumed == 0 && !state.stream,
                            "Dataset: a position can be restored by a new iterator only.");
  const std::string pipeline = describe_chain(*state.node);
  const std::string& saved = position.at("pipeline").as_string();
  const auto seeds = drawn_seeds(*state.node);
  const auto saved_seeds = position.at("seeds").as_ints();
  check<FailedPrecondition>(saved == pipeline && saved_seeds.size() == seeds.size(),
                            "Dataset: the position was saved by another pipeline.\n  saved: {}\n  "
                            "here:  {}\nStart from the beginning, or build the dataset as it was.",
                            saved, pipeline);
  const int64_t pass = position.at("pass").as_int();
  const int64_t consumed = position.at("consumed").as_int();
  check<DataLoss>(pass >= 0 && consumed >= 0, "Dataset: the position {} is damaged.",
                  position.excerpt());
  for (size_t i = 0; i < seeds.size(); ++i) seeds[i]->store(static_cast<uint64_t>(saved_seeds[i]));
  state.pass = pass;
  state.counter->set_next_pass(pass + 1);
  state.consumed = state.opened().skip(consumed);
  check<FailedPrecondition>(state.consumed == consumed,
                            "Dataset: the position is behind element {}, but this dataset ends "
                            "after {}.",
                            consumed, state.consumed);
}

}  // namespace cornu::data
