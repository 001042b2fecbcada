// SPDX-License-Identifier: Apache-2.0
// Classes of a program's own, in files of real Keras and in those that it reads. keras_own.py is
// the Python side.
#include <doctest/doctest.h>

#include "framework/io/atomic_file.h"
#include "framework/ops/ops.h"
#include "framework/saving/hdf5_file.h"
#include "framework/train/register_serializable.h"
#include "framework/train/trainer.h"
#include "tests/saving/models.h"
#include "tests/support/errors.h"
#include "tests/support/python.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

using test::contains;
using test::message_of;

// What Gemma has by the name of a layer of Keras's.
class GemmaNorm : public Layer {
 public:
  using Layer::Layer;
  std::string class_name() const override { return "gemma.rms_normalization>RMSNormalization"; }
  void build(const Shape& shape) override {
    scale_ = track("scale", add_weight({.shape = {shape.back()}, .initializer = "zeros"}));
  }
  Tensor call(const Tensor& x, const CallArgs&) override {
    const Tensor rms = ops::sqrt(ops::mean(ops::square(x), -1, true) + 1e-6);
    return x / rms * (1 + scale_);
  }

 private:
  Variable scale_;
};

class GemmaLoss : public LossImpl {
 public:
  using LossImpl::LossImpl;
  std::string class_name() const override { return "gemma.losses>Huber"; }
  Tensor call(const Tensor& y_true, const Tensor& y_pred) const override {
    return ops::mean(ops::abs(y_true - y_pred), -1) * 3;
  }
};

class Pyramid : public Layer {
 public:
  using Layer::Layer;
  std::string class_name() const override { return "own_test>Pyramid"; }
  void build_list(const std::vector<Shape>& shapes) override {
    CHECK(built_names() == std::vector<std::string>{"levels/P3", "levels/P4"});
    for (size_t i = 0; i < shapes.size(); ++i) {
      const std::string name = "scale_" + built_names()[i].substr(7);
      scales_.push_back(track(name, add_weight({.shape = {shapes[i].back()}, .name = name})));
    }
  }
  Tensors call_list(const Tensors& x, const CallArgs&) override {
    return x.at("levels/P3") * scales_[0] + x.at("levels/P4") * scales_[1];
  }

 private:
  std::vector<Variable> scales_;
};

Tensor value_in(const std::string& path, const char* name) {
  const Hdf5Reader file = Hdf5Reader::open(path);
  const auto [shape, dtype] = file.describe(name);
  return file.read(name, shape, dtype);
}

Model pyramid() {
  const Tensor p3 = Input({.shape = {4}, .name = "P3"});
  const Tensor p4 = Input({.shape = {4}, .name = "P4"});
  const Tensors y = make_layer<Pyramid>()(Tensors::named({{"levels/P3", p3}, {"levels/P4", p4}}));
  return Model(Tensors::named({{"P3", p3}, {"P4", p4}}), y[0]);
}

// Read from its own config.
Model model_from_json_with_weights(Model& model) {
  Model result = model_from_json(model.to_json());
  result.set_weights(model.get_weights());
  return result;
}

// Before the classes are registered.
void check_unknown(const std::string& path) {
  const std::string message = message_of([&] { load_model(path); });
  CAPTURE(message);
  CHECK(contains(message,
                 "Unknown layer 'RMSNormalization' of the module 'gemma.rms_normalization', which "
                 "isn't Keras's. Register a class or function of your own as "
                 "\"gemma.rms_normalization>RMSNormalization\" by register_serializable before "
                 "loading."));
}

}  // namespace

TEST_CASE("classes of a program's own: those named like Keras's, and dictionaries of inputs") {
  const test::Scratch scratch;
  register_serializable("own_test>Pyramid", [](const Json& config) {
    return make_layer<Pyramid>(LayerOptions::from_config(config));
  });
  Model saved = pyramid();
  const Tensors x =
      Tensors::named({{"P3", test::numbers({3, 4})}, {"P4", test::numbers({3, 4}, 2)}});
  const Tensor y = saved.predict(x);
  Hdf5Writer writer;
  writer.write("x/0", x[0]);
  writer.write("x/1", x[1]);
  writer.write("y/0", y);
  write_file_atomically(scratch.path("pyramid.values.h5"), writer.take_bytes());
  saved.save(scratch.path("pyramid.keras"));
  REQUIRE(test::run_python(CORNU_KERAS_OWN_SCRIPT, fmt::format("'{}'", scratch.path())) == 0);
  Model back = load_model(scratch.path("back_pyramid.keras"));
  CHECK(test::distance(Tensors(back.predict(x)), Tensors(y)) < 1e-5);

  for (const char* file : {"nested_false", "nested_true"}) {
    CAPTURE(file);
    Model nested = load_model(scratch.path(fmt::format("{}.keras", file)));
    const std::string values = scratch.path(fmt::format("{}.values.h5", file));
    const Tensors given = {value_in(values, "x/0"), value_in(values, "x/1")};
    const Tensors wanted = value_in(values, "y/0");
    CHECK(test::distance(nested.predict(given), wanted) < 1e-5);
    CHECK(test::distance(model_from_json_with_weights(nested).predict(given), wanted) < 1e-5);
  }

  const std::string named = scratch.path("named.keras");
  check_unknown(named);
  register_serializable("gemma.rms_normalization>RMSNormalization", [](const Json& config) {
    return make_layer<GemmaNorm>(LayerOptions::from_config(config));
  });
  CHECK(contains(message_of([&] { load_model(named); }),
                 "Unknown loss 'Huber' of the module 'gemma.losses', which isn't Keras's."));
  register_serializable("gemma.losses>Huber",
                        [](const Json&) { return Loss(std::make_shared<GemmaLoss>("huber")); });
  Model model = load_model(named);
  const std::string values = scratch.path("named.values.h5");
  const Tensor in = value_in(values, "x/0");
  CHECK(test::distance(Tensors(model.predict(in)), Tensors(value_in(values, "y/0"))) < 1e-5);
  // As Keras writes it.
  const Json config = Json::parse(model.to_json());
  const Json& layer = config.at("config").at("layers")[1];
  CHECK(layer.at("module") == Json("gemma.rms_normalization"));
  CHECK(layer.at("class_name") == Json("RMSNormalization"));
  CHECK(test::distance(Tensors(model_from_json(model.to_json()).predict(in)),
                       Tensors(ops::zeros({3, 4}))) > 0.1);
}

}  // namespace cornu
