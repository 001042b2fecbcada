// SPDX-License-Identifier: Apache-2.0
#include "data/serialization/links.h"
#include "data/sources/host.h"
#include "data/sources/sources.h"

namespace cornu::data {
namespace {

class TensorSlices : public Node {
 public:
  explicit TensorSlices(const Element& table) : table_(on_host(table, "from_tensor_slices")) {
    spec_ = spec_of(table_);
    for (size_t i = 0; i < spec_.types.size(); ++i) {
      Shape& shape = spec_.types[i].shape;
      check<InvalidArgument>(shape.rank() > 0,
                             "from_tensor_slices: expected tensors with an axis of examples, but "
                             "tensor {} is a scalar. Use from_tensors for a single element.",
                             i);
      if (i == 0) count_ = shape.front();
      check<InvalidArgument>(shape.front() == count_,
                             "from_tensor_slices: expected equally many examples in all tensors, "
                             "but tensor 0 has {} and tensor {} has {}.",
                             count_, i, shape.front());
      shape = shape.slice(1);
    }
  }

  const ElementSpec& spec() const override { return spec_; }
  std::optional<int64_t> cardinality() const override { return count_; }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override {
    return fmt::format("tensor_slices({} of {})", count_, spec_.to_string());
  }
  const Element* table() const override { return &table_; }
  StreamPtr<Row> rows(Pass) const override { return std::make_unique<streams::RowStream>(count_); }
  void write(LinkWriter& link) const override { link.kind("tensor_slices")("tensors", table_); }
  StreamPtr<Element> elements(Pass pass) const override {
    return elements_of_rows(table_, rows(pass));
  }

 private:
  Element table_;
  ElementSpec spec_;
  int64_t count_ = 0;
};

}  // namespace

NodePtr make_tensor_slices(const Element& table) { return std::make_shared<TensorSlices>(table); }

NodePtr read_tensor_slices(LinkReader& link) {
  return make_tensor_slices(link.get<Element>("tensors"));
}

}  // namespace cornu::data
