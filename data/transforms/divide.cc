// SPDX-License-Identifier: Apache-2.0
#include "data/serialization/links.h"
#include "data/transforms/transforms.h"

namespace cornu::data {
namespace {

class Divided : public Node {
 public:
  Divided(NodePtr input, int64_t parts) : Node({std::move(input)}), parts_(parts) {
    check<InvalidArgument>(parts >= 1, "Dataset: expected at least 1 part of a batch, got {}.",
                           parts);
    spec_ = this->input().spec();
    for (TensorType& type : spec_.types) {
      check<InvalidArgument>(type.shape.rank() > 0,
                             "Dataset: expected batches to divide, but the elements are {}. Call "
                             "batch() first.",
                             this->input().spec().to_string());
      const bool even = type.shape[0] != kUnknown && type.shape[0] % parts == 0;
      type.shape[0] = even ? type.shape[0] / parts : kUnknown;
    }
  }

  const ElementSpec& spec() const override { return spec_; }
  std::optional<int64_t> cardinality() const override {
    const auto batches = input().cardinality();
    if (!batches || *batches <= 0) return batches;
    return saturating_product(*batches, parts_);
  }
  std::optional<int64_t> batch_size() const override {
    const auto whole = input().batch_size();
    return whole ? std::optional(streams::parts_of(*whole, parts_)) : std::nullopt;
  }
  bool works_on_parts() const override { return true; }
  const Node* divided_into(int64_t parts) const override {
    return parts == parts_ ? &input() : nullptr;
  }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override { return fmt::format("divide({})", parts_); }
  void write(LinkWriter& link) const override { link.kind("divide")("parts", parts_); }
  StreamPtr<Element> elements(Pass pass) const override {
    return std::make_unique<streams::DivideStream<Element>>(input().stream(pass), parts_);
  }

 private:
  int64_t parts_;
  ElementSpec spec_;
};

}  // namespace

NodePtr make_divide(NodePtr input, int64_t parts) {
  return std::make_shared<Divided>(std::move(input), parts);
}

NodePtr read_divide(LinkReader& link) {
  return make_divide(link.input(), link.get<int64_t>("parts"));
}

}  // namespace cornu::data
