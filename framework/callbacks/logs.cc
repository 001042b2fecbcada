// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/logs.h"

#include <type_traits>

#include "framework/core/error.h"
#include "framework/core/strings.h"
#include "framework/core/tensor.h"

namespace cornu {

template <class T>
void NamedValues<T>::not_found(std::string_view name) const {
  raise<NotFound>("{}: there is no metric named '{}'.{}",
                  std::is_same_v<T, std::vector<double>> ? "History" : "Logs", name,
                  did_you_mean(name, names()));
}

template class NamedValues<double>;
template class NamedValues<std::vector<double>>;
template class NamedValues<Tensor>;

}  // namespace cornu
