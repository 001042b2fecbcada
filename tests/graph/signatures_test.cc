// SPDX-License-Identifier: Apache-2.0
// Compiled signatures: how they are distinguished, how many are kept, and the memory they run in.
#include <cornu/cornu.h>
#include <doctest/doctest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <sstream>

#include "framework/backends/cpu/workspace.h"
#include "framework/graph/backend.h"

using namespace cornu;

namespace {

// Captures what is logged during its lifetime.
class LogScope {
 public:
  LogScope() {
    auto logger = std::make_shared<spdlog::logger>(
        "cornu", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_));
    logger->set_pattern("%v");
    spdlog::drop("cornu");
    spdlog::register_logger(logger);
  }
  ~LogScope() { spdlog::drop("cornu"); }
  LogScope(const LogScope&) = delete;
  LogScope& operator=(const LogScope&) = delete;
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
};

// Two matmuls: one intermediate value as large as the result.
Function products(const FunctionOptions& options = {}) {
  return function(
      [](const Tensor& x) {
        const Tensor square = ops::matmul(x, x, {.transpose_x2 = true});
        return ops::matmul(square, x);
      },
      options);
}

Tensor of_length(int64_t length) { return ops::ones({length, 2}); }

// Every element of products()(of_length(length)).
float expected(int64_t length) { return static_cast<float>(2 * length); }

}  // namespace

TEST_CASE("a thousand lengths: a bounded number of signatures, one workspace") {
  const LogScope log;
  const Function f = products();
  const size_t before = cpu::workspace_bytes_held();
  size_t most = 0;
  for (int64_t length = 1; length <= 1000; ++length) {
    const Tensor y = f(of_length(length)).single();
    REQUIRE(y.to_vector<float>().back() == expected(length));
    most = std::max(most, cpu::workspace_bytes_held());
  }
  CHECK(f.signature_count() == 64);
  CHECK(f.trace_count() == 1000);
  const size_t largest = f.compiled({of_length(1000)})->executable->workspace_bytes();
  CHECK(largest >= 1000 * 1000 * 4);
  CHECK(most <= before + largest);

  // A dropped signature is traced again, with correct results.
  CHECK(f(of_length(3)).single().to_vector<float>().back() == expected(3));
  CHECK(f.trace_count() == 1001);
  f(of_length(3));
  CHECK(f.trace_count() == 1001);
}

TEST_CASE("memory of a huge call is given back when its signature goes") {
  const Function f = products({.max_signatures = 2});
  f(of_length(2));
  const size_t small = cpu::workspace_bytes_held();
  f(of_length(1500));
  CHECK(cpu::workspace_bytes_held() >= 1500 * 1500 * 4);
  f(of_length(2));  // the memory is kept as long as its signature
  CHECK(cpu::workspace_bytes_held() >= 1500 * 1500 * 4);
  f(of_length(3));
  f(of_length(2));
  CHECK(cpu::workspace_bytes_held() <= small + 1024);
  CHECK(f.signature_count() == 2);
}

TEST_CASE("the signature that wasn't used for longest goes first") {
  const LogScope log;
  const Function f = products({.max_signatures = 2});
  f(of_length(1));
  f(of_length(2));
  f(of_length(1));
  f(of_length(3));  // drops the signature of length 2
  CHECK(f.trace_count() == 3);
  f(of_length(1));
  CHECK(f.trace_count() == 3);
  f(of_length(2));
  CHECK(f.trace_count() == 4);
  CHECK_THROWS_AS(products({.max_signatures = 0}), InvalidArgument);
}

TEST_CASE("retracing without end is warned about once, with what changes") {
  const LogScope log;
  const Function f = products({.name = "forward"});
  for (int64_t length = 1; length <= 16; ++length) f(of_length(length));
  CHECK(log.text().empty());
  for (int64_t length = 17; length <= 30; ++length) f(of_length(length));
  CHECK(log.text() ==
        "Function 'forward': traced and compiled 17 times, since each new signature of its "
        "arguments needs a trace of its own. The last retrace was due to: argument 0: float32 "
        "(17, 2), before float32 (16, 2). Keep shapes the same (pad, drop the remainder when "
        "batching), and pass numbers that change as tensors. The last 64 signatures are kept.\n");
}

TEST_CASE("names, structure, dtypes and the device belong to the signature") {
  const Function f = Function::structured([](const std::vector<Tensors>& arguments) {
    const Tensors& x = arguments[0];
    return Tensors({{"difference", x.at("a") - x.at("b")}});
  });
  const Tensor one = 1.0f;
  const Tensor two = 2.0f;
  const Tensors result = f.run({Tensors({{"a", two}, {"b", one}})});
  CHECK(result.at("difference").item<float>() == 1);
  CHECK(f.run({Tensors({{"b", one}, {"a", two}})}).at("difference").item<float>() == 1);
  CHECK(f.run({Tensors({{"a", one}, {"b", two}})}).at("difference").item<float>() == -1);
  CHECK(f.trace_count() == 2);
  f.run({Tensors({{"a", Tensor::scalar(int32_t{1})}, {"b", Tensor::scalar(int32_t{1})}})});
  CHECK(f.trace_count() == 3);
  const DeviceScope scope({DeviceType::Cpu, 1});
  f.run({Tensors({{"a", two}, {"b", one}})});
  CHECK(f.trace_count() == 4);

  const Function parts = Function::structured([](const std::vector<Tensors>& arguments) {
    return Tensors(Tensor(static_cast<int64_t>(arguments[0].size())));
  });
  CHECK(parts.run({Tensors({one, two}), Tensors()}).single().item<int>() == 2);
  CHECK(parts.run({Tensors(one), Tensors(two)}).single().item<int>() == 1);
}

TEST_CASE("branches and loops work in the memory of the program around them") {
  const Function f = function([](const Tensor& x) {
    return ops::while_loop([](const std::vector<Tensor>& v) { return ops::sum(v[0]) < 1e4f; },
                           [](const std::vector<Tensor>& v) {
                             return std::vector<Tensor>{ops::matmul(v[0], v[0]) * 2.0f};
                           },
                           {x})[0];
  });
  const Tensor x = ops::eye(100);
  CHECK(f(x).single().to_vector<float>()[0] == 128);
  const size_t held = cpu::workspace_bytes_held();
  CHECK(held >= f.compiled({x})->executable->workspace_bytes());
  CHECK(f.compiled({x})->executable->workspace_bytes() >= 2 * 100 * 100 * 4);
  f(x);
  CHECK(cpu::workspace_bytes_held() == held);
}
