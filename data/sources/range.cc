// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "data/serialization/links.h"
#include "data/sources/sources.h"

namespace cornu::data {
namespace {

// Numbers in [start, stop), or (stop, start] counting down, without overflow on the way.
int64_t count_of(int64_t start, int64_t stop, int64_t step) {
  if (step > 0 ? start >= stop : start <= stop) return 0;
  const uint64_t distance = step > 0 ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start)
                                     : static_cast<uint64_t>(start) - static_cast<uint64_t>(stop);
  const uint64_t stride =
      step > 0 ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
  return static_cast<int64_t>(
      std::min<uint64_t>((distance - 1) / stride + 1, std::numeric_limits<int64_t>::max()));
}

class RangeStream : public Stream<Element> {
 public:
  RangeStream(int64_t start, int64_t step, int64_t count)
      : start_(start), step_(step), count_(count) {}

  bool next(Element& element) override {
    if (next_ == count_) return false;
    // Unsigned: a product may wrap around on its way to a sum that doesn't.
    element = Element(Tensor::scalar(
        static_cast<int64_t>(static_cast<uint64_t>(start_) +
                             static_cast<uint64_t>(step_) * static_cast<uint64_t>(next_))));
    ++next_;
    return true;
  }
  int64_t skip(int64_t count) override {
    const int64_t skipped = std::min(count, count_ - next_);
    next_ += skipped;
    return skipped;
  }

 private:
  int64_t start_;
  int64_t step_;
  int64_t count_;
  int64_t next_ = 0;
};

class Range : public Node {
 public:
  Range(int64_t start, int64_t stop, int64_t step) : start_(start), stop_(stop), step_(step) {
    check<InvalidArgument>(step != 0, "range: expected a step other than 0.");
    count_ = count_of(start, stop, step);
  }

  const ElementSpec& spec() const override { return spec_; }
  std::optional<int64_t> cardinality() const override { return count_; }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override {
    return fmt::format("range({}, {}, {})", start_, stop_, step_);
  }
  void write(LinkWriter& link) const override {
    link.kind("range")("start", start_)("stop", stop_)("step", step_);
  }
  StreamPtr<Element> elements(Pass) const override {
    return std::make_unique<RangeStream>(start_, step_, count_);
  }

 private:
  int64_t start_;
  int64_t stop_;
  int64_t step_;
  int64_t count_ = 0;
  ElementSpec spec_ = spec_of(Tensor::scalar(int64_t{0}));
};

}  // namespace

NodePtr make_range(int64_t start, int64_t stop, int64_t step) {
  return std::make_shared<Range>(start, stop, step);
}

NodePtr read_range(LinkReader& link) {
  const auto start = link.get<int64_t>("start");
  return make_range(start, link.get<int64_t>("stop"), link.get<int64_t>("step"));
}

}  // namespace cornu::data
