// SPDX-License-Identifier: Apache-2.0
// Numbers without end.
#include <functional>

#include "data/serialization/links.h"
#include "data/sources/sources.h"
#include "framework/core/random.h"

namespace cornu::data {

template <class Fields>
void visit_fields(Fields& fields, RandomOptions& options) {
  fields("seed", options.seed);
  fields("rerandomize_each_iteration", options.rerandomize_each_iteration);
}

namespace {

class NumberStream : public Stream<Element> {
 public:
  explicit NumberStream(std::function<int64_t(uint64_t)> number) : number_(std::move(number)) {}

  bool next(Element& element) override {
    element = Element(Tensor::scalar(number_(next_++)));
    return true;
  }
  int64_t skip(int64_t count) override {
    next_ += static_cast<uint64_t>(count);
    return count;
  }

 private:
  std::function<int64_t(uint64_t)> number_;
  uint64_t next_ = 0;
};

class Endless : public Node {
 public:
  const ElementSpec& spec() const override { return spec_; }
  std::optional<int64_t> cardinality() const override { return kInfiniteCardinality; }

 private:
  ElementSpec spec_ = spec_of(Tensor::scalar(int64_t{0}));
};

class Counter : public Endless {
 public:
  Counter(int64_t start, int64_t step)
      : start_(static_cast<uint64_t>(start)), step_(static_cast<uint64_t>(step)) {}

  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override {
    return fmt::format("counter({}, {})", static_cast<int64_t>(start_),
                       static_cast<int64_t>(step_));
  }
  void write(LinkWriter& link) const override {
    link.kind("counter")("start", static_cast<int64_t>(start_))("step",
                                                                static_cast<int64_t>(step_));
  }
  StreamPtr<Element> elements(Pass) const override {
    // Unsigned: it wraps around.
    return std::make_unique<NumberStream>([start = start_, step = step_](uint64_t index) {
      return static_cast<int64_t>(start + step * index);
    });
  }

 private:
  uint64_t start_;
  uint64_t step_;
};

class RandomNumbers : public Endless {
 public:
  explicit RandomNumbers(const RandomOptions& options)
      : options_(options), seed_(seed_or_next(options.seed)) {}

  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override {
    return fmt::format("random({}{})", options_.seed ? fmt::format("seed {}", *options_.seed) : "",
                       options_.rerandomize_each_iteration ? ", anew" : "");
  }
  std::atomic<uint64_t>* drawn_seed() const override {
    return options_.seed ? nullptr : seed_.get();
  }
  bool is_reshuffled() const override { return options_.rerandomize_each_iteration; }
  void write(LinkWriter& link) const override { link.kind("random").options(options_); }
  StreamPtr<Element> elements(Pass pass) const override {
    const uint64_t stream = options_.rerandomize_each_iteration ? pass.id : 0;
    return std::make_unique<NumberStream>([seed = seed_.in(pass), stream](uint64_t index) {
      return int64_t{philox(seed, index, stream)[0]};
    });
  }

 private:
  RandomOptions options_;
  SharedSeed seed_;
};

}  // namespace

NodePtr make_counter(int64_t start, int64_t step) { return std::make_shared<Counter>(start, step); }
NodePtr make_random(const RandomOptions& options) {
  return std::make_shared<RandomNumbers>(options);
}

NodePtr read_counter(LinkReader& link) {
  return make_counter(link.get<int64_t>("start"), link.get<int64_t>("step"));
}

NodePtr read_random(LinkReader& link) { return make_random(link.options<RandomOptions>()); }

}  // namespace cornu::data
