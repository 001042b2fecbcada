// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/model/layer.h"
#include "layers/argument_types.h"
#include "layers/preprocessing/adapt_data.h"

namespace cornu::layers {

struct DiscretizationOptions {
  // Ascending; n boundaries part n + 1 bins. None: adapt finds those of num_bins.
  NumberList bin_boundaries = {};
  std::optional<int64_t> num_bins = {};  // one of the two required
  double epsilon =
      0.01;  // how far from the exact quantiles boundaries may be, as a part of all data
  std::string output_mode = "int";
  std::string name = {};
  DTypeName dtype = {};
};

// keras.layers.Discretization: the number of each element's bin (0 below the first boundary; a
// boundary belongs to the bin above it), compared in float32. output_mode: "int" (int32, of the
// input's shape), "one_hot", "multi_hot" or "count", in the layer's dtype, as of CategoryEncoding.
//
// A model may be made of it before adapt, for outputs of num_bins bins; data of fewer different
// numbers give fewer. What was compiled before adapt keeps the boundaries of then: compile the
// model again.
class Discretization : public LayerHandle {
 public:
  explicit Discretization(const DiscretizationOptions& options);
  static Discretization from_config(const Json& config);

  // Sets the boundaries to quantiles of all elements of the data, as Keras estimates them.
  // FailedPrecondition where boundaries were given. Not while another thread calls the layer.
  void adapt(const AdaptData& data, const AdaptOptions& options = {}) const;
  // Empty until adapted.
  std::vector<double> bin_boundaries() const;

 private:
  Discretization() = default;
};

}  // namespace cornu::layers
