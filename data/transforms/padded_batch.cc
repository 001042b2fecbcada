// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "data/serialization/links.h"
#include "data/transforms/batching_node.h"
#include "data/transforms/transforms.h"
#include "framework/core/strings.h"
#include "framework/ops/math.h"

namespace cornu::data {
namespace {

struct Padding {
  std::vector<Shape> shapes;   // kUnknown: pad to the longest
  std::vector<Tensor> values;  // scalars
};

// Copies `from` to the corner of an array of shape `to_shape`.
template <class T>
void copy_corner(const T* from, const Shape& from_shape, T* to, const Shape& to_shape,
                 int64_t axis) {
  if (axis == from_shape.rank()) {
    *to = *from;
    return;
  }
  size_t from_step = 1;
  size_t to_step = 1;
  for (int64_t inner = axis + 1; inner < from_shape.rank(); ++inner) {
    from_step *= static_cast<size_t>(from_shape[inner]);
    to_step *= static_cast<size_t>(to_shape[inner]);
  }
  if (axis == from_shape.rank() - 1) {
    std::copy_n(from, from_shape[axis], to);
    return;
  }
  for (int64_t i = 0; i < from_shape[axis]; ++i) {
    const auto at = static_cast<size_t>(i);
    copy_corner(from + at * from_step, from_shape, to + at * to_step, to_shape, axis + 1);
  }
}

class PaddedBatches : public streams::BatchStream<Element, Element> {
 public:
  PaddedBatches(StreamPtr<Element> input, int64_t batch_size, bool drop_remainder,
                Failures failures, const Padding& padding)
      : BatchStream(std::move(input), batch_size, drop_remainder, failures), padding_(padding) {}

 protected:
  Element combine(std::vector<Element>& elements) override {
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < padding_.shapes.size(); ++i) tensors.push_back(padded(elements, i));
    return elements.front().with(std::move(tensors));
  }

 private:
  Tensor padded(const std::vector<Element>& elements, size_t i) const {
    const Shape shape = padded_shape(elements, i);
    const DType dtype = elements.front().tensors()[i].dtype();
    Tensor result = Tensor::empty(Shape{std::ssize(elements)}.concat(shape), dtype);
    if (dtype == DType::String) {
      fill<std::string>(result, elements, i, shape);
    } else {
      dispatch_dtype(dtype, [&](auto zero) { fill<decltype(zero)>(result, elements, i, shape); });
    }
    return result;
  }

  template <class T>
  void fill(Tensor& result, const std::vector<Element>& elements, size_t i,
            const Shape& shape) const {
    const std::span<T> to = result.mutable_data<T>();
    std::fill(to.begin(), to.end(), padding_.values[i].data<T>()[0]);
    const size_t step = to.size() / elements.size();
    for (size_t k = 0; step > 0 && k < elements.size(); ++k) {
      const Tensor& tensor = elements[k].tensors()[i];
      if (tensor.num_elements() == 0) continue;
      copy_corner(tensor.data<T>().data(), tensor.shape(), to.data() + k * step, shape, 0);
    }
  }

  // The padded shape of tensor `i`, without the batch axis.
  Shape padded_shape(const std::vector<Element>& elements, size_t i) const {
    const Shape& wanted = padding_.shapes[i];
    Shape shape = wanted;
    for (int64_t axis = 0; axis < wanted.rank(); ++axis) {
      if (wanted[axis] == kUnknown) shape[axis] = 0;
    }
    int64_t number = items_taken() - std::ssize(elements);
    for (const Element& element : elements) {
      const Shape& own = element.tensors()[i].shape();
      bool fits = own.rank() == wanted.rank();
      for (int64_t axis = 0; fits && axis < own.rank(); ++axis) {
        if (wanted[axis] == kUnknown) shape[axis] = std::max(shape[axis], own[axis]);
        fits = own[axis] <= shape[axis];
      }
      check<InvalidArgument>(fits,
                             "padded_batch: element {} has a tensor of shape {}, which is larger "
                             "than the padded shape {}.",
                             number, own, wanted);
      ++number;
    }
    return shape;
  }

  const Padding& padding_;  // owned by the node
};

class PaddedBatched : public BatchingNode {
 public:
  PaddedBatched(NodePtr input, int64_t batch_size, const PaddedBatchOptions& options)
      : BatchingNode(std::move(input), batch_size, options.drop_remainder, "padded_batch") {
    const size_t count = spec_.types.size();
    check_count(options.padded_shapes.size(), count, "padded_shapes");
    if (options.padding_values.size() != 1) {
      check_count(options.padding_values.size(), count, "padding_values");
    }
    for (size_t i = 0; i < count; ++i) {
      TensorType& type = spec_.types[i];
      if (!options.padded_shapes.empty()) type.shape = checked_shape(options.padded_shapes[i], i);
      padding_.shapes.push_back(type.shape);
      padding_.values.push_back(value_of(options, type.dtype, i));
      type.shape = leading().concat(type.shape);
    }
  }

  std::optional<int64_t> batch_size() const override { return size_; }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override {
    std::vector<std::string> values;
    for (const Tensor& value : padding_.values) {
      values.push_back(value.dtype() == DType::String
                           ? fmt::format("'{}'", printable(value.item<std::string>()))
                           : fmt::format("{}", value.item<double>()));
    }
    return fmt::format("padded_batch({}, to {}, with {}{})", size_, spec_.to_string(),
                       fmt::join(values, " "), drop_ ? ", drop" : "");
  }
  void write(LinkWriter& link) const override {
    link.kind("padded_batch")("batch_size", size_)("padded_shapes", padding_.shapes)(
        "padding_values", padding_.values)("drop_remainder", drop_);
  }
  StreamPtr<Element> elements(Pass pass) const override {
    return std::make_unique<PaddedBatches>(input().stream(pass), size_, drop_, pass.failures,
                                           padding_);
  }

 private:
  static void check_count(size_t given, size_t wanted, const char* what) {
    check<InvalidArgument>(given == 0 || given == wanted,
                           "padded_batch: expected {} for {} tensors, got {}.", what, wanted,
                           given);
  }
  Shape checked_shape(const Shape& shape, size_t i) const {
    const Shape& own = spec_.types[i].shape;
    bool fits = shape.rank() == own.rank();
    for (int64_t axis = 0; fits && axis < own.rank(); ++axis) {
      if (shape[axis] == kUnknown) continue;
      check<InvalidArgument>(shape[axis] >= 0,
                             "padded_batch: expected sizes of at least 0, or kUnknown, as "
                             "padded_shapes, got {} for tensor {}.",
                             shape, i);
      fits = own[axis] == kUnknown || own[axis] <= shape[axis];
    }
    check<InvalidArgument>(fits,
                           "padded_batch: tensor {} has the shape {}, which can't be padded to {}.",
                           i, own, shape);
    return shape;
  }
  static Tensor value_of(const PaddedBatchOptions& options, DType dtype, size_t i) {
    const bool text = dtype == DType::String;
    const std::vector<Tensor>& all = options.padding_values;
    const Tensor given = all.empty() ? Tensor() : all[all.size() == 1 ? 0 : i];
    if (!given.defined()) {
      return text ? Tensor::scalar("") : ops::cast(Tensor::scalar(int32_t{0}), dtype);
    }
    const Tensor value = given.host().strong();
    check<InvalidArgument>(value.rank() == 0,
                           "padded_batch: expected scalars as padding_values, got a tensor of "
                           "shape {} for tensor {}.",
                           value.shape(), i);
    check<InvalidArgument>(text == (value.dtype() == DType::String),
                           "padded_batch: expected a padding value of {} for tensor {}, got {}.",
                           dtype, i, value.dtype());
    if (text) return value;
    Tensor fitted = ops::cast(value, dtype);
    check<InvalidArgument>(is_floating(dtype) || fitted.item<double>() == value.item<double>(),
                           "padded_batch: the padding value {} of tensor {} is no {}.",
                           value.item<double>(), i, dtype);
    return fitted;
  }

  Padding padding_;
};

}  // namespace

NodePtr make_padded_batch(NodePtr input, int64_t batch_size, const PaddedBatchOptions& options) {
  return std::make_shared<PaddedBatched>(std::move(input), batch_size, options);
}

NodePtr read_padded_batch(LinkReader& link) {
  PaddedBatchOptions options{.padded_shapes = link.get<std::vector<Shape>>("padded_shapes"),
                             .padding_values = link.get<std::vector<Tensor>>("padding_values"),
                             .drop_remainder = link.get<bool>("drop_remainder")};
  return make_padded_batch(link.input(), link.get<int64_t>("batch_size"), options);
}

}  // namespace cornu::data
