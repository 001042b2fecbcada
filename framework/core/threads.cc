// SPDX-License-Identifier: Apache-2.0
// OpenMP is entered through libgomp's own entry points, so that every compiler shares the single
// runtime that oneDNN uses, and no compiler option is needed.
#include "framework/core/threads.h"

#include <pthread.h>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>

#include "framework/core/ascii.h"
#include "framework/core/blocked_signals.h"
#include "framework/core/compute_team.h"
#include "framework/core/cpu_quota.h"
#include "framework/core/error.h"
#include "framework/core/waiting_threads.h"

extern "C" {
void GOMP_parallel(void (*function)(void*), void* data, unsigned threads, unsigned flags);
int omp_get_max_threads(void);
void omp_set_num_threads(int threads);
int omp_get_thread_num(void);
int omp_get_num_threads(void);
int omp_in_parallel(void);
int omp_get_num_procs(void);
int omp_get_thread_limit(void);
void omp_set_dynamic(int on);
int omp_pause_resource_all(int kind);
}

namespace cornu {
namespace {

// The processor's register of floating-point settings, and the bits in it that results depend on.
#if defined(__SSE2__)
// MXCSR: flush to zero, rounding, denormals are zero.
constexpr uint64_t kFloatControl = 0xe040;
uint64_t float_register() { return _mm_getcsr(); }
void set_float_register(uint64_t value) { _mm_setcsr(static_cast<unsigned>(value)); }
#elif defined(__aarch64__)
// FPCR: alternative half precision, default NaN, flush to zero (single and double), rounding, flush
// to zero (half), alternative handling, flush inputs to zero.
constexpr uint64_t kFloatControl = 0x7c80003;
uint64_t float_register() {
  uint64_t value;
  asm volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}
void set_float_register(uint64_t value) { asm volatile("msr fpcr, %0" : : "r"(value) : "memory"); }
#else
constexpr uint64_t kFloatControl = 0;
uint64_t float_register() { return 0; }
void set_float_register(uint64_t) {}
#endif

// How this thread's floating-point numbers are rounded, and whether tiny ones become zero.
uint64_t float_control() { return float_register() & kFloatControl; }

void set_float_control(uint64_t control) {
  const uint64_t all = float_register();
  if ((all & kFloatControl) != control) set_float_register((all & ~kFloatControl) | control);
}

struct Region {
  FunctionRef<void(int)> body;
  int parts;
  uint64_t control = float_control();  // one result, however it is divided
  std::mutex mutex = {};
  std::exception_ptr error = {};  // the first one
};

// Exceptions must not leave a team's thread: that would end the process.
void run_region(void* data) {
  Region& region = *static_cast<Region*>(data);
  // The team's threads never handle signals.
  if (omp_get_thread_num() > 0) block_signals_for_good();
  const uint64_t own_control = float_control();
  set_float_control(region.control);
  // A team may be smaller or larger than the number of parts.
  for (int part = omp_get_thread_num(); part < region.parts; part += omp_get_num_threads()) {
    try {
      region.body(part);
    } catch (...) {
      const std::lock_guard lock(region.mutex);
      if (!region.error) region.error = std::current_exception();
    }
  }
  set_float_control(own_control);  // for the program's own parallel regions
}

// An upper bound, whatever the environment says: libgomp ends the process when it can't start a
// thread.
int most_threads() {
  constexpr int kAtLeast = 64;
  constexpr int kEachProcessor = 4;
  static const int most = std::max(kAtLeast, kEachProcessor * omp_get_num_procs());
  return std::min(most, std::max(1, omp_get_thread_limit()));
}

// The number of threads that a thread may use by default.
int allowed_threads() {
  static const int quota = [] {
    const char* asked = std::getenv("OMP_NUM_THREADS");
    return asked && *asked ? most_threads() : cpu_quota().value_or(most_threads());
  }();
  return std::min(quota, most_threads());
}

// libgomp's threads survive only in the parent: they are ended before a fork, and started again on
// demand in both processes.
void before_fork() {
  constexpr int kHard = 2;  // omp_pause_hard
  if (!omp_in_parallel()) omp_pause_resource_all(kHard);
  end_sleeping_threads();
}

// Settings required on every thread that enters OpenMP.
void prepare_this_thread() {
  internal::check_stack_size(std::getenv("OMP_STACKSIZE"));
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(before_fork, nullptr, nullptr); });
  // oneDNN's kernels wait for as many threads as omp_get_max_threads() reports.
  omp_set_dynamic(0);
  if (omp_get_max_threads() > allowed_threads()) omp_set_num_threads(allowed_threads());
}

}  // namespace

namespace internal {

void check_stack_size(const char* text) {
  constexpr double kMin = 256 << 10;
  if (!text || !*text) return;
  char* end = nullptr;
  double bytes = static_cast<double>(std::strtoull(text, &end, 10));
  if (end == text) return;  // libgomp ignores it as well
  while (ascii::is_space(*end)) ++end;
  const std::string units = "bkmgt";
  const size_t unit = *end ? units.find(ascii::to_lower(*end)) : 1;
  if (unit == std::string::npos) return;
  for (size_t i = 0; i < unit; ++i) bytes *= 1024;
  check<FailedPrecondition>(bytes >= kMin,
                            "Compute threads: expected at least 256k of stack for each, got "
                            "OMP_STACKSIZE={}. Set it higher, or not at all.",
                            text);
}

}  // namespace internal

void use_compute_threads() {
  static thread_local bool prepared = false;
  if (prepared) return;
  prepare_this_thread();
  prepared = true;
}

int compute_threads() {
  use_compute_threads();
  return omp_get_max_threads();
}

ComputeThreadsScope::ComputeThreadsScope(int count) : previous_(compute_threads()) {
  omp_set_num_threads(std::clamp(count, 1, most_threads()));
}

ComputeThreadsScope::~ComputeThreadsScope() { omp_set_num_threads(previous_); }

void parallel_parts(int parts, FunctionRef<void(int)> body) {
  if (parts <= 1 || omp_in_parallel()) {
    for (int part = 0; part < parts; ++part) body(part);
    return;
  }
  Region region{body, parts};
  // Always the whole team, even if there are fewer parts: in a region of fewer threads, libgomp
  // ends the others, and has to start them again in the next region.
  const int threads = compute_threads();
  note_compute_team();
  GOMP_parallel(run_region, &region, static_cast<unsigned>(threads), 0);
  if (region.error) std::rethrow_exception(region.error);
}

void parallel_for(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) {
  if (count <= 0) return;
  grain = std::max<int64_t>(1, grain);
  const int64_t blocks = (count + grain - 1) / grain;
  const auto parts = static_cast<int>(std::min<int64_t>(blocks, compute_threads()));
  if (parts <= 1) {
    body(0, count);
    return;
  }
  parallel_parts(parts, [&](int part) {
    const int64_t begin = blocks * part / parts * grain;
    const int64_t end = std::min(count, blocks * (part + 1) / parts * grain);
    if (begin < end) body(begin, end);
  });
}

}  // namespace cornu
