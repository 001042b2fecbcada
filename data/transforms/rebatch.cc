// SPDX-License-Identifier: Apache-2.0
#include "data/serialization/links.h"
#include "data/transforms/transforms.h"

namespace cornu::data {
namespace {

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
  bool works_on_parts() const override { return true; }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  bool is_bounded() const override { return true; }
  std::string describe() const override { return fmt::format("rebatch({})", batch_size_); }
  void write(LinkWriter& link) const override { link.kind("rebatch")("batch_size", batch_size_); }
  StreamPtr<Element> elements(Pass pass) const override {
    return std::make_unique<streams::RebatchStream<Element>>(input().stream(pass), batch_size_,
                                                             parts(), input().is_bounded());
  }

 private:
  int64_t parts() const {
    const auto full = input().batch_size();
    return full ? streams::parts_of(*full, batch_size_) : 0;
  }

  int64_t batch_size_;
  ElementSpec spec_;
};

}  // namespace

NodePtr make_rebatch(NodePtr input, int64_t batch_size) {
  return std::make_shared<Rebatched>(std::move(input), batch_size);
}

NodePtr read_rebatch(LinkReader& link) {
  return make_rebatch(link.input(), link.get<int64_t>("batch_size"));
}

}  // namespace cornu::data
