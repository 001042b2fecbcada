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
  // Ascending; n boundaries define n + 1 bins. None: adapt determines those of num_bins.
  NumberList bin_boundaries = {};
  std::optional<int64_t> num_bins = {};  // one of the two is required
  double epsilon = 0.01;                 // maximum error of quantiles, as a fraction of all data
  std::string output_mode = "int";
  std::string name = {};
  DTypeName dtype = {};
};

// keras.layers.Discretization: maps each element to the number of its bin (0 below the first
// boundary; a boundary belongs to the bin above it), comparing in float32. output_mode: "int"
// (int32, with the input's shape), "one_hot", "multi_hot" or "count", in the layer's dtype, as for
// CategoryEncoding.
//
// A model may be built with the layer before adapt, with outputs for num_bins bins; data with fewer
// distinct numbers result in fewer bins. Functions compiled before adapt keep the old boundaries:
// compile the model again.
class Discretization final : public LayerHandle {
 public:
  explicit Discretization(const DiscretizationOptions& options);
  static Discretization from_config(const Json& config);

  // Sets the boundaries to quantiles of all elements of the data, estimated as in Keras. Throws
  // FailedPrecondition if boundaries were given. Must not run while another thread calls the layer.
  void adapt(const AdaptData& data, const AdaptOptions& options = {}) const;
  // Empty until adapt is called.
  std::vector<double> bin_boundaries() const;

 private:
  Discretization() = default;
};

}  // namespace cornu::layers
