// SPDX-License-Identifier: Apache-2.0
#include "cornu/core/waiting_threads.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>

extern "C" {
void GOMP_parallel(void (*function)(void*), void* data, unsigned threads, unsigned flags);
int omp_get_max_threads(void);
int omp_get_num_procs(void);
void omp_set_dynamic(int on);
}

namespace cornu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenLooks(10);
constexpr int kMostSleeping = 16;

// The kernel's struct sched_attr, in its first version.
struct SchedulingAttributes {
  uint32_t size = sizeof(SchedulingAttributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0;  // of a turn, in nanoseconds; 0: the kernel's choice
  uint64_t deadline = 0;
  uint64_t period = 0;
};

// Of the calling thread, where it is an ordinary one.
void set_turn(uint64_t nanoseconds) {
  SchedulingAttributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0) return;
  constexpr uint32_t kOrdinary = 0;  // SCHED_OTHER
  if (attributes.policy != kOrdinary) return;
  attributes.runtime = nanoseconds;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

// One a process; never destroyed, as threads may compute until the very end.
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
    const long switches = forced_switches();
    const double seconds = std::chrono::duration<double>(Clock::duration(now - last_look_)).count();
    const bool contended = estimate_.update(seconds, switches - switches_);
    contended_ = contended;
    last_look_ = now;
    switches_ = switches;
    if (!contended) {
      team_.reset();
    } else if (!team_) {
      // One thread more than there are CPUs, those that this thread uses counted.
      const int threads = omp_get_num_procs() - omp_get_max_threads() + 2;
      if (omp_get_max_threads() > 1 && threads > 1 && threads <= kMostSleeping) {
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
      : enabled_(!std::getenv("GOMP_SPINCOUNT") && !std::getenv("OMP_WAIT_POLICY")),
        last_look_(Clock::now().time_since_epoch().count()),
        switches_(forced_switches()) {}

  static long forced_switches() {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
  }

  const bool enabled_;
  std::atomic<int64_t> next_look_ = 0;
  std::atomic<bool> contended_ = false;
  std::mutex mutex_;
  int64_t last_look_;
  long switches_;
  ContentionEstimate estimate_;
  std::unique_ptr<SleepingTeam> team_;
};

}  // namespace

bool ContentionEstimate::update(double seconds, long forced_switches) {
  constexpr long kSome = 3;         // a single one may be the system's own business
  constexpr double kMany = 30;      // a second
  constexpr double kFew = 5;        // a second
  constexpr double kCalmFor = 0.5;  // seconds
  const auto count = static_cast<double>(forced_switches);
  if (!contended_) {
    contended_ = forced_switches >= kSome && count > kMany * seconds;
    calm_ = 0;
  } else {
    calm_ = count <= kFew * seconds ? calm_ + seconds : 0;
    contended_ = calm_ < kCalmFor;
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
  constexpr uint64_t kShort = 100'000;  // the shortest there is
  uint64_t turn = short_ones ? kShort : 0;
  GOMP_parallel([](void* data) { set_turn(*static_cast<uint64_t*>(data)); }, &turn,
                static_cast<unsigned>(omp_get_max_threads()), 0);
}

void adapt_waiting_threads() {
  static thread_local bool short_turns = false;
  Watch::global().look();
  const bool contended = Watch::global().contended();
  if (contended == short_turns || omp_get_max_threads() < 2) return;
  short_turns = contended;
  take_short_turns(short_turns);
}
void end_sleeping_threads() { Watch::global().end(); }

}  // namespace cornu
