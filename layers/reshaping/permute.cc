// SPDX-License-Identifier: Apache-2.0
#include "layers/reshaping/permute.h"

#include <algorithm>

#include "framework/ops/ops.h"
#include "layers/keras_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, PermuteOptions& options) {
  fields("dims", options.dims);
}

namespace {

class PermuteLayer : public KerasLayerOf<PermuteOptions> {
 public:
  explicit PermuteLayer(const PermuteOptions& options) : KerasLayerOf("Permute", options) {
    std::vector<int64_t> sorted = options.dims;
    std::sort(sorted.begin(), sorted.end());
    bool valid = !sorted.empty();
    for (size_t i = 0; i < sorted.size(); ++i) valid &= sorted[i] == static_cast<int64_t>(i) + 1;
    require(valid, "expected dims to be the numbers from 1 on in some order, got {}.",
            Json(options.dims).excerpt());
  }

  Tensor call(const Tensor& x, const CallArgs&) override {
    std::vector<int64_t> axes = {0};
    axes.insert(axes.end(), options_.dims.begin(), options_.dims.end());
    return ops::transpose(x, axes);
  }

 protected:
  void check_input(const Shape& shape) const override {
    const auto rank = static_cast<int64_t>(options_.dims.size()) + 1;
    require(shape.rank() == rank, "expected {}-D input for dims {}, got {}.", rank,
            Json(options_.dims).excerpt(), shape);
  }
};

}  // namespace

Permute::Permute(const PermuteOptions& options)
    : LayerHandle(std::make_shared<PermuteLayer>(options)) {}

Permute Permute::from_config(const Json& config) {
  return Permute(read_layer_options<PermuteOptions>(config));
}

}  // namespace cornu::layers
