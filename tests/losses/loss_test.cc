// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <string>

#include "framework/autodiff/gradient_tape.h"
#include "framework/core/strings.h"
#include "framework/graph/function.h"
#include "framework/graph/passes/pass.h"
#include "framework/graph/trace.h"
#include "framework/losses/losses.h"
#include "framework/model/initializers.h"
#include "framework/ops/ops.h"
#include "tests/support/parts.h"

using namespace cornu;
using test::floats;
using test::ints;
using test::message_of;

namespace {

// The ops of a traced and simplified body, except constants.
std::string ops_of(const std::vector<TensorType>& inputs,
                   const std::function<Tensor(const std::vector<Tensor>&)>& body) {
  const TracedGraph traced =
      trace(inputs, [&](const std::vector<Tensor>& xs) { return std::vector<Tensor>{body(xs)}; });
  std::vector<std::string> names;
  for (const Node& node : passes::simplify(traced.graph).nodes) {
    if (!node.is("constant")) names.push_back(node.op->name);
  }
  return join(names, " ");
}

}  // namespace

TEST_CASE("losses resolve by name and class name") {
  CHECK(Loss("mse").impl().class_name() == "MeanSquaredError");
  CHECK(Loss("mse").name() == "mse");
  CHECK(Loss("sparse_categorical_crossentropy").impl().class_name() ==
        "SparseCategoricalCrossentropy");
  CHECK(Loss("KLDivergence").name() == "kl_divergence");
  CHECK(Loss("huber").name() == "huber");
  CHECK(losses::Huber().name() == "huber_loss");
  const std::string message = message_of([] { Loss("mean_sqared_error"); });
  CHECK(message.find("Unknown loss 'mean_sqared_error'. Did you mean 'mean_squared_error'?") == 0);
}

TEST_CASE("a loss given by name is saved as that name") {
  CHECK(serialize(Loss("mse")) == Json("mse"));
  CHECK(serialize(Loss()).is_null());
  CHECK(loss_from_json("mse").name() == "mse");
  const Loss focal = loss_from_json(serialize(losses::Huber({.delta = 2.0, .name = "mine"})));
  CHECK(focal.name() == "mine");
  CHECK(serialize(focal).at("config").at("delta").as_double() == 2.0);
  const Loss callable = [](const Tensor& a, const Tensor& b) { return ops::abs(a - b); };
  CHECK(message_of([&] { serialize(callable); }) ==
        "Loss 'loss': a function, or a class without class_name(), can't be saved. Make it a "
        "LossImpl whose class_name() is \"package>Name\", and register that with "
        "loss_registry().add(…).");
}

TEST_CASE("a custom loss is a function or one class") {
  const Tensor y_true = Tensor::from<float>({1, 2}, {2, 1});
  const Tensor y_pred = Tensor::from<float>({2, 5}, {2, 1});
  const Loss summed([](const Tensor& a, const Tensor& b) { return ops::abs(a - b); },
                    {.reduction = Reduction::Sum, .name = "distance"});
  CHECK(summed.name() == "distance");
  CHECK(summed(y_true, y_pred).item<float>() == 4.0f);
  class Scaled : public LossImpl {
   public:
    explicit Scaled(double scale) : LossImpl("scaled"), scale_(scale) {}
    Tensor call(const Tensor& truth, const Tensor& pred) const override {
      return ops::mean(ops::abs(truth - pred), -1) * scale_;
    }

   private:
    double scale_;
  };
  const Loss scaled = make_loss<Scaled>(3.0);
  CHECK(scaled(y_true, y_pred).item<float>() == 6.0f);
  CHECK(scaled(y_true, y_pred, Tensor::from<float>({1, 0})).item<float>() == 1.5f);
}

TEST_CASE("a class index that is no number is an error") {
  const losses::SparseCategoricalCrossentropy loss;
  const Tensor y_pred = Tensor::from<float>({0.2f, 0.8f, 0.5f, 0.5f}, {2, 2});
  CHECK(loss(Tensor::from<float>({1, 0}), y_pred).item<float>() > 0);
  for (const float label : {NAN, INFINITY, -INFINITY}) {
    CHECK(message_of([&] {
            loss(Tensor::from<float>({1, label}), y_pred);
          })
              .find("label -2147483648 (a float label that isn't finite) of row 1 is outside of "
                    "[0, 2)") != std::string::npos);
  }
}

TEST_CASE("a class index beyond int32 is an error, too, not another class") {
  const losses::SparseCategoricalCrossentropy loss;
  const Tensor y_pred = Tensor::from<float>({0.2f, 0.8f, 0.5f, 0.5f}, {2, 2});
  constexpr uint64_t kFar = (uint64_t{1} << 32) + 1;
  for (const DType dtype : {DType::Int64, DType::UInt64, DType::Float64}) {
    const Tensor labels = ops::cast(Tensor::from<uint64_t>({1, kFar}), dtype);
    CHECK(message_of([&] { loss(labels, y_pred); }).find(" of row 1 is outside of [0, 2)") !=
          std::string::npos);
  }
}

TEST_CASE("'crossentropy' becomes a family's member when shapes are known") {
  const Loss loss = "crossentropy";
  REQUIRE(loss.needs_resolving());
  CHECK(loss.resolve({32}, {32, 1}).impl().class_name() == "BinaryCrossentropy");
  CHECK(loss.resolve({32}, {32, 10}).impl().class_name() == "SparseCategoricalCrossentropy");
  CHECK(loss.resolve({32, 1}, {32, 10}).impl().class_name() == "SparseCategoricalCrossentropy");
  CHECK(loss.resolve({32, 10}, {32, 10}).impl().class_name() == "CategoricalCrossentropy");
  CHECK(loss.resolve({32}, {32, 10}).name() == "crossentropy");
  CHECK(serialize(loss) == Json("crossentropy"));
  CHECK(message_of<FailedPrecondition>([&] { loss.impl(); }).find("resolve() it first") !=
        std::string::npos);
}

TEST_CASE("shapes that don't fit are errors with the loss's name and advice") {
  const Tensor scores = ops::zeros({32, 10});
  CHECK(message_of([&] { losses::SparseCategoricalCrossentropy()(scores, scores); }) ==
        "SparseCategoricalCrossentropy 'sparse_categorical_crossentropy': expected y_true of shape "
        "(32,), the class indices for y_pred of shape (32, 10), got (32, 10). For one-hot labels "
        "use the class without 'Sparse' in its name.");
  CHECK(message_of([&] {
          losses::SparseCategoricalCrossentropy({.name = "digit"})(ops::zeros({31}), scores);
        }) ==
        "SparseCategoricalCrossentropy 'digit': expected y_true of shape (32,), the class indices "
        "for y_pred of shape (32, 10), got (31,). Give one class index for each row of "
        "predictions.");
  CHECK(message_of([&] {
          losses::CategoricalCrossentropy()(ops::zeros({32, 1}), ops::zeros({32, 1}));
        }) ==
        "CategoricalCrossentropy 'categorical_crossentropy': expected predictions of more than one "
        "class, got y_pred of shape (32, 1). For a single output use BinaryCrossentropy.");
  CHECK(message_of([&] { losses::CategoricalCrossentropy()(ops::zeros({32}), scores); }) ==
        "CategoricalCrossentropy 'categorical_crossentropy': expected y_true of y_pred's shape "
        "(32, 10), got (32,). Give labels as one-hot vectors; for class indices use "
        "SparseCategoricalCrossentropy.");
  CHECK(message_of([&] {
          losses::MeanSquaredError()(ops::zeros({32, 9}), scores);
        }) ==
        "MeanSquaredError 'mean_squared_error': expected y_true of y_pred's shape (32, 10), got "
        "(32, 9). Reshape one of them.");
}

TEST_CASE("weights are broadcast from the left") {
  const losses::MeanSquaredError loss({.reduction = Reduction::None});
  const Tensor y_pred = floats({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2});
  const Tensor values = loss(ops::zeros({2, 2, 2}), y_pred, floats({1, 10}, {2}));
  CHECK(values.to_vector<float>() == std::vector<float>{2.5f, 12.5f, 305.0f, 565.0f});
}

TEST_CASE("a batch of no rows has no loss") {
  const losses::MeanSquaredError loss;
  CHECK(loss(ops::zeros({0, 1}), ops::zeros({0, 1})).item<float>() == 0.0f);
}

TEST_CASE("the mask of ignored classes and the mask of predictions act together") {
  const losses::SparseCategoricalCrossentropy loss({.from_logits = true, .ignore_class = -1});
  const Tensor logits = floats({0, 0, 9, 0, 0, 0}, {3, 2});
  const Tensor labels = ints({0, -1, 1});
  const Tensor mask = Tensor::from(std::vector<bool>{true, true, false}, {3});
  CHECK(loss(labels, logits.with_mask(mask)).item<float>() == doctest::Approx(0.6931472f));
}

TEST_CASE("16-bit predictions are computed in float32, float64 stays") {
  const Tensor y_pred = ops::cast(floats({1.0f, 1e-3f}, {2, 1}), DType::BFloat16);
  CHECK(losses::MeanSquaredError()(ops::zeros({2, 1}), y_pred).dtype() == DType::Float32);
  const Tensor wide = ops::cast(y_pred, DType::Float64);
  CHECK(losses::MeanSquaredError()(ops::zeros({2, 1}), wide).dtype() == DType::Float64);
}

TEST_CASE("a loss has the dtype that it is made with, and so it is saved") {
  const Tensor y_true = floats({1, 2}, {2, 1}), y_pred = floats({2, 5}, {2, 1});
  const losses::Huber loss({.delta = 2, .dtype = "float64"});
  CHECK(loss(y_true, y_pred).dtype() == DType::Float64);
  const Json json = serialize(loss);
  CHECK(json.at("config").at("dtype") == Json("float64"));
  const Loss back = loss_from_json(json);
  CHECK(serialize(back) == json);
  CHECK(back(y_true, y_pred).item<double>() == loss(y_true, y_pred).item<double>());
  CHECK(!serialize(losses::Huber()).at("config").contains("dtype"));
  // For a policy, the result has the compute dtype; the sum isn't rounded before the end.
  const losses::MeanSquaredError half({.reduction = Reduction::Sum, .dtype = "mixed_float16"});
  CHECK(half(floats({0, 0}, {2, 1}), floats({200, 200}, {2, 1})).dtype() == DType::Float16);
  CHECK(half(floats({0, 0}, {2, 1}), floats({150, 150}, {2, 1})).item<float>() == 44992);
  const Loss called([](const Tensor& a, const Tensor& b) { return ops::abs(a - b); },
                    {.dtype = "bfloat16"});
  CHECK(called(y_true, y_pred).dtype() == DType::BFloat16);
  CHECK(message_of([] { losses::Hinge({.dtype = "int32"}); }) ==
        "Loss 'hinge': expected a floating-point dtype, got \"int32\".");
}

TEST_CASE("values of functions that aren't exact in sums are reduced in float32") {
  const auto by_dtype = [](DType dtype) {
    return Loss([dtype](const Tensor&, const Tensor& y_pred) { return ops::cast(y_pred, dtype); });
  };
  const Tensor many = ops::full({80'000}, 1.5F);
  CHECK(by_dtype(DType::Float16)(many, many).item<float>() == 1.5F);
  CHECK(by_dtype(DType::Int32)(floats({1, 2}, {2}), floats({1, 2}, {2})).item<float>() == 1.5F);
  const Loss scalar([](const Tensor&, const Tensor&) { return Tensor::scalar(int32_t{5}); });
  CHECK(scalar(many, many).dtype() == DType::Float32);
}

TEST_CASE("callables are losses of labels converted to the predictions' dtype") {
  const Loss loss = [](const Tensor& y_true, const Tensor& y_pred) {
    CHECK(y_true.dtype() == DType::Float32);
    return ops::abs(y_true - y_pred);
  };
  CHECK(loss(ints({1, 2}), floats({3, 3}, {2})).item<float>() == 1.5f);
}

TEST_CASE("losses of a softmax's or sigmoid's output are those of its input") {
  const Tensor x = {{0.0, -40.0}, {30.0, 1.0}};
  const Tensor labels = Tensor::from<int32_t>({1, 0});
  const Tensor one_hot = {{0.0, 1.0}, {1.0, 0.0}};
  const auto of_all = [&](const Tensor& logits) {
    const Tensor p = ops::softmax(logits);
    const Tensor q = ops::sigmoid(logits);
    return Tensors{ops::sparse_categorical_crossentropy(labels, p),
                   ops::categorical_crossentropy(one_hot, p),
                   losses::sparse_categorical_crossentropy(labels, p),
                   losses::categorical_crossentropy(one_hot, p),
                   ops::sum(ops::binary_crossentropy(one_hot, q), -1),
                   ops::binary_crossentropy(one_hot, p)};
  };
  const Tensors eager = of_all(x);
  const Tensors traced = function(of_all)(x);
  for (const Tensors* found : {&eager, &traced}) {
    for (size_t i = 0; i < 4; ++i) {
      CAPTURE(i);
      CHECK((*found)[i].data<float>()[0] == doctest::Approx(40.0));
      CHECK((*found)[i].data<float>()[1] < 1e-6);
    }
    CHECK((*found)[4].data<float>()[0] == doctest::Approx(40.0 + std::log(2.0)));
    // The input of a softmax isn't that of a sigmoid, so the clipped formula is used.
    CHECK((*found)[5].data<float>()[1] == doctest::Approx(-std::log(1e-7)));
  }
  const Tensor halves = ops::softmax(x) * 0.5 + 0.5;  // no longer the output of a softmax
  CHECK(ops::sparse_categorical_crossentropy(labels, halves).data<float>()[1] > 0);
  const Tensor other = ops::softmax(x, 0);  // along another axis
  CHECK(!other.logits("softmax").defined());
  GradientTape tape;
  const Tensor in = x;
  tape.watch(in);
  const Tensor loss = ops::sum(ops::sparse_categorical_crossentropy(labels, ops::softmax(in)));
  const Tensor gradient = tape.gradient(loss, in);
  CHECK(gradient.data<float>()[0] == doctest::Approx(1.0));  // p - y; clipping would make it 0
  CHECK(gradient.data<float>()[1] == doctest::Approx(-1.0));
}

TEST_CASE("reductions are known by Keras's names") {
  CHECK(reduction_from_string("mean_with_sample_weight") == Reduction::MeanWithSampleWeight);
  CHECK(std::string(to_string(Reduction::None)) == "none");
  CHECK(message_of([] {
          reduction_from_string("summ");
        }).find("Unknown reduction 'summ'. Did you mean 'sum'?") == 0);
}

TEST_CASE("a traced loss does nothing that isn't needed") {
  const std::vector<TensorType> inputs = {{DType::Int32, {8}}, {DType::Float32, {8, 10}}};
  const losses::SparseCategoricalCrossentropy loss({.from_logits = true});
  CHECK(ops_of(inputs, [&](const std::vector<Tensor>& x) { return loss(x[0], x[1]); }) ==
        "sparse_softmax_cross_entropy reduce_sum multiply");
}

TEST_CASE("a focal loss's alpha is a weight of all classes, or one for each") {
  const Tensor truth = Tensor::from<float>({1, 0, 0, 1}, {2, 2});
  const Tensor pred = Tensor::from<float>({0.75, 0.25, 0.75, 0.25}, {2, 2});
  const auto values = [&](const losses::ClassWeighting& alpha) {
    return losses::categorical_focal_crossentropy(truth, pred, {.alpha = alpha}).to_vector<float>();
  };
  const std::vector<float> one = values(1.0);
  const std::vector<float> each = values({0.5, 2.0});
  CHECK(each[0] == doctest::Approx(0.5 * one[0]));
  CHECK(each[1] == doctest::Approx(2 * one[1]));
  CHECK(test::message_of<InvalidArgument>([&] {
          values({0.5, 2.0, 1.0});
        }) == "alpha: expected a weight for all classes or one for each of 2, got 3 weights.");
  const Loss loss = losses::CategoricalFocalCrossentropy({.alpha = {0.5, 2.0}});
  CHECK(serialize(loss).at("config").at("alpha").dump() == "[0.5, 2.0]");
  CHECK(loss_from_json(serialize(loss))(truth, pred).item<float>() ==
        doctest::Approx((each[0] + each[1]) / 2));
  CHECK(serialize(losses::CategoricalFocalCrossentropy()).at("config").at("alpha") == Json(0.25));
}

TEST_CASE("axes of overlaps are written as lists; none are all") {
  const Tensor truth = Tensor::from<float>({1, 0, 1, 1, 0, 0, 1, 0}, {2, 2, 2});
  const Tensor pred = Tensor::from<float>({1, 1, 0, 1, 0, 1, 1, 0}, {2, 2, 2});
  const Tensor each = losses::Dice({.reduction = Reduction::None, .axis = {1, 2}})(truth, pred);
  REQUIRE(each.shape() == Shape{2});
  CHECK(each.data<float>()[0] == doctest::Approx(1.0 - 4.0 / 6));
  CHECK(each.data<float>()[1] == doctest::Approx(1.0 - 2.0 / 3));
  const Tensor of_rows = losses::tversky(truth, pred, 0.5, 0.5, {2});
  CHECK(of_rows.shape() == Shape{2, 2});
  CHECK(losses::Dice({.reduction = Reduction::None})(truth, pred).rank() == 0);
  // The axes of a kernel, in initializers.
  const initializers::VarianceScaling scaling(
      {.seed = 1, .input_axes = {0}, .output_axes = {1, 2}});
  CHECK(scaling.get_config().at("output_axes") == Json(std::vector<int64_t>{1, 2}));
  CHECK(initializers::VarianceScaling().get_config().at("input_axes").is_null());
}

TEST_CASE("a function that is empty") {
  CHECK(message_of<InvalidArgument>([] { Loss(Loss::Function(), {}); }) ==
        "Loss: expected a function, got an empty one.");
}
