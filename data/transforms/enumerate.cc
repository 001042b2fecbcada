// SPDX-License-Identifier: Apache-2.0
#include "data/serialization/links.h"
#include "data/transforms/parallel_map.h"
#include "data/transforms/transforms.h"

namespace cornu::data {
namespace {

class Enumerated : public Node {
 public:
  Enumerated(NodePtr input, int64_t start) : Node({std::move(input)}), start_(start) {
    spec_ = tuple_of({spec_of(Tensor::scalar(start)), this->input().spec()});
  }

  const ElementSpec& spec() const override { return spec_; }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override { return fmt::format("enumerate({})", start_); }
  void write(LinkWriter& link) const override { link.kind("enumerate")("start", start_); }
  StreamPtr<Element> elements(Pass pass) const override {
    const auto numbered = [this](const Element& element, int64_t number) {
      int64_t counted = 0;
      check<OutOfRange>(!__builtin_add_overflow(start_, number, &counted),
                        "enumerate: element {} has no number from {} on that fits an int64.",
                        number, start_);
      std::vector<Tensor> tensors{Tensor::scalar(counted)};
      tensors.insert(tensors.end(), element.tensors().begin(), element.tensors().end());
      return Element(std::move(tensors), spec_.structure);
    };
    return make_parallel_map(input().stream(pass), numbered, 1);
  }

 private:
  int64_t start_;
  ElementSpec spec_;
};

}  // namespace

NodePtr make_enumerate(NodePtr input, int64_t start) {
  return std::make_shared<Enumerated>(std::move(input), start);
}

NodePtr read_enumerate(LinkReader& link) {
  return make_enumerate(link.input(), link.get<int64_t>("start"));
}

}  // namespace cornu::data
