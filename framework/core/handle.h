// SPDX-License-Identifier: Apache-2.0
// Handles: small objects that refer to shared state. Copies share it, too.
#pragma once

#include <memory>
#include <utility>

#include "framework/core/error.h"

namespace cornu {

// Base of handles to a shared `Impl`. An empty handle represents None.
template <class Impl>
class Handle {
 public:
  Handle() = default;
  explicit Handle(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

  explicit operator bool() const { return impl_ != nullptr; }
  const std::shared_ptr<Impl>& shared() const { return impl_; }

 protected:
  // Throws FailedPrecondition for an empty handle: "Metric: expected a metric, got none."
  Impl& required(const char* handle, const char* what) const {
    check<FailedPrecondition>(impl_ != nullptr, "{}: expected {}, got none.", handle, what);
    return *impl_;
  }

  std::shared_ptr<Impl> impl_;
};

// A `Base` (LayerHandle, Metric, …) that knows the class of its object, as returned by
// make_layer<T>(…) and similar functions.
template <class Base, class T>
class TypedHandle : public Base {
 public:
  TypedHandle() = default;
  explicit TypedHandle(std::shared_ptr<T> object) : Base(std::move(object)) {}

  // Throw FailedPrecondition for an empty handle, and for one to which an object of another class
  // was assigned through a reference to its base.
  T* operator->() const { return &**this; }
  T& operator*() const {
    auto* const typed = dynamic_cast<T*>(this->shared().get());
    check<FailedPrecondition>(typed != nullptr,
                              "TypedHandle: expected an object of the class it was declared for, "
                              "got {}.",
                              this->shared() ? "one of another" : "none");
    return *typed;
  }
};

}  // namespace cornu
