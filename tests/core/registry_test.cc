// SPDX-License-Identifier: Apache-2.0
// Registries, suggestions for misspelled names, and typed errors.
#include "framework/core/registry.h"

#include <doctest/doctest.h>

#include <new>

#include "framework/core/exception_text.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::error_of;

namespace {

Registry<int> known_losses() {
  Registry<int> registry("loss");
  registry.add("MeanSquaredError", 1);
  registry.add("Huber", 2);
  registry.add_alias("mse", "MeanSquaredError");
  return registry;
}

}  // namespace

TEST_CASE("a registry finds by name, alias and snake_case") {
  const Registry<int> registry = known_losses();
  CHECK(registry.at("Huber") == 2);
  CHECK(registry.at("mse") == 1);
  CHECK(registry.find("huber") == nullptr);
  CHECK(registry.resolve("mse") == "MeanSquaredError");
  CHECK(registry.resolve("mean_squared_error") == "MeanSquaredError");
  CHECK(registry.resolve("Huber") == "Huber");
  CHECK(registry.names() == std::vector<std::string>{"Huber", "MeanSquaredError"});
}

TEST_CASE("a registry's errors") {
  Registry<int> registry = known_losses();
  CHECK(error_of([&] { registry.at("Hubre"); }) ==
        "InvalidArgument: Unknown loss 'Hubre'. Did you mean 'Huber'? Known: Huber, "
        "MeanSquaredError.");
  CHECK(error_of([&] { registry.resolve("mean_square_error"); }) ==
        "InvalidArgument: Unknown loss 'mean_square_error'. Did you mean 'mean_squared_error'? "
        "Known: huber, mean_squared_error.");
  CHECK(error_of([&] { registry.add("Huber", 3); }) ==
        "AlreadyExists: The loss 'Huber' is registered already. Choose another name.");
  // Aliases are suggested as well, but not listed.
  CHECK(error_of([&] { registry.resolve("msee"); }) ==
        "InvalidArgument: Unknown loss 'msee'. Did you mean 'mse'? Known: huber, "
        "mean_squared_error.");
  CHECK_THROWS_AS(registry.add_alias("Huber", "MeanSquaredError"), AlreadyExists);
  CHECK_THROWS_AS(registry.add_alias("mse", "Huber"), AlreadyExists);
  CHECK_THROWS_AS(registry.add_alias("x", "Nothing"), InvalidArgument);
}

TEST_CASE("a name that is taken as an alias can't be registered") {
  Registry<int> registry = known_losses();
  CHECK_THROWS_AS(registry.add("mse", 3), AlreadyExists);
}

TEST_CASE("the nearest name") {
  const std::vector<std::string> known = {"float16", "float32", "int32"};
  using Names = std::vector<std::string>;
  CHECK(all_nearest("flaot32", known) == Names{"float32"});  // a swap is one mistake
  CHECK(all_nearest("FLOAT16", known) == Names{"float16"});
  CHECK(all_nearest("complex", known).empty());
  CHECK(all_nearest("x", {}).empty());
  CHECK(did_you_mean("zzzzzz", known) == " Known: float16, float32, int32.");
  CHECK(did_you_mean("int8", {}).empty());
  const std::vector<std::string> alike = {"mae", "mape", "mse", "msle"};
  CHECK(did_you_mean("mze", alike) == " Did you mean 'mae' or 'mse'? Known: mae, mape, mse, msle.");
  const std::vector<std::string> cases = {"MSE", "MSLE", "mse", "msle"};
  CHECK(did_you_mean("msee", cases) ==
        " Did you mean 'mse' or 'msle'? Known: MSE, MSLE, mse, msle.");
  CHECK(did_you_mean("MSEE", cases) ==
        " Did you mean 'MSE' or 'MSLE'? Known: MSE, MSLE, mse, msle.");
  const std::vector<std::string> many = {"a1", "a2", "a3", "a4"};
  CHECK(did_you_mean("a0", many) == " Did you mean 'a1', 'a2' or 'a3'? Known: a1, a2, a3, a4.");
}

TEST_CASE("snake_case as Keras makes it") {
  for (const auto& [name, expected] : {std::pair{"Dense", "dense"},
                                       {"MaxPooling2D", "max_pooling2d"},
                                       {"BatchNormalization", "batch_normalization"},
                                       {"ELU", "elu"},
                                       {"LeakyReLU", "leaky_re_lu"},
                                       {"PReLU", "p_re_lu"},
                                       {"Conv2DTranspose", "conv2d_transpose"},
                                       {"already_snake", "already_snake"},
                                       {"", ""}}) {
    CHECK(to_snake_case(name) == expected);
  }
  CHECK(join({}, ", ").empty());
  CHECK(join(std::vector<std::string>{"a", "b", "a"}, "-") == "a-b-a");
}

TEST_CASE("an error gets the innermost place alone") {
  InvalidArgument error("expected 4 axes");
  error.add_place("Conv2D 'conv2d'");
  error.add_place("Sequential 'sequential'");
  CHECK(std::string(error.what()) == "Conv2D 'conv2d': expected 4 axes");
  InvalidArgument named("Dense 'dense': expected units");
  named.add_place("Dense 'dense'");
  CHECK(std::string(named.what()) == "Dense 'dense': expected units");
  CHECK(error.code() == StatusCode::InvalidArgument);
}

TEST_CASE("an error that several threads have is thrown to each as its own") {
  const auto shared = std::make_exception_ptr(PeerLost(3, "there:1", 17));
  for (const char* place : {"Dense 'dense'", "Flatten 'flatten'"}) {
    try {
      rethrow_copy(shared);
    } catch (PeerLost& lost) {
      lost.add_place(place);
      CHECK(lost.rank() == 3);
      CHECK(std::string(lost.what()).starts_with(place));
    }
  }
  CHECK(text_of(shared).starts_with("Lost rank 3"));
  struct Own : NotFound {
    using NotFound::NotFound;
  };
  const auto own = std::make_exception_ptr(Own("it's gone"));
  CHECK_THROWS_AS(rethrow_copy(own), Own);
  CHECK_THROWS_AS(rethrow_copy(std::make_exception_ptr(std::bad_alloc())), std::bad_alloc);
}

TEST_CASE("a broken invariant names expression, operands and place") {
  const std::string error = error_of([] { CORNU_ASSERT(1 + 1, ==, 3); });
  CHECK(error.starts_with("Internal: "));
  CHECK(error.find("registry_test.cc:") != std::string::npos);
  CHECK(error.find("expected 1 + 1 == 3, got 2 and 3.") != std::string::npos);
}

TEST_CASE("a lost peer is an Unavailable that names its rank") {
  const PeerLost error(3, "10.0.0.4:2222", 17);
  CHECK(error.code() == StatusCode::Unavailable);
  CHECK(error.rank() == 3);
  CHECK(error.address() == "10.0.0.4:2222");
  CHECK(error.step() == 17);
  CHECK(std::string(error.what()).starts_with("Lost rank 3 at 10.0.0.4:2222 in step 17"));
}
