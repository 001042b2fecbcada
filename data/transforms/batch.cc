// SPDX-License-Identifier: Apache-2.0
#include "data/serialization/links.h"
#include "data/transforms/transforms.h"
#include "framework/core/rows.h"

namespace cornu::data {

template <class Fields>
void visit_fields(Fields& fields, BatchOptions& options) {
  fields("drop_remainder", options.drop_remainder);
}

namespace {

class RowBatches : public streams::BatchStream<Row, Element> {
 public:
  RowBatches(const Element& table, StreamPtr<Row> rows, int64_t batch_size, bool drop_remainder)
      : BatchStream(std::move(rows), batch_size, drop_remainder), table_(table) {}

 protected:
  Element combine(const std::vector<Row>& rows) override {
    std::vector<Tensor> tensors;
    for (const Tensor& tensor : table_.tensors()) tensors.push_back(gather_rows(tensor, rows));
    return table_.with(std::move(tensors));
  }

 private:
  Element table_;
};

class ElementBatches : public streams::BatchStream<Element, Element> {
 public:
  using BatchStream::BatchStream;

 protected:
  Element combine(const std::vector<Element>& elements) override {
    std::vector<Tensor> tensors;
    std::vector<Tensor> parts(elements.size());
    for (size_t i = 0; i < elements.front().tensors().size(); ++i) {
      for (size_t k = 0; k < elements.size(); ++k) parts[k] = elements[k].tensors()[i];
      require_alike(parts);
      tensors.push_back(stack_rows(parts));
    }
    return elements.front().with(std::move(tensors));
  }

 private:
  void require_alike(const std::vector<Tensor>& parts) const {
    const Tensor& first = parts.front();
    int64_t number = items_taken() - std::ssize(parts);
    for (const Tensor& part : parts) {
      check<InvalidArgument>(part.shape() == first.shape() && part.dtype() == first.dtype(),
                             "batch: elements of one batch must be alike, got {} of shape {} as "
                             "element {} after {} of shape {}. Use padded_batch or ragged_batch "
                             "for shapes that vary.",
                             part.dtype(), part.shape(), number, first.dtype(), first.shape());
      ++number;
    }
  }
};

class Batched : public Node {
 public:
  Batched(NodePtr input, int64_t batch_size, const BatchOptions& options)
      : Node({std::move(input)}), batch_size_(batch_size), options_(options) {
    check<InvalidArgument>(batch_size >= 1, "batch: expected a batch_size of at least 1, got {}.",
                           batch_size);
    spec_ = this->input().spec();
    const Shape leading{options.drop_remainder ? batch_size : kUnknown};
    for (TensorType& type : spec_.types) type.shape = leading.concat(type.shape);
  }

  const ElementSpec& spec() const override { return spec_; }
  std::optional<int64_t> cardinality() const override {
    const auto items = input().cardinality();
    if (!items || *items == kInfiniteCardinality) return items;
    return *items / batch_size_ + (!options_.drop_remainder && *items % batch_size_ != 0);
  }
  std::optional<int64_t> batch_size() const override { return batch_size_; }
  bool works_on_parts() const override { return !options_.drop_remainder; }
  bool takes_any_order() const override { return true; }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  bool is_bounded() const override { return true; }
  std::string describe() const override {
    return fmt::format("batch({}{})", batch_size_, options_.drop_remainder ? ", drop" : "");
  }
  void write(LinkWriter& link) const override {
    link.kind("batch")("batch_size", batch_size_).options(options_);
  }
  StreamPtr<Element> elements(Pass pass) const override {
    if (const Element* table = input().table()) {
      return std::make_unique<RowBatches>(*table, input().row_stream(pass), batch_size_,
                                          options_.drop_remainder);
    }
    return std::make_unique<ElementBatches>(input().stream(pass), batch_size_,
                                            options_.drop_remainder);
  }

 private:
  int64_t batch_size_;
  BatchOptions options_;
  ElementSpec spec_;
};

}  // namespace

NodePtr make_batch(NodePtr input, int64_t batch_size, const BatchOptions& options) {
  const auto batched = [&](NodePtr items) {
    return make_batch(std::move(items), batch_size, options);
  };
  if (NodePtr mapped = batch_below_map(input, batched)) return mapped;
  return std::make_shared<Batched>(std::move(input), batch_size, options);
}

NodePtr read_batch(LinkReader& link) {
  const auto size = link.get<int64_t>("batch_size");
  return std::make_shared<Batched>(link.input(), size, link.options<BatchOptions>());
}

}  // namespace cornu::data
