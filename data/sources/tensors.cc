// SPDX-License-Identifier: Apache-2.0
#include "data/serialization/links.h"
#include "data/sources/host.h"
#include "data/sources/sources.h"

namespace cornu::data {
namespace {

class OneElement : public Stream<Element> {
 public:
  explicit OneElement(const Element& element) : element_(element) {}

  bool next(Element& element) override {
    if (given_) return false;
    given_ = true;
    element = element_;
    return true;
  }

 private:
  Element element_;
  bool given_ = false;
};

class FromTensors : public Node {
 public:
  explicit FromTensors(const Element& element)
      : element_(on_host(element, "from_tensors")), spec_(spec_of(element_)) {}

  const ElementSpec& spec() const override { return spec_; }
  std::optional<int64_t> cardinality() const override { return 1; }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override { return fmt::format("tensors({})", spec_.to_string()); }
  void write(LinkWriter& link) const override { link.kind("tensors")("tensors", element_); }
  StreamPtr<Element> elements(Pass) const override {
    return std::make_unique<OneElement>(element_);
  }

 private:
  Element element_;
  ElementSpec spec_;
};

}  // namespace

NodePtr make_tensors(const Element& element) { return std::make_shared<FromTensors>(element); }

NodePtr read_tensors(LinkReader& link) { return make_tensors(link.get<Element>("tensors")); }

}  // namespace cornu::data
