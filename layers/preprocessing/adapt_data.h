// SPDX-License-Identifier: Apache-2.0
// The data that preprocessing layers adapt to.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "framework/core/tensor.h"
#include "framework/strategy/batch_source.h"

namespace cornu::layers {

struct AdaptOptions {
  std::optional<int64_t> steps = {};  // number of batches to read; None: all
};

// A tensor of all examples, or batches of examples: a data::Dataset (after batch()) or any other
// BatchSource, of which only x is read.
class AdaptData {
 public:
  AdaptData(Tensor examples) : examples_(std::move(examples)) {}  // NOLINT: implicit on purpose
  template <std::convertible_to<std::shared_ptr<BatchSource>> Source>
  AdaptData(const Source& source) : source_(source) {}  // NOLINT: implicit on purpose
  // Internal: layers. The batches are all those passed by `give` to its argument.
  using Give = std::function<void(const std::function<void(const Tensor&)>&)>;
  static AdaptData of_batches(Give give);
  // Internal: layers. For batches with several inputs, the one with this name.
  static AdaptData of_input(std::shared_ptr<BatchSource> source, std::string name);

  // Whether the data is a tensor.
  bool is_whole() const { return source_ == nullptr && !give_; }
  // Calls `f` with each batch, on the host. Throws InvalidArgument when there are none, when steps
  // are given for a tensor, when steps < 1, or when batches have several inputs; also propagates
  // the source's exceptions.
  void for_each_batch(const AdaptOptions& options,
                      const std::function<void(const Tensor&)>& f) const;

 private:
  Tensor examples_;
  std::shared_ptr<BatchSource> source_;
  Give give_;
  std::string input_;
};

}  // namespace cornu::layers
