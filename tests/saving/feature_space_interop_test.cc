// SPDX-License-Identifier: Apache-2.0
// Loads a FeatureSpace into real Keras and back, alone and within a model. keras_spaces.py is the
// Python side.
#include <doctest/doctest.h>

#include "framework/io/atomic_file.h"
#include "tests/saving/models.h"
#include "tests/support/python.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

Json rows_as_json(const Tensor& x) {
  if (x.rank() == 0)
    return x.dtype() == DType::String ? Json(x.item<std::string>()) : Json(x.item<double>());
  Json::Array list;
  for (int64_t i = 0; i < x.dim(0); ++i) {
    list.push_back(rows_as_json(x.rows(i, i + 1).with_shape(x.shape().slice(1))));
  }
  return list;
}

}  // namespace

TEST_CASE("a FeatureSpace in Keras's hands, and one from there") {
  const test::Scratch scratch;
  const Tensors table = {
      {"age", Tensor::from<float>({31, 7, 64, 18, 45})},
      {"job", Tensor::from({"cook", "nurse", "cook", "\xc3\xa9t\xc3\xa9", "baker"})},
      {"visits", Tensor::from<int32_t>({3, 3, 9, 0, 2})},
      {"price", Tensor::from<float>({0.5, 1.5, -2, 0, 8})}};
  const layers::FeatureSpace space(
      {.features = {{"age", "float_normalized"},
                    {"job", "string_categorical"},
                    {"visits", layers::FeatureSpace::integer_hashed({.num_bins = 5})},
                    {"price", layers::FeatureSpace::float_discretized({.num_bins = 3})}},
       .crosses = {{"job", "visits"}},
       .crossing_dim = 6});
  space.adapt(table);
  const Tensors encoded = space(table);
  Model model(space.get_inputs(),
              layers::Dense({.units = 2, .name = "out"})(space.get_encoded_features()));
  std::vector<Tensor> rows;
  for (const Tensor& column : table) rows.push_back(column.with_shape({column.dim(0), 1}));
  const Tensors in_rows = table.with(rows);
  const Tensors y = model(in_rows);
  Json x = Json::object();
  for (size_t i = 0; i < table.size(); ++i) x.set(table.names()[i], rows_as_json(table[i]));
  const std::string text =
      Json::object(
          {{"x", x}, {"encoded", rows_as_json(encoded.single())}, {"y", rows_as_json(y.single())}})
          .dump();
  write_file_atomically(scratch.path("values.json"),
                        std::as_bytes(std::span(text.data(), text.size())));
  space.save(scratch.path("space.keras"));
  model.save(scratch.path("model.keras"));
  REQUIRE(test::run_python(CORNU_KERAS_SPACES_SCRIPT, fmt::format("'{}'", scratch.path())) == 0);
  const auto back = layers::FeatureSpace::load(scratch.path("back_space.keras"));
  CHECK(test::distance(back(table), encoded) < 1e-6);
  Model model_back = load_model(scratch.path("back_model.keras"));
  CHECK(test::distance(model_back(in_rows), y) < 1e-6);
}

}  // namespace cornu
