// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/transforms.h"

namespace cornu::data {
namespace {

class EnumerateStream : public Stream<Element> {
 public:
  EnumerateStream(StreamPtr<Element> input, int64_t start,
                  std::shared_ptr<const Structure> structure)
      : input_(std::move(input)), index_(start), structure_(std::move(structure)) {}

  bool next(Element& element) override {
    if (!input_->next(element)) return false;
    std::vector<Tensor> tensors{Tensor::scalar(index_++)};
    tensors.insert(tensors.end(), element.tensors().begin(), element.tensors().end());
    element = Element(std::move(tensors), structure_);
    return true;
  }
  int64_t skip(int64_t count) override {
    const int64_t skipped = input_->skip(count);
    index_ += skipped;
    return skipped;
  }

 private:
  StreamPtr<Element> input_;
  int64_t index_;
  std::shared_ptr<const Structure> structure_;
};

class Enumerated : public Node {
 public:
  Enumerated(NodePtr input, int64_t start) : Node({std::move(input)}), start_(start) {
    spec_ = tuple_of({spec_of(Tensor::scalar(start)), this->input().spec()});
  }

  const ElementSpec& spec() const override { return spec_; }
  std::string describe() const override { return fmt::format("enumerate({})", start_); }
  StreamPtr<Element> elements(Pass pass) const override {
    return std::make_unique<EnumerateStream>(input().elements(pass), start_, spec_.structure);
  }

 private:
  int64_t start_;
  ElementSpec spec_;
};

}  // namespace

NodePtr make_enumerate(NodePtr input, int64_t start) {
  return std::make_shared<Enumerated>(std::move(input), start);
}

}  // namespace cornu::data
