// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/inner_datasets.h"

#include <algorithm>

#include "data/sharding.h"
#include "data/transforms/transforms.h"
#include "framework/core/random.h"
#include "framework/core/user_code.h"

namespace cornu::data {
namespace {

class ListStream : public Stream<Element> {
 public:
  explicit ListStream(const std::vector<Element>& elements) : elements_(elements) {}

  bool next(Element& element) override {
    if (next_ == std::ssize(elements_)) return false;
    element = elements_[static_cast<size_t>(next_++)];
    return true;
  }
  void leave_out(int64_t count, int64_t& left_out) override {
    const int64_t here = std::min(count, std::ssize(elements_) - next_);
    next_ += here;
    left_out += here;
  }

 private:
  const std::vector<Element>& elements_;  // owned by the node
  int64_t next_ = 0;
};

class WindowElements : public Node {
 public:
  WindowElements(std::vector<Element> elements, const ElementSpec& spec)
      : elements_(std::move(elements)), spec_(spec) {}

  const ElementSpec& spec() const override { return spec_; }
  std::optional<int64_t> cardinality() const override { return std::ssize(elements_); }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override { return fmt::format("window({})", elements_.size()); }
  StreamPtr<Element> elements(Pass) const override {
    return std::make_unique<ListStream>(elements_);
  }

 private:
  std::vector<Element> elements_;
  ElementSpec spec_;
};

}  // namespace

NodePtr make_window_elements(const Window& window, const ElementSpec& spec) {
  return std::make_shared<WindowElements>(window.elements, spec);
}

InnerStream::InnerStream(NodePtr node, Pass pass, const ElementSpec& spec, const char* who)
    : node_(std::move(node)), spec_(spec), who_(who), elements_(node_->stream(pass)) {}

bool InnerStream::next(Element& element) {
  if (!elements_->next(element)) return false;
  const ElementSpec own = spec_of(element);
  check<InvalidArgument>(spec_.admits(own),
                         "{}: expected datasets of elements of the kind {}, got {}. Where they "
                         "differ, give output_signature, with kUnknown for axes that vary.",
                         who_, spec_, own);
  return true;
}

template <class Outer>
InnerDatasets<Outer>::InnerDatasets(Make make, const std::optional<ElementSpec>& signature,
                                    const std::function<StreamPtr<Outer>()>& open, const char* who)
    : make_(std::move(make)), who_(who), seed_(next_seed()) {
  if (signature) {
    spec_ = as_signature(*signature);
    return;
  }
  Outer first;
  const bool any = open()->next(first);
  const SeedSequenceScope seeds(seed({}));
  const NodePtr example = any ? made(first, 0) : of_nothing();
  check<InvalidArgument>(example != nullptr,
                         "{}: expected a first element, from whose dataset the types of all are "
                         "inferred, got none. Pass output_signature if there may be none.",
                         who);
  if (any) first_ = example;
  spec_ = with_unknown_axes(example->spec());
}

template <class Outer>
NodePtr InnerDatasets<Outer>::of_nothing() const {
  if constexpr (std::is_same_v<Outer, Window>) {
    try {
      return make_({});
    } catch (const Error&) {  // the function requires an element
    }
  }
  return nullptr;
}

template <class Outer>
NodePtr InnerDatasets<Outer>::made(const Outer& outer, int64_t number) const {
  NodePtr node = call_user([&] { return fmt::format("{}, element {}", who_, number); },
                           [&] { return make_(outer); });
  check<InvalidArgument>(node != nullptr, "{}: expected a function that gives datasets.", who_);
  return node;
}

template <class Outer>
NodePtr InnerDatasets<Outer>::example(StreamPtr<Outer> items) const {
  Outer first;
  if (first_ || !items->next(first)) return first_;
  const SeedSequenceScope seeds(seed({}));
  return made(first, 0);
}

template <class Outer>
void InnerDatasets<Outer>::read_part(const WorkerPart& part) {
  make_ = [make = make_, part, who = who_](const Outer& outer) {
    const NodePtr whole = make(outer);
    NodePtr own = whole ? part_of_records(whole, part) : nullptr;
    check<InvalidArgument>(!whole || own,
                           "{}: expected a dataset of which a worker can read a part of each file, "
                           "as of the first element's, got {}. Use AutoShardPolicy::Data.",
                           who, whole ? describe_chain(*whole) : "");
    return own;
  };
}

template <class Outer>
StreamPtr<Element> InnerDatasets<Outer>::open(const Outer& outer, int64_t number, Pass pass,
                                              uint64_t seed) const {
  const auto words = philox(seed, static_cast<uint64_t>(number), pass.id);
  const SeedSequenceScope seeds(uint64_t{words[1]} << 32 | words[0]);
  return std::make_unique<InnerStream>(made(outer, number), pass.below(number), spec_, who_);
}

DatasetOfEach::DatasetOfEach(NodePtr input, MakeNode f, const std::optional<ElementSpec>& signature,
                             const char* who)
    : Node({std::move(input)}),
      datasets_(
          std::move(f), signature, [this] { return this->input().elements(Pass::for_sample()); },
          who) {}

std::optional<int64_t> DatasetOfEach::files() const {
  const auto names = count_of_names(input());
  if (!names) return std::nullopt;
  const NodePtr example = datasets_.example(input().elements(Pass::for_sample()));
  return example && reads_files(*example) ? names : std::nullopt;
}

NodePtr DatasetOfEach::worker_part(const WorkerPart& part) const {
  if (part.by == WorkerPart::By::Hint) return nullptr;
  const NodePtr example = datasets_.example(input().elements(Pass::for_sample()));
  if (!example || !reads_files(*example)) return nullptr;
  if (part.by == WorkerPart::By::Files) {
    return with_inputs({make_sharded_sources(inputs().front(), part)});
  }
  if (!part_of_records(example, part)) return nullptr;
  const auto made = std::static_pointer_cast<DatasetOfEach>(clone());
  made->datasets_.read_part(part);
  made->range_ = fmt::format("; range {} of {}", part.index, part.count);
  return made;
}

void DatasetOfEach::write(LinkWriter&) const {
  raise<FailedPrecondition>(
      "{}: it can't be serialized: its function is C++ code that gives datasets, which another "
      "process hasn't. Iterate it there, or make its elements by map.",
      describe());
}

template class InnerDatasets<Element>;
template class InnerDatasets<Window>;

}  // namespace cornu::data
