// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <type_traits>

#include "data/serialization/links.h"
#include "data/sources/sources.h"

namespace cornu::data {
namespace {

// The number of values in [start, stop), or in (stop, start] when counting down, computed without
// overflow.
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
  RangeStream(int64_t start, int64_t step, int64_t count, DType dtype)
      : start_(start), step_(step), count_(count), dtype_(dtype) {}

  bool next(Element& element) override {
    if (next_ == count_) return false;
    // Unsigned, since the product may wrap around even if the sum doesn't overflow.
    const uint64_t number =
        static_cast<uint64_t>(start_) + static_cast<uint64_t>(step_) * static_cast<uint64_t>(next_);
    element = Element(scalar_of(static_cast<int64_t>(number), dtype_));
    ++next_;
    return true;
  }
  void leave_out(int64_t count, int64_t& left_out) override {
    const int64_t here = std::min(count, count_ - next_);
    next_ += here;
    left_out += here;
  }

 private:
  int64_t start_;
  int64_t step_;
  int64_t count_;
  DType dtype_;
  int64_t next_ = 0;
};

class Range : public Node {
 public:
  Range(int64_t start, int64_t stop, int64_t step, DType output_type)
      : start_(start), stop_(stop), step_(step) {
    check<InvalidArgument>(step != 0, "range: expected a step other than 0.");
    require_numbers(output_type, "range", "output_type");
    count_ = count_of(start, stop, step);
    spec_ = spec_of(scalar_of(0, output_type));
  }

  const ElementSpec& spec() const override { return spec_; }
  std::optional<int64_t> cardinality() const override { return count_; }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override {
    return fmt::format("range({}, {}, {}{})", start_, stop_, step_,
                       dtype() == DType::Int64 ? "" : fmt::format(", {}", dtype()));
  }
  void write(LinkWriter& link) const override {
    link.kind("range")("start", start_)("stop", stop_)("step", step_);
    if (dtype() != DType::Int64) link("output_type", dtype());
  }
  StreamPtr<Element> elements(Pass) const override {
    return std::make_unique<RangeStream>(start_, step_, count_, dtype());
  }

 private:
  DType dtype() const { return spec_.types.front().dtype; }

  int64_t start_;
  int64_t stop_;
  int64_t step_;
  int64_t count_ = 0;
  ElementSpec spec_;
};

}  // namespace

void require_numbers(DType dtype, const char* who, const char* argument) {
  check<InvalidArgument>(dtype != DType::Bool && dtype != DType::String,
                         "{}: expected a dtype of numbers as {}, got {}.", who, argument, dtype);
}

Tensor scalar_of(int64_t value, DType dtype) {
  return dispatch_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
      return Tensor::scalar(T(static_cast<float>(value)));
    } else {
      return Tensor::scalar(static_cast<T>(value));
    }
  });
}

NodePtr make_range(int64_t start, int64_t stop, int64_t step, DType output_type) {
  return std::make_shared<Range>(start, stop, step, output_type);
}

NodePtr read_range(LinkReader& link) {
  const auto start = link.get<int64_t>("start");
  const auto type = link.has("output_type") ? link.get<DType>("output_type") : DType::Int64;
  return make_range(start, link.get<int64_t>("stop"), link.get<int64_t>("step"), type);
}

}  // namespace cornu::data
