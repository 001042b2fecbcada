// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/backends/kernel_run.h"

namespace cornu::cpu::testing {
namespace {

// Doubles floats and records the calls.
class Recorder : public CollectiveGroup {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  void all_reduce(std::span<const Segment> segments, DType dtype, ReduceOp op) override {
    REQUIRE(dtype == DType::Float32);
    for (const Segment& segment : segments) {
      for (int64_t i = 0; i < segment.count; ++i) {
        static_cast<float*>(segment.out)[i] = 2 * static_cast<const float*>(segment.in)[i];
      }
    }
    ops.push_back(op);
  }
  void reduce_scatter(const void*, void*, int64_t, DType, ReduceOp) override {}
  void all_gather(const void*, void*, size_t) override {}
  void broadcast(void*, size_t, int) override {}
  void barrier() override {}
  void abort(const std::string&) override {}

  std::vector<ReduceOp> ops;
};

const KernelRunner& kernels() {
  static const KernelRunner runner(register_collective_kernels);
  return runner;
}

const Tensor kFirst = Tensor::from(std::vector<float>{1, 2, 3});
const Tensor kSecond = Tensor::from(std::vector<float>{4});

TEST_CASE("all_reduce in a group of one copies") {
  const auto results =
      kernels().run("all_reduce", {kFirst, kSecond}, {{"reduce", std::string("mean")}},
                    {type_of(kFirst), type_of(kSecond)});
  check_close(results[0], {1, 2, 3}, 0);
  check_close(results[1], {4}, 0);
}

TEST_CASE("all_reduce asks the group of the run, once for all tensors of a dtype") {
  for (const auto& [name, op] : {std::pair{"sum", ReduceOp::Sum},
                                 {"mean", ReduceOp::Mean},
                                 {"min", ReduceOp::Min},
                                 {"max", ReduceOp::Max}}) {
    auto kernel = kernels().make("all_reduce", {kFirst, kSecond}, {{"reduce", std::string(name)}},
                                 {type_of(kFirst), type_of(kSecond)});
    REQUIRE(kernel);
    std::vector<float> first(3);
    std::vector<float> second(1);
    const void* in[] = {kFirst.raw(), kSecond.raw()};
    void* out[] = {first.data(), second.data()};
    Recorder group;
    kernel->run({.in = in, .out = out, .group = &group});
    CHECK(first == std::vector<float>{2, 4, 6});
    CHECK(second == std::vector<float>{8});
    CHECK(group.ops == std::vector<ReduceOp>{op});
  }
}

TEST_CASE("a reduction that is awaited later gives the same") {
  const TensorType first = type_of(kFirst);
  const TensorType second = type_of(kSecond);
  const Tensor ticket = Tensor::scalar<int64_t>(0);
  auto start = kernels().make("all_reduce_start", {kFirst, kSecond},
                              {{"reduce", std::string("sum")}}, {first, second, type_of(ticket)});
  auto await = kernels().make("all_reduce_await", {kFirst, kSecond, kFirst, kSecond, ticket}, {},
                              {first, second});
  REQUIRE(start);
  REQUIRE(await);
  CHECK(await->may_alias() == Aliases{{2, 0}, {3, 1}});
  for (const bool alone : {false, true}) {
    std::vector<float> under_way(3), other(1), result(3);
    int64_t number = -1;
    Recorder group;
    const void* in[] = {kFirst.raw(), kSecond.raw(), under_way.data(), other.data(), &number};
    void* begun[] = {under_way.data(), other.data(), &number};
    void* out[] = {result.data(), other.data()};  // one of them in place
    start->run({.in = in, .out = begun, .group = alone ? nullptr : &group});
    await->run({.in = in, .out = out, .group = alone ? nullptr : &group});
    const float by = alone ? 1 : 2;
    CHECK(result == std::vector<float>{by, 2 * by, 3 * by});
    CHECK(other == std::vector<float>{4 * by});
    CHECK(number == 0);
  }
}

TEST_CASE("all_reduce knows its reductions") {
  CHECK_THROWS_WITH_AS(kernels().make("all_reduce", {kFirst}, {{"reduce", std::string("median")}},
                                      {type_of(kFirst)}),
                       "all_reduce: expected reduce to be sum, mean, min or max, got \"median\".",
                       InvalidArgument);
}

}  // namespace
}  // namespace cornu::cpu::testing
