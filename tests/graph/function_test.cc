// SPDX-License-Identifier: Apache-2.0
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "framework/graph/backend.h"
#include "framework/strategy/in_process_group.h"
#include "tests/support/errors.h"

using namespace cornu;
using test::message_of;

TEST_CASE("a function is traced once for each signature") {
  int calls = 0;
  Function twice = function([&](const Tensor& x) {
    ++calls;
    return x * 2;
  });
  CHECK(twice(Tensor::from(std::vector<float>{1, 2})).data<float>()[1] == 4);
  CHECK(twice(Tensor::from(std::vector<float>{3, 4})).data<float>()[0] == 6);
  CHECK(calls == 1);
  twice(Tensor::from(std::vector<float>{1, 2, 3}));
  CHECK(calls == 2);
  CHECK(twice.trace_count() == 2);
}

TEST_CASE("a function says what its signatures took to be made") {
  Function f = function(
      [](const Tensor& x) {
        const Tensor negative = ops::negative(ops::negative(x));
        return ops::matmul(ops::matmul(ops::exp(negative) + 1, x), x);
      },
      {.name = "products"});
  CHECK(f.compile_reports().empty());
  f(ops::zeros({8, 8}));
  f(ops::zeros({64, 64}));
  f(ops::zeros({64, 64}));
  const std::vector<CompileReport> reports = f.compile_reports();
  REQUIRE(reports.size() == 2);
  for (const CompileReport& report : reports) {
    CHECK(report.name == "products");
    CHECK(report.traced_nodes >= 6);  // plus those for adding 1
    CHECK(report.compiled_nodes == 3);
    CHECK(report.tracing_seconds > 0);
    CHECK(report.compiling_seconds > 0);
  }
  CHECK(reports[0].signature == "argument 0: float32 (64, 64)");
  CHECK(reports[1].signature == "argument 0: float32 (8, 8)");
  CHECK(reports[0].workspace_bytes >= 64 * 64 * 4);  // the most recently used signature
  CHECK(reports[1].workspace_bytes < 64 * 64 * 4);
  CHECK_THROWS_AS(Function().compile_reports(), FailedPrecondition);
}

TEST_CASE("variables are state of a compiled function") {
  Variable count(Tensor::scalar(0.0f), {.name = "count"});
  Variable previous(Tensor::scalar(-1.0f), {.name = "previous"});
  Function step = function([&](const Tensor& x) {
    previous.assign(count.value());
    count.assign(count + x);
    return count.value() * 10;
  });
  CHECK(step(2.0f).single().item<float>() == 20);
  const Tensor snapshot = count.value();
  CHECK(step(3.0f).single().item<float>() == 50);
  CHECK(snapshot.item<float>() == 2);  // values that were read before don't change
  CHECK(previous.value().item<float>() == 2);
  CHECK(count.value().item<float>() == 5);
}

TEST_CASE("states can be swapped within a step") {
  Variable a(Tensor::from(std::vector<float>{1, 2}), {.name = "a"});
  Variable b(Tensor::from(std::vector<float>{3, 4}), {.name = "b"});
  Function swap = function([&] {
    const Tensor old = a.value();
    a.assign(b.value());
    b.assign(old);
  });
  swap();
  CHECK(a.value().data<float>()[0] == 3);
  CHECK(b.value().data<float>()[1] == 2);
}

TEST_CASE("optimized and plain programs agree") {
  auto body = [](const Tensor& x) {
    const Tensor y = ops::exp(x * 0.1f) + ops::sum(x, 1, true);
    return std::pair(ops::relu(y - 3) * 2, ops::max(y, 0));
  };
  const Tensor x = random::normal({17, 5}, {.seed = 1});
  const auto fast = function(body).call({x});
  const auto plain = function(body, {.optimize = false}).call({x});
  const auto [first, second] = body(x);
  for (size_t i = 0; i < 85; ++i) {
    CHECK(fast[0].data<float>()[i] == doctest::Approx(first.data<float>()[i]));
    CHECK(plain[0].data<float>()[i] == doctest::Approx(first.data<float>()[i]));
  }
  CHECK(fast[1].data<float>()[4] == doctest::Approx(second.data<float>()[4]));
}

TEST_CASE("cond and while_loop run as ops of a compiled function") {
  Function f = function([](const Tensor& x, const Tensor& n) {
    const std::function<Tensor()> then = [&] { return x * 2; };
    const std::function<Tensor()> otherwise = [&] { return x - 1; };
    const Tensor chosen = ops::cond(ops::sum(x) > 0, then, otherwise);
    const auto powers = ops::while_loop([&](const std::vector<Tensor>& v) { return v[0] < n; },
                                        [&](const std::vector<Tensor>& v) {
                                          return std::vector<Tensor>{v[0] + 1, v[1] * 2};
                                        },
                                        {Tensor::scalar(0), Tensor::scalar(1)});
    return std::pair(chosen, powers[1]);
  });
  const auto positive = f(Tensor::from(std::vector<float>{1, 2}), 5);
  CHECK(positive[0].data<float>()[1] == 4);
  CHECK(positive[1].item<int>() == 32);
  const auto negative = f(Tensor::from(std::vector<float>{-1, -2}), 0);
  CHECK(negative[0].data<float>()[1] == -3);
  CHECK(negative[1].item<int>() == 1);
}

TEST_CASE("a symbol that outlives its trace is refused") {
  Tensor leaked;
  Function f = function([&](const Tensor& x) {
    leaked = x * 2;
    return leaked;
  });
  f(1.0f);
  CHECK_THROWS_AS(leaked + 1, FailedPrecondition);
  CHECK_THROWS_AS(leaked.item<float>(), FailedPrecondition);
}

TEST_CASE("a step that fails before it writes leaves variables as they were") {
  Variable w(Tensor::from(std::vector<float>{1, 2, 3}), {.name = "w"});
  Function step = function([&](const Tensor& labels) {
    const Tensor loss =
        ops::sum(ops::sparse_softmax_cross_entropy(ops::reshape(w, {1, 3}), labels).first);
    w.assign(w - loss);
    return loss;
  });
  CHECK_THROWS_AS(step(Tensor::from(std::vector<int32_t>{7})), InvalidArgument);
  CHECK(w.value().data<float>()[0] == 1);
}

TEST_CASE("two replicas of a traced step all-reduce between CPU:0 and CPU:1") {
  Function step = function([](const Tensor& x) {
    return ops::all_reduce(std::vector<Tensor>{x * 2, ops::sum(x)}, "sum");
  });
  const Tensor inputs[2] = {Tensor::from(std::vector<float>{1, 2}),
                            Tensor::from(std::vector<float>{10, 20})};
  auto group = make_in_process_group(2);
  const auto compiled = step.compiled({inputs[0]});
  std::vector<Launch> replicas(2);
  for (int i = 0; i < 2; ++i) {
    replicas[i].executable = compiled->executable.get();
    replicas[i].device = {DeviceType::Cpu, i};
    replicas[i].inputs = std::span(&inputs[i], 1);
    replicas[i].variables = compiled->variables;
    replicas[i].group = group[i].get();
  }
  for (int round = 0; round < 20; ++round) {
    cpu_backend().run(replicas);
    for (const Launch& replica : replicas) {
      CHECK(replica.outputs[0].data<float>()[0] == 22);
      CHECK(replica.outputs[0].data<float>()[1] == 44);
      CHECK(replica.outputs[1].item<float>() == 33);
    }
  }
}

TEST_CASE("a replica that fails wakes the others") {
  Function step = function([](const Tensor& x, const Tensor& labels) {
    const Tensor loss = ops::sum(ops::sparse_softmax_cross_entropy(x, labels).first);
    return ops::all_reduce(loss);
  });
  const Tensor x = ops::zeros({1, 3});
  const Tensor good[] = {x, Tensor::from(std::vector<int32_t>{1})};
  const Tensor bad[] = {x, Tensor::from(std::vector<int32_t>{9})};
  auto group = make_in_process_group(2);
  const auto compiled = step.compiled({good[0], good[1]});
  std::vector<Launch> replicas(2);
  for (int i = 0; i < 2; ++i) {
    replicas[i].executable = compiled->executable.get();
    replicas[i].device = {DeviceType::Cpu, i};
    replicas[i].inputs = i == 0 ? std::span<const Tensor>(good) : std::span<const Tensor>(bad);
    replicas[i].group = group[i].get();
  }
  CHECK_THROWS_AS(cpu_backend().run(replicas), InvalidArgument);
}

TEST_CASE("a function that nobody made says so") {
  const Function none;
  const std::string expected = "Function: expected one made by function(f).";
  CHECK(message_of<FailedPrecondition>([&] { none.trace_count(); }) == expected);
  CHECK(message_of<FailedPrecondition>([&] { none.signature_count(); }) == expected);
  CHECK(message_of<FailedPrecondition>([&] { none.options(); }) == expected);
  CHECK(message_of<FailedPrecondition>([&] { none.call_body({}); }) == expected);
  CHECK(message_of<FailedPrecondition>([&] { none.call({}); }) == expected);
}

TEST_CASE("a function that is empty") {
  CHECK(message_of<InvalidArgument>([] { Function{Function::Body()}; }) ==
        "Function: expected a function, got an empty one.");
}

TEST_CASE("a function that calls itself ends by a C++ value, or with an error") {
  Function power;
  int exponent = 0;
  power = function([&](const Tensor& x) -> Tensor {
    if (exponent == 0) return ops::ones_like(x);
    --exponent;
    return x * power(x).single();
  });
  exponent = 100;
  CHECK(power(Tensor::scalar(1.01)).single().item<float>() == doctest::Approx(2.7048138));

  for (const bool eager : {false, true}) {
    Function endless;
    endless = function([&](const Tensor& x) { return endless(x - 1).single(); },
                       {.name = "endless", .run_eagerly = eager});
    CHECK(message_of<FailedPrecondition>([&] { endless(Tensor::scalar(3.0f)); }) ==
          "Function 'endless': 256 nested calls of functions. A trace makes every call that the "
          "code makes, so a recursion must end by a C++ value; use ops::while_loop for a "
          "repetition that ends by a tensor's value.");
  }
}

TEST_CASE("branches of cond may assign variables") {
  for (const bool eager : {false, true}) {
    CAPTURE(eager);
    const Variable a(Tensor::scalar(1.0f), {.name = "a"});
    const Variable b(Tensor::scalar(10.0f), {.name = "b"});
    const Function f = function(
        [&](const Tensor& yes) {
          b.assign(b + 1);
          const Tensor read = ops::cond(
              yes,
              [&]() -> Tensor {
                a.assign(a * 2);
                a.assign(a + b);
                return a + 0;
              },
              [&]() -> Tensor {
                ops::cond(
                    b > 12,
                    [&] {
                      b.assign(b + 100);
                      return b + 0;
                    },
                    [&] { return b + 0; });
                return b + 0;
              });
          return std::pair(read, a + b);
        },
        {.run_eagerly = eager});
    auto expect = [&](bool yes, float read, float of_a, float of_b) {
      const Tensors results = f(Tensor::scalar(yes));
      CHECK(results[0].item<float>() == read);
      CHECK(results[1].item<float>() == of_a + of_b);
      CHECK(a.value().item<float>() == of_a);
      CHECK(b.value().item<float>() == of_b);
    };
    expect(true, 13, 13, 11);
    expect(false, 12, 13, 12);
    expect(false, 113, 13, 113);
  }
}

TEST_CASE("layers with state in the branches of a compiled cond") {
  struct Gate : Model {
    layers::Dropout dropout{{.rate = 0.5, .seed = 1}};
    layers::BatchNormalization normalize{{.momentum = 0.5}};
    Gate() {
      track(dropout);
      track(normalize);
    }
    Tensor call(const Tensor& x, const CallArgs&) override {
      return ops::cond(
          ops::sum(x) > 0, [&]() -> Tensor { return normalize(x); },
          [&]() -> Tensor { return dropout(x); });
    }
  };
  Gate gate;
  gate.compile({.optimizer = "sgd", .loss = "mse"});
  const Tensor x = ops::ones({8, 4});
  auto moving = [&] { return gate.normalize.weight("moving_mean").value().data<float>()[0]; };
  auto train = [&](const Tensor& in) { return gate.train_on_batch(in, x).at("loss"); };
  const double first = train(-x);
  CHECK(moving() == 0);
  CHECK(train(-x) != first);  // other random numbers
  train(x);
  CHECK(moving() == 0.5F);
}
