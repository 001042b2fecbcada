// SPDX-License-Identifier: Apache-2.0
#include "cornu/train/logs.h"

#include "cornu/core/error.h"
#include "cornu/core/strings.h"
#include "cornu/core/tensor.h"

namespace cornu {

template <class T>
void NamedValues<T>::not_found(std::string_view name) const {
  raise<NotFound>("Logs: there is no figure named '{}'.{}", name, did_you_mean(name, names()));
}

template class NamedValues<double>;
template class NamedValues<std::vector<double>>;
template class NamedValues<Tensor>;

}  // namespace cornu
