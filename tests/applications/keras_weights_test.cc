// SPDX-License-Identifier: Apache-2.0
// Weights of real Keras's MobileNetV2 in each of its formats, and back. keras_weights.py is the
// Python side.
#include <doctest/doctest.h>

#include "applications/mobilenet_v2.h"
#include "framework/core/random.h"
#include "framework/io/atomic_file.h"
#include "framework/ops/ops.h"
#include "framework/saving/hdf5_file.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/python.h"
#include "tests/support/scratch.h"

using namespace cornu;

namespace {

Model make(const applications::Weights& weights) {
  return applications::MobileNetV2({.input_shape = {64, 96, 3},
                                    .alpha = 0.35,
                                    .include_top = false,
                                    .weights = weights,
                                    .pooling = "avg"});
}

Tensor predict(Model model, const Tensor& pictures) {
  return model.predict(applications::mobilenet_v2::preprocess_input(pictures), {.verbose = 0});
}

}  // namespace

TEST_CASE("weights of Keras's MobileNetV2 give what they give there, and Cornu's do in Keras") {
  const test::Scratch scratch;
  set_random_seed(4);
  Model model = make(nullptr);
  model.save(scratch.path("cornu.keras"));
  model.save_weights(scratch.path("cornu.weights.h5"));
  const Tensor pictures = (test::some_values({3, 64, 96, 3}) + 1) * 127.5;
  Hdf5Writer writer;
  writer.write("x", pictures);
  writer.write("y", predict(model, pictures));
  write_file_atomically(scratch.path("cornu.values.h5"), writer.take_bytes());

  REQUIRE(test::run_python(CORNU_KERAS_APPLICATIONS_SCRIPT, fmt::format("'{}'", scratch.path())) ==
          0);
  const Hdf5Reader values = Hdf5Reader::open(scratch.path("keras.values.h5"));
  const Tensor x = values.read("x", {3, 64, 96, 3}, DType::Float32);
  const Tensor expected = values.read("y", {3, 1280}, DType::Float32);
  const double scale = ops::max(expected).item<double>();
  REQUIRE(scale > 0.1);
  for (const char* file : {"keras.keras", "keras.weights.h5", "whole.h5", "legacy.h5"}) {
    CAPTURE(file);
    CHECK(test::distance(predict(make(scratch.path(file)), x), expected) < 1e-4 * scale);
  }
}
