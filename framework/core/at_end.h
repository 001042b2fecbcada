// SPDX-License-Identifier: Apache-2.0
// A guard that runs a function at the end of a scope, however the scope is left.
#pragma once

#include <utility>

namespace cornu {

//   const AtEnd ended([&] { building = false; });
template <class F>
class [[nodiscard]] AtEnd {
 public:
  explicit AtEnd(F f) : f_(std::move(f)) {}
  ~AtEnd() { f_(); }
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;

 private:
  F f_;
};

}  // namespace cornu
