// SPDX-License-Identifier: Apache-2.0
// A model of real Keras (call_arguments.py) whose layers are called with several tensors, masks and
// flags, with masks, weights and metrics for each output: it predicts and trains the same here, and
// back in Keras.
#include <doctest/doctest.h>

#include <cmath>

#include "framework/ops/ops.h"
#include "framework/saving/hdf5_file.h"
#include "framework/train/model.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/python.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

Tensors read_named(const Hdf5Reader& file, const std::string& group) {
  std::vector<Tensors::Named> named;
  for (const std::string& name : file.children(group)) {
    const std::string path = group + "/" + name;
    const Hdf5Reader::Dataset dataset = file.describe(path);
    named.emplace_back(name, file.read(path, dataset.shape, dataset.dtype));
  }
  return Tensors::named(std::move(named));
}

void check_predictions(Model& model, const Tensors& x, const Tensors& wanted) {
  const Tensors found = model.predict(x, {.verbose = 0});
  REQUIRE(found.size() == wanted.size());
  for (const std::string& name : wanted.names()) {
    CAPTURE(name);
    CHECK(test::distance(found.at(name), wanted.at(name)) < 1e-5);
  }
}

}  // namespace

TEST_CASE(
    "calls with several arguments, masks saved with them, and outputs with their own metrics") {
  const test::Scratch scratch;
  REQUIRE(test::run_python(CORNU_CALL_ARGUMENTS_SCRIPT, fmt::format("make '{}'", scratch.path())) ==
          0);
  const Hdf5Reader values = Hdf5Reader::open(scratch.path("values.h5"));
  Tensors x = read_named(values, "x");
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < x.size(); ++i) {
    const bool flags = x.names()[i] == "flags" || x.names()[i] == "pairs";
    inputs.push_back(flags ? ops::cast(x[i], DType::Bool) : x[i]);
  }
  x = x.with(std::move(inputs));
  Model model = load_model(scratch.path("model.keras"));
  check_predictions(model, x, read_named(values, "before"));
  model.save(scratch.path("cornu.keras"));

  const Json logs = Json::parse(test::contents(scratch.path("logs.json")));
  for (const Json& wanted : logs.as_array()) {
    const Logs found = model.train_on_batch(x, read_named(values, "y"),
                                            {.sample_weight = read_named(values, "w")});
    for (const auto& item : wanted.as_object()) {
      CAPTURE(item.first);
      CHECK(found.at(item.first) == doctest::Approx(item.second.as_double()).epsilon(1e-4));
    }
  }
  check_predictions(model, x, read_named(values, "after"));
  CHECK(test::run_python(CORNU_CALL_ARGUMENTS_SCRIPT, fmt::format("check '{}'", scratch.path())) ==
        0);
  // The copy that is loaded from Cornu's own file knows the same calls.
  Model again = load_model(scratch.path("cornu.keras"));
  check_predictions(again, x, read_named(values, "before"));
  Model clone = clone_model(again);
  clone.set_weights(again.get_weights());
  check_predictions(clone, x, read_named(values, "before"));
}

}  // namespace cornu
