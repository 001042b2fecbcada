// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "data/transforms/transforms.h"

namespace cornu::data {
namespace {

int64_t rounded_up(int64_t examples, int64_t batch_size) {
  return examples / batch_size + (examples % batch_size != 0);
}

// Divides each batch into as many parts as a full one needs.
class RebatchStream : public Stream<Element> {
 public:
  // `parts`: of a full batch, 0 where that isn't known: then the first batch counts as full.
  RebatchStream(StreamPtr<Element> input, int64_t batch_size, int64_t parts)
      : input_(std::move(input)), batch_size_(batch_size), parts_(parts) {}

  bool next(Element& element) override {
    if (part_ == parts_here_ && !next_batch()) return false;
    const int64_t begin = std::min(part_ * batch_size_, examples_);
    const int64_t end = std::min(begin + batch_size_, examples_);
    std::vector<Tensor> tensors;
    for (const Tensor& tensor : batch_.tensors()) tensors.push_back(tensor.rows(begin, end));
    element = batch_.with(std::move(tensors));
    ++part_;
    return true;
  }

  int64_t skip(int64_t count) override {
    if (parts_ == 0 || part_ != parts_here_) return Stream::skip(count);
    const int64_t skipped = input_->skip(count / parts_) * parts_;
    return skipped + Stream::skip(count - skipped);
  }

 private:
  bool next_batch() {
    if (!input_->next(batch_)) return false;
    examples_ = batch_.tensors().front().shape().front();
    if (parts_ == 0) parts_ = std::max<int64_t>(1, rounded_up(examples_, batch_size_));
    // A map may have made a batch larger than full: nothing of it is lost.
    parts_here_ = std::max(parts_, rounded_up(examples_, batch_size_));
    part_ = 0;
    return true;
  }

  StreamPtr<Element> input_;
  int64_t batch_size_;
  int64_t parts_;
  Element batch_;
  int64_t examples_ = 0;
  int64_t parts_here_ = 0;
  int64_t part_ = 0;  // the next one
};

class Rebatched : public Node {
 public:
  Rebatched(NodePtr input, int64_t batch_size) : Node({std::move(input)}), batch_size_(batch_size) {
    check<InvalidArgument>(batch_size >= 1, "rebatch: expected a batch_size of at least 1, got {}.",
                           batch_size);
    spec_ = this->input().spec();
    for (TensorType& type : spec_.types) {
      check<InvalidArgument>(type.shape.rank() > 0,
                             "rebatch: expected a dataset of batches, but its elements are {}. "
                             "Call batch() first.",
                             this->input().spec().to_string());
      const bool even = type.shape[0] != kUnknown && type.shape[0] % batch_size == 0;
      type.shape[0] = even ? batch_size : kUnknown;
    }
  }

  const ElementSpec& spec() const override { return spec_; }
  std::optional<int64_t> cardinality() const override {
    const auto batches = input().cardinality();
    if (!batches || *batches <= 0) return batches;
    return parts() == 0 ? std::nullopt : std::optional(saturating_product(*batches, parts()));
  }
  std::optional<int64_t> batch_size() const override { return batch_size_; }
  std::string describe() const override { return fmt::format("rebatch({})", batch_size_); }
  StreamPtr<Element> elements(Pass pass) const override {
    return std::make_unique<RebatchStream>(input().elements(pass), batch_size_, parts());
  }

 private:
  int64_t parts() const {
    const auto full = input().batch_size();
    return full ? rounded_up(*full, batch_size_) : 0;
  }

  int64_t batch_size_;
  ElementSpec spec_;
};

}  // namespace

NodePtr make_rebatch(NodePtr input, int64_t batch_size) {
  return std::make_shared<Rebatched>(std::move(input), batch_size);
}

}  // namespace cornu::data
