// SPDX-License-Identifier: Apache-2.0
// The name of what a user called, in errors of the functions that it is made of.
#pragma once

#include <string_view>

namespace cornu {

// Until the guard is destroyed, errors made on this thread begin with "name: ", unless their
// message does already. The outermost guard's name is used. `name` must outlive the guard.
//   Tensor std(const Tensor& x) {
//     const ErrorPlace scope("std");
//     return sqrt(var(x));  // "std: moments: expected …"
//   }
class [[nodiscard]] ErrorPlace {
 public:
  explicit ErrorPlace(std::string_view name);
  ~ErrorPlace();
  ErrorPlace(const ErrorPlace&) = delete;
  ErrorPlace& operator=(const ErrorPlace&) = delete;

 private:
  bool outermost_;
};

}  // namespace cornu
