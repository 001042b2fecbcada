// SPDX-License-Identifier: Apache-2.0
#include "layers/merging/merge.h"

#include <algorithm>

#include "layers/merging/merge_base.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields&, MergeOptions&) {}

namespace {

constexpr const char* kNames[] = {"Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum"};

// An input, and its mask as a bool tensor of the same shape; undefined without one.
struct Masked {
  Tensor value;
  Tensor mask;
};

// Inserts axes of size 1 after the batch, up to `rank`.
Shape widened(const Shape& shape, int64_t rank) {
  const Shape ones(std::vector<int64_t>(static_cast<size_t>(rank - shape.rank()), 1));
  return shape.slice(0, 1).concat(ones).concat(shape.slice(1));
}

std::vector<Masked> widened(const std::vector<Tensor>& inputs) {
  int64_t rank = 0;
  for (const Tensor& input : inputs) rank = std::max(rank, input.rank());
  std::vector<Masked> result;
  for (const Tensor& input : inputs) {
    Masked item = {input, input.mask()};
    if (item.mask.defined()) {
      const Tensor of_elements = ops::expand_dims(ops::cast(item.mask, DType::Bool), -1);
      item.mask = ops::broadcast_to(of_elements, input.shape());
    }
    if (input.rank() < rank) {
      const Shape shape = widened(input.shape(), rank);
      item.value = ops::reshape(item.value, shape);
      if (item.mask.defined()) item.mask = ops::reshape(item.mask, shape);
    }
    result.push_back(item);
  }
  return result;
}

// True where either is; undefined if one of them is.
Tensor either(const Tensor& a, const Tensor& b) {
  return a.defined() && b.defined() ? ops::logical_or(a, b) : Tensor();
}

// Masked elements count as 1, or as 0 if all inputs are masked there.
Tensor product(const std::vector<Masked>& items) {
  Tensor result;
  Tensor seen = items[0].mask;
  for (const auto& [value, mask] : items) {
    const Tensor x = mask.defined() ? ops::where(mask, value, 1) : value;
    result = result.defined() ? ops::multiply(result, x) : x;
    seen = either(seen, mask);
  }
  return seen.defined() ? ops::where(seen, result, 0) : result;
}

// If one of the two is masked, the other one is used.
template <class F>
Tensor extreme(const std::vector<Masked>& items, F f) {
  auto [result, seen] = items[0];
  for (size_t i = 1; i < items.size(); ++i) {
    auto [x, mask] = items[i];
    if (mask.defined()) x = ops::where(mask, x, result);
    if (seen.defined()) result = ops::where(seen, result, x);
    seen = either(seen, mask);
    result = f(result, x);
  }
  return result;
}

Tensor total(const std::vector<Masked>& items) {
  Tensor result = items[0].value;
  for (size_t i = 1; i < items.size(); ++i) result = ops::add(result, items[i].value);
  return result;
}

template <MergeKind kKind>
class MergeLayer : public MergeBase<MergeOptions> {
 public:
  explicit MergeLayer(const MergeOptions& options)
      : MergeBase(kNames[static_cast<int>(kKind)], options) {}

  void build_list(const std::vector<Shape>& shapes) override { check_shapes(shapes, 1); }

  Tensor compute_mask(const Tensors& inputs, const Tensor&) const override {
    Tensor mask = inputs[0].mask();
    for (const Tensor& input : inputs) mask = either(mask, input.mask());
    return mask;
  }

 protected:
  // As in Keras, batches of size 1 are also broadcast once the layer is built.
  void check_inputs(const std::vector<Shape>& shapes) const override { check_shapes(shapes, 0); }

  // `first`: the first axis along which inputs may broadcast.
  void check_shapes(const std::vector<Shape>& shapes, int64_t first) const {
    require(kKind != MergeKind::Subtract || shapes.size() == 2, "expected 2 inputs, got {}.",
            shapes.size());
    int64_t rank = 1;
    for (const Shape& shape : shapes) rank = std::max(rank, shape.rank());
    Shape merged(std::vector<int64_t>(static_cast<size_t>(rank), 1));
    merged[0] = kUnknown;
    for (const Shape& shape : shapes) {
      if (shape.rank() == 0) refuse("expected inputs (batch, …)", shapes);
      const Shape next = widened(shape, rank);
      for (int64_t axis = 0; axis < rank; ++axis) {
        const bool flexible = axis >= first && (merged[axis] == 1 || next[axis] == 1);
        const bool fits = merged[axis] == next[axis] || flexible || merged[axis] == kUnknown ||
                          next[axis] == kUnknown;
        if (!fits && axis == 0) refuse("expected inputs of one batch size", shapes);
        if (!fits) refuse("expected inputs that broadcast together", shapes);
        if (merged[axis] == kUnknown || (axis >= first && merged[axis] == 1)) {
          merged[axis] = next[axis];
        }
      }
    }
  }

  Tensor merge(const std::vector<Tensor>& inputs) const override {
    const std::vector<Masked> items = widened(inputs);
    switch (kKind) {
      case MergeKind::Add:
        return total(items);
      case MergeKind::Subtract:
        return ops::subtract(items[0].value, items[1].value);
      case MergeKind::Multiply:
        return product(items);
      case MergeKind::Average:
        return ops::divide(total(items), static_cast<double>(items.size()));
      case MergeKind::Maximum:
        return extreme(items, ops::maximum);
      case MergeKind::Minimum:
        return extreme(items, ops::minimum);
    }
    __builtin_unreachable();
  }
};

}  // namespace

template <MergeKind kKind>
Merge<kKind>::Merge(const MergeOptions& options)
    : LayerHandle(std::make_shared<MergeLayer<kKind>>(options)) {}

template <MergeKind kKind>
Merge<kKind> Merge<kKind>::from_config(const Json& config) {
  return Merge(read_layer_options<MergeOptions>(config));
}

template class Merge<MergeKind::Add>;
template class Merge<MergeKind::Subtract>;
template class Merge<MergeKind::Multiply>;
template class Merge<MergeKind::Average>;
template class Merge<MergeKind::Maximum>;
template class Merge<MergeKind::Minimum>;

}  // namespace cornu::layers
