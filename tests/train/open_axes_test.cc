// SPDX-License-Identifier: Apache-2.0
// Functional models with axes of unknown size.
#include <doctest/doctest.h>

#include "framework/autodiff/gradient_tape.h"
#include "layers/layers.h"
#include "tests/support/errors.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/open_axes.h"

namespace cornu {
namespace {

using test::distance;
using test::kAny;
using test::message_of;

// The gradient of the sum of squares with respect to the first input.
Tensor gradient(const std::function<Tensor(const std::vector<Tensor>&)>& f,
                const std::vector<Tensor>& inputs) {
  GradientTape tape;
  tape.watch(inputs[0]);
  const Tensor loss = ops::sum(ops::square(f(inputs)));
  return tape.gradient(loss, inputs[0]);
}

}  // namespace

TEST_CASE("ops on unknown axes give what they give of known ones, for any size, also from files") {
  for (const test::OpenCase& item : test::open_cases()) {
    CAPTURE(item.name);
    Model model = test::open_model(item);
    CHECK(model.output_shape().to_string() == item.expected.to_string());
    Model read = model_from_json(model.to_json());
    Model clone = clone_model(read);
    CHECK(read.output_shape().to_string() == item.expected.to_string());
    for (const int64_t size : {4, 10}) {
      const std::vector<Tensor> inputs = test::open_inputs(item, size / 2, size);
      const Tensor expected = item.op(inputs);
      for (Model* one : {&model, &read, &clone}) {
        CHECK(distance(Tensor((*one)(Tensors(inputs))), expected) < 1e-6);
      }
      CHECK(distance(model.predict(Tensors(inputs), {.batch_size = 100, .verbose = 0}), expected) <
            1e-5);
      const auto called = [&](const std::vector<Tensor>& x) { return Tensor(model(Tensors(x))); };
      CHECK(distance(gradient(called, inputs), gradient(item.op, inputs)) < 1e-5);
    }
  }
}

TEST_CASE("a mask times an embedding, an attention mask, and layers over sequences of any length") {
  const Tensor tokens = Input({.shape = {kAny}, .dtype = "int32"});
  const Tensor embedded = layers::Embedding({.input_dim = 20, .output_dim = 8})(tokens);
  const Tensor mask = ops::not_equal(tokens, 0);
  const Tensor kept = embedded * ops::cast(ops::expand_dims(mask, -1), DType::Float32);
  const Tensor attended = layers::MultiHeadAttention({.num_heads = 2, .key_dim = 4})(Tensors::named(
      {{"query", kept}, {"value", kept}, {"attention_mask", mask(Slice(), newaxis)}}));
  const Tensor both = layers::Concatenate()(Tensors{kept, attended});
  const Tensor steps = layers::TimeDistributed({layers::Dense({.units = 3})})(both);
  Model model(tokens, steps);
  CHECK(model.output_shape() == Shape{kAny, kAny, 3});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  for (const int64_t length : {3, 6}) {
    const Tensor x = ops::reshape(ops::mod(ops::arange(4 * length), 5), {4, length});
    const Tensor y = ops::ones({4, length, 3});
    const double before = model.evaluate(x, y, {.verbose = 0})["loss"];
    model.fit(x, y, {.epochs = 3, .verbose = 0});
    CHECK(model.evaluate(x, y, {.verbose = 0})["loss"] < before);
  }
  Model read = model_from_json(model.to_json());
  read.set_weights(model.get_weights());
  const Tensor x = ops::reshape(ops::mod(ops::arange(14), 5), {2, 7});
  CHECK(distance(Tensor(read(x)), Tensor(model(x))) < 1e-6);
}

TEST_CASE("an op on unknown axes reads a variable with each call") {
  const Variable weights(ops::ones({4, 2}));
  const Tensor x = Input({.shape = {kAny, kAny, 4}});
  Model model(x, ops::tensordot(x, weights, 1));
  const Tensor value = ops::ones({1, 2, 3, 4});
  CHECK(ops::max(Tensor(model(value))).item<float>() == 4);
  weights.assign(ops::ones({4, 2}) * 2);
  CHECK(ops::max(Tensor(model(value))).item<float>() == 8);
}

TEST_CASE("a picture that a nested model divides by 32 still has an unknown size") {
  const Tensor picture = Input({.shape = {kAny, kAny, 2}});
  Tensor x = picture;
  for (int i = 0; i < 5; ++i) x = layers::MaxPooling2D({.padding = "same"})(x);
  Model backbone(picture, x);
  const Tensor input = Input({.shape = {kAny, kAny, 2}});
  Model model(input, Tensor(backbone(input)));
  CHECK(model.output_shape() == Shape{kAny, kAny, kAny, 2});
  CHECK(Tensor(model(ops::ones({1, 128, 70, 2}))).shape() == Shape{1, 4, 3, 2});
}

TEST_CASE("an unknown axis that a product sums over has the size of what it is multiplied by") {
  const Tensor x = Input({.shape = {4, kAny}}), any = Input({.shape = {kAny, kAny}});
  const Tensor kernel = ops::reshape(ops::arange(15, "float32"), {3, 5});
  const Tensor cube = ops::reshape(ops::arange(120, "float32"), {4, 6, 5});
  const Tensor values = ops::reshape(ops::arange(24, "float32"), {2, 4, 3});
  const auto check = [](const Tensor& input, const std::function<Tensor(const Tensor&)>& op,
                        const Shape& expected, const Tensor& value) {
    Model model(input, op(input));
    CHECK(model.output_shape() == expected);
    CHECK(distance(Tensor(model(value)), op(value)) == 0);
    Model read = model_from_json(model.to_json());
    read.set_weights(model.get_weights());
    CHECK(distance(Tensor(read(value)), op(value)) == 0);
  };
  const Shape product = {kAny, 4, 5};
  check(
      x, [&](const Tensor& a) { return ops::matmul(a, kernel); }, product, values);
  check(
      any, [&](const Tensor& a) { return ops::matmul(a, kernel); }, {kAny, kAny, 5}, values);
  check(
      x, [&](const Tensor& a) { return ops::dot(a, kernel); }, product, values);
  check(
      x, [&](const Tensor& a) { return ops::tensordot(a, kernel, 1); }, product, values);
  check(
      x, [&](const Tensor& a) { return ops::einsum("bij,jk->bik", a, kernel); }, product, values);
  check(
      any, [&](const Tensor& a) { return ops::einsum("bij,ijk->bk", a, cube); }, {kAny, 5},
      ops::ones({2, 4, 6}));
  const Tensor places = Tensor::from(std::vector<float>{0, 1, 3});
  check(
      x, [&](const Tensor& a) { return ops::trapezoid(a, {.x = places}); }, {kAny, 4}, values);
  const layers::Dense dense({.units = 5});
  dense(values);
  check(
      x, [&](const Tensor& a) { return Tensor(dense(a)); }, product, values);
  CHECK(message_of([&] {
          ops::einsum("bij,jk,jl->bikl", x, kernel, ops::ones({4, 2}));
        }) == "einsum \"bij,jk,jl->bikl\": expected one size for the axes 'j', got 3 and 4.");
}

TEST_CASE("masks have the sizes of what they hide, beside unknown axes") {
  const Tensor any = Input({.shape = {kAny}}), six = Input({.shape = {6}});
  const layers::Embedding embedding({.input_dim = 10, .output_dim = 4, .mask_zero = true});
  const Tensor a = Tensor(embedding(any)), b = Tensor(embedding(six));
  const Tensor words = ops::reshape(ops::mod(ops::arange(12), 4), {2, 6}),
               others = ops::reshape(ops::mod(ops::arange(12), 5), {2, 6});
  const std::vector<std::function<Tensor(const Tensor&, const Tensor&)>> merged = {
      [](const Tensor& p, const Tensor& q) {
        return layers::Add()({p, q});
      },
      [](const Tensor& p, const Tensor& q) {
        return layers::Add()({q, p, p});
      },
      [](const Tensor& p, const Tensor& q) {
        return layers::Multiply()({p, q});
      },
      [](const Tensor& p, const Tensor& q) {
        return layers::Maximum()({p, q});
      }};
  // The length of a query is unknown.
  CHECK(Tensor(layers::Attention()({a, b, b})).shape() == Shape{kAny, kAny, 4});
  const Tensor plain = Input({.shape = {kAny, 4}});
  const layers::MultiHeadAttention heads({.num_heads = 2, .key_dim = 3});
  CHECK(Tensor(heads({a, b, plain})).shape() == Shape{kAny, kAny, 4});
  for (size_t i = 0; i < merged.size(); ++i) {
    CAPTURE(i);
    const auto pooled = [&](const Tensor& p, const Tensor& q) {
      return Tensor(layers::GlobalAveragePooling1D()(merged[i](p, q)));
    };
    Model model({any, six}, pooled(a, b));
    const Tensor expected = pooled(Tensor(embedding(words)), Tensor(embedding(others)));
    CHECK(distance(Tensor(model({words, others})), expected) < 1e-6);
    CHECK(distance(model.predict({words, others}, {.verbose = 0}), expected) < 1e-6);
  }
}

namespace {

// Adds learned positions, rows of a table, and hides those that a mask hides.
class Positions : public Layer {
 public:
  explicit Positions(int64_t rows) : rows_(rows) {}
  const CallSignature& call_signature() const override {
    static const CallSignature signature{.inputs = {"x", "mask"}, .built = 1};
    return signature;
  }
  void build_list(const std::vector<Shape>& shapes) override {
    table_ = add_weight({.shape = {rows_, shapes[0].back()}});
  }
  Tensors call_list(const Tensors& inputs, const CallArgs&) override {
    const Tensor& x = inputs["x"];
    return (x + ops::slice_axis(table_, 0, 0, x.dim(1))) * ops::expand_dims(inputs["mask"], -1);
  }

 private:
  int64_t rows_;
  Variable table_;
};

}  // namespace

TEST_CASE("axes that must be equal, and at most as long as a table, are unknown") {
  for (const int64_t rows : {2, 7, 16, 77, 128, 512}) {
    CAPTURE(rows);
    const Tensor x = Input({.shape = {kUnknown, 6}}), mask = Input({.shape = {kUnknown}});
    const Tensor y = make_layer<Positions>(rows)(Tensors::named({{"x", x}, {"mask", mask}}));
    CHECK(y.shape() == Shape{kUnknown, kUnknown, 6});
    Model model({x, mask}, y(Slice(), Slice({}, 2)));
    for (const int64_t length : {int64_t{1}, rows}) {
      const Tensors inputs = {ops::ones({3, length, 6}), ops::ones({3, length})};
      CHECK(model(inputs).single().shape() == Shape{3, std::min<int64_t>(length, 2), 6});
    }
  }
}

TEST_CASE("what depends on a size that isn't known says so") {
  const Tensor x = Input({.shape = {kAny, 3}});
  const auto text = [&](const std::function<void()>& f) { return message_of<InvalidArgument>(f); };
  CHECK(text([&] { ops::unstack(x, 1); }).starts_with("unstack: expected a known size of axis 1"));
  CHECK(text([&] {
          x(Slice(), Slice(-3, 2));
        }).starts_with("get_item: the slice from -3 to 2 depends on the size of axis 1"));
  Model halves(x, ops::split(x, 2, 1)[0]);
  CHECK(text([&] {
          halves(ops::ones({1, 5, 3}));
        }).find("split: expected a number of equal parts of axis 1 of shape (1, 5, 3), got 2") !=
        std::string::npos);
}

}  // namespace cornu
