// SPDX-License-Identifier: Apache-2.0
// Compute threads: one OpenMP team shared by Cornu's kernels and oneDNN's.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace cornu {

// A non-owning reference to a callable, valid during the call it is passed to.
template <class Signature>
class FunctionRef;
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>)
      FunctionRef(F&& f)  // NOLINT: implicit on purpose
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(static_cast<Args&&>(args)...);
        }) {}
  R operator()(Args... args) const { return call_(object_, static_cast<Args&&>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

// The number of compute threads that the calling thread's kernels use: by default all cores, or
// what a container's CPU quota or OMP_NUM_THREADS allows; never more than OMP_THREAD_LIMIT, nor
// than 4 per core (or 64). OMP_DYNAMIC is turned off, since kernels need the threads they were
// promised. Throws FailedPrecondition when OMP_STACKSIZE is too small for them.
//
// A process may fork while none of its threads is within a function of this library, or ends:
// compute threads end before the fork, and are started again on demand in both the parent and the
// child. In a child of any other fork, locks that those threads held are never released.
int compute_threads();

// Applies the settings above to the calling thread. Called before anything that enters OpenMP;
// cheap.
void use_compute_threads();

namespace internal {
// Throws FailedPrecondition when `text`, a value of OMP_STACKSIZE ("256k"; null when not set), is
// too small.
void check_stack_size(const char* text);
}  // namespace internal

// Gives the calling thread `count` (>= 1) compute threads until the guard is destroyed: a logical
// device's share of the cores.
class [[nodiscard]] ComputeThreadsScope {
 public:
  explicit ComputeThreadsScope(int count);
  ~ComputeThreadsScope();
  ComputeThreadsScope(const ComputeThreadsScope&) = delete;
  ComputeThreadsScope& operator=(const ComputeThreadsScope&) = delete;

 private:
  int previous_;
};

// Splits [0, count) into one contiguous part per compute thread (part sizes are multiples of
// `grain`, except for the last part), calls `body(begin, end)` on each in parallel, and returns
// when all are done. With a single part, or inside another parallel_for, runs on the calling
// thread. Rethrows what `body` threw.
void parallel_for(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> body);

// Calls `body(part)` for each part in [0, parts) on up to `parts` threads. Rethrows the first
// exception.
void parallel_parts(int parts, FunctionRef<void(int)> body);

}  // namespace cornu
