// SPDX-License-Identifier: Apache-2.0
// Sources whose batches are another one's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "framework/strategy/batch_source.h"

namespace cornu {

// Has the facts, order and number of batches of a source, which classes derived from this pass over
// in their own way.
class SourceOver : public BatchSource {
 public:
  std::optional<int64_t> cardinality() const override { return source_->cardinality(); }
  Json facts() const override { return source_->facts(); }
  std::vector<uint64_t> order_keys() const override { return source_->order_keys(); }
  void set_order_keys(const std::vector<uint64_t>& keys) const override {
    source_->set_order_keys(keys);
  }

 protected:
  explicit SourceOver(std::shared_ptr<BatchSource> source) : source_(std::move(source)) {}
  const std::shared_ptr<BatchSource>& source() const { return source_; }

 private:
  std::shared_ptr<BatchSource> source_;
};

}  // namespace cornu
