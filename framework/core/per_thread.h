// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>
#include <utility>

namespace cornu {

// This thread's own object of the place of the call, made by `make` when it is first asked for and
// destroyed when the thread ends:
//
//   OpCache<Kernel>& cache = per_thread([] { return OpCache<Kernel>(kCachedKernels); });
//
// Unlike a thread_local object, it can be used afterwards, too, in the destructors of a program's
// static and thread_local objects: another one is made then, which isn't destroyed.
template <class Make>
auto& per_thread(Make make) {
  using T = std::invoke_result_t<Make>;
  static thread_local T* object = nullptr;  // has no destructor, so it outlives `end`
  struct End {
    ~End() { delete std::exchange(object, nullptr); }
  };
  if (!object) {
    static thread_local End end;
    static_cast<void>(end);
    object = new T(make());
  }
  return *object;
}

}  // namespace cornu
