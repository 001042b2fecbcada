// SPDX-License-Identifier: Apache-2.0
#include <span>

#include "data/serialization/links.h"
#include "data/transforms/batching_node.h"
#include "data/transforms/parallel_map.h"
#include "data/transforms/transforms.h"
#include "framework/core/rows.h"

namespace cornu::data {
namespace {

Element gathered_rows(const Element& table, std::span<const Row> rows) {
  std::vector<Tensor> tensors;
  for (const Tensor& tensor : table.tensors()) tensors.push_back(gather_rows(tensor, rows));
  return table.with(std::move(tensors));
}

// `first`: the number of the first element in the pass.
void require_alike_parts(const std::vector<Tensor>& parts, int64_t first) {
  const Tensor& one = parts.front();
  int64_t number = first;
  for (const Tensor& part : parts) {
    check<InvalidArgument>(part.shape() == one.shape() && part.dtype() == one.dtype(),
                           "batch: elements of one batch must be alike, got {} of shape {} as "
                           "element {} after {} of shape {}. Use padded_batch or ragged_batch for "
                           "shapes that vary.",
                           part.dtype(), part.shape(), number, one.dtype(), one.shape());
    ++number;
  }
}

// Stacks `count` elements of `width` tensors, where of(k, i) is tensor i of element k.
template <class Of>
std::vector<Tensor> stack_all(size_t count, size_t width, int64_t first, const Of& of) {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < width; ++i) {
    std::vector<Tensor> parts(count);
    for (size_t k = 0; k < count; ++k) parts[k] = of(k, i);
    require_alike_parts(parts, first);
    tensors.push_back(stack_rows(std::move(parts)));
  }
  return tensors;
}

class RowBatches : public streams::BatchStream<Row, Element> {
 public:
  RowBatches(const Element& table, StreamPtr<Row> rows, int64_t batch_size, bool drop_remainder)
      : BatchStream(std::move(rows), batch_size, drop_remainder), table_(table) {}

 protected:
  Element combine(std::vector<Row>& rows) override { return gathered_rows(table_, rows); }

 private:
  Element table_;
};

class ElementBatches : public streams::BatchStream<Element, Element> {
 public:
  using BatchStream::BatchStream;

 protected:
  Element combine(std::vector<Element>& elements) override {
    std::vector<std::vector<Tensor>> parts;
    for (Element& element : elements) parts.push_back(std::move(element).take_tensors());
    return elements.front().with(
        stack_all(elements.size(), parts.front().size(), items_taken() - std::ssize(elements),
                  [&](size_t k, size_t i) { return std::move(parts[k][i]); }));
  }
};

// The input of a batch that is computed on another thread: the indices of its rows, …
class RowGroups : public streams::BatchStream<Row, Element> {
 public:
  using BatchStream::BatchStream;

 protected:
  Element combine(std::vector<Row>& rows) override { return Tensor::from(rows); }
};

// … or the number of its first element in the pass, followed by the tensors of all elements.
class ElementGroups : public streams::BatchStream<Element, Element> {
 public:
  using BatchStream::BatchStream;

 protected:
  Element combine(std::vector<Element>& elements) override {
    std::vector<Tensor> tensors = {Tensor::scalar(items_taken() - std::ssize(elements))};
    for (const Element& element : elements) {
      tensors.insert(tensors.end(), element.tensors().begin(), element.tensors().end());
    }
    if (!structure_ || structure_->num_tensors() != tensors.size()) {
      structure_ = std::make_shared<const Structure>(
          Structure::tuple(std::vector<Structure>(tensors.size())));
    }
    return Element(std::move(tensors), structure_);
  }

 private:
  std::shared_ptr<const Structure> structure_;  // for all groups but the last one
};

Element batch_of_group(const Element& group, const std::shared_ptr<const Structure>& structure) {
  const auto& tensors = group.tensors();
  const size_t width = structure->num_tensors();
  return Element(stack_all((tensors.size() - 1) / width, width, tensors[0].item<int64_t>(),
                           [&](size_t k, size_t i) { return tensors[1 + k * width + i]; }),
                 structure);
}

// Batches computed from groups. Positions are those of the groups, the same as when batches are
// computed directly.
class BatchesOfGroups : public Stream<Element> {
 public:
  explicit BatchesOfGroups(StreamPtr<Element> batches) : batches_(std::move(batches)) {}

  bool next(Element& batch) override { return batches_->next(batch); }
  void leave_out(int64_t count, int64_t& left_out) override {
    batches_->leave_out(count, left_out);
  }
  Json save() const override {
    Json saved = batches_->save();
    return saved.contains("state") ? std::move(saved).at("state") : Json();
  }
  void restore(const Json& state) override {
    batches_->restore(Json::object({{"taken", 0}, {"state", state}}));
  }

 private:
  StreamPtr<Element> batches_;
};

class Batched : public BatchingNode {
 public:
  Batched(NodePtr input, int64_t batch_size, const BatchOptions& options)
      : BatchingNode(std::move(input), batch_size, options.drop_remainder, "batch"),
        calls_(resolve_parallel_calls(options.num_parallel_calls, "batch")),
        deterministic_(options.deterministic) {
    for (TensorType& type : spec_.types) type.shape = leading().concat(type.shape);
  }

  std::optional<int64_t> batch_size() const override { return size_; }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  // Omits the number of calls, which may change without affecting the elements.
  std::string describe() const override {
    return fmt::format("batch({}{}{})", size_, drop_ ? ", drop" : "",
                       deterministic_.value_or(true) ? "" : ", in any order");
  }
  void write(LinkWriter& link) const override {
    link.kind("batch")("batch_size", size_)("drop_remainder", drop_);
    if (calls_ != 1) link.hint("num_parallel_calls", calls_);
    if (deterministic_) link("deterministic", *deterministic_);
  }
  StreamPtr<Element> elements(Pass pass) const override {
    const bool ordered = keeps_order(calls_, deterministic_, pass);
    if (pass.sample || (calls_ == 1 && ordered)) return batches(pass);
    const Order order = order_in(calls_, deterministic_, pass);
    auto made = made_of_groups(pass, order);
    if (order == Order::Any) return made;
    return std::make_unique<BatchesOfGroups>(std::move(made));
  }

 private:
  StreamPtr<Element> batches(const Pass& pass) const {
    if (const Element* table = input().table()) {
      return std::make_unique<RowBatches>(*table, input().row_stream(pass), size_, drop_);
    }
    return std::make_unique<ElementBatches>(input().stream(pass), size_, drop_, pass.failures);
  }

  StreamPtr<Element> made_of_groups(const Pass& pass, Order order) const {
    if (const Element* table = input().table()) {
      const auto make = [table = *table](const Element& rows, int64_t) {
        return gathered_rows(table, rows.tensors()[0].data<Row>());
      };
      return make_parallel_map(std::make_unique<RowGroups>(input().row_stream(pass), size_, drop_),
                               make, calls_, pass, order);
    }
    const auto make = [structure = spec_.structure](const Element& group, int64_t) {
      return batch_of_group(group, structure);
    };
    return make_parallel_map(
        std::make_unique<ElementGroups>(input().stream(pass_below(order, pass)), size_, drop_,
                                        pass.failures),
        make, calls_, pass, order);
  }

  int64_t calls_;
  std::optional<bool> deterministic_;
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
  BatchOptions options{.drop_remainder = link.get<bool>("drop_remainder")};
  if (link.has("num_parallel_calls")) options.num_parallel_calls = read_calls(link);
  if (link.has("deterministic")) options.deterministic = link.get<bool>("deterministic");
  const auto size = link.get<int64_t>("batch_size");
  return std::make_shared<Batched>(link.input(), size, options);
}

}  // namespace cornu::data
