// SPDX-License-Identifier: Apache-2.0
#include "framework/model/input.h"

#include "framework/model/functional.h"

namespace cornu {

Tensor Input(const InputOptions& options) {
  const std::string who =
      options.name.empty() ? std::string("Input") : fmt::format("Input '{}'", options.name);
  check<InvalidArgument>(options.shape.has_value() != options.batch_shape.has_value(),
                         "{}: expected either a shape (of one example) or a batch_shape, got {}. "
                         "For example Input({{.shape = {{28, 28, 1}}}}).",
                         who, options.shape ? "both" : "neither");
  Shape shape = options.batch_shape
                    ? *options.batch_shape
                    : Shape{options.batch_size.value_or(kUnknown)}.concat(*options.shape);
  for (int64_t dim : shape) {
    check<InvalidArgument>(dim >= kUnknown, "{}: expected axes >= 0 or kUnknown, got {}.", who,
                           shape);
  }
  auto layer = std::make_shared<InputLayer>(shape, options.dtype, options.name);
  layer->name();
  return KerasNode::record(layer, {}, {}, {{options.dtype, shape}}).single();
}

bool is_placeholder(const Tensor& tensor) {
  return tensor.is_symbolic() && dynamic_cast<KerasNode*>(tensor.symbol_owner().get()) != nullptr;
}

}  // namespace cornu
