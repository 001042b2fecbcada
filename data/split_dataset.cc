// SPDX-License-Identifier: Apache-2.0
#include "data/split_dataset.h"

#include <cmath>
#include "data/serialization/links.h"

#include "data/python_random.h"
#include "data/transforms/transforms.h"
#include "framework/core/random.h"

namespace cornu::data {
namespace {

constexpr const char* kSplitDataset = "split_dataset";

class ElementListStream : public Stream<Element> {
 public:
  explicit ElementListStream(const std::vector<Element>& elements) : elements_(elements) {}
  bool next(Element& element) override {
    if (next_ == elements_.size()) return false;
    element = elements_[next_++];
    return true;
  }
  void leave_out(int64_t count, int64_t& left_out) override {
    const int64_t here =
        std::min<int64_t>(count, std::ssize(elements_) - static_cast<int64_t>(next_));
    next_ += static_cast<size_t>(here);
    left_out += here;
  }

 private:
  const std::vector<Element>& elements_;
  size_t next_ = 0;
};

class ElementList : public Node {
 public:
  ElementList(ElementSpec spec, std::vector<Element> elements, std::string text)
      : spec_(std::move(spec)), elements_(std::move(elements)), text_(std::move(text)) {}
  const ElementSpec& spec() const override { return spec_; }
  std::optional<int64_t> cardinality() const override { return std::ssize(elements_); }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override { return text_; }
  void write(LinkWriter& link) const override {
    std::vector<std::vector<Tensor>> tensors;
    for (const Element& element : elements_) tensors.push_back(element.tensors());
    link.kind("element_list")("element", spec_)("elements", tensors)("text", text_);
  }
  StreamPtr<Element> elements(Pass) const override {
    return std::make_unique<ElementListStream>(elements_);
  }

 private:
  ElementSpec spec_;
  std::vector<Element> elements_;
  std::string text_;
};

std::optional<int64_t> examples_in(const std::optional<SplitSize>& size, const char* what,
                                   int64_t all) {
  if (!size) return std::nullopt;
  if (const auto* count = std::get_if<int64_t>(&*size)) {
    check<InvalidArgument>(*count > 0 && *count < all,
                           "{}: expected a {} between 0 and {} (the examples there are), got {}.",
                           kSplitDataset, what, all, *count);
    return *count;
  }
  const double share = std::get<double>(*size);
  check<InvalidArgument>(share > 0 && share < 1, "{}: expected a {} between 0 and 1, got {}.",
                         kSplitDataset, what, share);
  // Rounds half to even, like Python.
  return static_cast<int64_t>(std::nearbyint(share * static_cast<double>(all)));
}

// The numbers of examples in the left and the right part.
std::pair<int64_t, int64_t> sizes_of(const SplitDatasetOptions& options, int64_t all) {
  check<InvalidArgument>(options.left_size || options.right_size,
                         "{}: expected left_size or right_size, got none.", kSplitDataset);
  const auto left = examples_in(options.left_size, "left_size", all);
  const auto right = examples_in(options.right_size, "right_size", all);
  const int64_t first = left ? *left : all - *right;
  const int64_t last = right ? *right : all - *left;
  check<InvalidArgument>(first > 0 && last > 0 && first <= all - last,
                         "{}: {} examples can't be divided into {} and {}.", kSplitDataset, all,
                         first, last);
  return {first, last};
}

}  // namespace

std::pair<Dataset, Dataset> split_dataset(const Dataset& dataset,
                                          const SplitDatasetOptions& options) {
  check<InvalidArgument>(dataset.cardinality() != kInfiniteCardinality,
                         "{}: the dataset never ends.", kSplitDataset);
  const auto batch_size = dataset.node()->batch_size();
  const Dataset all = batch_size ? dataset.unbatch() : dataset;
  std::vector<Element> examples;
  for (const Element& example : all) examples.push_back(example);
  if (options.shuffle) {
    const auto seed = options.seed.value_or(static_cast<int64_t>(next_seed() >> 32));
    PythonRandom(seed).shuffle(std::span(examples));
  }
  const auto sizes = sizes_of(options, std::ssize(examples));
  const ElementSpec spec = all.element_spec();
  const auto part = [&](auto begin, int64_t count, const char* name) {
    NodePtr node =
        std::make_shared<ElementList>(spec, std::vector<Element>(begin, begin + count),
                                      fmt::format("{}({} of {})", name, count, spec.to_string()));
    if (batch_size) node = make_batch(std::move(node), *batch_size, {});
    return Dataset(make_prefetch(std::move(node), kAutotune));
  };
  return {part(examples.begin(), sizes.first, "split_left"),
          part(examples.end() - sizes.second, sizes.second, "split_right")};
}

NodePtr read_element_list(LinkReader& link) {
  const auto spec = link.get<ElementSpec>("element");
  std::vector<Element> elements;
  for (auto& tensors : link.get<std::vector<std::vector<Tensor>>>("elements")) {
    const bool whole = tensors.size() == spec.types.size() &&
                       std::all_of(tensors.begin(), tensors.end(),
                                   [](const Tensor& tensor) { return tensor.defined(); });
    check<InvalidArgument>(whole, "expected elements of {} tensors.", spec.types.size());
    elements.emplace_back(std::move(tensors), spec.structure);
    check<InvalidArgument>(spec.admits(elements.back()),
                           "expected elements of the kind {}, got {}.", spec,
                           spec_of(elements.back()));
  }
  return std::make_shared<ElementList>(spec, std::move(elements), link.get<std::string>("text"));
}

}  // namespace cornu::data
