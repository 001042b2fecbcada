// SPDX-License-Identifier: Apache-2.0
#include "data/sharding.h"

#include <algorithm>
#include <unordered_map>

#include "data/sources/file_records.h"
#include "data/transforms/transforms.h"

namespace cornu::data {
namespace {

// Rewrites a chain such that links that can read a worker's part do so.
class PartOfChain {
 public:
  explicit PartOfChain(const WorkerPart& part) : part_(part) {}

  NodePtr of(const NodePtr& node) {
    NodePtr& made = made_[node.get()];  // once per link, so that shared links stay shared
    if (!made) made = rewritten(node);
    return made;
  }
  // The number of links that were replaced.
  int64_t parts() const { return parts_; }
  // A source that every worker would read as a whole; null if there is none.
  const Node* whole() const { return whole_; }

 private:
  NodePtr rewritten(const NodePtr& node) {
    if (NodePtr part = node->worker_part(part_)) {
      ++parts_;
      return part;
    }
    if (node->inputs().empty()) whole_ = node.get();
    std::vector<NodePtr> inputs;
    for (const NodePtr& input : node->inputs()) inputs.push_back(of(input));
    return inputs == node->inputs() ? node : node->on_parts(std::move(inputs));
  }

  WorkerPart part_;
  std::unordered_map<const Node*, NodePtr> made_;
  int64_t parts_ = 0;
  const Node* whole_ = nullptr;
};

// The links from the end of the chain down to those that read files.
std::vector<const Node*> links_before_files(const Node& node) {
  return links_of(node, [](const Node& link) { return !link.files(); });
}

// The smallest number of files that a source of the chain reads; nullopt if one reads no files.
std::optional<int64_t> fewest_files(const Node& node) {
  std::optional<int64_t> fewest;
  for (const Node* link : links_before_files(node)) {
    const auto files = link->files();
    if (!files && link->inputs().empty()) return std::nullopt;
    if (files) fewest = std::min(fewest.value_or(*files), *files);
  }
  return fewest;
}

// Whether all links above the files yield the same examples from parts as from the whole.
bool works_on_parts(const Node& node) {
  const auto links = links_before_files(node);
  return std::all_of(links.begin(), links.end(),
                     [](const Node* link) { return link->files() || link->works_on_parts(); });
}

// A worker's batches, followed by empty batches until all workers have had the same number. To find
// out that number, it skims the other workers' batches at the end of its own.
class EqualStepsStream : public Stream<Element> {
 public:
  using Parts = std::vector<NodePtr>;

  EqualStepsStream(const Parts& parts, int64_t index, Pass pass)
      : parts_(parts),
        index_(static_cast<size_t>(index)),
        pass_(pass),
        own_(parts[index_]->stream(pass)) {}

  bool next(Element& element) override {
    if (own_.next(element)) {
      if (empty_.size() == 0) empty_ = rows_between(element, 0, 0);
      return true;
    }
    if (padding_ >= most_padding()) return false;
    if (empty_.size() == 0) empty_ = rows_between(someones(), 0, 0);
    ++padding_;
    element = empty_;
    return true;
  }

  void leave_out(int64_t count, int64_t& left_out) override {
    count -= own_.leave_out(count, left_out);
    if (count == 0) return;
    const int64_t padded = std::min(count, most_padding() - padding_);
    padding_ += padded;
    left_out += padded;
  }

  Json save() const override {
    Json input = own_.save();
    if (input.is_null()) return {};
    return Json::object({{"input", std::move(input)}, {"padding", padding_}});
  }
  void restore(const Json& state) override {
    own_.restore(streams::saved_part(state, "input"));
    padding_ = streams::saved_count(state, "padding");
  }

 private:
  // Called only when all own batches have been taken.
  int64_t most_padding() {
    if (!most_padding_) {
      int64_t most = own_.taken();
      for (size_t k = 0; k < parts_.size(); ++k) {
        if (k == index_) continue;
        if (parts_[k]->cardinality() == kInfiniteCardinality) {  // this worker's empty batches are
                                                                 // infinite, too
          most = INT64_MAX;
          break;
        }
        most = std::max(most, parts_[k]->elements(pass_)->skip(INT64_MAX));
      }
      most_padding_ = most - own_.taken();
    }
    return *most_padding_;
  }

  Element someones() const {
    Element element;
    const bool found = std::any_of(parts_.begin(), parts_.end(), [&](const NodePtr& part) {
      return part->elements(pass_)->next(element);
    });
    check<Internal>(found, "Dataset: a worker's batches come and go.");
    return element;
  }

  const Parts& parts_;
  size_t index_;
  Pass pass_;
  Input<Element> own_;
  Element empty_;
  int64_t padding_ = 0;
  std::optional<int64_t> most_padding_;
};

class EqualSteps : public Node {
 public:
  EqualSteps(std::vector<NodePtr> parts, int64_t index)
      : Node({parts[static_cast<size_t>(index)]}), parts_(std::move(parts)), index_(index) {
    spec_ = input().spec();
    for (TensorType& type : spec_.types) type.shape[0] = kUnknown;  // the last may be empty
  }

  const ElementSpec& spec() const override { return spec_; }
  std::optional<int64_t> cardinality() const override {
    int64_t most = 0;
    for (const NodePtr& part : parts_) {
      const auto batches = part->cardinality();
      if (!batches || *batches == kInfiniteCardinality) return batches;
      most = std::max(most, *batches);
    }
    return most;
  }
  std::optional<int64_t> batch_size() const override { return input().batch_size(); }
  std::string describe() const override {
    return fmt::format("worker({}, {})", parts_.size(), index_);
  }
  StreamPtr<Element> elements(Pass pass) const override {
    return std::make_unique<EqualStepsStream>(parts_, index_, pass);
  }

 private:
  std::vector<NodePtr> parts_;  // for all workers
  int64_t index_;
  ElementSpec spec_;
};

NodePtr parts_of_sources(const NodePtr& batches, WorkerPart part) {
  std::vector<NodePtr> parts;
  part.counts = std::make_shared<RecordCounts>();
  for (int64_t k = 0; k < part.count; ++k) {
    PartOfChain chain({part.by, part.count, k, part.counts});
    parts.push_back(chain.of(batches));
    if (part.by == WorkerPart::By::Hint) {
      check<InvalidArgument>(chain.parts() > 0,
                             "Dataset: AutoShardPolicy::Hint needs shard(data::kShardHint, "
                             "data::kShardHint) where the dataset is to be divided, this one is "
                             "{}.",
                             describe_chain(*batches));
    } else {
      check<InvalidArgument>(chain.parts() > 0 && !chain.whole(),
                             "Dataset: AutoShardPolicy::{} needs a dataset that reads files, this "
                             "one is {}. Use AutoShardPolicy::Data.",
                             part.by == WorkerPart::By::Files ? "File" : "Record",
                             describe_chain(*batches));
    }
  }
  return std::make_shared<EqualSteps>(std::move(parts), part.index);
}

WorkerShare by_data(const NodePtr& batches, int64_t count, int64_t index) {
  return {make_even_shard(batches, count, index),
          fmt::format("takes one of {} batches in turn", count)};
}

WorkerShare by_files(const NodePtr& batches, int64_t count, int64_t index) {
  return {parts_of_sources(batches, {WorkerPart::By::Files, count, index}),
          "reads files of its own"};
}

WorkerShare by_records(const NodePtr& batches, int64_t count, int64_t index) {
  return {parts_of_sources(batches, {WorkerPart::By::Records, count, index}),
          fmt::format("reads one of {} ranges of each file's records", count)};
}

// Whether the files' records can be divided.
bool has_parts_of_records(const NodePtr& batches) {
  PartOfChain chain({WorkerPart::By::Records, 2, 0, std::make_shared<RecordCounts>()});
  chain.of(batches);
  return chain.parts() > 0 && !chain.whole();
}

WorkerShare everything(const NodePtr& batches) {
  const auto size = batches->batch_size();
  return {batches, fmt::format("sees the whole dataset, in batches of {}",
                               size ? std::to_string(*size) : "an unknown size")};
}

// Divides by files if there is at least one per worker, otherwise by records if possible.
WorkerShare by_policy(const NodePtr& batches, int64_t count, int64_t index) {
  const auto files = fewest_files(*batches);
  const bool too_few = files && *files < count;
  switch (batches->options().distribute.auto_shard_policy) {
    case AutoShardPolicy::Off:
      return everything(batches);
    case AutoShardPolicy::Auto:
      if (!files || !works_on_parts(*batches)) return by_data(batches, count, index);
      if (!too_few) return by_files(batches, count, index);
      return has_parts_of_records(batches) ? by_records(batches, count, index)
                                           : by_data(batches, count, index);
    case AutoShardPolicy::File:
      return too_few && has_parts_of_records(batches) ? by_records(batches, count, index)
                                                      : by_files(batches, count, index);
    case AutoShardPolicy::Record:
      return by_records(batches, count, index);
    case AutoShardPolicy::Hint:
      return {parts_of_sources(batches, {WorkerPart::By::Hint, count, index}),
              "takes its part where shard(kShardHint, kShardHint) stands"};
    case AutoShardPolicy::Data:
      break;
  }
  return by_data(batches, count, index);
}

}  // namespace

bool reads_files(const Node& chain) {
  const auto links = links_of(chain);
  return std::any_of(links.begin(), links.end(), [](const Node* link) { return link->files(); });
}

std::optional<int64_t> count_of_names(const Node& names) {
  const auto count = names.cardinality();
  return count == kInfiniteCardinality ? std::nullopt : count;
}

NodePtr part_of_records(const NodePtr& chain, const WorkerPart& part) {
  if (!works_on_parts(*chain)) return nullptr;
  PartOfChain made(part);
  NodePtr own = made.of(chain);
  return made.parts() > 0 && !made.whole() ? own : nullptr;
}

WorkerShare share_of_worker(const NodePtr& batches, int64_t count, int64_t index) {
  check<InvalidArgument>(count >= 1, "Dataset: expected at least 1 worker, got {}.", count);
  check<InvalidArgument>(0 <= index && index < count,
                         "Dataset: expected a worker in [0, {}), got {}.", count, index);
  if (count == 1) return {batches, ""};
  WorkerShare share = by_policy(batches, count, index);
  share.plan = fmt::format("Dataset: worker {} of {} {}.", index, count, share.plan);
  return share;
}

}  // namespace cornu::data
