// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "data/serialization/links.h"
#include "data/transforms/batching_node.h"
#include "data/transforms/transforms.h"
#include "framework/core/rows.h"

namespace cornu::data {
namespace {

// Which tensors vary in length: those whose axis 0 is unknown.
std::vector<bool> ragged_tensors(const ElementSpec& spec) {
  std::vector<bool> ragged;
  for (const TensorType& type : spec.types) {
    ragged.push_back(!type.shape.is_static());
    for (int64_t axis = 1; axis < type.shape.rank(); ++axis) {
      check<InvalidArgument>(type.shape[axis] != kUnknown,
                             "ragged_batch: expected tensors that vary along axis 0 only, got "
                             "elements {}. Use padded_batch.",
                             spec.to_string());
    }
  }
  return ragged;
}

class RaggedBatches : public streams::BatchStream<Element, Element> {
 public:
  RaggedBatches(StreamPtr<Element> input, int64_t batch_size, bool drop_remainder,
                Failures failures, const std::vector<bool>& ragged, DType splits,
                std::shared_ptr<const Structure> structure)
      : BatchStream(std::move(input), batch_size, drop_remainder, failures),
        ragged_(ragged),
        splits_(splits),
        structure_(std::move(structure)) {}

 protected:
  Element combine(std::vector<Element>& elements) override {
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < ragged_.size(); ++i) {
      std::vector<Tensor> parts(elements.size());
      for (size_t k = 0; k < elements.size(); ++k) parts[k] = elements[k].tensors()[i];
      if (ragged_[i]) {
        join(parts, tensors);
        if (splits_ == DType::Int32) tensors.back() = as_int32(tensors.back());
      } else {
        tensors.push_back(stack_rows(std::move(parts)));
      }
    }
    return Element(std::move(tensors), structure_);
  }

 private:
  static void join(const std::vector<Tensor>& parts, std::vector<Tensor>& tensors) {
    Tensor splits = Tensor::empty({std::ssize(parts) + 1}, DType::Int64);
    const auto ends = splits.mutable_data<int64_t>();
    ends[0] = 0;
    for (size_t k = 0; k < parts.size(); ++k) ends[k + 1] = ends[k] + parts[k].shape().front();
    Shape shape = parts.front().shape();
    shape[0] = ends[parts.size()];
    Tensor values = Tensor::empty(shape, parts.front().dtype());
    std::byte* to = values.mutable_raw();
    for (const Tensor& part : parts) {
      part.copy_to_host(to);  // copies strings as objects
      to += part.bytes();
    }
    tensors.push_back(std::move(values));
    tensors.push_back(std::move(splits));
  }

  static Tensor as_int32(const Tensor& splits) {
    Tensor result = Tensor::empty(splits.shape(), DType::Int32);
    const auto from = splits.data<int64_t>();
    check<InvalidArgument>(from.back() <= std::numeric_limits<int32_t>::max(),
                           "ragged_batch: {} rows in a batch are too many for row_splits of int32. "
                           "Use int64, or smaller batches.",
                           from.back());
    std::transform(from.begin(), from.end(), result.mutable_data<int32_t>().begin(),
                   [](int64_t end) { return static_cast<int32_t>(end); });
    return result;
  }

  const std::vector<bool>& ragged_;  // owned by the node
  DType splits_;
  std::shared_ptr<const Structure> structure_;
};

class RaggedBatched : public BatchingNode {
 public:
  RaggedBatched(NodePtr input, int64_t batch_size, const RaggedBatchOptions& options)
      : BatchingNode(std::move(input), batch_size, options.drop_remainder, "ragged_batch"),
        splits_(options.row_splits_dtype) {
    check<InvalidArgument>(splits_ == DType::Int64 || splits_ == DType::Int32,
                           "ragged_batch: expected a row_splits_dtype of int64 or int32, got {}.",
                           splits_);
    const ElementSpec& in = this->input().spec();
    ragged_ = ragged_tensors(in);
    spec_.types.clear();
    for (size_t i = 0; i < ragged_.size(); ++i) {
      const TensorType& type = in.types[i];
      if (!ragged_[i]) {
        spec_.types.push_back({type.dtype, leading().concat(type.shape)});
        continue;
      }
      spec_.types.push_back(type);
      spec_.types.push_back({splits_, {drop_ ? batch_size + 1 : kUnknown}});
    }
    spec_.structure = std::make_shared<const Structure>(in.structure->with_leaves([&](size_t i) {
      if (!ragged_[i]) return Structure();
      return Structure::dict({{"values", Structure()}, {"row_splits", Structure()}});
    }));
  }

  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override {
    return fmt::format("ragged_batch({}{}{})", size_, drop_ ? ", drop" : "",
                       splits_ == DType::Int64 ? "" : ", splits int32");
  }
  void write(LinkWriter& link) const override {
    link.kind("ragged_batch")("batch_size", size_)("drop_remainder", drop_);
    if (splits_ != DType::Int64) link("row_splits_dtype", splits_);
  }
  StreamPtr<Element> elements(Pass pass) const override {
    return std::make_unique<RaggedBatches>(input().stream(pass), size_, drop_, pass.failures,
                                           ragged_, splits_, spec_.structure);
  }

 private:
  DType splits_;
  std::vector<bool> ragged_;
};

}  // namespace

NodePtr make_ragged_batch(NodePtr input, int64_t batch_size, const RaggedBatchOptions& options) {
  return std::make_shared<RaggedBatched>(std::move(input), batch_size, options);
}

NodePtr read_ragged_batch(LinkReader& link) {
  RaggedBatchOptions options{.drop_remainder = link.get<bool>("drop_remainder")};
  if (link.has("row_splits_dtype")) options.row_splits_dtype = link.get<DType>("row_splits_dtype");
  return make_ragged_batch(link.input(), link.get<int64_t>("batch_size"), options);
}

}  // namespace cornu::data
