// SPDX-License-Identifier: Apache-2.0
#include "framework/core/variable.h"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "framework/core/variable_access.h"
#include "framework/graph/function.h"
#include "framework/model/input.h"
#include "framework/ops/ops.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::error_of;

TEST_CASE("a variable has the value of the moment it is read") {
  const Variable w(Tensor::from(std::vector<float>{1, 2}), {.name = "w"});
  const Variable same = w;
  const Tensor before = w;
  w.assign(w + 1);
  CHECK(before.to_vector<float>() == std::vector<float>{1, 2});
  CHECK(same.value().to_vector<float>() == std::vector<float>{2, 3});
  CHECK(same.id() == w.id());
}

namespace {

class CountedReads : public VariableReadObserver {
 public:
  void on_read(const Variable&, const Tensor&) override { ++count; }
  int count = 0;
};

// Made before the thread's list of observers, and destroyed after all thread_local objects that the
// thread makes later.
struct ReadsAtTheEnd {
  ~ReadsAtTheEnd() {
    const auto other = std::make_unique<uint64_t>(0);  // has the memory of what was freed
    CountedReads reads;
    add_read_observer(&reads);
    static_cast<void>(variable->value());
    remove_read_observer(&reads);
    *seen = *other == 0 ? reads.count : -1;
  }
  const Variable* variable = nullptr;
  int* seen = nullptr;
};

}  // namespace

TEST_CASE("reads are observed while the thread ends, too") {
  const Variable w(Tensor::from<float>({1, 2}), {.name = "w"});
  int seen = 0;
  std::thread([&] {
    static thread_local ReadsAtTheEnd last;
    last.variable = &w;
    last.seen = &seen;
    CountedReads reads;
    add_read_observer(&reads);
    remove_read_observer(&reads);
  }).join();
  CHECK(seen == 1);
}

TEST_CASE("a variable that gets rows of a tensor has aligned memory of its own") {
  const Tensor x = ops::reshape(ops::arange(0, 15, 1, DType::Float32), {3, 5});
  const Variable w(x.rows(1, 2), {.name = "w"});
  CHECK(reinterpret_cast<uintptr_t>(w.value().address()) % 16 == 0);
  w.assign(x.rows(2, 3));
  CHECK(reinterpret_cast<uintptr_t>(w.value().address()) % 16 == 0);
  CHECK(w.value().to_vector<float>() == std::vector<float>{10, 11, 12, 13, 14});
  w.assign_add(ops::ones({1, 5}));
  CHECK(x.rows(2, 3).to_vector<float>() == std::vector<float>{10, 11, 12, 13, 14});
}

TEST_CASE("a variable copies a caller's array, which may change and go") {
  std::vector<float> numbers = {1, 2};
  const Variable w(Tensor::wrap(numbers.data(), {2}, "float32"), {.name = "w"});
  numbers[0] = 7;
  CHECK(w.value().to_vector<float>() == std::vector<float>{1, 2});
  w.assign(Tensor::wrap(numbers.data(), {2}, "float32"));
  w.assign_add(ops::ones({2}));
  CHECK(numbers == std::vector<float>{7, 2});
  CHECK(w.value().to_vector<float>() == std::vector<float>{8, 3});
  // Without an owner, constants aren't shared either; with one, they are until they are written.
  const float* const constants = numbers.data();
  w.assign(Tensor::wrap(constants, {2}, "float32"));
  const auto address = [&] { return static_cast<const void*>(w.value().address()); };
  CHECK(address() != constants);
  const auto owned = std::make_shared<const std::vector<float>>(2, 5.0f);
  w.assign(Tensor::wrap(owned->data(), {2}, "float32", owned));
  CHECK(address() == owned->data());
  w.assign_add(ops::ones({2}));
  CHECK(*owned == std::vector<float>{5, 5});
}

TEST_CASE("names and paths") {
  const Variable w(ops::zeros({2}), {.name = "kernel"});
  CHECK(w.name() == "kernel");
  CHECK(w.path() == "kernel");
  w.set_path("dense_1/kernel");
  CHECK(w.name() == "kernel");
  CHECK(w.path() == "dense_1/kernel");
  CHECK(Variable(ops::zeros({})).name() == "variable");
  CHECK(w.trainable());
  w.set_trainable(false);
  CHECK_FALSE(w.trainable());
}

TEST_CASE("what doesn't fit isn't assigned") {
  const Variable w(ops::zeros({2, 3}), {.name = "kernel"});
  w.set_path("dense/kernel");
  CHECK(error_of([&] {
          w.assign(ops::zeros({3, 2}));
        }) ==
        "InvalidArgument: Variable 'dense/kernel': expected a value of shape (2, 3), got (3, 2).");
  CHECK_THROWS_AS(w.assign(0.0f), InvalidArgument);
  CHECK_THROWS_AS(w.assign(Tensor()), FailedPrecondition);
  CHECK(w.version() == 0);
}

TEST_CASE("a weak scalar takes the variable's dtype") {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    CAPTURE(to_string(dtype));
    const Variable v(ops::zeros({}, dtype));
    v.assign(1);
    CHECK(v.value().dtype() == dtype);
    CHECK(v.value().item<double>() == 1);
  }
  const Variable v(Tensor::scalar(0.0));
  v.assign(0.1);
  CHECK(v.value().item<double>() == 0.1);
  CHECK_FALSE(v.value().is_weak());
}

TEST_CASE("values of another dtype are converted, as by Keras") {
  const Variable w(ops::zeros({3}));
  w.assign({1, 2, 3});
  CHECK(w.to_vector<float>() == std::vector<float>{1, 2, 3});
  w.assign(Tensor::from({0.5, 1.5, 2.5}));
  w.assign_add({1, 1, 1});
  w.assign_sub(Tensor::from<int64_t>({0, 1, 0}));
  CHECK(w.to_vector<float>() == std::vector<float>{1.5, 1.5, 3.5});
  const Variable n(ops::zeros({3}, DType::Int32));
  n.assign(Tensor::from({1.7, 2.5, -3.9}));
  CHECK(n.to_vector<int32_t>() == std::vector<int32_t>{1, 2, -3});
  n.assign(Tensor::from({true, false, true}));
  CHECK(n.to_vector<int32_t>() == std::vector<int32_t>{1, 0, 1});
  const Function step = function([&](const Tensor& x) {
    w.assign(x);
    return w.value();
  });
  step(Tensor::from<int64_t>({4, 5, 6}));
  CHECK(w.to_vector<float>() == std::vector<float>{4, 5, 6});
}

TEST_CASE("values are added and subtracted in place, eagerly and traced") {
  Variable w(Tensor::from({1.0f, 2.0f}), {.name = "w"});
  w.assign_add(1);
  w.assign_sub(Tensor::from({0.5f, 1.5f}));
  w += w;
  w -= 1;
  CHECK(w.to_vector<float>() == std::vector<float>{2, 2});
  const Function step = function([&](const Tensor& x) {
    w += x;
    return w[-1];
  });
  CHECK(step(2.0f).item<float>() == 4);
  CHECK(w.to_vector<float>() == std::vector<float>{4, 4});
  const Variable count(Tensor::scalar(int64_t{7}));
  count.assign_add(1);
  CHECK(count.item<int>() == 8);
  CHECK(count.dtype() == DType::Int64);
  CHECK(w.rank() == 1);
  CHECK(w.dim(-1) == 2);
  CHECK(w.size() == 2);
  CHECK_THROWS_AS(w.assign_add(ops::ones({2, 2})), InvalidArgument);
}

TEST_CASE("undefined and symbolic values make no variable") {
  CHECK(error_of([] { Variable(Tensor(), {.name = "w"}); }) ==
        "InvalidArgument: Variable 'w': expected an initial value, got Tensor(undefined). Create "
        "variables outside of traced code, or from an initializer.");
  const Function step = function([](const Tensor& x) {
    CHECK_THROWS_AS(Variable{x}, InvalidArgument);
    return x;
  });
  step(ops::zeros({2}));
  const Variable undefined;
  CHECK_FALSE(undefined.defined());
  CHECK(error_of([&] { undefined.value(); }) ==
        "FailedPrecondition: Variable: expected a variable, got an undefined one. Was its layer "
        "built?");
}

TEST_CASE("a symbol doesn't become a stored value") {
  const Variable w(ops::zeros({2}), {.name = "w"});
  Tensor symbol;
  function([&](const Tensor& x) {
    symbol = x;
    return x;
  })(ops::zeros({2}));
  CHECK_THROWS_AS(w.assign(symbol), FailedPrecondition);
  CHECK(w.value().to_vector<float>() == std::vector<float>{0, 0});
}

TEST_CASE("memory is written in place only where nobody else holds it") {
  const Variable w(Tensor::from(std::vector<float>{1, 2}), {.name = "w"});
  const auto memory_of = [](const Tensor& tensor) { return tensor.raw(); };
  const std::byte* memory = memory_of(w.stored());
  CHECK(w.writable() == memory);
  const Tensor held = w;
  const auto version = w.version();
  std::byte* copy = w.writable();
  CHECK(copy != memory);
  CHECK(w.version() > version);
  reinterpret_cast<float*>(copy)[0] = 9;
  CHECK(held.to_vector<float>() == std::vector<float>{1, 2});
  CHECK(w.value().to_vector<float>() == std::vector<float>{9, 2});
}

TEST_CASE("a poisoned variable can't be read until it is assigned") {
  const Variable w(ops::zeros({2}), {.name = "w"});
  w.poison("the disk is full");
  CHECK(error_of([&] { w.value(); }) ==
        "FailedPrecondition: Variable 'w': its value was lost when a step failed (the disk is "
        "full). Load the weights or a checkpoint before continuing.");
  w.assign(ops::ones({2}));
  CHECK(w.value().to_vector<float>() == std::vector<float>{1, 1});
}

TEST_CASE("what was acquired before a variable is poisoned keeps its value") {
  const Variable w(ops::ones({2}), {.name = "w"});
  const auto acquire = [&](VariableAccess& access) {
    access.add(w, false);
    access.acquire();
  };
  VariableAccess before, after;
  acquire(before);
  w.poison("a step failed");
  acquire(after);
  CHECK(before.value(0).to_vector<float>() == std::vector<float>{1, 1});
  CHECK(error_of([&] { after.value(0); }).find("(a step failed)") != std::string::npos);
}

TEST_CASE("hooks and observers see reads and assignments while they are installed") {
  struct Hooks : VariableHooks {
    Tensor read(const Variable& variable) override {
      ++reads;
      return variable.stored() + 10;
    }
    void assign(const Variable&, const Tensor&) override { ++assignments; }
    int reads = 0;
    int assignments = 0;
  };
  struct Observer : VariableReadObserver {
    void on_read(const Variable&, const Tensor& value) override { last = value.item<float>(); }
    float last = 0;
  };
  const Variable w(Tensor::scalar(1.0f));
  Hooks hooks;
  Observer observer;
  add_read_observer(&observer);
  {
    const VariableHooksScope scope(&hooks);
    CHECK(current_variable_hooks() == &hooks);
    CHECK(w.value().item<float>() == 11);
    CHECK(observer.last == 11);
    w.assign(5.0f);
    CHECK(w.stored().item<float>() == 1);
  }
  CHECK(current_variable_hooks() == nullptr);
  CHECK(w.value().item<float>() == 1);
  CHECK(observer.last == 1);
  remove_read_observer(&observer);
  w.assign(2.0f);
  CHECK(w.value().item<float>() == 2);
  CHECK(observer.last == 1);
  CHECK(hooks.reads == 1);
  CHECK(hooks.assignments == 1);
}

TEST_CASE("no update is lost that several threads make at once") {
  const Variable w(Tensor::scalar(0), {.name = "w"});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 2000; ++k) {
        w.assign_add(3);
        w -= 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(w.item<int>() == 16000);
}

TEST_CASE("an update that fails leaves the variable as it was, free for others") {
  const Variable w(ops::ones({2}), {.name = "w"});
  CHECK_THROWS_AS(w.update([](const Tensor&) -> Tensor { raise<DataLoss>("no"); }), DataLoss);
  CHECK(error_of([&] { w.update([](const Tensor&) { return ops::ones({3}); }); }) ==
        "InvalidArgument: Variable 'w': expected a value of shape (2,), got (3,).");
  w += 1;
  CHECK(w.to_vector<float>() == std::vector<float>{2, 2});
  CHECK(w.version() == 1);
}

TEST_CASE("an update whose function uses the variable itself") {
  const Variable v(ops::ones({2}), {.name = "v"});
  const char* expected =
      "FailedPrecondition: Variable 'v': the function of its update uses the variable itself, "
      "which "
      "isn't free before the update ends. Use the function's argument, its value.";
  const auto added = function([&](const Tensor& x) { return x + v; });
  added(ops::zeros({2}));
  CHECK(error_of([&] { v.update([&](const Tensor& x) { return x + v; }); }) == expected);
  CHECK(error_of([&] { v.update([&](const Tensor& x) { return Tensor(added(x)); }); }) == expected);
  CHECK(error_of([&] {
          v.update([&](const Tensor& x) {
            v.assign(x);
            return x;
          });
        }) == expected);
  CHECK(error_of([&] {
          v.update([&](const Tensor& x) {
            v.assign_add(x);
            return x;
          });
        }) == expected);
  // Of a placeholder, too, whose op would ask for the variable's value.
  CHECK(error_of([&] {
          v.assign_add(Input({.shape = {2}}));
        }).ends_with(" was assigned outside of the trace it belongs to."));
  v.assign_sub(1);
  CHECK(v.to_vector<float>() == std::vector<float>{0, 0});
}

TEST_CASE("a step asks each keeper of variables once for all that it reads") {
  // Stores the values of variables created in its scope.
  struct Keeper : VariableOwner {
    struct Home : VariableHome {
      explicit Home(Keeper* own) : kept(own) {}
      const void* keeper() const override { return kept; }
      std::vector<Value> read(std::span<const Variable* const> variables) override {
        kept->asked.push_back(variables.size());
        std::vector<Value> found;
        for (const Variable* variable : variables)
          found.push_back(kept->values[variable->number()]);
        return found;
      }
      void write(const Variable& variable, const Tensor& value) override {
        VariableHome::Value& own = kept->values[variable.number()];
        own = {value, own.version + 1};
      }
      Keeper* kept;
    };
    std::shared_ptr<VariableHome> home_of(const Variable& variable, const Tensor& value) override {
      values[variable.number()] = {value.host(), 1};
      return std::make_shared<Home>(this);
    }
    std::map<uint64_t, VariableHome::Value> values;
    std::vector<size_t> asked;
  };
  const auto made = [](Keeper& keeper, float value) {
    const VariableOwnerScope scope(1, &keeper);
    return Variable(Tensor::scalar(value));
  };
  Keeper first;
  Keeper second;
  const Variable a = made(first, 1);
  const Variable b = made(first, 2);
  const Variable c = made(second, 3);
  const Variable here(Tensor::scalar(4.0f));
  const Function sum = function([&](const Tensor& x) { return x + a + b * 10 + c * 100 + here; });
  CHECK(sum(Tensor::scalar(0.5f)).single().item<float>() == 325.5f);
  first.asked.clear();
  second.asked.clear();
  b.assign(5.0f);
  CHECK(sum(Tensor::scalar(0.5f)).single().item<float>() == 355.5f);
  CHECK(first.asked == std::vector<size_t>{2});
  CHECK(second.asked == std::vector<size_t>{1});
  CHECK(a.value().item<float>() == 1);
  CHECK(first.asked == std::vector<size_t>{2, 1});
}
