// SPDX-License-Identifier: Apache-2.0
// The links of a dataset's chain.
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
using streams::Stream;
using streams::StreamPtr;

class Node;
struct Iteration;

// Which pass over a node this is: the same pass gives the same items. Nodes that go over their
// input several times (repeat) number the passes below themselves.
struct Pass {
  uint64_t id = 0;
  // What all streams of an iterator share: it outlives them. Null where nobody iterates.
  const Iteration* iteration = nullptr;
  // Where the pass is measured, the stage that a stream belongs to; set by Node::stream.
  Stage* stage = nullptr;
  const Node* consumer = nullptr;  // whose stage that is; alive while it opens its inputs
  // May elements come in any order? Where none of the links above cares; set by Node::stream.
  bool any_order = false;
  // Is any one of the elements all that is asked for? Then nothing is shuffled, kept or made ahead.
  bool sample = false;
  // Does a link above go on behind elements that fail, as ignore_errors does?
  Failures failures = Failures::EndPass;

  static Pass for_sample();
  Pass below(int64_t repetition) const;
  // Of a dataset that was used so often before in this one; the same for 0.
  Pass of_use(int64_t number) const;
};

class LinkWriter;
class Node;
using NodePtr = std::shared_ptr<const Node>;

// A seed that copies of a node share: a restored position writes it, for iterators that begin
// later. Thread-safe.
class SharedSeed {
 public:
  explicit SharedSeed(uint64_t seed) : seed_(std::make_shared<std::atomic<uint64_t>>(seed)) {}

  // As it was when the pass's iterator began, or as that one's position has it.
  uint64_t in(const Pass& pass) const;
  std::atomic<uint64_t>* get() const { return seed_.get(); }

 private:
  std::shared_ptr<std::atomic<uint64_t>> seed_;
};

// Links that shuffle anew in each pass, in the chains that end at some links.
struct Shuffles {
  static constexpr size_t kFew = 8;
  // How many paths lead to each, where they are few; else only between which numbers they have.
  std::vector<std::pair<const Node*, int64_t>> few = {};
  bool are_few = true;
  uint64_t first = UINT64_MAX;
  uint64_t last = 0;

  void add(const Shuffles& other);
  void add(const Node& link, uint64_t number, int64_t paths);
  // False where there is none in both for sure.
  bool may_share(const Shuffles& other) const;
  // Where both are few: the most paths in this one to a link that is in both; 0 where none is.
  int64_t most_of(const Shuffles& other) const;
};

class RecordCounts;

// Worker `index` of `count`'s part of what a link gives.
struct WorkerPart {
  enum class By { Files, Records, Hint };
  By by = By::Files;
  int64_t count = 1;
  int64_t index = 0;
  std::shared_ptr<RecordCounts> counts = {};  // of files, where they are read by records
};

// A source, or a transform of other nodes. Immutable, but for what iterators leave for later ones
// (the number of passes, caches), which is guarded; so nodes may be shared between threads.
class Node : public std::enable_shared_from_this<Node> {
 public:
  // ResourceExhausted for a chain of more links behind one another than a thread's stack is for.
  explicit Node(std::vector<NodePtr> inputs = {});
  virtual ~Node();
  Node& operator=(const Node&) = delete;

  const std::vector<NodePtr>& inputs() const { return inputs_; }
  const Node& input() const { return *inputs_.front(); }

  virtual const ElementSpec& spec() const { return input().spec(); }
  // Elements of a pass: nullopt when unknown, kInfiniteCardinality when it never ends.
  virtual std::optional<int64_t> cardinality() const { return input().cardinality(); }
  // The most examples in an element, where elements are batches for sure: transforms that keep
  // elements, or their rows, pass it on.
  virtual std::optional<int64_t> batch_size() const { return std::nullopt; }
  // Those of all links of the chain; what stands further up counts where they differ.
  Options options() const;
  // What this link says; null where it says nothing.
  virtual const Options* own_options() const { return nullptr; }
  // This link alone, with what its items depend on: "shuffle(buffer_size=100, seed=7)".
  virtual std::string describe() const = 0;

  virtual StreamPtr<Element> elements(Pass pass) const = 0;
  // The same, measured where the pass is: what transforms and iterators open their inputs by.
  StreamPtr<Element> stream(Pass pass) const;
  StreamPtr<Row> row_stream(Pass pass) const;
  // An element as those of a pass are: the first one, or another that costs less to have. nullopt
  // when there is none.
  virtual std::optional<Element> sample() const;

  // Where every element is a row of one table of tensors, transforms work on row numbers and
  // batch() copies each row once, straight into its batch. Null otherwise.
  virtual const Element* table() const { return nullptr; }
  // The row numbers of a pass. Only where there is a table.
  virtual StreamPtr<Row> rows(Pass pass) const;

  // The seed of a shuffle that was given none, or of a map that draws random numbers: a saved
  // position keeps it, and restores it here.
  virtual std::atomic<uint64_t>* drawn_seed() const { return nullptr; }
  // What another process makes this link of (data/serialization/link.h). FailedPrecondition, saying
  // why and what to do, where it can't travel.
  virtual void write(LinkWriter& link) const;

  // Of a link that reads files of records: how many, where that is known.
  virtual std::optional<int64_t> files() const { return std::nullopt; }
  // Where workers' parts are taken: the link that gives this part. Null elsewhere.
  virtual NodePtr worker_part(const WorkerPart&) const { return nullptr; }
  // The same on inputs of which some give a worker's part of what its own give: without what is
  // said of the whole.
  virtual NodePtr on_parts(std::vector<NodePtr> inputs) const {
    return with_inputs(std::move(inputs));
  }
  // Are the examples that parts of the input give, together, those that the input gives?
  virtual bool works_on_parts() const { return false; }

  // Where each element is one of equally many parts of an element of another chain: that chain. A
  // place in one is the place in the other. Itself elsewhere.
  virtual const Node& whole() const { return *this; }
  // The input, where this many elements are made of each of its elements. Null elsewhere.
  virtual const Node* divided_into(int64_t parts) const {
    static_cast<void>(parts);
    return nullptr;
  }

  // Whether it shuffles, or draws what comes next, anew in each pass.
  virtual bool is_reshuffled() const { return false; }
  // Whether passes over it may differ where those over its inputs don't.
  virtual bool varies() const { return is_reshuffled() || drawn_seed() != nullptr; }

  // Does it give as good elements of an input whose elements come in any order, and take each but
  // once, also after a position was restored?
  virtual bool takes_any_order() const { return false; }

  // Where a function makes datasets of the elements: the first one. What the function has captured
  // is in it, with seeds of its own. Null where there is none.
  virtual const Node* first_inner() const { return nullptr; }

  // Of passes over the chain that ends here.
  PassCounter& passes() const { return passes_; }
  StatisticsHistory& statistics() const { return statistics_; }

  // The same link on other inputs, of the same kinds as its own; itself on its own. What is random
  // in both is drawn from the same seeds, also after a position is restored; passes are counted
  // apart, and nothing that iterators left is shared. InvalidArgument for other inputs,
  // Unimplemented, naming the link, where it has no clone().
  NodePtr with_inputs(std::vector<NodePtr> inputs) const;

 protected:
  // What clone() copies: options and seeds, nothing of what passes left.
  Node(const Node& other)
      : std::enable_shared_from_this<Node>(),
        inputs_(other.inputs_),
        depth_(other.depth_),
        uses_(other.uses_),
        shuffles_below_(other.shuffles_below_) {}
  // `return copy_of(*this);` where copying is all there is to do.
  virtual std::shared_ptr<Node> clone() const;
  template <class Self>
  static std::shared_ptr<Node> copy_of(const Self& self) {
    return std::make_shared<Self>(self);
  }
  // What batch_size() is of all inputs; null where they differ.
  std::optional<int64_t> batch_size_of_inputs() const;
  // A clone has got other inputs, before anybody else sees it.
  virtual void inputs_changed() {}
  // Of several inputs: what is below two of them, as d in zip({d, d}), is shuffled anew by the
  // second one, as in tf.data.
  Pass pass_of_input(size_t index, Pass pass) const;

 private:
  void look_at_inputs();
  void find_uses();
  Shuffles shuffles() const;
  static uint64_t next_number();

  std::vector<NodePtr> inputs_;
  const uint64_t number_ = next_number();  // grows along a chain
  int64_t depth_ = 1;                      // links behind one another
  // Of several inputs, how often what shuffles in each is used by those before.
  std::vector<int64_t> uses_;
  Shuffles shuffles_below_;
  mutable PassCounter passes_;
  mutable StatisticsHistory statistics_;
};

// The links of the chain, inputs first, each once however often it is used; without what lies below
// those that `goes_below` is false of.
std::vector<const Node*> links_of(const Node& last,
                                  const std::function<bool(const Node&)>& goes_below = {});

// The seeds of those links of the chain that weren't given one.
std::vector<std::atomic<uint64_t>*> drawn_seeds(const Node& node);

// The same, as they are in a pass.
std::vector<uint64_t> seeds_in(const Pass& pass, const Node& node);

// The chain as text, sources first: "tensor_slices(…) | shuffle(…) | batch(…)". What is used a
// second time is named by its number among the links that stand there: "link 0 again".
std::string describe_chain(const Node& node);

// The elements that row numbers stand for.
StreamPtr<Element> elements_of_rows(const Element& table, StreamPtr<Row> rows);

// The examples of an element that is a batch, and those in [begin, end), not copied.
int64_t row_count(const Element& batch);
Element rows_between(const Element& batch, int64_t begin, int64_t end);

// A transform that passes its input's items on, whatever they are: it works on row numbers where
// there is a table. Self has a member template <class Item> StreamPtr<Item> open(Pass) const.
// Where some of them are left out, nobody may be able to make those: it overrides sample() by
// sample_without_them().
template <class Self>
class ItemTransform : public Node {
 public:
  explicit ItemTransform(NodePtr input) : Node({std::move(input)}) {}

  const Element* table() const final { return input().table(); }
  std::optional<Element> sample() const override { return input().sample(); }
  std::optional<int64_t> batch_size() const override { return input().batch_size(); }
  std::shared_ptr<Node> clone() const override { return copy_of(self()); }
  StreamPtr<Row> rows(Pass pass) const final {
    pass.failures = Failures::EndPass;  // numbers don't fail
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
  // The first that is left; one of the input's where none is.
  std::optional<Element> sample_without_them() const {
    auto first = Node::sample();
    return first ? first : input().sample();
  }

 private:
  const Self& self() const { return static_cast<const Self&>(*this); }
};

}  // namespace cornu::data
