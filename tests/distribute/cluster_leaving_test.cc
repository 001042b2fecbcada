// SPDX-License-Identifier: Apache-2.0
// How workers leave a job: at its end, or because they have waited too long.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "distribute/cluster/cluster.h"
#include "framework/core/error.h"
#include "framework/core/logging.h"
#include "tests/distribute/clusters.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/log.h"

using namespace cornu;
using namespace cornu::distribute;
using test::error_of;
using test::free_addresses;
using test::on_all;
using test::options_of;
using test::sum_of_ranks;

namespace {

ClusterOptions with_timeout(int rank, const std::vector<std::string>& addresses,
                            std::chrono::milliseconds join_timeout) {
  ClusterOptions options = options_of(rank, addresses);
  options.join_timeout = join_timeout;
  return options;
}

bool has_waited(const std::string& error) {
  return error.find("DeadlineExceeded: Cluster: worker ") == 0;
}

// Retries however often this worker has to give up first.
double sum_when_formed(Cluster& cluster) {
  std::optional<double> sum;
  while (!sum) {
    const std::string error = error_of([&] { sum = sum_of_ranks(cluster.form()); });
    CHECK((sum || has_waited(error)));
  }
  return *sum;
}

}  // namespace

TEST_CASE("one job follows the other at the same addresses") {
  const auto addresses = free_addresses(2);
  const auto jobs = [&](int rank) {
    return error_of([&] {
      for (int job = 0; job < 20; ++job) {
        Cluster cluster(options_of(rank, addresses));
        CHECK(sum_of_ranks(cluster.form()) == 3);
        CHECK(cluster.leave() == nullptr);
      }
    });
  };
  auto first = std::async(std::launch::async, jobs, 0);
  auto second = std::async(std::launch::async, jobs, 1);
  CHECK(first.get().empty());
  CHECK(second.get().empty());
}

TEST_CASE("nobody goes on before all have noted that all have left") {
  const auto addresses = free_addresses(3);
  for (int job = 0; job < 5; ++job) {
    std::atomic<int> noted = 0;
    const auto leaves = [&](int rank) {
      Cluster cluster(options_of(rank, addresses));
      cluster.form();
      CHECK(cluster.leave([&] {
        // The last worker has had the most time to overtake the first.
        for (int turn = 0; turn < 1000 * (2 - rank); ++turn) std::this_thread::yield();
        ++noted;
      }) == nullptr);
      return noted.load();
    };
    std::vector<std::future<int>> workers;
    for (int rank = 0; rank < 3; ++rank) {
      workers.push_back(std::async(std::launch::async, leaves, rank));
    }
    for (auto& worker : workers) CHECK(worker.get() == 3);
  }
}

TEST_CASE("what stops when all have left stops nobody") {
  const test::Log log;
  const auto addresses = free_addresses(2);
  const auto leaves = [&](int rank) {
    Cluster cluster(options_of(rank, addresses));
    cluster.form();
    return cluster.leave([&] {
      if (rank == 1) cluster.stop("it is late");
    });
  };
  auto first = std::async(std::launch::async, leaves, 0);
  auto second = std::async(std::launch::async, leaves, 1);
  CHECK(first.get() == nullptr);
  CHECK(second.get() == nullptr);
}

TEST_CASE("a worker that gives up within a group hasn't come to the end of it") {
  const test::Log log;
  const auto addresses = free_addresses(2);
  std::vector<std::unique_ptr<Cluster>> clusters;
  for (const int rank : {0, 1}) {
    const std::chrono::milliseconds timeout(rank == 0 ? 60'000 : 500);
    clusters.push_back(std::make_unique<Cluster>(with_timeout(rank, addresses, timeout)));
  }
  on_all(clusters, sum_when_formed);
  CHECK(has_waited(error_of([&] { clusters[1]->form(0); })));
  bool has_noted = false;
  CHECK(clusters[1]->leave([&] { has_noted = true; }) != nullptr);
  CHECK_FALSE(has_noted);
  test::end_all(clusters);
}

// Otherwise the group would be formed with that worker, and wait for it forever.
TEST_CASE("a worker that has given up takes no part in what the others form without it") {
  const test::Log log;
  const auto addresses = free_addresses(2);
  const std::chrono::milliseconds timeout(300);
  for (const int first : {0, 1}) {
    CAPTURE(first);
    std::vector<std::unique_ptr<Cluster>> clusters(2);
    const auto form = [&](int rank) {
      return error_of([&] { clusters[static_cast<size_t>(rank)]->form(); });
    };
    for (const int rank : {first, 1 - first}) {
      clusters[static_cast<size_t>(rank)] =
          std::make_unique<Cluster>(with_timeout(rank, addresses, timeout));
      CHECK(has_waited(form(rank)));
    }
    SUBCASE("they can meet all the same") {
      CHECK(on_all(clusters, sum_when_formed) == std::vector<double>{3, 3});
      test::end_all(clusters);
    }
    SUBCASE("nor does it wait for them to leave") {
      CHECK(clusters[static_cast<size_t>(first)]->leave() == nullptr);
      CHECK(has_waited(form(1 - first)));
    }
  }
}
