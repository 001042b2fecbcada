// SPDX-License-Identifier: Apache-2.0
#include "data/node.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "data/iteration.h"
#include "framework/core/end_in_turn.h"
#include "framework/core/random.h"
#include "framework/core/rows.h"

namespace cornu::data {
namespace {

class RowElements : public Stream<Element> {
 public:
  RowElements(const Element& table, StreamPtr<Row> rows) : table_(table), rows_(std::move(rows)) {}

  bool next(Element& element) override {
    Row index;
    if (!rows_->next(index)) return false;
    std::vector<Tensor> tensors;
    tensors.reserve(table_.tensors().size());
    for (const Tensor& tensor : table_.tensors()) tensors.push_back(row(tensor, index));
    element = table_.with(std::move(tensors));
    return true;
  }
  void leave_out(int64_t count, int64_t& left_out) override { rows_->leave_out(count, left_out); }
  Json save() const override { return rows_->save(); }
  void restore(const Json& state) override { rows_->restore(state); }

 private:
  Element table_;
  StreamPtr<Row> rows_;
};

// How often the chain uses each link that shuffles. The counts may double with each link.
std::map<const Node*, int64_t> count_uses(const Node& last) {
  std::map<const Node*, int64_t> paths = {{&last, 1}};
  const auto links = links_of(last);
  for (auto link = links.rbegin(); link != links.rend(); ++link) {
    for (const NodePtr& input : (*link)->inputs()) {
      int64_t& known = paths[input.get()];
      known = saturating_sum(known, paths.at(*link));
    }
  }
  std::erase_if(paths, [](const auto& path) { return !path.first->is_reshuffled(); });
  return paths;
}

class LinkCollector {
 public:
  explicit LinkCollector(const std::function<bool(const Node&)>& goes_below)
      : goes_below_(goes_below) {}

  void add(const Node& node) {
    if (!seen_.insert(&node).second) return;
    if (!goes_below_ || goes_below_(node)) {
      for (const NodePtr& input : node.inputs()) add(*input);
    }
    links_.push_back(&node);
  }
  std::vector<const Node*> take() { return std::move(links_); }

 private:
  const std::function<bool(const Node&)>& goes_below_;
  std::unordered_set<const Node*> seen_;
  std::vector<const Node*> links_;
};

void collect_seeds(const Node& last, std::vector<std::atomic<uint64_t>*>& seeds) {
  for (const Node* node : links_of(last)) {
    if (const Node* inner = node->first_inner()) collect_seeds(*inner, seeds);
    if (auto* seed = node->drawn_seed()) seeds.push_back(seed);
  }
}

class ChainText {
 public:
  std::string of(const Node& node) {
    if (const auto known = numbers_.find(&node); known != numbers_.end()) {
      return fmt::format("link {} again", known->second);
    }
    std::string text;
    for (const NodePtr& input : node.inputs()) {
      if (!text.empty()) text += " & ";
      text += of(*input);
    }
    if (node.inputs().size() > 1) text = "(" + text + ")";
    numbers_.emplace(&node, numbers_.size());
    return text.empty() ? node.describe() : text + " | " + node.describe();
  }

 private:
  std::unordered_map<const Node*, size_t> numbers_;
};

uint64_t seed_in(const Pass& pass, const std::atomic<uint64_t>* seed) {
  if (pass.iteration) {
    const auto& seeds = pass.iteration->seeds;
    if (const auto own = seeds.find(seed); own != seeds.end()) return own->second;
  }
  return seed->load();
}

// Copies the options in `own` that differ from the default.
void take_over(Options& options, const Options& own) {
  const Options none;
  const auto take = [](auto& value, const auto& said, const auto& unsaid) {
    if (said != unsaid) value = said;
  };
  take(options.distribute.auto_shard_policy, own.distribute.auto_shard_policy,
       none.distribute.auto_shard_policy);
  take(options.autotune.enabled, own.autotune.enabled, none.autotune.enabled);
  take(options.autotune.cpu_budget, own.autotune.cpu_budget, none.autotune.cpu_budget);
  take(options.autotune.ram_budget, own.autotune.ram_budget, none.autotune.ram_budget);
  take(options.deterministic, own.deterministic, none.deterministic);
  take(options.statistics, own.statistics, none.statistics);
}

// The stage of `node` in a measured pass; null if the pass isn't measured.
Stage* stage_of(const Node& node, const Pass& pass) {
  if (!pass.iteration || !pass.iteration->recorder) return nullptr;
  if (!pass.stage) return pass.iteration->recorder->last();
  const auto& inputs = pass.consumer->inputs();
  const auto at = std::find_if(inputs.begin(), inputs.end(),
                               [&](const NodePtr& input) { return input.get() == &node; });
  std::optional<size_t> index;
  if (at != inputs.end()) index = static_cast<size_t>(at - inputs.begin());
  return pass.stage->input(index, node);
}

template <class Item, class Open>
StreamPtr<Item> measured(const Node& node, Pass pass, Open open) {
  Stage* stage = stage_of(node, pass);
  if (!stage) return open(pass);
  pass.stage = stage;
  pass.consumer = &node;
  return std::make_unique<MeasuredStream<Item>>(open(pass), stage);
}

}  // namespace

uint64_t SharedSeed::in(const Pass& pass) const { return seed_in(pass, seed_.get()); }

Pass Pass::for_sample() {
  Pass pass;
  pass.sample = true;
  return pass;
}

Pass Pass::below(int64_t repetition) const {
  const auto words = philox(id, static_cast<uint64_t>(repetition), /*stream=*/0xda7a);
  Pass below = *this;
  below.id = uint64_t{words[0]} << 32 | words[1];
  return below;
}

Pass Pass::of_use(int64_t number) const {
  if (number == 0) return *this;
  const auto words = philox(id, static_cast<uint64_t>(number), /*stream=*/0xda7b);
  Pass other = *this;
  other.id = uint64_t{words[0]} << 32 | words[1];
  return other;
}

Node::Node(std::vector<NodePtr> inputs) : inputs_(std::move(inputs)) { look_at_inputs(); }

Node::~Node() { end_in_turn(std::move(inputs_)); }

void Node::look_at_inputs() {
  // In a pass, each link takes a frame or two on the stack of the thread that requests an element.
  constexpr int64_t kMaxLinks = 12288;
  depth_ = 1;
  for (const NodePtr& input : inputs_) depth_ = std::max(depth_, input->depth_ + 1);
  check<ResourceExhausted>(depth_ <= kMaxLinks,
                           "a dataset has at most {} links behind one another, got more. Join many "
                           "datasets by flat_map or choose_from_datasets.",
                           kMaxLinks);
  find_uses();
}

uint64_t Node::next_number() {
  static std::atomic<uint64_t> next = 0;
  return next++;
}

void Shuffles::add(const Node& link, uint64_t number, int64_t paths) {
  first = std::min(first, number);
  last = std::max(last, number);
  if (!are_few) return;
  const auto known =
      std::find_if(few.begin(), few.end(), [&](const auto& one) { return one.first == &link; });
  if (known != few.end()) {
    known->second = saturating_sum(known->second, paths);
  } else {
    few.emplace_back(&link, paths);
  }
  are_few = few.size() <= kFew;
  if (!are_few) few = {};
}

void Shuffles::add(const Shuffles& other) {
  for (const auto& [link, paths] : other.few) add(*link, other.first, paths);
  first = std::min(first, other.first);
  last = std::max(last, other.last);
  are_few = are_few && other.are_few;
  if (!are_few) few = {};
}

bool Shuffles::may_share(const Shuffles& other) const {
  return first <= other.last && other.first <= last;
}

int64_t Shuffles::most_of(const Shuffles& other) const {
  int64_t most = 0;
  for (const auto& [link, paths] : few) {
    for (const auto& one : other.few) {
      if (one.first == link) most = std::max(most, paths);
    }
  }
  return most;
}

Shuffles Node::shuffles() const {
  Shuffles all = shuffles_below_;
  if (is_reshuffled()) all.add(*this, number_, 1);
  return all;
}

Options Node::options() const {
  Options all;
  for (const Node* link : links_of(*this)) {
    if (const Options* own = link->own_options()) take_over(all, *own);
  }
  return all;
}

// Takes time independent of the chains' lengths if they contain few shuffles or share none.
void Node::find_uses() {
  uses_.clear();
  shuffles_below_ = {};
  std::map<const Node*, int64_t> before;
  size_t counted = 0;  // number of inputs whose links are in `before`
  const auto most_in_chains = [&](size_t index) {
    for (; counted < index; ++counted) {
      for (const auto& [node, count] : count_uses(*inputs_[counted])) {
        before[node] = saturating_sum(before[node], count);
      }
    }
    int64_t most = 0;
    for (const auto& [node, count] : count_uses(*inputs_[index])) {
      most = std::max(most, before[node]);
    }
    return most;
  };
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Shuffles own = inputs_[i]->shuffles();
    const bool may_share = shuffles_below_.may_share(own);
    const bool few = shuffles_below_.are_few && own.are_few;
    uses_.push_back(!may_share ? 0 : few ? shuffles_below_.most_of(own) : most_in_chains(i));
    shuffles_below_.add(own);
  }
}

Pass Node::pass_of_input(size_t index, Pass pass) const {
  return pass.of_use(index < uses_.size() ? uses_[index] : 0);
}

std::optional<int64_t> Node::batch_size_of_inputs() const {
  const auto size = input().batch_size();
  const bool alike = std::all_of(inputs_.begin(), inputs_.end(),
                                 [&](const NodePtr& input) { return input->batch_size() == size; });
  return alike ? size : std::nullopt;
}

std::optional<Element> Node::sample() const {
  Element element;
  if (!elements(Pass::for_sample())->next(element)) return std::nullopt;
  return element;
}

NodePtr Node::with_inputs(std::vector<NodePtr> inputs) const {
  check<InvalidArgument>(inputs.size() == inputs_.size(), "{}: expected {} inputs, got {}.",
                         describe(), inputs_.size(), inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    check<InvalidArgument>(inputs[i]->spec() == inputs_[i]->spec(),
                           "{}: expected an input of the kind {}, got {}.", describe(),
                           inputs_[i]->spec(), inputs[i]->spec());
  }
  if (inputs == inputs_) {
    if (NodePtr self = weak_from_this().lock()) return self;
  }
  std::shared_ptr<Node> made = clone();
  made->inputs_ = std::move(inputs);
  made->look_at_inputs();
  made->inputs_changed();
  return made;
}

std::shared_ptr<Node> Node::clone() const {
  raise<Unimplemented>(
      "{}: it can't be put on other inputs, since its class doesn't override clone().", describe());
}

StreamPtr<Element> Node::stream(Pass pass) const {
  pass.any_order = pass.any_order && takes_any_order();
  return measured<Element>(*this, pass, [this](Pass own) { return elements(own); });
}

StreamPtr<Row> Node::row_stream(Pass pass) const {
  return measured<Row>(*this, pass, [this](Pass own) { return rows(own); });
}

void Node::write(LinkWriter&) const {
  raise<FailedPrecondition>(
      "{}: it can't be serialized, since its class doesn't override write(). See "
      "data/serialization/link.h.",
      describe());
}

StreamPtr<Row> Node::rows(Pass) const { raise<Internal>("{} has no table.", describe()); }

std::vector<const Node*> links_of(const Node& last,
                                  const std::function<bool(const Node&)>& goes_below) {
  LinkCollector links(goes_below);
  links.add(last);
  return links.take();
}

std::vector<std::atomic<uint64_t>*> drawn_seeds(const Node& node) {
  std::vector<std::atomic<uint64_t>*> seeds;
  collect_seeds(node, seeds);
  return seeds;
}

std::vector<uint64_t> seeds_in(const Pass& pass, const Node& node) {
  std::vector<uint64_t> seeds;
  for (const auto* seed : drawn_seeds(node)) seeds.push_back(seed_in(pass, seed));
  return seeds;
}

std::string describe_chain(const Node& node) { return ChainText().of(node); }

int64_t row_count(const Element& batch) { return batch.tensors().front().shape().front(); }

Element rows_between(const Element& batch, int64_t begin, int64_t end) {
  std::vector<Tensor> tensors;
  for (const Tensor& tensor : batch.tensors()) tensors.push_back(tensor.rows(begin, end));
  return batch.with(std::move(tensors));
}

StreamPtr<Element> elements_of_rows(const Element& table, StreamPtr<Row> rows) {
  return std::make_unique<RowElements>(table, std::move(rows));
}

}  // namespace cornu::data
