// SPDX-License-Identifier: Apache-2.0
// How reductions between processes are computed: in memory that ranks read from each other, by
// recursive doubling, rounded, and by user-defined implementations.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <span>
#include <string>

#include "framework/core/error.h"
#include "tests/distribute/worker_groups.h"
#include "tests/support/sanitized.h"

using namespace cornu;
using namespace cornu::distribute;
using namespace cornu::test;

namespace {

template <class T>
std::vector<T> some_values(int rank, size_t count) {
  std::mt19937 draw(static_cast<unsigned>(rank + 1));
  std::uniform_real_distribution<float> uniform(-3, 3);
  std::vector<T> values;
  for (size_t i = 0; i < count; ++i) values.push_back(static_cast<T>(uniform(draw)));
  return values;
}

template <class T>
using Results = std::vector<std::vector<T>>;  // by rank

// Reduces two segments; the second one in place.
template <class T>
Results<T> all_reduce(const Groups& groups, size_t count, ReduceOp op, bool in_group_memory) {
  Results<T> results(groups.size() * static_cast<size_t>(groups[0]->replicas()));
  on_ranks(groups, [&](CollectiveGroup& end) {
    const std::vector<T> own = some_values<T>(end.rank(), count);
    const size_t first = count / 3;
    std::vector<T> elsewhere(count + first);
    T* memory = elsewhere.data();
    if (in_group_memory) {
      std::byte* given = end.memory((count + first) * sizeof(T));
      if (given) memory = reinterpret_cast<T*>(given);
    }
    std::copy(own.begin(), own.end(), memory);
    T* out = memory + count;
    const Segment segments[] = {
        {memory, out, static_cast<int64_t>(first)},
        {memory + first, memory + first, static_cast<int64_t>(count - first)}};
    end.all_reduce(segments, dtype_of<T>, op);
    std::vector<T> result(out, out + first);
    result.insert(result.end(), memory + first, memory + count);
    results[static_cast<size_t>(end.rank())] = result;
    end.barrier();
  });
  return results;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return std::ranges::equal(std::as_bytes(std::span(a)), std::as_bytes(std::span(b)));
}

template <class T>
void check_memory(int workers, int replicas) {
  const Groups sockets = groups_of(over_sockets(workers), replicas);
  const Groups shared = groups_of(over_shared_memory(workers), replicas);
  for (const size_t count : {size_t{0}, size_t{5}, size_t{70'001}, size_t{90'000}}) {
    for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Mean, ReduceOp::Max}) {
      CAPTURE(count);
      const Results<T> expected = all_reduce<T>(sockets, count, op, false);
      const Results<T> direct = all_reduce<T>(shared, count, op, true);
      for (size_t rank = 0; rank < direct.size(); ++rank) {
        CAPTURE(rank);
        CHECK(same_bits(direct[rank], expected[0]));
      }
    }
  }
}

}  // namespace

TEST_CASE("ranks that read each other's memory get the bits that a ring gives") {
  for (const int workers : {2, 3, 5}) {
    for (const int replicas : {1, 2}) {
      if (workers * replicas > testing::cases(10, 4)) continue;
      CAPTURE(workers);
      CAPTURE(replicas);
      check_memory<float>(workers, replicas);
      check_memory<double>(workers, replicas);
      check_memory<bfloat16>(workers, replicas);
    }
  }
}

TEST_CASE("memory of a group grows, and serves beside other memory") {
  const Groups groups = groups_of(over_shared_memory(3), 1);
  const Results<float> expected = all_reduce<float>(groups, 60'000, ReduceOp::Sum, false);
  for (const size_t count : {size_t{60'000}, size_t{200'000}, size_t{60'000}}) {
    const Results<float> results = all_reduce<float>(groups, count, ReduceOp::Sum, true);
    CHECK(same_bits(results[0], results[2]));
    if (count == 60'000) CHECK(same_bits(results[1], expected[1]));
  }
  std::atomic<int> wrong = 0;
  on_ranks(groups, [&](CollectiveGroup& end) {
    // Worker 1 keeps its values elsewhere, so all workers send.
    std::vector<float> own = some_values<float>(end.rank(), 60'000);
    float* values = own.data();
    if (end.rank() != 1) {
      values = reinterpret_cast<float*>(end.memory(60'000 * sizeof(float)));
      std::copy(own.begin(), own.end(), values);
    }
    end.all_reduce(values, values, 60'000, DType::Float32, ReduceOp::Sum);
    wrong += std::memcmp(values, expected[0].data() + 0, 20'000 * sizeof(float)) != 0;
    end.barrier();
  });
  CHECK(wrong == 0);
}

TEST_CASE("where there isn't so much memory, ranks send") {
  const Groups groups = groups_of(over_shared_memory(2), 1);
  on_ranks(groups, [](CollectiveGroup& end) {
    CHECK(end.memory(size_t{1} << 62) == nullptr);
    CHECK(end.memory(size_t{1} << 62) == nullptr);
  });
  const Results<float> expected = all_reduce<float>(groups, 60'000, ReduceOp::Sum, false);
  const Results<float> direct = all_reduce<float>(groups, 60'000, ReduceOp::Sum, true);
  CHECK(same_bits(direct[0], expected[0]));
}

TEST_CASE("where ranks can't read each other's memory, all of them send") {
  const Groups groups = groups_of(over_shared_memory(3), 1);
  const Results<float> expected = all_reduce<float>(groups, 60'000, ReduceOp::Sum, false);
  on_ranks(groups, [](CollectiveGroup& end) { CHECK(end.memory(320'000) != nullptr); });
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  {
    const FileDescriptor next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const rlimit none{.rlim_cur = static_cast<rlim_t>(next.get()), .rlim_max = before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  }
  for (int turn = 0; turn < 2; ++turn) {
    const Results<float> sent = all_reduce<float>(groups, 60'000, ReduceOp::Sum, true);
    for (size_t rank = 0; rank < 3; ++rank) CHECK(same_bits(sent[rank], expected[rank]));
  }
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  const Results<float> larger = all_reduce<float>(groups, 70'000, ReduceOp::Sum, true);
  CHECK(same_bits(larger[0], all_reduce<float>(groups, 70'000, ReduceOp::Sum, false)[0]));
}

TEST_CASE("a group over sockets has no memory of its own") {
  const Groups groups = groups_of(over_sockets(2), 1);
  on_ranks(groups, [](CollectiveGroup& end) { CHECK(end.memory(1000) == nullptr); });
}

TEST_CASE("recursive doubling, with ranks beyond a power of two") {
  // From 64 KiB over all ranks upward, as long as a message costs more than its bytes.
  for (const int workers : {4, 5, 6, 7, 8}) {
    CAPTURE(workers);
    const Groups groups = groups_of(over_sockets(workers), 1);
    for (const size_t count : {size_t{5'000}, size_t{8'191}, size_t{20'000}}) {
      CAPTURE(count);
      const Results<double> sums = all_reduce<double>(groups, count, ReduceOp::Sum, false);
      const Results<double> most = all_reduce<double>(groups, count, ReduceOp::Max, false);
      std::vector<double> sum(count, 0.0);
      std::vector<double> largest(count, -9.0);
      for (int rank = 0; rank < workers; ++rank) {
        const std::vector<double> own = some_values<double>(rank, count);
        for (size_t i = 0; i < count; ++i) {
          sum[i] += own[i];
          largest[i] = std::max(largest[i], own[i]);
        }
      }
      double difference = 0;
      for (size_t i = 0; i < count; ++i) {
        difference = std::max(difference, std::abs(sum[i] - sums[0][i]));
      }
      CHECK(difference < 1e-13);
      for (int rank = 0; rank < workers; ++rank) {
        CHECK(same_bits(sums[static_cast<size_t>(rank)], sums[0]));
        CHECK(same_bits(most[static_cast<size_t>(rank)], largest));
      }
    }
  }
}

TEST_CASE("sums that travel narrow are rounded at each rank, and are the same everywhere") {
  for (const int workers : {2, 4, 5}) {
    const Groups groups =
        groups_of(over_sockets(workers), 1, ring_communication(), {.narrow_sums = true});
    for (const size_t count : {size_t{6}, size_t{20'000}, size_t{300'000}}) {
      CAPTURE(count);
      const Results<bfloat16> sums = all_reduce<bfloat16>(groups, count, ReduceOp::Sum, false);
      float difference = 0;
      for (size_t i = 0; i < count; i += 97) {
        float sum = 0;
        for (int rank = 0; rank < workers; ++rank) {
          sum += float(some_values<bfloat16>(rank, i + 1)[i]);
        }
        difference = std::max(difference, std::abs(sum - float(sums[0][i])));
        if (i > 5'000) break;
      }
      CHECK(difference < 0.2F);  // 8 bits of numbers up to 15, at each rank
      for (const auto& result : sums) CHECK(same_bits(result, sums[0]));
    }
  }
}

namespace {

// All ranks send to rank 0, which sends the result back.
class Star : public Collectives {
 public:
  explicit Star(Transport& transport) : transport_(transport) {}

  void all_reduce(const CollectiveCall& what, std::span<const Segment> segments,
                  int64_t divisor) override {
    for (const Segment& segment : segments) {
      REQUIRE(*what.dtype == DType::Float32);
      const auto count = static_cast<size_t>(segment.count);
      auto* out = static_cast<float*>(segment.out);
      if (segment.in != segment.out) std::memcpy(out, segment.in, count * sizeof(float));
      if (transport_.rank() == 0) {
        std::vector<float> theirs(count);
        for (int rank = 1; rank < transport_.size(); ++rank) {
          receive(rank, std::as_writable_bytes(std::span(theirs)));
          for (size_t i = 0; i < count; ++i) out[i] += theirs[i];
        }
        for (size_t i = 0; i < count; ++i) out[i] /= static_cast<float>(divisor);
      } else {
        send(0, std::as_bytes(std::span(out, count)));
      }
      broadcast(what, out, count * sizeof(float), 0);
    }
  }
  void reduce_scatter(const CollectiveCall&, const void*, void*, int64_t, int64_t) override {
    FAIL("not called");
  }
  void all_gather(const CollectiveCall& what, const void* in, void* out, size_t bytes) override {
    auto* all = static_cast<std::byte*>(out);
    const auto own = static_cast<size_t>(transport_.rank());
    if (bytes > 0) std::memcpy(all + own * bytes, in, bytes);
    for (int rank = 0; rank < transport_.size(); ++rank) {
      broadcast(what, all + static_cast<size_t>(rank) * bytes, bytes, rank);
    }
  }
  void broadcast(const CollectiveCall&, void* data, size_t bytes, int root) override {
    const std::span all(static_cast<std::byte*>(data), bytes);
    if (root != 0) root == transport_.rank() ? send(0, all) : receive_at_first(root, all);
    if (transport_.rank() != 0) return receive(0, all);
    for (int rank = 1; rank < transport_.size(); ++rank) send(rank, all);
  }
  void barrier(const CollectiveCall& what) override {
    std::vector<std::byte> all(static_cast<size_t>(transport_.size()));
    const std::byte own{};
    all_gather(what, &own, all.data(), 1);
  }

  static std::vector<int> peers(int rank, int size) {
    if (rank != 0) return {0};
    std::vector<int> all;
    for (int i = 1; i < size; ++i) all.push_back(i);
    return all;
  }

 private:
  void send(int to, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const size_t sent = transport_.send(to, bytes);
      bytes = bytes.subspan(sent);
      if (sent == 0) transport_.wait(to, Transport::kNobody);
    }
  }
  void receive(int from, std::span<std::byte> bytes) {
    while (!bytes.empty()) {
      const size_t came = transport_.receive(from, bytes);
      bytes = bytes.subspan(came);
      if (came == 0) transport_.wait(Transport::kNobody, from);
    }
  }
  void receive_at_first(int from, std::span<std::byte> bytes) {
    if (transport_.rank() == 0) receive(from, bytes);
  }

  Transport& transport_;
};

Communication star() {
  return {.make = [](Transport& transport,
                     const CollectivesOptions&) { return std::make_unique<Star>(transport); },
          .peers = Star::peers};
}

}  // namespace

TEST_CASE("an implementation of the program's own") {
  const Groups groups = groups_of(over_sockets(3), 2, star());
  const Results<float> sums = all_reduce<float>(groups, 1'000, ReduceOp::Mean, false);
  std::vector<double> expected(1'000, 0.0);
  for (int rank = 0; rank < 6; ++rank) {
    const std::vector<float> own = some_values<float>(rank, expected.size());
    for (size_t i = 0; i < expected.size(); ++i) expected[i] += own[i] / 6;
  }
  double difference = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    difference = std::max(difference, std::abs(expected[i] - static_cast<double>(sums[0][i])));
  }
  CHECK(difference < 1e-5);
  for (const auto& result : sums) CHECK(same_bits(result, sums[0]));
}

TEST_CASE("implementations have names") {
  register_communication("star of a test", star());
  CHECK(communication_registry().at("star of a test").peers(2, 4) == std::vector<int>{0});
  CHECK_THROWS_WITH_AS(register_communication("star of a test", star()),
                       "The communication implementation 'star of a test' is registered already. "
                       "Choose another name.",
                       AlreadyExists);
  CHECK_THROWS_WITH_AS(register_communication("half", {.make = star().make, .peers = {}}),
                       "register_communication: 'half' needs both functions, make and peers.",
                       InvalidArgument);
  CHECK_THROWS_WITH_AS(communication_registry().at("star of a tent"),
                       doctest::Contains("Unknown communication implementation"), InvalidArgument);
}
