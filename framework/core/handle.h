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
  explicit TypedHandle(std::shared_ptr<T> object) : Base(object), typed_(object.get()) {}

  T* operator->() const { return typed_; }
  T& operator*() const { return *typed_; }

 private:
  T* typed_ = nullptr;
};

}  // namespace cornu
