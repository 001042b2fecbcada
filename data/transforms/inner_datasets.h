// SPDX-License-Identifier: Apache-2.0
// Datasets that a function makes of elements during iteration.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/node.h"

namespace cornu::data {

// Elements that form a dataset: those of a window, or of a group with its key.
struct Window {
  std::vector<Element> elements;
  std::vector<int64_t> numbers;  // of the elements, in the input
  int64_t key = 0;
};

using MakeNode = std::function<NodePtr(const Element&)>;
using MakeNodeOfWindow = std::function<NodePtr(const Window&)>;

// A dataset of the elements of a window.
NodePtr make_window_elements(const Window& window, const ElementSpec& spec);

// A stream of one of these datasets. Throws InvalidArgument for elements that don't conform to
// `spec`.
class InnerStream : public Stream<Element> {
 public:
  InnerStream(NodePtr node, Pass pass, const ElementSpec& spec, const char* who);

  bool next(Element& element) override;
  void leave_out(int64_t count, int64_t& left_out) override {
    elements_->leave_out(count, left_out);
  }
  Json save() const override { return elements_->save(); }
  void restore(const Json& state) override { elements_->restore(state); }

 private:
  NodePtr node_;
  const ElementSpec& spec_;  // outlives the stream
  const char* who_;
  StreamPtr<Element> elements_;
};

// The function, the spec of its datasets' elements, and the seed for random choices in them. Outer
// is Element or Window.
template <class Outer>
class InnerDatasets {
 public:
  using Make = std::function<NodePtr(const Outer&)>;

  // Without a signature, the spec is that of the dataset of the first item (read with `open`), with
  // all axes unknown; if there are no windows, that of an empty window's dataset.
  InnerDatasets(Make make, const std::optional<ElementSpec>& signature,
                const std::function<StreamPtr<Outer>()>& open, const char* who);

  const ElementSpec& spec() const { return spec_; }
  const char* who() const { return who_; }
  uint64_t seed(const Pass& pass) const { return seed_.in(pass); }
  std::atomic<uint64_t>* drawn_seed() const { return seed_.get(); }
  // The dataset of the first item; null if a signature was given.
  const Node* first() const { return first_.get(); }
  // The dataset of the first of `items`, created here if necessary; null if there is none.
  NodePtr example(StreamPtr<Outer> items) const;
  // Restricts each of the datasets to the given part of its files' records.
  void read_part(const WorkerPart& part);
  // The dataset of item `number` of a pass. Random numbers drawn by its function depend only on
  // these arguments.
  StreamPtr<Element> open(const Outer& outer, int64_t number, Pass pass, uint64_t seed) const;

 private:
  NodePtr made(const Outer& outer, int64_t number) const;
  // The dataset of an empty window; null if the function fails for it, and when Outer is Element.
  NodePtr of_nothing() const;

  Make make_;
  const char* who_;
  SharedSeed seed_;
  ElementSpec spec_;
  NodePtr first_;
};

// A link that yields the elements of the datasets that a function makes of its input's elements.
class DatasetOfEach : public Node {
 public:
  DatasetOfEach(NodePtr input, MakeNode f, const std::optional<ElementSpec>& signature,
                const char* who);

  const ElementSpec& spec() const override { return datasets_.spec(); }
  std::optional<int64_t> cardinality() const override { return std::nullopt; }
  bool works_on_parts() const override { return true; }
  // If the datasets read files, each element of the input counts as one file.
  std::optional<int64_t> files() const override;
  NodePtr worker_part(const WorkerPart& part) const override;
  std::atomic<uint64_t>* drawn_seed() const override { return datasets_.drawn_seed(); }
  const Node* first_inner() const override { return datasets_.first(); }
  void write(LinkWriter& link) const override;

 protected:
  const InnerDatasets<Element>& datasets() const { return datasets_; }
  // "; range 1 of 2", if a worker reads only that part of each file.
  const std::string& range() const { return range_; }

 private:
  InnerDatasets<Element> datasets_;
  std::string range_;
};

// The elements of the datasets of all items, one dataset after another.
template <class Outer>
class FlatStream : public Stream<Element> {
 public:
  // `datasets` must outlive the stream.
  FlatStream(StreamPtr<Outer> outer, const InnerDatasets<Outer>& datasets, Pass pass)
      : outer_(std::move(outer), true),
        datasets_(datasets),
        pass_(pass),
        seed_(datasets.seed(pass)) {}

  bool next(Element& element) override {
    while (has_inner()) {
      if (inner_->next(element)) return true;
      inner_.reset();
    }
    return false;
  }

  void leave_out(int64_t count, int64_t& left_out) override {
    while (count > 0 && has_inner()) {
      count -= inner_->leave_out(count, left_out);
      if (count > 0) inner_.reset();
    }
  }

  Json save() const override {
    Json state = Json::object({{"input", outer_.position(outer_.taken() - (inner_ ? 1 : 0))}});
    if (inner_) state.set("inner", inner_->position());
    return state;
  }
  void restore(const Json& state) override {
    const Json& input = streams::saved_part(state, "input");
    const Json* inner = state.find("inner");
    std::vector<int64_t> held;
    if (inner) held.push_back(streams::saved_count(input, "taken") - 1);
    outer_.restore(input, held, [&](Outer outer) {
      open(outer);
      inner_->restore(*inner);
    });
  }

 private:
  // Opens the next dataset if the last one has ended; returns false after all of them.
  bool has_inner() {
    if (inner_) return true;
    outer_.release(outer_.taken());
    Outer outer;
    if (!outer_.next(outer)) return false;
    open(outer);
    return true;
  }

  void open(const Outer& outer) {
    inner_.emplace(datasets_.open(outer, outer_.taken() - 1, pass_, seed_));
  }

  Input<Outer> outer_;
  const InnerDatasets<Outer>& datasets_;
  Pass pass_;
  uint64_t seed_;
  std::optional<Input<Element>> inner_;
};

}  // namespace cornu::data
