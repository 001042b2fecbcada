// SPDX-License-Identifier: Apache-2.0
#include "framework/core/tensors.h"

#include <algorithm>

#include "framework/core/strings.h"
#include "framework/core/variable.h"

namespace cornu {

Tensors::Tensors(const Tensor& tensor) {
  if (tensor.defined()) tensors_.push_back(tensor);
}

Tensors::Tensors(const Variable& variable) : Tensors(variable.value()) {}
Tensors::Tensors(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {}
Tensors::Tensors(std::initializer_list<Tensor> tensors) : tensors_(tensors) {}

Tensors::Tensors(std::initializer_list<Named> tensors)
    : Tensors(named(std::vector<Named>(tensors))) {}

Tensors Tensors::named(std::vector<Named> tensors) {
  Tensors result;
  for (auto& [name, tensor] : tensors) {
    result.names_.push_back(std::move(name));
    result.tensors_.push_back(std::move(tensor));
  }
  return result;
}

const Tensor& Tensors::operator[](size_t index) const& {
  check<OutOfRange>(index < tensors_.size(),
                    "Expected a place among {} tensors, got [{}]. A single tensor is indexed by "
                    "y(i), or y.single()[i].",
                    tensors_.size(), index);
  return tensors_[index];
}

const Tensor& Tensors::at(std::string_view name) const& {
  for (size_t i = 0; i < names_.size(); ++i) {
    if (names_[i] == name) return tensors_[i];
  }
  raise<NotFound>("There is no tensor named '{}'.{}", name,
                  names_.empty() ? fmt::format(" These {} have no names: take them by [index].",
                                               tensors_.size())
                                 : did_you_mean(name, names_));
}

Tensor Tensors::get(std::string_view name) const {
  const auto found = std::ranges::find(names_, name);
  return found == names_.end() ? Tensor() : tensors_[static_cast<size_t>(found - names_.begin())];
}

const Tensor& Tensors::single() const& {
  if (tensors_.size() != 1) [[unlikely]] {
    std::string known;
    for (const std::string& name : names_) known += (known.empty() ? "" : ", ") + name;
    raise<InvalidArgument>("Expected a single tensor, got {} of them{}. Choose one with {}.",
                           tensors_.size(), known.empty() ? "" : " (" + known + ")",
                           known.empty() ? "[index]" : "[\"name\"] or [index]");
  }
  return tensors_.front();
}

Tensors Tensors::with(std::vector<Tensor> tensors) const {
  CORNU_ASSERT(tensors.size(), ==, tensors_.size());
  Tensors result;
  result.tensors_ = std::move(tensors);
  result.names_ = names_;
  return result;
}

}  // namespace cornu
