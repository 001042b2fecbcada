// SPDX-License-Identifier: Apache-2.0
// Infinite sequences of numbers.
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
  NumberStream(std::function<int64_t(uint64_t)> number, DType dtype)
      : number_(std::move(number)), dtype_(dtype) {}

  bool next(Element& element) override {
    element = Element(scalar_of(number_(next_++), dtype_));
    return true;
  }
  void leave_out(int64_t count, int64_t& left_out) override {
    next_ += static_cast<uint64_t>(count);
    left_out += count;
  }

 private:
  std::function<int64_t(uint64_t)> number_;
  DType dtype_;
  uint64_t next_ = 0;
};

class Endless : public Node {
 public:
  explicit Endless(DType dtype) : spec_(spec_of(scalar_of(0, dtype))) {}

  const ElementSpec& spec() const override { return spec_; }
  std::optional<int64_t> cardinality() const override { return kInfiniteCardinality; }

 protected:
  DType dtype() const { return spec_.types.front().dtype; }
  // A stream whose elements are number(index).
  StreamPtr<Element> numbers(std::function<int64_t(uint64_t)> number) const {
    return std::make_unique<NumberStream>(std::move(number), dtype());
  }

 private:
  ElementSpec spec_;
};

class Counter : public Endless {
 public:
  Counter(int64_t start, int64_t step, DType dtype)
      : Endless(dtype), start_(static_cast<uint64_t>(start)), step_(static_cast<uint64_t>(step)) {}

  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override {
    return fmt::format("counter({}, {}{})", static_cast<int64_t>(start_),
                       static_cast<int64_t>(step_),
                       dtype() == DType::Int64 ? "" : fmt::format(", {}", dtype()));
  }
  void write(LinkWriter& link) const override {
    link.kind("counter")("start", static_cast<int64_t>(start_))("step",
                                                                static_cast<int64_t>(step_));
    if (dtype() != DType::Int64) link("dtype", dtype());
  }
  StreamPtr<Element> elements(Pass) const override {
    // Unsigned, so that overflow wraps around.
    return numbers([start = start_, step = step_](uint64_t index) {
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
      : Endless(DType::Int64), options_(options), seed_(seed_or_next(options.seed)) {}

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
    return numbers([seed = seed_.in(pass), stream](uint64_t index) {
      return int64_t{philox(seed, index, stream)[0]};
    });
  }

 private:
  RandomOptions options_;
  SharedSeed seed_;
};

}  // namespace

NodePtr make_counter(int64_t start, int64_t step, DType dtype) {
  require_numbers(dtype, "counter", "dtype");
  return std::make_shared<Counter>(start, step, dtype);
}
NodePtr make_random(const RandomOptions& options) {
  return std::make_shared<RandomNumbers>(options);
}

NodePtr read_counter(LinkReader& link) {
  const auto dtype = link.has("dtype") ? link.get<DType>("dtype") : DType::Int64;
  return make_counter(link.get<int64_t>("start"), link.get<int64_t>("step"), dtype);
}

NodePtr read_random(LinkReader& link) { return make_random(link.options<RandomOptions>()); }

}  // namespace cornu::data
