// SPDX-License-Identifier: Apache-2.0
#include "framework/core/waiting_threads.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>

extern "C" {
void GOMP_parallel(void (*function)(void*), void* data, unsigned threads, unsigned flags);
int omp_get_max_threads(void);
int omp_get_num_procs(void);
void omp_set_dynamic(int on);
}

namespace cornu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenLooks(50);
constexpr int kMaxSleeping = 16;

// The first version of the kernel's struct sched_attr.
struct SchedulingAttributes {
  uint32_t size = sizeof(SchedulingAttributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0;  // time slice in nanoseconds; 0: the kernel's default
  uint64_t deadline = 0;
  uint64_t period = 0;
};

// Leaves the core's execution units to its other hardware thread for a moment.
void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Sets the time slice of the calling thread, if it has the ordinary policy.
void set_turn(uint64_t nanoseconds) {
  SchedulingAttributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0) return;
  constexpr uint32_t kOrdinary = 0;  // SCHED_OTHER
  if (attributes.policy != kOrdinary) return;
  attributes.runtime = nanoseconds;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

// Seconds that the threads of this process were ready to run but waited for a core, as counted by
// the kernel; 0 when it doesn't report them.
double seconds_waited() {
  double nanoseconds = 0;
  std::error_code error;  // an error ends the loop: the iterator becomes the end
  auto task = std::filesystem::directory_iterator("/proc/self/task", error);
  for (; task != std::filesystem::directory_iterator(); task.increment(error)) {
    double ran = 0;
    double waited = 0;
    if (std::ifstream(task->path() / "schedstat") >> ran >> waited) nanoseconds += waited;
  }
  return nanoseconds * 1e-9;
}

// One per process; never destroyed, as threads may compute until the very end.
class Watch {
 public:
  static Watch& global() {
    static Watch* watch = new Watch;
    return *watch;
  }

  void look() {
    const int64_t now = Clock::now().time_since_epoch().count();
    if (!enabled_ || now < next_look_.load(std::memory_order_relaxed)) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return;
    next_look_ = now + Clock::duration(kBetweenLooks).count();
    const double waited = seconds_waited();
    const double seconds = std::chrono::duration<double>(Clock::duration(now - last_look_)).count();
    const bool contended = estimate_.update(seconds, waited - waited_);
    contended_ = contended;
    last_look_ = now;
    waited_ = waited;
    if (!contended) {
      team_.reset();
    } else if (!team_) {
      // One thread more than there are CPUs, counting the threads that this thread uses.
      const int threads = omp_get_num_procs() - omp_get_max_threads() + 2;
      if (omp_get_max_threads() > 1 && threads > 1 && threads <= kMaxSleeping) {
        team_ = std::make_unique<SleepingTeam>(threads);
      }
    }
  }

  bool contended() const { return contended_.load(std::memory_order_relaxed); }

  void end() {
    const std::lock_guard lock(mutex_);
    team_.reset();
  }

 private:
  Watch()
      : enabled_(!user_decides_waiting()),
        last_look_(Clock::now().time_since_epoch().count()),
        waited_(seconds_waited()) {}

  const bool enabled_;
  std::atomic<int64_t> next_look_ = 0;
  std::atomic<bool> contended_ = false;
  std::mutex mutex_;
  int64_t last_look_;
  double waited_;
  ContentionEstimate estimate_;
  std::unique_ptr<SleepingTeam> team_;
};

}  // namespace

bool user_decides_waiting() {
  static const bool decides = std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY");
  return decides;
}

bool ContentionEstimate::update(double seconds, double waited) {
  constexpr double kMuch = 0.15;  // fraction of the time: a busy program takes a third of two cores
  constexpr double kLittle = 0.05;
  constexpr double kMuchFor = 0.09;  // seconds
  constexpr double kCalmFor = 0.5;
  const auto lasting = [&](double so_far, bool goes_on) { return goes_on ? so_far + seconds : 0; };
  if (!contended_) {
    crowded_ = lasting(crowded_, waited > kMuch * seconds);
    contended_ = crowded_ >= kMuchFor;
    calm_ = 0;
  } else {
    calm_ = lasting(calm_, waited <= kLittle * seconds);
    contended_ = calm_ < kCalmFor;
    crowded_ = 0;
  }
  return contended_;
}

SleepingTeam::SleepingTeam(int threads) : thread_([this, threads] { sleep(threads); }) {}

SleepingTeam::~SleepingTeam() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void SleepingTeam::sleep(int threads) {
  omp_set_dynamic(0);
  GOMP_parallel([](void*) {}, nullptr, static_cast<unsigned>(threads), 0);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ended_; });
}

void take_short_turns(bool short_ones) {
  constexpr uint64_t kShort = 100'000;  // the kernel's minimum
  parallel_parts(compute_threads(), [&](int) { set_turn(short_ones ? kShort : 0); });
}

void adapt_waiting_threads() {
  static thread_local bool short_turns = false;
  Watch::global().look();
  const bool contended = Watch::global().contended();
  if (contended == short_turns || omp_get_max_threads() < 2) return;
  short_turns = contended;
  take_short_turns(short_turns);
}

bool spin_until(int threads, FunctionRef<bool()> ready, std::chrono::microseconds longest) {
  constexpr int kLooks = 64;  // between two clock reads
  if (ready()) return true;
  if (threads > omp_get_num_procs()) return false;
  const bool contended = Watch::global().contended();
  const auto end = Clock::now() + longest;
  do {
    for (int i = 0; i < kLooks; ++i) {
      if (ready()) return true;
      pause();
    }
    if (contended) std::this_thread::yield();  // possibly to the very thread it waits for
  } while (Clock::now() < end);
  return false;
}

void end_sleeping_threads() { Watch::global().end(); }

}  // namespace cornu
