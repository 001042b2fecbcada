// SPDX-License-Identifier: Apache-2.0
#include "data/autotune.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace cornu::data {
namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

int64_t number_in(const char* path) {
  double number = -1;
  std::ifstream(path) >> number;  // "max" leaves 0
  return number > 0 && number < 1e18 ? static_cast<int64_t>(number) : kUnlimited;
}

// The memory of a container whose cgroup is mounted as the root, as in its own namespace.
int64_t group_memory() {
  constexpr const char* kFiles[][2] = {
      {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
      {"/sys/fs/cgroup/memory/memory.limit_in_bytes",
       "/sys/fs/cgroup/memory/memory.usage_in_bytes"}};
  for (const auto& files : kFiles) {
    const int64_t limit = number_in(files[0]);
    const int64_t used = number_in(files[1]);
    if (limit != kUnlimited && used != kUnlimited) return std::max<int64_t>(0, limit - used);
  }
  return kUnlimited;
}

int64_t machine_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string name, rest; file >> name; std::getline(file, rest)) {
    int64_t kilobytes = 0;
    if (name == "MemAvailable:" && file >> kilobytes) return kilobytes * 1024;
  }
  return int64_t{sysconf(_SC_AVPHYS_PAGES)} * sysconf(_SC_PAGESIZE);
}

// In nanoseconds: about the cost of passing a task to another thread and its result back.
constexpr double kSmallTask = 5'000;
constexpr double kLargeTask = 10'000;
constexpr int64_t kCalm = 16;
constexpr int64_t kMinAhead = 2;  // one is requested as soon as it is ready

constexpr int64_t kWindow = 8;  // elements taken by the consumer between two decisions
constexpr int64_t kMaxPatience = 1024;

}  // namespace

int64_t bytes_of(const Element& element) {
  int64_t bytes = 0;
  for (const Tensor& tensor : element.tensors()) {
    if (tensor.dtype() == DType::String) {
      for (const std::string& text : tensor.data<std::string>()) {
        bytes += static_cast<int64_t>(sizeof(text) + text.size());
      }
    } else {
      bytes += static_cast<int64_t>(tensor.bytes());
    }
  }
  return bytes;
}

int64_t available_memory() { return std::min(group_memory(), machine_memory()); }

bool MemoryBudget::has_room(int64_t bytes) {
  std::call_once(chosen_, [this] { most_ = asked_ > 0 ? asked_ : available_memory() / 2; });
  return used() + bytes <= most_;
}

void TunedBuffer::asked(int64_t fill, bool room) {
  if (fill >= size_) {
    was_full_ = true;
  } else if (fill == 0 && was_full_ && room) {
    size_ = std::min(2 * size_, kMax);
    was_full_ = false;
  }
}

void Demand::given(int64_t start, int64_t end) {
  const int64_t elements = elements_.load(std::memory_order_relaxed);
  if (elements > 0) {
    const auto average = [&](std::atomic<int64_t>& of, int64_t now) {
      const int64_t known = of.load(std::memory_order_relaxed);
      of.store(elements == 1 ? now : known + (now - known) / 8, std::memory_order_relaxed);
    };
    average(period_, end - last_);
    average(waiting_, end - start);
  }
  consumer_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  last_ = end;
  elements_.store(elements + 1, std::memory_order_relaxed);
}

void NeedOfThreads::worked(int64_t nanoseconds, const Demand& demand, bool alone) {
  work_ += nanoseconds;
  const int64_t elements = demand.elements() - elements_;
  if (elements < kWindow) return;
  const int64_t period = demand.period();
  const bool waits = demand.waiting() > period / 20;
  if (waits || !alone) {
    if (!needed_) patience_ = std::min(2 * patience_, kMaxPatience);
    needed_ = true;
    calm_ = 0;
  } else if (needed_ && work_ / elements < period / 2 && ++calm_ >= patience_) {
    needed_ = false;
  }
  work_ = 0;
  elements_ += elements;
}

void TunedThreads::took(int64_t nanoseconds) {
  const double most = 8 * average_ + kSmallTask;
  average_ += (std::min(static_cast<double>(nanoseconds), most) - average_) / 16;
  if (threads_ == 0 && average_ >= kLargeTask && most_ > 1) threads_ = 1;
}

void TunedCalls::took(const Taken& taken) {
  // An outlier may just have had no core.
  const double most = 8 * average_ + kSmallTask;
  average_ += (std::min(static_cast<double>(taken.nanoseconds), most) - average_) / 16;
  is_small_ = average_ < (is_small_ ? kLargeTask : kSmallTask);
  if (is_small_) return;
  if (taken.waited) {
    calm_ = 0;
    if (taken.threads_idle && taken.room) ahead_ = std::min(ahead_ + 1, most_);
  } else if (!taken.all_done) {
    calm_ = 0;
  } else if (++calm_ == kCalm) {
    calm_ = 0;
    ahead_ = std::max(ahead_ - 1, kMinAhead);
  }
}

}  // namespace cornu::data
