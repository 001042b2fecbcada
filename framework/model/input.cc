// SPDX-License-Identifier: Apache-2.0
#include "framework/model/input.h"

#include "framework/model/functional.h"

namespace cornu {

namespace {

// Checks that a shape or size passed along with a tensor matches the tensor's.
void check_same_as_tensor(bool same, const std::string& who, const char* option,
                          const Tensor& tensor) {
  check<InvalidArgument>(
      same,
      "{}: its {} isn't that of its tensor, which has the shape {} and the dtype {}. Omit it.", who,
      option, tensor.shape(), tensor.dtype());
}

Shape shape_of_tensor(const InputOptions& options, const std::string& who) {
  const Tensor& tensor = options.tensor;
  check<InvalidArgument>(is_placeholder(tensor),
                         "{}: expected a tensor that is a placeholder, made by Input or by a layer "
                         "called on one, got {}.",
                         who, tensor);
  const Shape& whole = tensor.shape();
  check_same_as_tensor(!options.batch_size || (whole.rank() > 0 && whole[0] == *options.batch_size),
                       who, "batch_size", tensor);
  check_same_as_tensor(!options.shape || (whole.rank() > 0 && whole.slice(1) == *options.shape),
                       who, "shape", tensor);
  check_same_as_tensor(!options.batch_shape || whole == *options.batch_shape, who, "batch_shape",
                       tensor);
  check_same_as_tensor(!options.dtype || tensor.dtype() == DType(*options.dtype), who, "dtype",
                       tensor);
  return whole;
}

Shape shape_of_options(const InputOptions& options, const std::string& who) {
  check<InvalidArgument>(options.shape.has_value() != options.batch_shape.has_value(),
                         "{}: expected either a shape (of one example) or a batch_shape, got {}. "
                         "For example Input({{.shape = {{28, 28, 1}}}}), or of one number an "
                         "example Input({{.shape = Shape()}}).",
                         who, options.shape ? "both" : "neither");
  Shape shape = options.batch_shape
                    ? *options.batch_shape
                    : Shape{options.batch_size.value_or(kUnknown)}.concat(*options.shape);
  for (int64_t dim : shape) {
    check<InvalidArgument>(dim >= kUnknown, "{}: expected axes >= 0 or kUnknown, got {}.", who,
                           shape);
  }
  return shape;
}

}  // namespace

Tensor Input(const InputOptions& options) {
  const std::string who =
      options.name.empty() ? std::string("Input") : fmt::format("Input '{}'", options.name);
  const bool given = options.tensor.defined();
  const Shape shape = given ? shape_of_tensor(options, who) : shape_of_options(options, who);
  const DType dtype =
      given ? options.tensor.dtype() : DType(options.dtype.value_or(DType::Float32));
  auto layer = std::make_shared<InputLayer>(shape, dtype, options.name);
  layer->name();
  return KerasNode::record(layer, {}, {}, {{dtype, shape}}).single();
}

bool is_placeholder(const Tensor& tensor) {
  return tensor.is_symbolic() && dynamic_cast<KerasNode*>(tensor.symbol_owner().get()) != nullptr;
}

}  // namespace cornu
