// SPDX-License-Identifier: Apache-2.0
#include "data/serialization/links.h"
#include "data/transforms/transforms.h"
#include "framework/core/rows.h"

namespace cornu::data {
namespace {

class UnbatchStream : public Stream<Element> {
 public:
  explicit UnbatchStream(StreamPtr<Element> input) : input_(std::move(input), true) {}

  bool next(Element& element) override {
    if (!has_row()) return false;
    std::vector<Tensor> tensors;
    for (const Tensor& tensor : batch_.tensors()) tensors.push_back(row(tensor, row_));
    element = batch_.with(std::move(tensors));
    ++row_;
    return true;
  }
  void leave_out(int64_t count, int64_t& left_out) override {
    while (count > 0 && has_row()) {
      const int64_t here = std::min(count, rows_ - row_);
      row_ += here;
      left_out += here;
      count -= here;
    }
  }

  // The sizes of the batches aren't known without computing them.
  Json save() const override {
    const bool held = row_ < rows_;
    const int64_t taken = input_.taken();
    return Json::object(
        {{"input", input_.position(taken - (held ? 1 : 0))}, {"left", rows_ - row_}});
  }
  void restore(const Json& state) override {
    const Json& input = streams::saved_part(state, "input");
    const int64_t left = streams::saved_count(state, "left");
    std::vector<int64_t> held;
    if (left > 0) held.push_back(streams::saved_count(input, "taken") - 1);
    input_.restore(input, held, [this](Element batch) { open(std::move(batch)); });
    check<FailedPrecondition>(left <= rows_,
                              "unbatch: the position needs {} rows of a batch that has {} now.",
                              left, rows_);
    row_ = rows_ - left;
  }

 private:
  bool has_row() {
    while (row_ == rows_) {
      input_.release(input_.taken());
      Element batch;
      if (!input_.next(batch)) return false;
      open(std::move(batch));
    }
    return true;
  }

  void open(Element batch) {
    const int64_t rows = row_count(batch);
    for (const Tensor& tensor : batch.tensors()) {
      check<InvalidArgument>(tensor.shape().front() == rows,
                             "unbatch: expected as many rows in all tensors of a batch, got {} "
                             "and {} in batch {}.",
                             rows, tensor.shape().front(), input_.taken() - 1);
    }
    batch_ = std::move(batch);
    rows_ = rows;
    row_ = 0;
  }

  Input<Element> input_;
  Element batch_;
  int64_t rows_ = 0;
  int64_t row_ = 0;  // the next one
};

class Unbatched : public Node {
 public:
  explicit Unbatched(NodePtr input) : Node({std::move(input)}) {
    spec_ = this->input().spec();
    for (TensorType& type : spec_.types) {
      check<InvalidArgument>(type.shape.rank() > 0,
                             "unbatch: expected a dataset of batches, but its elements are {}.",
                             this->input().spec().to_string());
      if (type.shape[0] != kUnknown) rows_ = type.shape[0];
      type.shape = type.shape.slice(1);
    }
  }

  const ElementSpec& spec() const override { return spec_; }
  std::optional<int64_t> cardinality() const override {
    const auto batches = input().cardinality();
    if (batches == 0) return 0;
    if (!rows_ || !batches) return std::nullopt;
    return *batches == kInfiniteCardinality ? batches : saturating_product(*batches, *rows_);
  }
  bool works_on_parts() const override { return true; }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override { return "unbatch"; }
  void write(LinkWriter& link) const override { link.kind("unbatch"); }
  StreamPtr<Element> elements(Pass pass) const override {
    return std::make_unique<UnbatchStream>(input().stream(pass));
  }

 private:
  ElementSpec spec_;
  std::optional<int64_t> rows_;  // of every batch
};

}  // namespace

NodePtr make_unbatch(NodePtr input) { return std::make_shared<Unbatched>(std::move(input)); }

NodePtr read_unbatch(LinkReader& link) { return make_unbatch(link.input()); }

}  // namespace cornu::data
