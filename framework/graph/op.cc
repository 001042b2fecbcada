// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/op.h"

#include <mutex>
#include <shared_mutex>

#include "framework/core/registry.h"

namespace cornu {

struct OpRegistry::Impl {
  mutable std::shared_mutex mutex;  // guards ops; definitions never move
  Registry<std::unique_ptr<OpDef>> ops{"op"};
};

OpRegistry::OpRegistry() : impl_(new Impl) {
  // The only op that graphs themselves need: a tensor as a node.
  add({.name = "constant",
       .infer =
           [](std::span<const TensorType>, const Attributes& attributes) {
             return std::vector<TensorType>{type_of(attributes.get_tensor("value"))};
           },
       .vjp = {},
       .traits = {.differentiable = false}});
}

OpRegistry& OpRegistry::global() {
  static OpRegistry* registry = [] {
    auto* made = new OpRegistry;
    register_builtins(*made);
    return made;
  }();
  return *registry;
}

const OpDef& OpRegistry::add(OpDef op) {
  const std::string name = op.name;
  const std::unique_lock lock(impl_->mutex);
  impl_->ops.add(name, std::make_unique<OpDef>(std::move(op)));
  return *impl_->ops.at(name);
}

const OpDef& OpRegistry::at(std::string_view name) const {
  const std::shared_lock lock(impl_->mutex);
  return *impl_->ops.at(name);
}

const OpDef* OpRegistry::find(std::string_view name) const {
  const std::shared_lock lock(impl_->mutex);
  const auto* found = impl_->ops.find(name);
  return found ? found->get() : nullptr;
}

std::vector<std::string> OpRegistry::names() const {
  const std::shared_lock lock(impl_->mutex);
  return impl_->ops.names();
}

void OpRegistry::set_vjp(std::string_view name, VjpFunction vjp) {
  const std::unique_lock lock(impl_->mutex);
  impl_->ops.at(name)->vjp = std::move(vjp);
}

}  // namespace cornu
