// SPDX-License-Identifier: Apache-2.0
// Measures the sum over two replicas of one process, next to plain copies by the same two threads:
// each rank has N bytes of float32, and receives the sums in another N bytes. A copy, of each
// rank's N bytes to the destination of its sums, reads 2 N and writes 2 N bytes in total, which is
// the minimum for a sum over two ranks; the sum reads and writes the same amount: each rank
// computes one half and writes it to both. Prints "ready", then for every line read measures each
// N, and prints the microseconds of a sum and of a copy for each. Driven by compare.py.
//   bench_allreduce N...     N: bytes, a multiple of 4
#include <fmt/core.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "framework/core/error.h"
#include "framework/strategy/in_process_group.h"

using namespace cornu;
using Clock = std::chrono::steady_clock;

namespace {

constexpr int kRanks = 2;
constexpr int64_t kBytesInAll = int64_t{256} << 20;  // total of the calls that are timed together

// Number of calls to time.
int64_t calls_of(int64_t bytes) { return std::clamp<int64_t>(kBytesInAll / bytes, 8, 4000); }

// Two threads that do the same thing at the same time.
class Ranks {
 public:
  explicit Ranks(int64_t largest) : group_(make_in_process_group(kRanks)) {
    for (int rank = 0; rank < kRanks; ++rank) {
      threads_.emplace_back([this, rank, largest] { work(rank, largest); });
    }
  }
  ~Ranks() {
    bytes_ = 0;
    turn_.arrive_and_wait();
    for (std::thread& thread : threads_) thread.join();
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  // Microseconds for a sum of this many bytes, or for a copy.
  double measure(int64_t bytes, bool copies) {
    bytes_ = bytes;
    copies_ = copies;
    turn_.arrive_and_wait();
    turn_.arrive_and_wait();
    return microseconds_;
  }

 private:
  void work(int rank, int64_t largest) {
    const auto count = static_cast<size_t>(largest) / sizeof(float);
    const std::vector<float> in(count, static_cast<float>(rank + 1));
    std::vector<float> out(count);
    CollectiveGroup& end = *group_[static_cast<size_t>(rank)];
    for (;;) {
      turn_.arrive_and_wait();
      const int64_t bytes = bytes_;
      if (bytes == 0) return;
      auto call = [&] {
        if (copies_) {
          std::memcpy(out.data(), in.data(), static_cast<size_t>(bytes));
        } else {
          end.all_reduce(in.data(), out.data(), bytes / 4, DType::Float32, ReduceOp::Sum);
        }
      };
      call();
      end.barrier();
      const auto start = Clock::now();
      const int64_t calls = calls_of(bytes);
      for (int64_t i = 0; i < calls; ++i) call();
      end.barrier();
      const std::chrono::duration<double, std::micro> taken = Clock::now() - start;
      if (rank == 0) microseconds_ = taken.count() / static_cast<double>(calls);
      turn_.arrive_and_wait();
    }
  }

  std::vector<std::unique_ptr<CollectiveGroup>> group_;
  std::barrier<> turn_{kRanks + 1};
  int64_t bytes_ = 0;
  bool copies_ = false;
  double microseconds_ = 0;
  std::vector<std::thread> threads_;
};

int run(const std::vector<int64_t>& sizes) {
  Ranks ranks(*std::max_element(sizes.begin(), sizes.end()));
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    for (const int64_t size : sizes) {
      const double sum = ranks.measure(size, false);
      std::cout << sum << ' ' << ranks.measure(size, true) << ' ';
    }
    std::cout << std::endl;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int64_t> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(std::atoll(argv[i]) / 4 * 4);
  if (sizes.empty() || *std::min_element(sizes.begin(), sizes.end()) <= 0) {
    fmt::print(stderr, "usage: bench_allreduce BYTES...\n");
    return 2;
  }
  try {
    return run(sizes);
  } catch (const Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
