// SPDX-License-Identifier: Apache-2.0
// Compute threads: one OpenMP team for our kernels and oneDNN's.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace cornu {

// A reference to a callable, valid during the call it is passed to.
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

// The compute threads that the calling thread's kernels run on: by default all cores, or as many as
// a container's CPU quota allows, or what OMP_NUM_THREADS says; never more than OMP_THREAD_LIMIT,
// nor than 4 a core (or 64). OMP_DYNAMIC is off: kernels need the threads they were promised.
// FailedPrecondition when OMP_STACKSIZE is too small for them.
//
// A process may fork (outside of parallel loops): compute threads end before, and start anew when
// they are needed again, in the parent and in the child.
int compute_threads();

// Makes the above true for the calling thread. Called before anything that enters OpenMP; cheap.
void use_compute_threads();

namespace internal {
// FailedPrecondition when a value of OMP_STACKSIZE ("256k"; null: not set) is too small.
void check_stack_size(const char* text);
}  // namespace internal

// Gives the calling thread `count` (>= 1) compute threads until the guard ends: a logical device's
// share of the cores.
class [[nodiscard]] ComputeThreadsScope {
 public:
  explicit ComputeThreadsScope(int count);
  ~ComputeThreadsScope();
  ComputeThreadsScope(const ComputeThreadsScope&) = delete;
  ComputeThreadsScope& operator=(const ComputeThreadsScope&) = delete;

 private:
  int previous_;
};

// Splits [0, count) into one contiguous part a compute thread (parts are multiples of `grain`,
// except the last) and calls `body(begin, end)` on each, in parallel; returns when all are done.
// With one part, or within another parallel_for, it runs on the caller. Throws what `body` threw.
void parallel_for(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> body);

// Calls `body(part)` for part in [0, parts) on up to as many threads. Throws what it threw first.
void parallel_parts(int parts, FunctionRef<void(int)> body);

}  // namespace cornu
