// SPDX-License-Identifier: Apache-2.0
#include "data/sources/host.h"

namespace cornu::data {

Element on_host(const Element& element, const char* who) {
  check<InvalidArgument>(element.size() > 0, "{}: expected tensors, got none.", who);
  std::vector<Tensor> tensors;
  for (const Tensor& tensor : element.tensors()) {
    check<InvalidArgument>(tensor.defined() && !tensor.is_symbolic(),
                           "{}: expected tensors with values, got {}.", who, tensor);
    tensors.push_back(tensor.host().strong());
  }
  return element.with(std::move(tensors));
}

}  // namespace cornu::data
