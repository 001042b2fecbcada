// SPDX-License-Identifier: Apache-2.0
// Weights files loaded into a compiled model: either all weights are loaded, or none.
#include <cornu/cornu.h>

#include "framework/core/logging.h"
#include "framework/saving/weights_file.h"
#include "tests/fuzz/support.h"

namespace {

using namespace cornu;

Sequential make_model() {
  Sequential model(
      Input({.shape = {4}}),
      {layers::Dense({.units = 3}), layers::BatchNormalization(), layers::Dense({.units = 2})});
  model.compile({.optimizer = "adam", .loss = "mse"});
  model.optimizer().impl().build(model.trainable_variables());
  return model;
}

std::vector<std::byte> contents(const std::vector<Variable>& variables) {
  std::vector<std::byte> all;
  for (const Variable& variable : variables) {
    const Tensor value = variable.stored();
    all.insert(all.end(), value.raw(), value.raw() + value.bytes());
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  logging::set_level(logging::Level::Off);
  static const Sequential model = make_model();
  const OptimizerState optimizer{"adam", model.optimizer().impl().variables()};
  std::vector<Variable> variables = model.weights();
  variables.insert(variables.end(), optimizer.variables.begin(), optimizer.variables.end());
  const std::vector<std::byte> before = contents(variables);
  const auto bytes = fuzz::bytes_of(fuzz::text_of(data, size));
  bool loaded = false;
  fuzz::attempt([&] {
    load_weights_from_bytes({bytes.begin(), bytes.end()}, "file", model, optimizer);
    loaded = true;
  });
  fuzz::attempt([&] {
    load_legacy_weights_from_bytes({bytes.begin(), bytes.end()}, "file", model);
    loaded = true;
  });
  for (const bool by_name : {false, true}) {
    fuzz::attempt([&] {
      load_legacy_weights_from_bytes({bytes.begin(), bytes.end()}, "file", model,
                                     {.by_name = by_name, .skip_mismatch = true});
      loaded = true;
    });
  }
  fuzz::attempt([&] {
    load_weights(WeightsSource::from_bytes({bytes.begin(), bytes.end()}, "file"), model, optimizer,
                 true);
    loaded = true;
  });
  fuzz::require(loaded || contents(variables) == before, "a load that fails changes nothing");
  return 0;
}
