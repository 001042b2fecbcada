// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "framework/core/variable.h"
#include "framework/graph/function.h"
#include "framework/ops/ops.h"
#include "tests/ops/op_harness.h"

namespace cornu::testing {
namespace {

using Inputs = std::vector<Tensor>;

TEST_CASE("cond: eagerly only the chosen branch runs") {
  int runs = 0;
  const auto count = [&](int value) {
    return [&runs, value] {
      ++runs;
      return Tensor(value);
    };
  };
  CHECK(ops::cond(true, count(1), count(2)).item<int>() == 1);
  CHECK(ops::cond(Tensor::scalar(false), count(1), count(2)).item<int>() == 2);
  CHECK(runs == 2);
}

TEST_CASE("cond: compiled, with values from outside and variables") {
  const Variable v(Tensor::from(std::vector<double>{10, 20}));
  const OpFunction f = [&](const Inputs& in) {
    const Tensor doubled = in[1] * 2;
    return ops::cond(
        in[0], [&] { return doubled + v; }, [&] { return in[1] - doubled; });
  };
  const Tensor x = Tensor::from(std::vector<double>{1, 2});
  check_values(check_compiled(f, {Tensor::scalar(true), x}), {2}, {12, 24});
  check_values(check_compiled(f, {Tensor::scalar(false), x}), {2}, {-1, -2});
  const Function compiled = function([&](const Tensor& p, const Tensor& y) { return f({p, y}); });
  check_values(compiled(true, x).single(), {2}, {12, 24});
  v.assign(Tensor::from(std::vector<double>{0, 0}));
  check_values(compiled(true, x).single(), {2}, {2, 4});
  CHECK(compiled.trace_count() == 1);
}

TEST_CASE("cond: several outputs, nested") {
  const OpFunction f = [](const Inputs& in) {
    const auto parts = ops::cond(
        in[0] > 0,
        [&] {
          return std::vector<Tensor>{in[0], in[0] * 2};
        },
        [&] {
          const Tensor inner = ops::cond(
              in[0] < -1, [&] { return in[0] * 10; }, [&] { return in[0] * 100; });
          return std::vector<Tensor>{inner, -in[0]};
        });
    return parts[0] + parts[1];
  };
  check_values(check_compiled(f, {Tensor::scalar(3.0)}), {}, {9});
  check_values(check_compiled(f, {Tensor::scalar(-2.0)}), {}, {-18});
  check_values(check_compiled(f, {Tensor::scalar(-0.5)}), {}, {-49.5});
}

TEST_CASE("while_loop: eager and compiled, values from outside, maximum_iterations") {
  const auto powers = [](std::optional<int64_t> most) -> OpFunction {
    return [most](const Inputs& in) {
      const auto results = ops::while_loop([&](const Inputs& vars) { return vars[1] < in[1]; },
                                           [&](const Inputs& vars) {
                                             return Inputs{vars[0] * 2, vars[1] + in[2]};
                                           },
                                           {in[0], Tensor::scalar(0.0)}, most);
      return results[0] + results[1] * 1000;
    };
  };
  const Inputs inputs = {Tensor::scalar(1.0), Tensor::scalar(5.0), Tensor::scalar(1.0)};
  check_values(check_compiled(powers({}), inputs), {}, {5032});
  check_values(check_compiled(powers(3), inputs), {}, {3008});
  check_values(check_compiled(powers(0), inputs), {}, {1});
}

TEST_CASE("mistakes") {
  CHECK(message_of<InvalidArgument>([] {
          ops::cond(
              Tensor::from({true, false}), [] { return Tensor(1); }, [] { return Tensor(2); });
        }).starts_with("cond: expected a bool scalar as predicate, got one of shape (2,)."));
  const Tensor x = Tensor::from(std::vector<double>{1, 2});
  const auto traced = [&](const OpFunction& f) {
    Function([&](const Inputs& in) { return Inputs{f(in)}; }).call({x});
  };
  CHECK(message_of<InvalidArgument>([&] {
          traced([](const Inputs& in) {
            return ops::cond(
                ops::any(in[0] > 0), [&] { return in[0]; }, [&] { return ops::sum(in[0]); });
          });
        }) ==
        "cond: expected the same type from both branches as output 0, got float64 (2,) and float64 "
        "().");
  CHECK(message_of<InvalidArgument>([&] {
          traced([](const Inputs& in) {
            return ops::cond(
                in[0] > 0, [&] { return in[0]; }, [&] { return in[0]; });
          });
        }).find("cond: expected a bool scalar as predicate") == 0);
  CHECK(message_of<InvalidArgument>([&] {
          ops::while_loop([](const Inputs&) { return Tensor(true); },
                          [](const Inputs& vars) { return Inputs{ops::sum(vars[0])}; }, {x});
        }) ==
        "while_loop: expected a body that keeps types, but value 0 was float64 (2,) and became "
        "float64 ().");
  const Variable v(x);
  CHECK(message_of<FailedPrecondition>([&] {
          traced([&](const Inputs& in) {
            return ops::while_loop(
                       [&](const Inputs& vars) {
                         v.assign(vars[0]);
                         return ops::any(vars[0] > 0);
                       },
                       [](const Inputs& vars) { return Inputs{vars[0] - 1}; }, {in[0]})
                .front();
          });
        }).find("Variable 'variable': it can't be assigned within 'while_loop'") == 0);
}

TEST_CASE("while_loop: variables that its body assigns") {
  struct Counters {
    Variable total{Tensor::scalar(int64_t{0}), {.name = "total", .trainable = false}};
    Variable last{Tensor::scalar(int64_t{-1}), {.name = "last", .trainable = false}};
    Variable untouched{Tensor::scalar(int64_t{7}), {.name = "untouched", .trainable = false}};
  };
  const auto run = [](const Counters& counters, const Tensor& limit, int64_t most) {
    counters.total.assign_add(1);
    const Inputs result = ops::while_loop(
        [&](const Inputs& vars) { return ops::logical_and(counters.total < limit, vars[0] < 9); },
        [&](const Inputs& vars) {
          counters.total.assign_add(vars[0] + counters.untouched);
          const Tensor chosen = ops::cond(
              counters.total > 20,
              [&] {
                counters.last.assign(counters.total);
                return vars[0] + 2;
              },
              [&] { return vars[0] + 1; });
          const Inputs inner = ops::while_loop(  // assigns `last` within an assigned `total`
              [&](const Inputs& in) { return in[0] < 2; },
              [&](const Inputs& in) {
                counters.last.assign_sub(1);
                return Inputs{in[0] + 1};
              },
              {Tensor::scalar(int64_t{0})});
          return Inputs{chosen + 0 * inner[0]};
        },
        {Tensor::scalar(int64_t{0})}, most);
    return result[0] + 1000 * counters.last;
  };
  const Counters eager, compiled;
  for (const int64_t most : {100, 3, 0}) {
    CAPTURE(most);
    const Function f = function([&](const Tensor& limit) { return run(compiled, limit, most); });
    for (const int64_t limit : {0, 5, 60, 200, 90}) {
      CAPTURE(limit);
      const Tensor given = Tensor::scalar(limit);
      CHECK(f(given).single().item<int64_t>() == run(eager, given, most).item<int64_t>());
      CHECK(compiled.total.item<int64_t>() == eager.total.item<int64_t>());
      CHECK(compiled.last.item<int64_t>() == eager.last.item<int64_t>());
    }
    CHECK(f.trace_count() == 1);
  }
  CHECK(eager.total.item<int64_t>() > 60);
  CHECK(eager.last.item<int64_t>() > 20);
  CHECK(compiled.untouched.item<int64_t>() == 7);
}

TEST_CASE("loops and branches carry variables in their own dtype") {
  const auto run = [](const char* how, const Variable& w, const Tensor& turns) {
    const AutocastScope half(DType::Float16);
    if (how == std::string("while_loop")) {
      return ops::while_loop([&](const Inputs& vars) { return vars[0] < turns; },
                             [&](const Inputs& vars) {
                               w.assign_add(ops::ones({5}));
                               return Inputs{vars[0] + 1};
                             },
                             {Tensor::scalar(int64_t{0})})[0];
    }
    if (how == std::string("fori_loop")) {
      return ops::fori_loop(
          0, turns,
          [&](const Tensor&, const Tensor& done) {
            w.assign_add(ops::ones({5}));
            return done + 1;
          },
          Tensor::scalar(int64_t{0}));
    }
    return ops::cond(
        turns > 0,
        [&] {
          w.assign_add(ops::ones({5}));
          return turns * 1;
        },
        [&] { return turns * 1; });
  };
  for (const char* how : {"while_loop", "fori_loop", "cond"}) {
    CAPTURE(how);
    const Variable w(ops::full({5}, 0.1f));
    const Function f = function([&](const Tensor& turns) { return run(how, w, turns); });
    float expected = 0.1f;
    for (const int64_t turns : {0, 1, 0, how == std::string("cond") ? 1 : 3}) {
      CHECK(f(Tensor::scalar(turns)).single().item<int64_t>() == turns);
      for (int64_t i = 0; i < turns; ++i) expected += 1;
      CHECK(w.value().to_vector<float>() == std::vector<float>(5, expected));
    }
  }
}

TEST_CASE("all_reduce with one replica") {
  const Tensor x = random_tensor({3});
  for (const char* reduce : {"sum", "mean", "min", "max"}) {
    INFO(reduce);
    check_same(ops::all_reduce(x, reduce), x);
  }
  check_gradients([](const Inputs& in) { return ops::all_reduce(in[0] * in[0], "mean"); }, {x});
  CHECK(ops::all_reduce(std::vector<Tensor>{}).empty());
  CHECK(message_of<InvalidArgument>([&] { ops::all_reduce(x, "median"); }) ==
        "all_reduce: expected sum, mean, min or max, got 'median'.");
}

}  // namespace
}  // namespace cornu::testing
