// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/said.h"

#include "data/transforms/transforms.h"
#include "framework/ops/ops.h"

namespace cornu::data {
namespace {

const Tensor* only_scalar(const Element& said) {
  const bool is_scalar = said.tensors().size() == 1 && said.tensors()[0].rank() == 0;
  return is_scalar ? &said.tensors()[0] : nullptr;
}

// The spec of pairs of an element and a scalar of this dtype.
ElementSpec with_said(const ElementSpec& element, DType dtype) {
  const ElementSpec said = {{{dtype, {}}}, std::make_shared<const Structure>()};
  return tuple_of({element, said});
}

NodePtr make_said(NodePtr input, MapFunction f, DType dtype, const char* who) {
  const ElementSpec signature = with_said(input->spec(), dtype);
  return make_map(std::move(input), std::move(f), {.output_signature = signature}, who);
}

}  // namespace

NodePtr make_flagged(NodePtr input, MapFunction predicate, const char* who) {
  const auto flagged = [predicate = std::move(predicate)](const Element& element) {
    const Element said = predicate(element);
    const Tensor* flag = only_scalar(said);
    check<InvalidArgument>(flag && flag->dtype() == DType::Bool,
                           "the predicate gives {}, expected a bool scalar. Reduce it, for example "
                           "with ops::all.",
                           spec_of(said));
    return Element::tuple({element, said});
  };
  return make_said(std::move(input), flagged, DType::Bool, who);
}

NodePtr make_keyed(NodePtr input, MapFunction key, const char* who, const char* what) {
  const auto keyed = [key = std::move(key), what](const Element& element) {
    const Element said = key(element);
    const Tensor* number = only_scalar(said);
    check<InvalidArgument>(number && is_integer(number->dtype()),
                           "{} gives {}, expected an integer scalar.", what, spec_of(said));
    return Element::tuple({element, ops::cast(*number, DType::Int64)});
  };
  return make_said(std::move(input), keyed, DType::Int64, who);
}

void require_said(const Node& node, const ElementSpec& element, DType dtype) {
  const ElementSpec wanted = with_said(element, dtype);
  check<InvalidArgument>(node.spec() == wanted, "expected elements of the kind {}, got {}.", wanted,
                         node.spec());
}

Tensor take_said(Element& element, const std::shared_ptr<const Structure>& structure) {
  std::vector<Tensor> tensors = element.tensors();
  Tensor said = std::move(tensors.back());
  tensors.pop_back();
  element = Element(std::move(tensors), structure);
  return said;
}

}  // namespace cornu::data
