// SPDX-License-Identifier: Apache-2.0
// Masks: where they come from, which layers pass them on, and which ones use them.
#include <doctest/doctest.h>

#include "framework/model/input.h"
#include "framework/ops/ops.h"
#include "framework/train/model.h"
#include "layers/layers.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;

namespace {

const Tensor kMask = Tensor::from({true, true, false, true, false, false}, {2, 3});
const Tensor kValues = test::some_values({2, 3, 4});
const Tensor kMasked = kValues.with_mask(kMask);

bool has_mask(const Tensor& x, const Tensor& mask) {
  return x.mask().defined() && x.mask().shape() == mask.shape() &&
         test::distance(x.mask(), mask) == 0;
}

}  // namespace

TEST_CASE("Embedding masks zeros, and Masking what equals its value") {
  const Tensor indices = Tensor::from<int32_t>({3, 0, 1, 0, 0, 2}, {2, 3});
  const Tensor expected = Tensor::from({true, false, true, false, false, true}, {2, 3});
  const layers::Embedding embedding({.input_dim = 4, .output_dim = 2, .mask_zero = true});
  CHECK(has_mask(embedding(indices), expected));
  const layers::Embedding plain({.input_dim = 4, .output_dim = 2});
  CHECK(!Tensor(plain(indices)).mask().defined());

  const Tensor x = Tensor::from<float>({5, 5, 5, 1, 2, 3}, {1, 3, 2});
  const Tensor y = layers::Masking({.mask_value = 5})(x);
  CHECK(has_mask(y, Tensor::from({false, true, true}, {1, 3})));
  CHECK(y.to_vector<float>() == std::vector<float>{0, 0, 5, 1, 2, 3});
}

TEST_CASE("elementwise layers pass masks on, others don't") {
  CHECK(has_mask(layers::Activation("relu")(kMasked), kMask));
  CHECK(has_mask(layers::Dense({.units = 2})(kMasked), kMask));
  CHECK(has_mask(layers::Dropout({.rate = 0.5})(kMasked, {.training = true}), kMask));
  CHECK(has_mask(layers::LayerNormalization()(kMasked), kMask));
  CHECK(has_mask(layers::Identity()(kMasked), kMask));
  CHECK(!Tensor(layers::Flatten()(kMasked)).mask().defined());
  CHECK(!Tensor(layers::Conv1D({.filters = 1, .kernel_size = 1})(kMasked)).mask().defined());
}

TEST_CASE("ops give no masks, also where they change nothing") {
  CHECK(!ops::reshape(kMasked, {2, 3, 4}).mask().defined());
  CHECK(!ops::transpose(kMasked, {0, 1, 2}).mask().defined());
  CHECK(!ops::broadcast_to(kMasked, {2, 3, 4}).mask().defined());
  CHECK(!Tensor(layers::Reshape({3, 4})(kMasked)).mask().defined());
  CHECK(!Tensor(layers::Permute({.dims = {1, 2}})(kMasked)).mask().defined());
}

TEST_CASE("GlobalAveragePooling1D averages what the mask lets through") {
  const Tensor pooled = layers::GlobalAveragePooling1D()(kMasked);
  CHECK(!pooled.mask().defined());
  const auto x = kValues.to_vector<float>();
  for (size_t channel = 0; channel < 4; ++channel) {
    CHECK(pooled.data<float>()[channel] == doctest::Approx((x[channel] + x[4 + channel]) / 2));
    CHECK(pooled.data<float>()[4 + channel] == doctest::Approx(x[12 + channel]));
  }
  // The mask can also be an argument of the call.
  const Tensor given = layers::GlobalAveragePooling1D()(kValues, {.mask = kMask});
  CHECK(test::distance(given, pooled) == 0);
}

TEST_CASE("Softmax gives nothing to what is masked") {
  const Tensor mask = Tensor::from({true, false, true, false, false, false}, {2, 3});
  const Tensor y = layers::Softmax()(test::some_values({2, 3}), {.mask = mask});
  CHECK(y.data<float>()[1] == 0.0f);
  CHECK(y.data<float>()[0] + y.data<float>()[2] == doctest::Approx(1.0));
  for (size_t i = 3; i < 6; ++i) CHECK(y.data<float>()[i] == 0.0f);
}

TEST_CASE("Softmax refuses a mask that says something of more than its input") {
  const layers::Softmax softmax({.name = "s"});
  const auto error = [&](const Shape& mask) {
    return test::error_of([&] {
      softmax(test::some_values({1, 3}), {.mask = ops::ones(mask, DType::Bool)});
    });
  };
  CHECK(error({2, 3}) ==
        "InvalidArgument: Softmax 's': expected a mask whose axes, counted from the last, are 1 or "
        "the input's, (1, 3), got (2, 3).");
  CHECK(error({1, 1, 3}) ==
        "InvalidArgument: Softmax 's': expected a mask whose axes, counted from the last, are 1 or "
        "the input's, (1, 3), got (1, 1, 3).");
  CHECK(error({1, 1}) == "");
  CHECK(error({3}) == "");
}

TEST_CASE("BatchNormalization leaves masked steps out of its statistics") {
  const layers::BatchNormalization layer({.momentum = 0.0});
  layer(kMasked, {.training = true});
  const Tensor seen = ops::concatenate(
      {ops::slice(kValues, {0, 0, 0}, {1, 2, 4}), ops::slice(kValues, {1, 0, 0}, {1, 1, 4})}, 1);
  const auto statistics = layer.non_trainable_weights();
  CHECK(test::distance(statistics[0].value(), ops::mean(seen, {0, 1})) < 1e-6);
  CHECK(test::distance(statistics[1].value(), ops::var(seen, {0, 1})) < 1e-6);
}

TEST_CASE("merging layers combine masks") {
  const Tensor other_mask = Tensor::from({false, true, false, false, true, false}, {2, 3});
  const Tensor other = test::some_values({2, 3, 4}, 2).with_mask(other_mask);
  const Tensor either = ops::logical_or(kMask, other_mask);
  CHECK(has_mask(layers::Add()({kMasked, other}), either));
  CHECK(!Tensor(layers::Add()({kMasked, kValues})).mask().defined());
  CHECK(has_mask(layers::Concatenate({.axis = 1})({kMasked, kValues}),
                 ops::concatenate({kMask, ops::ones({2, 3}, DType::Bool)}, 1)));
  CHECK(!Tensor(layers::Dot({.axes = 2})({kMasked, other})).mask().defined());

  // Step 0 of example 0 is unmasked only in the first input, step 1 in both, step 2 in neither.
  const Tensor product = layers::Multiply()({kMasked, other});
  const Tensor largest = layers::Maximum()({kMasked, other});
  const auto a = kValues.data<float>();
  const auto b = other.data<float>();
  for (size_t i = 0; i < 4; ++i) {
    CHECK(product.data<float>()[i] == a[i]);
    CHECK(product.data<float>()[4 + i] == a[4 + i] * b[4 + i]);
    CHECK(product.data<float>()[8 + i] == 0.0f);
    CHECK(largest.data<float>()[i] == a[i]);
    CHECK(largest.data<float>()[4 + i] == std::max(a[4 + i], b[4 + i]));
  }
}

namespace {

// Splits the steps into two halves, each with its own part of the mask.
class Halves : public Layer {
 public:
  Tensors call_list(const Tensors& inputs, const CallArgs& args) override {
    std::vector<Tensor> halves;
    for (const int64_t begin : {0, 2}) {
      const Tensor part = ops::slice_axis(inputs[0], 1, begin, begin + 2);
      halves.push_back(args.mask.defined()
                           ? part.with_mask(ops::slice_axis(args.mask, 1, begin, begin + 2))
                           : part);
    }
    return halves;
  }
};

}  // namespace

TEST_CASE("a mask for each of a layer's outputs, alone and within a functional model") {
  const Tensor x = Tensor::from<float>({1, 2, 0, 4, 5, 0, 7, 0}, {2, 4, 1});
  const auto halves = make_layer<Halves>();
  const Tensor input = Input({.shape = {4, 1}});
  const Tensors parts = halves(layers::Masking()(input));
  const layers::GlobalAveragePooling1D pool;
  Model model(input, Tensors({pool(parts[0]), pool(parts[1])}));
  const Tensors y = model(x);
  CHECK(y[0].to_vector<float>() == std::vector<float>{1.5, 5});
  CHECK(y[1].to_vector<float>() == std::vector<float>{4, 7});
  const Tensors masked = halves(layers::Masking()(x));
  CHECK(has_mask(masked[0], Tensor::from({true, true, true, false}, {2, 2})));
  CHECK(has_mask(masked[1], Tensor::from({false, true, true, false}, {2, 2})));
}

namespace {

// From keras.io's guide to masking: custom layers that create a mask, pass it on, or require one.
class CustomEmbedding : public Layer {
 public:
  void build(const Shape&) override { embeddings_ = add_weight({.shape = {10, 4}}); }
  Tensor call(const Tensor& x, const CallArgs&) override { return ops::take(embeddings_, x, 0); }
  Tensor compute_mask(const Tensors& inputs, const Tensor&) const override {
    return ops::not_equal(inputs[0], 0);
  }

 private:
  Variable embeddings_;
};

class TemporalSoftmax : public Layer {
 public:
  Tensor call(const Tensor& x, const CallArgs& args) override {
    check<InvalidArgument>(args.mask.defined(), "expected a mask.");
    const Tensor exponents = ops::exp(x) * ops::expand_dims(ops::cast(args.mask, x.dtype()), -1);
    return exponents / ops::sum(exponents, 1, true);
  }
};

// Every second step, starting at 1, with the matching part of the mask for inputs that have one.
class EverySecond : public Layer {
 public:
  Tensors call_list(const Tensors& inputs, const CallArgs&) override {
    std::vector<Tensor> outputs;
    for (const Tensor& x : inputs) {
      const Tensor half = x(Slice(), Slice(1, {}, 2));
      outputs.push_back(x.mask().defined() ? half.with_mask(x.mask()(Slice(), Slice(1, {}, 2)))
                                           : half);
    }
    return outputs;
  }
};

}  // namespace

TEST_CASE("layers of a functional model are called with their masks when it is made") {
  clear_session();
  const Tensor tokens = Input({.shape = {kUnknown}, .dtype = "int32"});
  const Tensor other = Input({.shape = {kUnknown, 4}});
  Tensor x = make_layer<CustomEmbedding>()(tokens);
  x = layers::Dense({.units = 2})(x);
  const Tensors halves = make_layer<EverySecond>()({x, other});
  const Tensor weights = make_layer<TemporalSoftmax>()(halves[0]);
  CHECK(weights.shape() == Shape{kUnknown, kUnknown, 2});
  Model model({tokens, other}, weights);

  const Tensor found = model.predict(
      {Tensor::from<int32_t>({3, 1, 2, 0, 5, 6}, {1, 6}), ops::zeros({1, 6, 4})}, {.verbose = 0});
  CHECK(found.shape() == Shape{1, 3, 2});
  CHECK(found(0, 1, 0).item<float>() == 0.0f);
  CHECK(ops::sum(found, 1)(0, 1).item<float>() == doctest::Approx(1.0));

  // Without a mask, the error is raised when the model is made.
  CHECK_THROWS_WITH_AS(make_layer<TemporalSoftmax>()(halves[1]),
                       doctest::Contains("expected a mask"), InvalidArgument);
}

namespace {

// Like Keras's TransformerDecoder: one output from {targets, context}. With `all`, also one for
// each input.
class OfSeveral : public Layer {
 public:
  explicit OfSeveral(bool all) : all_(all) {}
  bool supports_masking() const override { return true; }
  Tensors call_list(const Tensors& inputs, const CallArgs&) override {
    const Tensor sum = inputs[0] + inputs[1];
    return all_ ? Tensors{inputs[0] * 2, inputs[1] * 2, sum} : Tensors{sum};
  }

 private:
  bool all_;
};

}  // namespace

TEST_CASE("masks of several inputs are passed on by their places, as in Keras") {
  const Tensor other = Tensor::from({false, true, true, true, true, true}, {2, 3});
  const Tensor second = kValues.with_mask(other);
  CHECK(has_mask(make_layer<OfSeveral>(false)({kMasked, second}), kMask));
  CHECK(!Tensor(make_layer<OfSeveral>(false)({kValues, second})).mask().defined());
  const Tensors all = make_layer<OfSeveral>(true)({kMasked, second});
  CHECK(has_mask(all[0], kMask));
  CHECK(has_mask(all[1], other));
  CHECK(!all[2].mask().defined());

  // On placeholders, so that losses and metrics skip masked positions.
  const Tensor inputs = Input({.shape = {3}, .dtype = "int32"});
  const Tensor context = Input({.shape = {3, 2}});
  const layers::Embedding embedding({.input_dim = 4, .output_dim = 2, .mask_zero = true});
  const Tensor sum = make_layer<OfSeveral>(false)({embedding(inputs), context});
  Model model({inputs, context}, layers::Dense({.units = 2})(sum));
  model.compile({.loss = "mse", .metrics = {"accuracy"}});
  const Tensor indices = Tensor::from<int32_t>({3, 0, 0}, {1, 3});
  const Tensor targets = ops::one_hot(
      ops::argmax(model.predict({indices, ops::ones({1, 3, 2})}, {.verbose = 0}), -1), 2);
  const Tensor wrong =
      ops::where(Tensor::from({true, false, false}, {1, 3, 1}), targets, 1 - targets);
  CHECK(model.evaluate({indices, ops::ones({1, 3, 2})}, wrong, {.verbose = 0})["accuracy"] == 1);
}
