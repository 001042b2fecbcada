// SPDX-License-Identifier: Apache-2.0
#include "data/node.h"

#include <algorithm>
#include <map>

#include "data/iteration.h"
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
  int64_t skip(int64_t count) override { return rows_->skip(count); }
  Json save() const override { return rows_->save(); }
  void restore(const Json& state) override { rows_->restore(state); }

 private:
  Element table_;
  StreamPtr<Row> rows_;
};

void count_uses(const Node& node, std::map<const Node*, int64_t>& uses) {
  for (const NodePtr& input : node.inputs()) count_uses(*input, uses);
  if (node.is_reshuffled()) ++uses[&node];
}

void collect_seeds(const Node& node, std::vector<std::atomic<uint64_t>*>& seeds) {
  for (const NodePtr& input : node.inputs()) collect_seeds(*input, seeds);
  if (const Node* inner = node.first_inner()) collect_seeds(*inner, seeds);
  if (auto* seed = node.drawn_seed()) seeds.push_back(seed);
}

// The stage of `node` in a pass that is measured: its pass, and null in others.
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

Node::Node(std::vector<NodePtr> inputs) : inputs_(std::move(inputs)) { find_uses(); }

void Node::find_uses() {
  uses_.clear();
  if (inputs_.size() < 2) return;
  std::map<const Node*, int64_t> before;
  for (const NodePtr& input : inputs_) {
    std::map<const Node*, int64_t> here;
    count_uses(*input, here);
    int64_t most = 0;
    for (const auto& [node, count] : here) {
      int64_t& uses = before[node];
      most = std::max(most, uses);
      uses += count;
    }
    uses_.push_back(most);
  }
}

Pass Node::pass_of_input(size_t index, Pass pass) const {
  return pass.of_use(index < uses_.size() ? uses_[index] : 0);
}

std::optional<Element> Node::sample() const {
  Element element;
  if (!elements(Pass())->next(element)) return std::nullopt;
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
  made->find_uses();
  made->inputs_changed();
  return made;
}

std::shared_ptr<Node> Node::clone() const {
  raise<Unimplemented>(
      "{}: it can't be put on other inputs, since its class doesn't override clone().", describe());
}

StreamPtr<Element> Node::stream(Pass pass) const {
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

StreamPtr<Row> Node::rows(Pass) const { raise<Internal>("{}: it has no table.", describe()); }

std::vector<std::atomic<uint64_t>*> drawn_seeds(const Node& node) {
  std::vector<std::atomic<uint64_t>*> seeds;
  collect_seeds(node, seeds);
  return seeds;
}

std::string describe_chain(const Node& node) {
  std::string text;
  for (const NodePtr& input : node.inputs()) {
    if (!text.empty()) text += " & ";
    text += describe_chain(*input);
  }
  if (node.inputs().size() > 1) text = "(" + text + ")";
  return text.empty() ? node.describe() : text + " | " + node.describe();
}

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
