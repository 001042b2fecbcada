// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <type_traits>
#include <utility>

namespace cornu {

// This thread's own object of the place of the call, made by `make` when it is first asked for:
//
//   OpCache<Kernel>& cache = per_thread([] { return OpCache<Kernel>(kCachedKernels); });
//
// Unlike a thread_local object, it can be used in the destructors of a program's static and
// thread_local objects, too. It is destroyed when its thread ends, after all thread_local objects;
// the main thread's isn't, since static objects are destroyed later still.
template <class Make>
auto& per_thread(Make make) {
  using T = std::invoke_result_t<Make>;
  static thread_local T* object = nullptr;
  struct End {
    pthread_key_t key{};
    bool made = pthread_key_create(&key, [](void*) { delete std::exchange(object, nullptr); }) == 0;
  };
  static const End end;  // called again for what the destructors of others make
  if (!object) {
    object = new T(make());
    if (end.made) pthread_setspecific(end.key, object);
  }
  return *object;
}

}  // namespace cornu
