// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <unordered_set>

#include "data/serialization/links.h"
#include "data/transforms/transforms.h"

namespace cornu::data {
namespace {

// A position is a count: restoring goes through the earlier elements again, to know which ones to
// drop.
class UniqueStream : public Stream<Element> {
 public:
  explicit UniqueStream(StreamPtr<Element> input) : input_(std::move(input)) {}

  bool next(Element& element) override {
    while (input_->next(element)) {
      const Tensor& tensor = element.tensors().front();
      if (seen_.insert(key_of(tensor)).second) return true;
    }
    return false;
  }

 private:
  static std::string key_of(const Tensor& tensor) {
    std::string key = tensor.shape().to_string();
    if (tensor.dtype() != DType::String) {
      key.append(reinterpret_cast<const char*>(tensor.raw()), tensor.bytes());
      return key;
    }
    for (const std::string& text : tensor.data<std::string>()) {
      key += fmt::format(":{}:", text.size());
      key += text;
    }
    return key;
  }

  StreamPtr<Element> input_;
  std::unordered_set<std::string> seen_;
};

class Unique : public Node {
 public:
  explicit Unique(NodePtr input) : Node({std::move(input)}) {
    const ElementSpec& spec = this->input().spec();
    check<InvalidArgument>(spec.types.size() == 1,
                           "unique: expected elements of one tensor, got {}.", spec.to_string());
  }

  std::optional<int64_t> cardinality() const override {
    const auto items = input().cardinality();
    return items == 0 ? items : std::nullopt;
  }
  std::optional<int64_t> batch_size() const override { return input().batch_size(); }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override { return "unique"; }
  void write(LinkWriter& link) const override { link.kind("unique"); }
  StreamPtr<Element> elements(Pass pass) const override {
    return std::make_unique<UniqueStream>(input().stream(pass));
  }
};

}  // namespace

NodePtr make_unique(NodePtr input) { return std::make_shared<Unique>(std::move(input)); }

NodePtr read_unique(LinkReader& link) { return make_unique(link.input()); }

}  // namespace cornu::data
