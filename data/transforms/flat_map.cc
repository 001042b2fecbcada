// SPDX-License-Identifier: Apache-2.0
#include "data/serialization/links.h"
#include "data/transforms/inner_datasets.h"
#include "data/transforms/transforms.h"

namespace cornu::data {
namespace {

class FlatMapped : public Node {
 public:
  FlatMapped(NodePtr input, MakeNode f, const FlatMapOptions& options)
      : Node({std::move(input)}),
        datasets_(
            std::move(f), options.output_signature, [this] { return this->input().elements({}); },
            "flat_map") {}

  const ElementSpec& spec() const override { return datasets_.spec(); }
  std::optional<int64_t> cardinality() const override { return std::nullopt; }
  std::optional<int64_t> batch_size() const override { return std::nullopt; }
  bool works_on_parts() const override { return true; }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override {
    return fmt::format("flat_map(to {})", spec().to_string());
  }
  std::atomic<uint64_t>* drawn_seed() const override { return datasets_.drawn_seed(); }
  const Node* first_inner() const override { return datasets_.first(); }
  void write(LinkWriter&) const override {
    raise<FailedPrecondition>(
        "{}: it can't be serialized: its function is C++ code that gives datasets, which another "
        "process "
        "hasn't. Iterate it there, or make its elements by map.",
        describe());
  }
  StreamPtr<Element> elements(Pass pass) const override {
    return std::make_unique<FlatStream<Element>>(input().stream(pass), datasets_, pass);
  }

 private:
  InnerDatasets<Element> datasets_;
};

}  // namespace

NodePtr make_flat_map(NodePtr input, MakeNode f, const FlatMapOptions& options) {
  return std::make_shared<FlatMapped>(std::move(input), std::move(f), options);
}

}  // namespace cornu::data
