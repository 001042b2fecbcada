// SPDX-License-Identifier: Apache-2.0
#include "data/serialization/links.h"
#include "data/transforms/inner_datasets.h"
#include "data/transforms/transforms.h"

namespace cornu::data {
namespace {

class FlatMapped : public DatasetOfEach {
 public:
  FlatMapped(NodePtr input, MakeNode f, const FlatMapOptions& options)
      : DatasetOfEach(std::move(input), std::move(f), options.output_signature, "flat_map") {}

  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override {
    return fmt::format("flat_map(to {}{})", spec().to_string(), range());
  }
  StreamPtr<Element> elements(Pass pass) const override {
    return std::make_unique<FlatStream<Element>>(input().stream(pass), datasets(), pass);
  }
};

}  // namespace

NodePtr make_flat_map(NodePtr input, MakeNode f, const FlatMapOptions& options) {
  return std::make_shared<FlatMapped>(std::move(input), std::move(f), options);
}

}  // namespace cornu::data
