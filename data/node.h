// SPDX-License-Identifier: Apache-2.0
// The nodes of a dataset's chain.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "data/element.h"
#include "data/options.h"
#include "data/stage.h"
#include "framework/strategy/batch_source.h"
#include "framework/strategy/pass_counter.h"
#include "framework/strategy/streams.h"

namespace cornu::data {

using streams::Failures;
using streams::Input;
using streams::Passed;
using streams::Row;
using streams::saturating_product;
using streams::saturating_sum;
using streams::Stream;
using streams::StreamPtr;

class Node;
struct Iteration;

// Identifies a pass over a node: the same pass yields the same items. Nodes that go over their
// input several times (repeat) number the passes below themselves.
struct Pass {
  uint64_t id = 0;
  // State shared by all streams of an iterator, which it outlives. Null when nobody iterates.
  const Iteration* iteration = nullptr;
  // In a measured pass, the stage that a stream belongs to; set by Node::stream.
  Stage* stage = nullptr;
  const Node* consumer = nullptr;  // the node of that stage; alive while it opens its inputs
  // Whether elements may come in any order, i.e. no downstream link depends on it; set by
  // Node::stream.
  bool any_order = false;
  // Whether any single element will do. Then nothing is shuffled, cached or prefetched.
  bool sample = false;
  // Whether a downstream link continues after elements that fail, as ignore_errors does.
  Failures failures = Failures::EndPass;

  static Pass for_sample();
  Pass below(int64_t repetition) const;
  // The pass for a dataset that was already used `number` times in this one; the same pass for 0.
  Pass of_use(int64_t number) const;
};

class LinkWriter;
class Node;
using NodePtr = std::shared_ptr<const Node>;

// A seed shared by the copies of a node. Restoring a position writes it, for iterators that begin
// later. Thread-safe.
class SharedSeed {
 public:
  explicit SharedSeed(uint64_t seed) : seed_(std::make_shared<std::atomic<uint64_t>>(seed)) {}

  // The value when the pass's iterator began, or the one in the position restored by that iterator.
  uint64_t in(const Pass& pass) const;
  std::atomic<uint64_t>* get() const { return seed_.get(); }

 private:
  std::shared_ptr<std::atomic<uint64_t>> seed_;
};

// The links that shuffle in a new order in each pass, in the chains that end at some given links.
struct Shuffles {
  static constexpr size_t kFew = 8;
  // The number of paths to each link, if there are only a few; otherwise only the range of their
  // numbers is known.
  std::vector<std::pair<const Node*, int64_t>> few = {};
  bool are_few = true;
  uint64_t first = UINT64_MAX;
  uint64_t last = 0;

  void add(const Shuffles& other);
  void add(const Node& link, uint64_t number, int64_t paths);
  // False if the two certainly have no link in common.
  bool may_share(const Shuffles& other) const;
  // If both are few: the most paths in this one to a link that is in both; 0 if there is none.
  int64_t most_of(const Shuffles& other) const;
};

class RecordCounts;

// The part of a link's elements that worker `index` of `count` gets.
struct WorkerPart {
  enum class By { Files, Records, Hint };
  By by = By::Files;
  int64_t count = 1;
  int64_t index = 0;
  std::shared_ptr<RecordCounts> counts = {};  // by file, when dividing by records
};

// A source, or a transform of other nodes. Immutable, except for state that iterators leave for
// later ones (the number of passes, caches), which is guarded, so that threads may share nodes.
class Node : public std::enable_shared_from_this<Node> {
 public:
  // Throws ResourceExhausted when the chain has more links in a row than a thread's stack can
  // handle.
  explicit Node(std::vector<NodePtr> inputs = {});
  virtual ~Node();
  Node& operator=(const Node&) = delete;

  const std::vector<NodePtr>& inputs() const { return inputs_; }
  const Node& input() const { return *inputs_.front(); }

  virtual const ElementSpec& spec() const { return input().spec(); }
  // Number of elements in a pass: nullopt when unknown, kInfiniteCardinality when it never ends.
  virtual std::optional<int64_t> cardinality() const { return input().cardinality(); }
  // The maximum number of examples in an element, if elements are known to be batches. Transforms
  // that keep elements or their rows pass it on.
  virtual std::optional<int64_t> batch_size() const { return std::nullopt; }
  // The merged options of all links in the chain; where they differ, the most downstream link wins.
  Options options() const;
  // This link's options; null if it sets none.
  virtual const Options* own_options() const { return nullptr; }
  // Describes this link alone, with everything its items depend on: "shuffle(buffer_size=100,
  // seed=7)".
  virtual std::string describe() const = 0;

  virtual StreamPtr<Element> elements(Pass pass) const = 0;
  // Like elements() and rows(), but measured if the pass is. Transforms and iterators open their
  // inputs with these.
  StreamPtr<Element> stream(Pass pass) const;
  StreamPtr<Row> row_stream(Pass pass) const;
  // An element representative of a pass: the first one, or another that is cheaper to get. nullopt
  // when there is none.
  virtual std::optional<Element> sample() const;

  // If every element is a row of one table of tensors, returns that table: transforms then work on
  // row indices, and batch() copies each row once, straight into its batch. Otherwise returns null.
  virtual const Element* table() const { return nullptr; }
  // The row indices of a pass. Requires a table.
  virtual StreamPtr<Row> rows(Pass pass) const;

  // The automatically drawn seed of a shuffle without a seed, or of a map that draws random
  // numbers. A saved position contains it, and restoring writes it here.
  virtual std::atomic<uint64_t>* drawn_seed() const { return nullptr; }
  // Serializes this link for another process (data/serialization/link.h). Throws
  // FailedPrecondition, saying why and what to do, if it can't be serialized.
  virtual void write(LinkWriter& link) const;

  // For a link that reads files of records: the number of files, if known.
  virtual std::optional<int64_t> files() const { return std::nullopt; }
  // For links that can be divided among workers: a link that yields the given part. Null for
  // others.
  virtual NodePtr worker_part(const WorkerPart&) const { return nullptr; }
  // Like with_inputs(), for inputs some of which yield only a worker's part: leaves out claims
  // about the whole.
  virtual NodePtr on_parts(std::vector<NodePtr> inputs) const {
    return with_inputs(std::move(inputs));
  }
  // Whether this link applied to the parts of its input yields, in total, the same examples as
  // applied to the whole input.
  virtual bool works_on_parts() const { return false; }

  // If each element is one of equally many parts of an element of another chain, returns that
  // chain. A position in one is a position in the other. Otherwise returns this node.
  virtual const Node& whole() const { return *this; }
  // The input, if `parts` elements are made of each of its elements. Otherwise null.
  virtual const Node* divided_into(int64_t parts) const {
    static_cast<void>(parts);
    return nullptr;
  }

  // Whether it shuffles, or makes other random choices, differently in each pass.
  virtual bool is_reshuffled() const { return false; }
  // Whether passes over it may differ even if those over its inputs don't.
  virtual bool varies() const { return is_reshuffled() || drawn_seed() != nullptr; }

  // Whether its elements are just as good when its input comes in any order, and it takes each
  // input element only once, even after a position was restored.
  virtual bool takes_any_order() const { return false; }

  // If a function makes datasets of the elements, returns the first dataset. It contains everything
  // the function has captured that has its own seeds. Otherwise null.
  virtual const Node* first_inner() const { return nullptr; }

  // For passes over the chain that ends here.
  PassCounter& passes() const { return passes_; }
  StatisticsHistory& statistics() const { return statistics_; }

  // The same link with other inputs, of the same types as its own; itself if the inputs are its
  // own. Both draw random numbers from the same seeds, also after a position is restored; passes
  // are counted separately, and state left by iterators isn't shared. Throws InvalidArgument for
  // inputs of other types, Unimplemented, naming the link, if it has no clone().
  NodePtr with_inputs(std::vector<NodePtr> inputs) const;

 protected:
  // Used by clone(): copies options and seeds, but no state left by passes.
  Node(const Node& other)
      : std::enable_shared_from_this<Node>(),
        inputs_(other.inputs_),
        depth_(other.depth_),
        uses_(other.uses_),
        shuffles_below_(other.shuffles_below_) {}
  // Implemented as `return copy_of(*this);` when copying is sufficient.
  virtual std::shared_ptr<Node> clone() const;
  template <class Self>
  static std::shared_ptr<Node> copy_of(const Self& self) {
    return std::make_shared<Self>(self);
  }
  // The batch_size() of all inputs; nullopt if they differ.
  std::optional<int64_t> batch_size_of_inputs() const;
  // Called on a clone that has new inputs, before it is visible to anyone else.
  virtual void inputs_changed() {}
  // For nodes with several inputs: a dataset used by two of them, such as d in zip({d, d}), is
  // shuffled differently for the second one, as in tf.data.
  Pass pass_of_input(size_t index, Pass pass) const;

 private:
  void look_at_inputs();
  void find_uses();
  Shuffles shuffles() const;
  static uint64_t next_number();

  std::vector<NodePtr> inputs_;
  const uint64_t number_ = next_number();  // increasing along a chain
  int64_t depth_ = 1;                      // number of links in a row
  // For nodes with several inputs: how often each input's shuffles are used by earlier inputs.
  std::vector<int64_t> uses_;
  Shuffles shuffles_below_;
  mutable PassCounter passes_;
  mutable StatisticsHistory statistics_;
};

// The links of the chain, inputs first, each listed once even if used repeatedly. Doesn't descend
// below links for which `goes_below` returns false.
std::vector<const Node*> links_of(const Node& last,
                                  const std::function<bool(const Node&)>& goes_below = {});

// The automatically drawn seeds of the chain's links.
std::vector<std::atomic<uint64_t>*> drawn_seeds(const Node& node);

// The values of drawn_seeds() in a pass.
std::vector<uint64_t> seeds_in(const Pass& pass, const Node& node);

// The chain as text, sources first: "tensor_slices(…) | shuffle(…) | batch(…)". A link that is used
// again is referred to by its number in the text: "link 0 again".
std::string describe_chain(const Node& node);

// The elements for the given row indices.
StreamPtr<Element> elements_of_rows(const Element& table, StreamPtr<Row> rows);

// The number of examples in an element that is a batch, and a view of those in [begin, end).
int64_t row_count(const Element& batch);
Element rows_between(const Element& batch, int64_t begin, int64_t end);

// Base class of transforms that pass on their input's items unchanged; works on row indices if
// there is a table. Self has a member template <class Item> StreamPtr<Item> open(Pass) const. A
// transform that drops items should override sample() with sample_without_them(), as the dropped
// ones may be impossible to compute.
template <class Self>
class ItemTransform : public Node {
 public:
  explicit ItemTransform(NodePtr input) : Node({std::move(input)}) {}

  const Element* table() const final { return input().table(); }
  std::optional<Element> sample() const override { return input().sample(); }
  std::optional<int64_t> batch_size() const override { return input().batch_size(); }
  std::shared_ptr<Node> clone() const override { return copy_of(self()); }
  StreamPtr<Row> rows(Pass pass) const final {
    pass.failures = Failures::EndPass;  // row indices don't fail
    return self().template open<Row>(pass);
  }
  StreamPtr<Element> elements(Pass pass) const final {
    if (const Element* rows_of = table()) return elements_of_rows(*rows_of, rows(pass));
    return self().template open<Element>(pass);
  }

 protected:
  template <class Item>
  StreamPtr<Item> open_input(Pass pass) const {
    if constexpr (std::is_same_v<Item, Row>) {
      return input().row_stream(pass);
    } else {
      return input().stream(pass);
    }
  }
  // The first item that is kept; one of the input's if none is.
  std::optional<Element> sample_without_them() const {
    auto first = Node::sample();
    return first ? first : input().sample();
  }

 private:
  const Self& self() const { return static_cast<const Self&>(*this); }
};

}  // namespace cornu::data
