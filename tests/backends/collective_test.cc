// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/backends/kernel_run.h"

namespace cornu::cpu::testing {
namespace {

// Doubles floats, and remembers what it was asked for.
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

TEST_CASE("all_reduce knows its reductions") {
  CHECK_THROWS_WITH_AS(kernels().make("all_reduce", {kFirst}, {{"reduce", std::string("median")}},
                                      {type_of(kFirst)}),
                       "all_reduce: expected reduce to be sum, mean, min or max, got \"median\".",
                       InvalidArgument);
}

}  // namespace
}  // namespace cornu::cpu::testing
