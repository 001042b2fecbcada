// SPDX-License-Identifier: Apache-2.0
// A base for sources that wrap another one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "framework/strategy/batch_source.h"

namespace cornu {

// Forwards the facts, order and number of batches to another source, which derived classes iterate
// over in their own way.
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
