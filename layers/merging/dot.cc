// SPDX-License-Identifier: Apache-2.0
#include "layers/merging/dot.h"

#include <array>

#include "layers/merging/merge_base.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, DotOptions& options) {
  fields("axes", options.axes);
  fields("normalize", options.normalize);
}

namespace {

// Reshapes x to a matrix per example, with `axis` last and the other axes joined.
Tensor as_matrices(const Tensor& x, int64_t axis) {
  const Tensor moved = axis == x.rank() - 1 ? x : ops::moveaxis(x, axis, -1);
  const int64_t size = moved.shape().back();
  const int64_t rows = moved.shape().slice(1, x.rank() - 1).num_elements();
  return ops::reshape(moved, {x.shape()[0], rows, size});
}

class DotLayer : public MergeBase<DotOptions> {
 public:
  explicit DotLayer(const DotOptions& options) : MergeBase("Dot", options) {
    const size_t count = options.axes.values().size();
    require(count == 1 || count == 2, "expected one axis or two, got {}.", count);
    if (count == 1) options_.axes = options.axes.values()[0];  // {1} is equivalent to 1
  }
  Tensor compute_mask(const Tensors&, const Tensor&) const override { return {}; }

 protected:
  void check_inputs(const std::vector<Shape>& shapes) const override {
    require(shapes.size() == 2, "expected 2 inputs, got {}.", shapes.size());
    for (const Shape& shape : shapes) {
      require(shape.rank() >= 2, "expected inputs (batch, …) of 2 axes or more, got shapes {}.",
              shapes_text(shapes));
    }
    const auto [a, b] = axes(shapes[0].rank(), shapes[1].rank());
    require(a > 0 && b > 0 && a < shapes[0].rank() && b < shapes[1].rank(),
            "expected axes of the inputs after the batch, got {} for shapes {}.",
            options_.axes.to_json().dump(), shapes_text(shapes));
    auto agree = [](int64_t x, int64_t y) { return x == y || x == kUnknown || y == kUnknown; };
    require(agree(shapes[0][a], shapes[1][b]) && agree(shapes[0][0], shapes[1][0]),
            "expected inputs of one batch size and of one size on axes {} and {}, got shapes {}.",
            a, b, shapes_text(shapes));
  }

  Tensor merge(const std::vector<Tensor>& inputs) const override {
    const auto [a, b] = axes(inputs[0].rank(), inputs[1].rank());
    Tensor x = inputs[0];
    Tensor y = inputs[1];
    if (options_.normalize) {
      x = ops::normalize(x, {.axis = a});
      y = ops::normalize(y, {.axis = b});
    }
    const Tensor product =
        ops::matmul(as_matrices(x, a), as_matrices(y, b), {.transpose_x2 = true});
    Shape shape = without(x.shape(), a).concat(without(y.shape(), b).slice(1));
    if (shape.rank() == 1) shape.push_back(1);
    return ops::reshape(product, shape);
  }

 private:
  std::array<int64_t, 2> axes(int64_t rank_x, int64_t rank_y) const {
    const auto& given = options_.axes.values();
    const int64_t a = given.front();
    const int64_t b = given.back();
    return {a < 0 ? a + rank_x : a, b < 0 ? b + rank_y : b};
  }
  static Shape without(const Shape& shape, int64_t axis) {
    return shape.slice(0, axis).concat(shape.slice(axis + 1));
  }
};

}  // namespace

Dot::Dot(const DotOptions& options) : LayerHandle(std::make_shared<DotLayer>(options)) {}

Dot Dot::from_config(const Json& config) { return Dot(read_layer_options<DotOptions>(config)); }

}  // namespace cornu::layers
