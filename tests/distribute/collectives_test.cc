// SPDX-License-Identifier: Apache-2.0
// Collectives between processes, represented by threads: every kind, over sockets and over shared
// memory, with 2 to 8 workers of 1 to 3 replicas, of any size.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include "framework/core/error.h"
#include "tests/distribute/worker_groups.h"
#include "tests/support/sanitized.h"

using namespace cornu;
using namespace cornu::distribute;
using namespace cornu::test;

namespace {

// Small integers, whose sums are exact in any order.
template <class T>
std::vector<T> input(int rank, int64_t count) {
  std::vector<T> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<T>(static_cast<float>((i * 7 + rank * 3) % 5)));
  }
  return values;
}

template <class T>
std::vector<T> reduced(int ranks, int64_t count, ReduceOp op) {
  std::vector<T> result;
  for (int64_t i = 0; i < count; ++i) {
    double total = 0;
    double least = 9;
    double most = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto value = static_cast<double>((i * 7 + rank * 3) % 5);
      total += value;
      least = std::min(least, value);
      most = std::max(most, value);
    }
    const double of[] = {total, 0, least, most};
    if (op != ReduceOp::Mean) {
      result.push_back(static_cast<T>(static_cast<float>(of[static_cast<int>(op)])));
    } else if constexpr (std::is_same_v<T, double>) {
      result.push_back(total / ranks);
    } else {
      result.push_back(static_cast<T>(static_cast<float>(total) / static_cast<float>(ranks)));
    }
  }
  return result;
}

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::ranges::equal(a, b, [](T x, T y) { return x == y; });
}

// Makes several calls on one group, so that streams stay in sync.
template <class T>
void check_all(const Groups& groups, int64_t count) {
  const int ranks = static_cast<int>(groups.size()) * groups[0]->replicas();
  std::atomic<int> wrong = 0;
  on_ranks(groups, [&](CollectiveGroup& end) {
    const std::vector<T> mine = input<T>(end.rank(), count);
    const std::vector<T> wide = input<T>(end.rank(), count * ranks);
    for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Mean, ReduceOp::Min, ReduceOp::Max}) {
      if (op == ReduceOp::Mean && !std::is_floating_point_v<T>) continue;
      std::vector<T> out(mine.size());
      end.all_reduce(mine.data(), out.data(), count, dtype_of<T>, op);
      std::vector<T> in_place = mine;
      end.all_reduce(in_place.data(), in_place.data(), count, dtype_of<T>, op);
      const std::vector<T> expected = reduced<T>(ranks, count, op);
      wrong += !same(out, expected) || !same(in_place, expected);
    }
    std::vector<T> part(static_cast<size_t>(count));
    end.reduce_scatter(wide.data(), part.data(), count, dtype_of<T>, ReduceOp::Sum);
    const std::vector<T> all = reduced<T>(ranks, count * ranks, ReduceOp::Sum);
    const auto begin = all.begin() + end.rank() * count;
    wrong += !same(part, std::vector<T>(begin, begin + count));

    std::vector<T> gathered(wide.size());
    end.all_gather(mine.data(), gathered.data(), mine.size() * sizeof(T));
    std::vector<T> expected;
    for (int rank = 0; rank < ranks; ++rank) {
      const std::vector<T> other = input<T>(rank, count);
      expected.insert(expected.end(), other.begin(), other.end());
    }
    wrong += !same(gathered, expected);
    for (int root = 0; root < ranks; ++root) {
      std::vector<T> data = mine;
      end.broadcast(data.data(), mine.size() * sizeof(T), root);
      wrong += !same(data, input<T>(root, count));
    }
    end.barrier();
  });
  CHECK(wrong == 0);
}

template <class Make>
void check_sizes(Make make) {
  for (const int workers : {2, 3, 5, 8}) {
    for (const int replicas : {1, 2, 3}) {
      if (workers * replicas > testing::cases(10, 4)) continue;
      CAPTURE(workers);
      CAPTURE(replicas);
      const Groups groups = groups_of(make(workers, kCollectiveTimeout), replicas);
      for (const int64_t count : {0, 1, 7, 64, 1009, 20011}) {
        CAPTURE(count);
        check_all<float>(groups, count);
        check_all<double>(groups, count);
        check_all<int8_t>(groups, count);
        check_all<bfloat16>(groups, count);
        check_all<float16>(groups, count);
      }
    }
  }
}

std::string error_on(const Groups& groups, const std::function<void(CollectiveGroup&)>& body,
                     int rank) {
  std::string text;
  on_ranks(groups, [&](CollectiveGroup& end) {
    try {
      body(end);
    } catch (const Error& error) {
      if (end.rank() == rank) text = error.what();
    }
  });
  return text;
}

}  // namespace

TEST_CASE("collectives over sockets") { check_sizes(over_sockets); }
TEST_CASE("collectives over shared memory") { check_sizes(over_shared_memory); }

TEST_CASE("millions of elements go round in pieces") {
  for (const auto& make : {over_sockets, over_shared_memory}) {
    check_all<float>(groups_of(make(3, kCollectiveTimeout), 1), 1'300'003);
  }
}

TEST_CASE("segments are reduced together, and reductions may be under way together") {
  const Groups groups = groups_of(over_shared_memory(3), 2);
  std::atomic<int> wrong = 0;
  on_ranks(groups, [&](CollectiveGroup& end) {
    std::vector<std::vector<std::vector<double>>> calls;
    std::vector<int64_t> tickets;
    for (int64_t call = 0; call < 9; ++call) {
      auto& values = calls.emplace_back();
      std::vector<Segment> segments;
      for (int64_t i = 0; i < 12; ++i) {
        std::vector<double>& own = values.emplace_back(input<double>(end.rank(), i * i * call));
        segments.push_back({own.data(), own.data(), i * i * call});
      }
      tickets.push_back(end.start_all_reduce(segments, DType::Float64, ReduceOp::Sum));
    }
    end.await(tickets.back());
    for (size_t call = 0; call < calls.size(); ++call) {
      for (const std::vector<double>& values : calls[call]) {
        wrong += values != reduced<double>(6, static_cast<int64_t>(values.size()), ReduceOp::Sum);
      }
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("all workers get the same bits, call after call") {
  for (const int64_t count : {100, 50'000}) {
    const Groups groups = groups_of(over_sockets(5), 1);
    std::vector<std::vector<float>> results(10);
    on_ranks(groups, [&](CollectiveGroup& end) {
      for (int turn = 0; turn < 2; ++turn) {
        std::vector<float> values;
        for (int64_t i = 0; i < count; ++i) {
          values.push_back(1.0F / static_cast<float>(i * 5 + end.rank() + 1));
        }
        end.all_reduce(values.data(), values.data(), count, DType::Float32, ReduceOp::Sum);
        results[static_cast<size_t>(turn * 5 + end.rank())] = values;
      }
    });
    for (const auto& result : results) CHECK(result == results[0]);
  }
}

TEST_CASE("16-bit numbers are summed in float32, and rounded once") {
  for (const int64_t count : {8, 40'000}) {
    const Groups groups = groups_of(over_sockets(4), 1);
    std::atomic<int> wrong = 0;
    on_ranks(groups, [&](CollectiveGroup& end) {
      // 256 + 1 isn't representable as bfloat16, 256 + 4 is.
      std::vector<bfloat16> values(static_cast<size_t>(count),
                                   bfloat16(end.rank() == 0 ? 256.0F : 1.0F));
      values[1] = bfloat16(end.rank() == 3 ? 253.0F : 1.0F);
      end.all_reduce(values.data(), values.data(), count, DType::BFloat16, ReduceOp::Sum);
      wrong += float(values[0]) != 260.0F && float(values[0]) != 258.0F;
      wrong += float(values[1]) != 256.0F;
    });
    CHECK(wrong == 0);
  }
}

TEST_CASE("workers that make different calls are told so, whatever the calls' sizes") {
  for (const int64_t own : {10, 100'000}) {
    for (const int64_t other : {11, 100'001}) {
      for (const int different : {0, 1, 2}) {
        const Groups groups = groups_of(over_sockets(3), 1);
        std::vector<float> memory(200'000);
        std::atomic<int> named = 0;
        on_ranks(groups, [&](CollectiveGroup& end) {
          std::vector<float> values(200'000);
          try {
            end.all_reduce(values.data(), values.data(), end.rank() == different ? other : own,
                           DType::Float32, ReduceOp::Sum);
            FAIL("no error");
          } catch (const RanksDiffer& error) {
            const std::string text = error.what();
            named += text.find(fmt::format("of {} float32", other)) != std::string::npos &&
                     text.find(fmt::format("of {} float32", own)) != std::string::npos;
            for (const auto& group : groups) {
              group->abort(std::make_exception_ptr(Aborted("another one")));
            }
          } catch (const Aborted&) {
          }
        });
        CHECK(named >= 1);
      }
    }
  }
}

TEST_CASE("a worker that is gone is PeerLost to those who wait for it") {
  Transports transports = over_sockets(2);
  transports[0].reset();
  std::vector<std::unique_ptr<Transport>> left;
  left.push_back(std::move(transports[1]));
  const Groups groups = groups_of(std::move(left), 1);
  const auto call = [](CollectiveGroup& end) {
    float value = 1;
    end.all_reduce(&value, &value, 1, DType::Float32, ReduceOp::Sum);
  };
  CHECK(error_on(groups, call, 1).find("host0:1") != std::string::npos);
}

TEST_CASE("a worker that doesn't come is named when the time is over") {
  for (const auto& make : {over_sockets, over_shared_memory}) {
    Transports transports = make(2, std::chrono::milliseconds(20));
    Transports left;
    left.push_back(std::move(transports[0]));
    const Groups groups = groups_of(std::move(left), 1);
    const auto call = [](CollectiveGroup& end) { end.barrier(); };
    CHECK(error_on(groups, call, 0) ==
          "Collective: worker 0 waited 0.02 s for worker 1 (host1:1), which lives but doesn't "
          "come. It may be held up, or do something else than this worker. CommunicationOptions' "
          "timeout_seconds says how long to wait.");
  }
}

TEST_CASE("abort ends what waits, with its error, and what comes later") {
  for (const auto& make : {over_sockets, over_shared_memory}) {
    const Groups groups = groups_of(make(2, kCollectiveTimeout), 1);
    auto ends = WorkerCollectives::ends(groups[0]);
    std::thread waits([&] {
      CHECK_THROWS_WITH_AS(ends[0]->barrier(), doctest::Contains("the job ends"), Aborted);
    });
    groups[0]->abort(std::make_exception_ptr(Aborted("the job ends")));
    waits.join();
    CHECK_THROWS_AS(ends[0]->barrier(), Aborted);
  }
}

TEST_CASE("replicas of one worker that make different calls are told so") {
  const Groups groups = groups_of(over_sockets(2), 2);
  std::atomic<int> told = 0;
  on_ranks(groups, [&](CollectiveGroup& end) {
    float value = 1;
    try {
      if (end.rank() == 1) {
        end.barrier();
      } else {
        end.all_reduce(&value, &value, 1, DType::Float32, ReduceOp::Sum);
      }
    } catch (const Error&) {
      ++told;
      for (const auto& group : groups) group->abort(std::make_exception_ptr(Aborted("so")));
    }
  });
  CHECK(told == 4);
}

TEST_CASE("workers exchange texts of any length between steps") {
  const Groups groups = groups_of(over_shared_memory(3), 1);
  std::vector<std::thread> threads;
  for (const auto& group : groups) {
    threads.emplace_back([&group] {
      const auto w = static_cast<size_t>(group->worker());
      const std::string own(w * 100'000, static_cast<char>('a' + w));
      const std::vector<std::string> all = group->exchange("text", own);
      CHECK(all ==
            std::vector<std::string>{"", std::string(100'000, 'b'), std::string(200'000, 'c')});
      // One worker's text is large while the others send little.
      const std::string large = w == 1 ? std::string(3'000'000, 'x') : "small";
      CHECK(group->exchange("a large one", large) ==
            std::vector<std::string>{"small", std::string(3'000'000, 'x'), "small"});
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("memory of a process that has gone is a lost peer's") {
  const Transports transports = over_shared_memory(2);
  const pid_t process = ::fork();
  if (process == 0) ::_exit(0);
  REQUIRE(::waitpid(process, nullptr, 0) == process);
  const SharedBlock::Handle handle{.process = process, .descriptor = 3};
  int lost = -1;
  try {
    transports[0]->memory_of(1, handle);
  } catch (const PeerLost& error) {
    lost = error.rank();
  }
  CHECK(lost == 1);
}

TEST_CASE("workers that are at different places of their programs are told so") {
  const Groups groups = groups_of(over_shared_memory(2), 1);
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (const auto& group : groups) {
    threads.emplace_back([&group, &errors] {
      const bool is_first = group->worker() == 0;
      try {
        group->exchange(is_first ? "seeds" : "learning rates", is_first ? "1" : "23");
      } catch (const RanksDiffer& error) {
        errors[is_first ? 0 : 1] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string begin =
      "Collective: every worker must make the same calls in the same order, but worker ";
  const std::string end =
      ". The workers' programs or options must differ, or one of them was restarted.";
  CHECK(errors[0] == begin + "1 exchanges learning rates, and worker 0 seeds" + end);
  CHECK(errors[1] == begin + "0 exchanges seeds, and worker 1 learning rates" + end);
}

TEST_CASE("a step that fails on one worker alone ends the other's next call, once") {
  const auto exchanged = [](WorkerCollectives& group) -> std::string {
    try {
      group.exchange("numbers", "1");
    } catch (const OutOfRange& error) {
      return error.what();
    }
    return "";
  };
  const auto both = [&](const Groups& groups) {
    std::vector<std::string> errors(2);
    std::thread other([&] { errors[1] = exchanged(*groups[1]); });
    errors[0] = exchanged(*groups[0]);
    other.join();
    return errors;
  };
  const auto why = std::make_exception_ptr(OutOfRange("no such row"));
  for (const bool is_before : {true, false}) {
    const Groups groups = groups_of(over_shared_memory(2), 1);
    CHECK(both(groups) == std::vector<std::string>(2));
    // When a step fails on both workers, they continue, whichever hears of it first.
    for (const int64_t number : {1, 2}) {
      const auto first = groups[0]->note_failure();
      CHECK(first.number == number);
      if (is_before) groups[1]->note_failure();
      groups[1]->end_by_failure(first, why);
      if (!is_before) groups[1]->note_failure();
    }
    groups[0]->end_by_failure({.after = 2, .number = 2}, why);
    CHECK(both(groups) == std::vector<std::string>(2));
    groups[0]->end_by_failure({.after = 2, .number = 3}, why);  // which is too late
    CHECK(both(groups) == std::vector<std::string>(2));
    groups[1]->end_by_failure(groups[0]->note_failure(), why);
    CHECK(exchanged(*groups[1]) == "no such row");
  }
  const Groups groups = groups_of(over_shared_memory(2), 1);
  std::string error;
  std::thread waits([&] { error = exchanged(*groups[1]); });
  while (*groups[1]->calls() == 0) std::this_thread::yield();
  groups[1]->end_by_failure(groups[0]->note_failure(), why);
  waits.join();
  CHECK(error == "no such row");
}

TEST_CASE("an inbox is found by its description alone, and others' aren't") {
  const auto inbox = Inbox::create(2, {1});
  Json description = inbox->description();
  REQUIRE(Inbox::open(description));
  description.set("tag", std::string(32, '0'));
  CHECK(!Inbox::open(description));
  CHECK(!Inbox::open(Json::object()));
  description = inbox->description();
  description.set("descriptor", int64_t{1});
  CHECK(!Inbox::open(description));
}
