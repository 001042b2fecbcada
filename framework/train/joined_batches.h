// SPDX-License-Identifier: Apache-2.0
// Concatenates the outputs of several batches along their first axis, for predict.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "framework/core/tensors.h"

namespace cornu {

class JoinedBatches {
 public:
  // `who` names the model in errors; `names` returns the output names when an error needs them.
  JoinedBatches(std::string who, std::function<std::vector<std::string>()> names)
      : who_(std::move(who)), names_(std::move(names)) {}

  // Throws InvalidArgument unless the outputs match those of the first batch in number, dtypes, and
  // shapes except for the first axis.
  void add(Tensors outputs);
  bool empty() const { return batches_.empty(); }
  // Returns all rows, in the structure of the first batch. At least one batch must have been added.
  Tensors join() const;

 private:
  void require_joinable(const Tensors& outputs) const;
  std::string name(size_t output) const;
  Tensor join_rows(size_t output) const;

  std::string who_;
  std::function<std::vector<std::string>()> names_;
  std::vector<Tensors> batches_;
};

}  // namespace cornu
