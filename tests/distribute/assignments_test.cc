// SPDX-License-Identifier: Apache-2.0
// Variables that replicas assign in branches and loops end with the same values as when the same
// assignments are made one after the other.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "tests/distribute/models.h"
#include "tests/support/errors.h"
#include "tests/support/sanitized.h"

using namespace cornu;
using distribute::get_replica_context;
using distribute::PerReplica;
using test::floats;
using test::own_of;
using test::replica_counts;
using test::replicated;

namespace {

constexpr VariableAggregation kAggregations[] = {
    VariableAggregation::Mean, VariableAggregation::Sum, VariableAggregation::OnlyFirstReplica};

// The actions of a step on a variable, one letter each: 'v' assigns the replica's x, 'o' the
// variable's own value, 'a' adds x, 's' subtracts 2 x; in a merge_call, 'm' assigns the sum of all
// replicas' x, and 'd' the sum of the variable's values on all replicas.
void assign(const Variable& variable, const Tensor& x, const std::string& actions) {
  for (const char action : actions) {
    if (action == 'v') variable.assign(x);
    if (action == 'o') variable.assign(variable.value());
    if (action == 'a') variable.assign_add(x);
    if (action == 's') variable.assign_sub(2 * x);
    if (action != 'm' && action != 'd') continue;
    get_replica_context().merge_call(
        [&](const Strategy& strategy, const PerReplica& values) -> Tensors {
          variable.assign(strategy.reduce(ReduceOp::Sum, values));
          return {};
        },
        action == 'm' ? x : variable.value());
  }
}

// The same program twice: one action after the other, and with branches or loops.
struct Program {
  std::string straight;
  std::function<void(const Variable&, const Tensor& x, const Tensor& yes)> structured;
};

void choose(const Tensor& predicate, const std::function<void()>& then,
            const std::function<void()>& otherwise) {
  ops::cond(
      predicate, [&] { return then(), Tensor(0.0f); }, [&] { return otherwise(), Tensor(0.0f); });
}

void repeat(int64_t turns, const std::function<void(const Tensor& turn)>& body) {
  ops::fori_loop(
      0, turns, [&](const Tensor& turn, const Tensor& y) { return body(turn), y; }, Tensor(0.0f));
}

// First the actions `before`, then one of two branches, then an action after it in every other
// program.
std::vector<Program> branches() {
  const std::vector<std::string> bodies = {"", "v", "a", "m", "ma", "ad", "mv", "o"};
  std::vector<Program> programs;
  for (const std::string before : {"", "a", "v", "m"}) {
    for (const std::string& taken : bodies) {
      for (const std::string& other : bodies) {
        const std::string after = programs.size() % 2 == 0 ? "a" : "";
        const bool first = programs.size() % 4 < 2;  // whether the branch taken is the first one
        programs.push_back(
            {before + taken + after, [=](const Variable& v, const Tensor& x, const Tensor& yes) {
               assign(v, x, before);
               choose(
                   first ? yes : !yes, [&] { assign(v, x, first ? taken : other); },
                   [&] { assign(v, x, first ? other : taken); });
               assign(v, x, after);
             }});
      }
    }
  }
  return programs;
}

// Three iterations, the middle one of which takes a different branch.
Program branch_in_loop(const std::string& before, const std::string& body,
                       const std::string& other) {
  return {before + other + body + other, [=](const Variable& v, const Tensor& x, const Tensor&) {
            assign(v, x, before);
            repeat(3, [&](const Tensor& turn) {
              choose(
                  turn == 1, [&] { assign(v, x, body); }, [&] { assign(v, x, other); });
            });
          }};
}

// A loop of two iterations in a branch, and a branch in a branch.
Program loop_in_branch(const std::string& before, const std::string& body,
                       const std::string& other) {
  return {before + body + body + other + "a",
          [=](const Variable& v, const Tensor& x, const Tensor& yes) {
            assign(v, x, before);
            choose(
                yes,
                [&] {
                  repeat(2, [&](const Tensor&) { assign(v, x, body); });
                  choose(
                      !yes, [&] { assign(v, x, "v"); }, [&] { assign(v, x, other); });
                },
                [&] { assign(v, x, "m"); });
            assign(v, x, "a");
          }};
}

std::vector<Program> loops() {
  std::vector<Program> programs;
  for (const std::string before : {"", "a", "v", "m"}) {
    for (const std::string body : {"v", "a", "m", "ma", "ad", "mv", "o"}) {
      for (const int64_t turns : {0, 1, 3}) {
        std::string straight = before;
        for (int64_t turn = 0; turn < turns; ++turn) straight += body;
        const std::string after = programs.size() % 2 == 0 ? "a" : "";
        programs.push_back(
            {straight + after, [=](const Variable& v, const Tensor& x, const Tensor&) {
               assign(v, x, before);
               repeat(turns, [&](const Tensor&) { assign(v, x, body); });
               assign(v, x, after);
             }});
      }
      for (const std::string other : {"", "a", "m", "v"}) {
        programs.push_back(branch_in_loop(before, body, other));
        programs.push_back(loop_in_branch(before, body, other));
      }
    }
  }
  return programs;
}

Variable variable(VariableAggregation aggregation, float value = 100) {
  return Variable(Tensor(value), {.name = "v", .trainable = false, .aggregation = aggregation});
}

// Arguments whose sum is a replica's x: 0 for a replica without examples.
PerReplica arguments(const Strategy& strategy, const std::vector<std::vector<float>>& parts,
                     bool yes = true) {
  std::vector<Tensors> values;
  for (const auto& part : parts) values.push_back(Tensors({floats(part), Tensor::scalar(yes)}));
  return own_of(strategy, values);
}

// The value that all replicas have of each variable after all programs have run in one step.
std::vector<float> results(const std::vector<Program>& programs, bool structured,
                           VariableAggregation aggregation,
                           const std::vector<std::vector<float>>& parts) {
  const auto strategy = replicated(static_cast<int>(parts.size()));
  const auto scope = strategy.scope();
  std::vector<Variable> variables;
  for (size_t i = 0; i < programs.size(); ++i) variables.push_back(variable(aggregation));
  strategy.run(function([&](const Tensor& part, const Tensor& yes) {
                 const Tensor x = ops::sum(part);
                 for (size_t i = 0; i < programs.size(); ++i) {
                   if (structured) {
                     programs[i].structured(variables[i], x, yes);
                   } else {
                     assign(variables[i], x, programs[i].straight);
                   }
                 }
               }),
               arguments(strategy, parts));
  std::vector<float> values;
  for (size_t i = 0; i < programs.size(); ++i) {
    CAPTURE(i);
    CAPTURE(programs[i].straight);
    values.push_back(variables[i].item<float>());
    for (const Tensor& own : variables[i].replica_values()) {
      CHECK(own.item<float>() == values.back());
    }
  }
  return values;
}

void check_as_straight(const std::vector<Program>& all) {
  // Under sanitizers, and with several workers, only some programs: they differ in the order of
  // their parts.
  const size_t every = replica_counts().size() > 1 ? testing::cases(1, 7) : 7;
  std::vector<Program> programs;
  for (size_t i = 0; i < all.size(); i += every) programs.push_back(all[i]);
  const std::vector<std::vector<std::vector<float>>> batches = {
      {{3}}, {{1}, {7}}, {{4}, {2, 6}, {}}, {{}, {}}};
  for (const auto& parts : batches) {
    CAPTURE(parts.size());
    if (std::ranges::count(replica_counts(), static_cast<int>(parts.size())) == 0) continue;
    for (const VariableAggregation aggregation : kAggregations) {
      CAPTURE(static_cast<int>(aggregation));
      const std::vector<float> expected = results(programs, false, aggregation, parts);
      const std::vector<float> values = results(programs, true, aggregation, parts);
      for (size_t i = 0; i < programs.size(); ++i) {
        CAPTURE(i);
        CAPTURE(programs[i].straight);
        CHECK(values[i] == doctest::Approx(expected[i]).epsilon(1e-6));
      }
    }
  }
}

// Runs `body` on a variable of value 100, on replicas whose x are 1, 2 and 6.
float result(VariableAggregation aggregation,
             const std::function<void(const Variable&, const Tensor&, const Tensor& yes)>& body,
             bool yes = true) {
  const auto strategy = replicated(3);
  const auto scope = strategy.scope();
  const Variable v = variable(aggregation);
  strategy.run(
      function([&](const Tensor& part, const Tensor& yes) { body(v, ops::sum(part), yes); }),
      arguments(strategy, {{1}, {2}, {6}}, yes));
  for (const Tensor& own : v.replica_values()) CHECK(own.item<float>() == v.item<float>());
  return v.item<float>();
}

}  // namespace

TEST_CASE("assignments one after the other") {
  const std::map<std::string, std::vector<float>> expected = {
      // Mean, Sum, OnlyFirstReplica
      {"a", {103, 109, 101}}, {"v", {3, 9, 1}},       {"m", {9, 9, 9}},
      {"ma", {12, 18, 10}},   {"am", {9, 9, 9}},      {"va", {6, 18, 2}},
      {"mv", {3, 9, 1}},      {"o", {100, 300, 100}}, {"mama", {12, 18, 10}},
      {"vma", {12, 18, 10}},  {"av", {3, 9, 1}},      {"avs", {-3, -9, -1}},
      {"ms", {3, -9, 7}},     {"mo", {9, 27, 9}},     {"moa", {12, 36, 10}},
      {"ad", {309, 309, 309}}};
  for (const auto& entry : expected) {
    const auto& [actions, values] = entry;
    CAPTURE(entry.first);
    for (size_t i = 0; i < std::size(kAggregations); ++i) {
      const auto body = [&, actions = actions](const Variable& v, const Tensor& x, const Tensor&) {
        assign(v, x, actions);
      };
      CHECK(result(kAggregations[i], body) == doctest::Approx(values[i]));
    }
  }
}

TEST_CASE("a branch that merges beside one that adds") {
  const auto body = [](const Variable& v, const Tensor& x, const Tensor& yes) {
    choose(
        yes, [&] { assign(v, x, "m"); }, [&] { assign(v, x, "a"); });
  };
  const float added[] = {103, 109, 101};
  for (size_t i = 0; i < std::size(kAggregations); ++i) {
    CHECK(result(kAggregations[i], body, true) == doctest::Approx(9));
    CHECK(result(kAggregations[i], body, false) == doctest::Approx(added[i]));
  }
}

TEST_CASE("a loop that merges and then adds") {
  const auto body = [](const Variable& v, const Tensor& x, const Tensor&) {
    repeat(3, [&](const Tensor&) { assign(v, x, "ma"); });
  };
  const float expected[] = {12, 18, 10};
  for (size_t i = 0; i < std::size(kAggregations); ++i) {
    CHECK(result(kAggregations[i], body) == doctest::Approx(expected[i]));
  }
}

TEST_CASE("branches assign as their assignments do one after the other") {
  check_as_straight(branches());
}

TEST_CASE("loops assign as their assignments do one after the other") {
  check_as_straight(loops());
}

// The branch depends on the replica's own data.
TEST_CASE("replicas that take different branches") {
  auto in_branch = [](const std::string& then, const std::string& otherwise) {
    return [=](const Variable& v, const Tensor& x, const Tensor&) {
      choose(
          x > 1, [&] { assign(v, x, then); }, [&] { assign(v, x, otherwise); });
    };
  };
  // The mean of the replicas' values, and the first replica's value.
  CHECK(result(VariableAggregation::Mean, in_branch("v", "a")) == doctest::Approx(109.0f / 3));
  CHECK(result(VariableAggregation::Mean, in_branch("v", "")) == doctest::Approx(36));
  CHECK(result(VariableAggregation::OnlyFirstReplica, in_branch("v", "a")) == 101);
  // Once any replica has assigned a value of its own, the sum of those values and of what the
  // others have added.
  CHECK(result(VariableAggregation::Sum, in_branch("v", "a")) == 9);
  CHECK(result(VariableAggregation::Sum, in_branch("a", "v")) == 9);
  CHECK(result(VariableAggregation::Sum, in_branch("v", "")) == 8);
  CHECK(result(VariableAggregation::Sum, in_branch("", "v")) == 1);
  CHECK(result(VariableAggregation::Sum, in_branch("a", "s")) == 106);
  // As many iterations as the replica's x.
  auto in_loop = [](const std::string& before, const std::string& body) {
    return [=](const Variable& v, const Tensor& x, const Tensor&) {
      assign(v, x, before);
      ops::scan(
          [&](const Tensor& carry, const Tensor& turn) {
            choose(
                turn < x, [&] { assign(v, x, body); }, [] {});
            return std::pair(carry, Tensor());
          },
          Tensor(0.0f), floats({0, 1, 2, 3, 4, 5, 6, 7}));
    };
  };
  CHECK(result(VariableAggregation::Sum, in_loop("", "a")) == 100 + 1 + 4 + 36);
  CHECK(result(VariableAggregation::Sum, in_loop("m", "a")) == 9 + 1 + 4 + 36);
  CHECK(result(VariableAggregation::Sum, in_loop("m", "v")) == 9);
}

// y = w x · w · v, where v is the value that both replicas have merged: 5.
TEST_CASE("gradients of branches and loops that assign") {
  for (const VariableAggregation aggregation : kAggregations) {
    const auto strategy = replicated(2);
    const auto scope = strategy.scope();
    const Variable w(Tensor(3.0f), {.name = "w"});
    const Variable v = variable(aggregation, 2);
    const auto gradients =
        strategy.run(function([&](const Tensor& part, const Tensor& yes) {
                       const Tensor x = ops::sum(part);
                       GradientTape tape;
                       Tensor y = ops::cond(
                           yes, [&] { return assign(v, x, "ma"), w * x; },
                           [&] { return assign(v, x, "v"), w + x; });
                       y = ops::fori_loop(
                           0, 2,
                           [&](const Tensor& turn, const Tensor& y) {
                             return ops::cond(
                                 turn == 0, [&] { return assign(v, x, "m"), y * w; },
                                 [&] {
                                   const Tensor before = v;
                                   return assign(v, w * x, "a"), y * before;
                                 });
                           },
                           y);
                       return tape.gradient(y, {w})[0];
                     }),
                     arguments(strategy, {{1}, {4}}));
    CHECK(strategy.reduce(ReduceOp::Sum, gradients).item<float>() == 2 * 3 * 5 * (1 + 4));
    const std::map<VariableAggregation, float> expected = {
        {VariableAggregation::Mean, 5 + 3 * 2.5f},
        {VariableAggregation::Sum, 5 + 3 * 5},
        {VariableAggregation::OnlyFirstReplica, 5 + 3}};
    CHECK(v.item<float>() == expected.at(aggregation));
  }
}

TEST_CASE("an optimizer's update is the same on all replicas, whatever the aggregation") {
  for (const VariableAggregation aggregation : kAggregations) {
    const auto strategy = replicated(2);
    const auto scope = strategy.scope();
    const Variable w(Tensor(3.0f), {.name = "w", .aggregation = aggregation});
    const auto optimizer = optimizers::SGD({.learning_rate = 0.5, .momentum = 0.5});
    const Function step = function([&](const Tensor& part, const Tensor&) {
      optimizer.apply_gradients({ops::sum(part)}, {w});
      return w.value();
    });
    strategy.run(step, arguments(strategy, {{1}, {4}}));
    strategy.run(step, arguments(strategy, {{1}, {4}}));
    CHECK(w.item<float>() == 3 - 2.5f - (2.5f + 1.25f));
    for (const Tensor& own : w.replica_values()) CHECK(own.item<float>() == w.item<float>());
  }
}

TEST_CASE("an update of what replicas have assigned differently leaves one value") {
  for (const VariableAggregation aggregation : kAggregations) {
    for (const std::string before : {"v", "a", ""}) {
      CAPTURE(before);
      const auto strategy = replicated(2);
      const auto scope = strategy.scope();
      const Variable w(Tensor(100.0f), {.name = "w", .aggregation = aggregation});
      const auto optimizer = optimizers::SGD({.learning_rate = 0.5});
      strategy.run(function([&](const Tensor& part, const Tensor&) {
                     assign(w, ops::sum(part), before);
                     optimizer.apply_gradients({ops::ones_like(ops::sum(part))}, {w});
                   }),
                   arguments(strategy, {{1}, {4}}));
      for (const Tensor& own : w.replica_values()) CHECK(own.item<float>() == w.item<float>());
      if (aggregation == VariableAggregation::Mean && before == "v") CHECK(w.item<float>() == 1.5f);
    }
  }
}

TEST_CASE("constraints may ask for the replica context") {
  const auto strategy = replicated(2);
  const auto scope = strategy.scope();
  const Variable w(Tensor(1.0f), {.name = "w"});
  w.set_constraint([](const Tensor& value) {
    return value * static_cast<double>(get_replica_context().num_replicas_in_sync());
  });
  const auto optimizer = optimizers::SGD({.learning_rate = 0.5});
  strategy.run(function([&](const Tensor& part, const Tensor&) {
                 optimizer.apply_gradients({ops::sum(part)}, {w});
               }),
               arguments(strategy, {{1}, {4}}));
  CHECK(w.item<float>() == (1 - 2.5f) * 2);
}

// A loop of one iteration is straight-line code, a loop of several isn't.
TEST_CASE("replicas whose loops have different lengths assign together") {
  for (const VariableAggregation aggregation : kAggregations) {
    const auto strategy = replicated(2);
    const auto scope = strategy.scope();
    const Variable v = variable(aggregation, 10);
    const Variable added = variable(aggregation, 10);
    strategy.run(function([&](const Tensor& part, const Tensor&) {
                   ops::map(
                       [&](const Tensor& x) {
                         v.assign(x);
                         added.assign_add(x);
                         return x;
                       },
                       part);
                 }),
                 arguments(strategy, {{1, 2}, {4}}));
    const std::map<VariableAggregation, std::pair<float, float>> expected = {
        {VariableAggregation::Mean, {3, 13.5f}},
        {VariableAggregation::Sum, {6, 17}},
        {VariableAggregation::OnlyFirstReplica, {2, 13}}};
    CHECK(v.item<float>() == expected.at(aggregation).first);
    CHECK(added.item<float>() == expected.at(aggregation).second);
  }
}

TEST_CASE("a flag of the first replica's") {
  const auto strategy = replicated(2);
  const auto scope = strategy.scope();
  const Variable flag(
      Tensor::scalar(false),
      {.name = "flag", .trainable = false, .aggregation = VariableAggregation::OnlyFirstReplica});
  const Function step =
      function([&](const Tensor& part, const Tensor&) { flag.assign(ops::sum(part) > 2); });
  strategy.run(step, arguments(strategy, {{1}, {4}}));
  CHECK_FALSE(flag.item<bool>());
  strategy.run(step, arguments(strategy, {{4}, {1}}));
  CHECK(flag.item<bool>());
}
