// SPDX-License-Identifier: Apache-2.0
// Checks that the tests in the other files are complete: this file comes last, by its name.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "framework/graph/dispatch.h"
#include "framework/ops/ops.h"
#include "tests/ops/op_harness.h"

namespace cornu::testing {
namespace {

TEST_CASE("gradients of ops that no function calls by itself") {
  const OpRegistry& registry = OpRegistry::global();
  for (const char* name : {"identity", "optimization_barrier"}) {
    check_gradients(
        [&](const std::vector<Tensor>& x) { return apply(registry.at(name), {x[0]}, {}).front(); },
        {random_tensor({2, 3})});
  }

  const Tensor image = random_tensor({1, 4, 4, 2});
  const Attributes attributes = {{"window", std::vector<int64_t>{2, 2}},
                                 {"strides", std::vector<int64_t>{2, 2}},
                                 {"padding", std::vector<int64_t>{0, 0, 0, 0}}};
  check_gradients(
      [&](const std::vector<Tensor>& x) {
        return apply(registry.at("max_pool_select"), {image, ops::max_pool(image, 2), x[0]},
                     attributes)
            .front();
      },
      {random_tensor({1, 4, 4, 2}, -1, 1, 5)});
  // Under a trace, and on other devices than the CPU, ops::cumprod is a composite.
  const DeviceScope host("CPU:0");
  for (const bool exclusive : {false, true}) {
    for (const bool reverse : {false, true}) {
      const Attributes running{
          {"axis", int64_t{1}}, {"exclusive", exclusive}, {"reverse", reverse}};
      check_gradients(
          [&](const std::vector<Tensor>& x) {
            return apply(registry.at("cumprod"), x, running).front();
          },
          {random_tensor({2, 5, 3}, -1, 1)});
    }
  }
}

TEST_CASE("every op with a gradient has had it checked") {
  const std::set<std::string> elsewhere = {
      "cond", "custom_gradient",  // tests/autodiff
      "lstm", "lstm_grad",        // float32 only: recurrent_test.cc
      "gru",  "gru_grad",         // float32 only: recurrent_test.cc
  };
  for (const std::string& name : OpRegistry::global().names()) {
    if (!OpRegistry::global().at(name).vjp || elsewhere.count(name)) continue;
    INFO(name);
    CHECK(ops_with_checked_gradients().count(name) == 1);
  }
}

}  // namespace
}  // namespace cornu::testing
