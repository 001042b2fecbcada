// SPDX-License-Identifier: Apache-2.0
// A worker of the job described by TF_CONFIG. Prints "ready", then executes each line, which must
// be the same for all workers, and prints one figure. Driven by benchmarks/workers.py and
// benchmarks/scale.py.
//   bench_distribute shared_memory|tcp
//   all_reduce BYTES CALLS: microseconds for an in-place sum of this many bytes of float32.
//   step COMPUTE JITTER BYTES BUCKETS STEPS: microseconds for a training step that waits instead of
//     computing: COMPUTE microseconds, plus an exponentially distributed time with a mean of
//     JITTER. A third of it is the forward pass; in the rest, at equal intervals, BUCKETS gradients
//     of BYTES become ready and are summed, the last one at its end.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "distribute/cluster/cluster.h"
#include "distribute/cluster/cluster_resolver.h"
#include "framework/core/error.h"
#include "framework/strategy/in_process_group.h"

using namespace cornu;
using namespace cornu::distribute;
using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::duration<double, std::micro>;

namespace {

ClusterOptions cluster_options(bool share_memory) {
  const auto resolver = resolve_default();
  check<FailedPrecondition>(resolver.has_value(), "bench_distribute: TF_CONFIG is not set.");
  const ClusterSpec spec = resolver->cluster_spec();
  const auto task = resolver->task();
  check<FailedPrecondition>(task.has_value(), "bench_distribute: TF_CONFIG names no task.");
  ClusterOptions options;
  options.rank = static_cast<int>(id_in_cluster(spec, *task));
  options.insecure = true;  // a network private to this machine
  options.share_memory = share_memory;
  for (const Task& worker : workers(spec)) options.addresses.push_back(spec.task_address(worker));
  return options;
}

class Worker {
 public:
  explicit Worker(const ClusterOptions& options)
      : rank_(options.rank), size_(static_cast<int>(options.addresses.size())) {
    if (size_ == 1) {
      end_ = std::move(make_in_process_group(1).front());
    } else {
      cluster_ = std::make_unique<Cluster>(options);
      end_ = std::move(WorkerCollectives::ends(cluster_->form()).front());
    }
  }

  double measure(const std::string& line) {
    std::istringstream words(line);
    std::string what;
    words >> what;
    if (what == "all_reduce") {
      int64_t bytes = 0;
      int64_t calls = 0;
      words >> bytes >> calls;
      check_words(words, line);
      return all_reduces(bytes, calls);
    }
    check<InvalidArgument>(what == "step", "expected all_reduce or step, got '{}'.", line);
    Step step;
    words >> step.compute >> step.jitter >> step.bytes >> step.buckets >> step.steps;
    check_words(words, line);
    return steps(step);
  }

 private:
  struct Step {
    double compute = 0;  // microseconds
    double jitter = 0;
    int64_t bytes = 0;
    int64_t buckets = 0;
    int64_t steps = 0;
  };

  static void check_words(const std::istringstream& words, const std::string& line) {
    check<InvalidArgument>(!words.fail(), "expected numbers behind the command, got '{}'.", line);
  }

  // The values of `buckets` sums, after ones were summed once. They are stored where a step's
  // gradients are.
  void prepare(int64_t bytes, int64_t buckets) {
    const auto count = static_cast<size_t>(bytes / 4);
    const auto all = count * static_cast<size_t>(buckets);
    auto* memory = reinterpret_cast<float*>(end_->memory(all * sizeof(float)));
    own_.resize(memory ? 0 : all);
    values_.clear();
    for (size_t i = 0; i < all; i += count) {
      values_.emplace_back((memory ? memory : own_.data()) + i, count);
    }
    for (const std::span<float> bucket : values_) {
      std::ranges::fill(bucket, 1.0F);
      sum(bucket);
      const auto ranks = static_cast<float>(size_);
      check<DataLoss>(bucket.front() == ranks && bucket.back() == ranks,
                      "the sum of {} ones is {}.", ranks, bucket.back());
      std::ranges::fill(bucket, 0.0F);
    }
    end_->barrier();
  }

  void sum(std::span<float> values) {
    end_->all_reduce(values.data(), values.data(), static_cast<int64_t>(values.size()),
                     DType::Float32, ReduceOp::Sum);
  }

  double all_reduces(int64_t bytes, int64_t calls) {
    prepare(bytes, 1);
    const auto start = Clock::now();
    for (int64_t i = 0; i < calls; ++i) sum(values_.front());
    end_->barrier();
    return Microseconds(Clock::now() - start).count() / static_cast<double>(calls);
  }

  double steps(const Step& step) {
    prepare(step.bytes, step.buckets);
    const auto start = Clock::now();
    for (int64_t i = 0; i < step.steps; ++i) one_step(step);
    return Microseconds(Clock::now() - start).count() / static_cast<double>(step.steps);
  }

  void one_step(const Step& step) {
    double compute = step.compute;
    if (step.jitter > 0) compute += std::exponential_distribution(1 / step.jitter)(random_);
    const auto start = Clock::now();
    int64_t ticket = 0;
    for (size_t i = 0; i < values_.size(); ++i) {
      const double share = static_cast<double>(i + 1) / static_cast<double>(values_.size());
      const Microseconds until(compute * (1 + 2 * share) / 3);
      std::this_thread::sleep_until(start + std::chrono::duration_cast<Clock::duration>(until));
      const Segment segment{values_[i].data(), values_[i].data(),
                            static_cast<int64_t>(values_[i].size())};
      ticket = end_->start_all_reduce({&segment, 1}, DType::Float32, ReduceOp::Sum);
    }
    end_->await(ticket);
  }

  int rank_;
  int size_;
  std::unique_ptr<Cluster> cluster_;  // null for a single worker
  std::unique_ptr<CollectiveGroup> end_;
  std::vector<float> own_;
  std::vector<std::span<float>> values_;
  std::mt19937_64 random_{static_cast<uint64_t>(rank_)};
};

int run(bool share_memory) {
  Worker worker(cluster_options(share_memory));
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << worker.measure(line) << std::endl;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc == 2 ? argv[1] : "";
  if (how != "shared_memory" && how != "tcp") {
    fmt::print(stderr, "usage: bench_distribute shared_memory|tcp\n");
    return 2;
  }
  try {
    return run(how == "shared_memory");
  } catch (const Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
