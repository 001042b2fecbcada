// SPDX-License-Identifier: Apache-2.0
// Runs the examples of docs/adding/layer.md.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "tests/support/layer_conformance.h"

using namespace cornu;

namespace {

class Scale : public Layer {
 public:
  explicit Scale(double start, const LayerOptions& options = {}) : Layer(options), start_(start) {}

  void build(const Shape& input_shape) override {
    gain_ = add_weight({.shape = {input_shape.back()},
                        .initializer = initializers::Constant(start_),
                        .name = "gain"});
  }
  Tensor call(const Tensor& x, const CallArgs&) override { return x * gain_; }

  std::string class_name() const override { return "my_package>Scale"; }
  Json get_config() const override {
    Json config = Layer::get_config();
    config.set("start", start_);
    return config;
  }

 private:
  double start_;
  Variable gain_;
};

void register_scale() {
  register_serializable("my_package>Scale", [](const Json& config) {
    return make_layer<Scale>(config.at("start").as_double(), LayerOptions::from_config(config));
  });
}

}  // namespace

TEST_CASE("a program's own layer comes back from a file's config") {
  register_scale();
  const auto layer = make_layer<Scale>(3.0, LayerOptions{.name = "triple"});
  const Tensor y = layer(test::some_values({2, 5}));
  CHECK(test::distance(y, test::some_values({2, 5}) * 3) < 1e-6);
  const LayerHandle copy = layer_from_json(Json::parse(serialize_layer(*layer).dump()));
  CHECK(copy.name() == "triple");
  CHECK(test::distance(copy(test::some_values({2, 5})), y) == 0);
}
