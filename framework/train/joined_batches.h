// SPDX-License-Identifier: Apache-2.0
// The outputs of several batches, put together along their first axis: what predict returns.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "framework/core/tensors.h"

namespace cornu {

class JoinedBatches {
 public:
  // `who`: the model, for errors; `names` gives the outputs' names when an error needs them.
  JoinedBatches(std::string who, std::function<std::vector<std::string>()> names)
      : who_(std::move(who)), names_(std::move(names)) {}

  // InvalidArgument unless these outputs can follow the first batch's: as many, of the same dtypes,
  // and of the same shapes but for the first axis.
  void add(Tensors outputs);
  bool empty() const { return batches_.empty(); }
  // All rows, in the first batch's structure. At least one batch must have been added.
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
