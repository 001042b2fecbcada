// SPDX-License-Identifier: Apache-2.0
// Layers with mixed precision read their variables in the dtype in which they compute.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <functional>
#include <vector>

namespace cornu {
namespace {

// What a layer's call sees.
struct Seen {
  DType x = DType::Bool;
  DType weight = DType::Bool;
  DType whole = DType::Bool;  // of a weight that opts out
  DType counter = DType::Bool;
};

class Probe : public Layer {
 public:
  explicit Probe(const LayerOptions& options = {}) : Layer(options) {}
  void build(const Shape& shape) override {
    weight_ = add_weight({.shape = {shape[-1]}, .initializer = "ones", .name = "weight"});
    whole_ = add_weight(
        {.shape = {shape[-1]}, .initializer = "ones", .autocast = false, .name = "whole"});
    counter_ = add_weight({.shape = {}, .dtype = DType::Int32, .trainable = false, .name = "n"});
  }
  Tensor call(const Tensor& x, const CallArgs&) override {
    seen = {x.dtype(), Tensor(weight_).dtype(), whole_.value().dtype(), counter_.value().dtype()};
    return x * weight_;
  }

  Seen seen;

 private:
  Variable weight_, whole_, counter_;
};

void check_seen(const Seen& seen, DType computes) {
  CHECK(seen.x == computes);
  CHECK(seen.weight == computes);
  CHECK(seen.whole == DType::Float32);
  CHECK(seen.counter == DType::Int32);
}

using Call = std::function<Tensor(const Tensor& x, const Variable& w)>;

// A layer with one weight, of ones.
class Weighted : public Layer {
 public:
  explicit Weighted(Call call, const LayerOptions& options = {})
      : Layer(options), call_(std::move(call)) {}
  void build(const Shape& shape) override {
    w = add_weight({.shape = {shape[-1]}, .initializer = "ones", .name = "w"});
  }
  Tensor call(const Tensor& x, const CallArgs&) override { return call_(x, w); }

  Variable w;

 private:
  Call call_;
};

TEST_CASE("a layer reads its floating weights in its compute dtype") {
  const Tensor x = ops::ones({2, 3});
  for (const auto& each :
       std::vector<std::pair<std::string, DType>>{{"mixed_bfloat16", DType::BFloat16},
                                                  {"mixed_float16", DType::Float16},
                                                  {"float32", DType::Float32}}) {
    const std::string policy = each.first;
    const DType expected = each.second;
    CAPTURE(policy);
    const auto probe = make_layer<Probe>(LayerOptions{.dtype = policy});
    CHECK(probe(x)[0].dtype() == expected);
    check_seen(probe->seen, expected);
    const Tensor y = probe(Input({.shape = {3}}));
    CHECK(y.dtype() == expected);
    check_seen(probe->seen, expected);
    CHECK(Tensor(probe->weights()[0]).dtype() == DType::Float32);  // outside of the call
    const Function compiled = function([&](const Tensor& in) { return probe(in); });
    CHECK(compiled(x)[0].dtype() == expected);
  }
}

TEST_CASE("each layer has its own dtype, whatever the layer that calls it computes in") {
  const Tensor x = ops::ones({2, 3});
  const auto inner = make_layer<Probe>(LayerOptions{.dtype = "float32"});
  const auto dense = layers::Dense({.units = 2, .dtype = "float32"});
  DType of_dense = DType::Bool, after = DType::Bool;
  const auto outer = make_layer<Weighted>(
      [&](const Tensor& in, const Variable& w) {
        const Tensor y = inner(in);
        of_dense = dense(y)[0].dtype();
        after = w.value().dtype();
        return y;
      },
      LayerOptions{.dtype = "mixed_bfloat16"});
  CHECK(outer(x)[0].dtype() == DType::Float32);
  check_seen(inner->seen, DType::Float32);
  CHECK(of_dense == DType::Float32);
  CHECK(after == DType::BFloat16);
}

TEST_CASE("loops, branches and recurrent layers with weights of mixed precision") {
  using Lists = std::pair<std::vector<Tensor>, std::vector<Tensor>>;
  const LayerOptions mixed{.dtype = "mixed_bfloat16"};
  const Tensor x = ops::ones({2, 3});
  for (const Call& call : std::vector<Call>{
           [](const Tensor&x, const Variable&w) {
             const auto step = [&](const std::vector<Tensor>& c, const std::vector<Tensor>&) {
               return Lists{{c[0] * w}, {}};
             };
             return ops::scan(step, std::vector<Tensor>{x}, std::vector<Tensor>{}, {.length = 3})
                 .first[0];
           },
           [](const Tensor&x, const Variable&w) {
             return ops::while_loop([](const std::vector<Tensor>& v) { return v[0] < 3; },
                                    [&](const std::vector<Tensor>& v) {
                                      return std::vector<Tensor>{v[0] + 1, v[1] * w};
                                    },
                                    {Tensor::scalar(0), x}, 3)[1];
           },
           [](const Tensor&x, const Variable&w) {
             return ops::cond(
                 ops::sum(x) > 0, [&] { return x * w; }, [&] { return x; });
           }}) {
    const auto layer = make_layer<Weighted>(call, mixed);
    Model model;
    {
      const Tensor in = Input({.shape = {3}});
      model = Model(in, layers::Dense({.units = 1, .dtype = "float32"})(layer(in)));
    }
    model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1}), .loss = "mse"});
    model.fit(x, ops::zeros({2, 1}), {.epochs = 2, .verbose = 0});
    CHECK(layer(x)[0].dtype() == DType::BFloat16);
    CHECK(layer->w.dtype() == DType::Float32);
    CHECK(ops::any(ops::not_equal(layer->w, 1.0F)).item<bool>());  // it has been trained
  }
}

TEST_CASE("gradients of weights of mixed precision are those of the weights' own dtype") {
  const auto layer =
      make_layer<Weighted>([](const Tensor& x, const Variable& w) { return x * w * w; },
                           LayerOptions{.dtype = "mixed_bfloat16"});
  const Tensor x = ops::ones({2, 3}) * 3;
  layer(x);
  GradientTape tape;
  const Tensor loss = ops::sum(layer(x)[0]);
  const Tensor gradient = tape.gradient(loss, {layer->w})[0];
  CHECK(gradient.dtype() == DType::Float32);
  CHECK(gradient.to_vector<float>() == std::vector<float>{12, 12, 12});
}

TEST_CASE("state that is changed within a call keeps its precision") {
  const auto layer = make_layer<Weighted>(
      [](const Tensor& x, const Variable& w) {
        w.assign_add(ops::cast(ops::mean(x), DType::Float32) * 0.001F);
        return x;
      },
      LayerOptions{.dtype = "mixed_bfloat16"});
  for (int i = 0; i < 4; ++i) layer(ops::ones({2, 1}));
  CHECK(layer->w.to_vector<float>()[0] == doctest::Approx(1.004));  // in bfloat16: 1

  metrics::Mean mean;
  const auto counting = make_layer<Weighted>(
      [&](const Tensor& x, const Variable&) {
        mean.update_state(x);
        return x;
      },
      LayerOptions{.dtype = "mixed_bfloat16"});
  for (int i = 0; i < 300; ++i) counting(ops::ones({2, 1}));
  CHECK(mean.result().item<float>() == 1);
}

TEST_CASE("models and Lambda layers with variables of their own") {
  class Scaled : public Model {
   public:
    Scaled() : Model({.dtype = "mixed_bfloat16"}) {
      gain_ = add_weight({.shape = {3}, .initializer = "ones", .name = "gain"});
    }
    Tensor call(const Tensor& x, const CallArgs&) override { return x * gain_; }

   private:
    Variable gain_;
  };
  const Tensor x = ops::ones({2, 3});
  Scaled model;
  CHECK(model(x)[0].dtype() == DType::BFloat16);

  const Variable outside(ops::ones({3}));
  const Variable whole(ops::ones({3}), {.autocast = false});
  const auto product_with = [&](const Variable& variable) {
    return layers::Lambda([&](const Tensor& in) { return in * variable; },
                          {.dtype = "mixed_bfloat16"})(x)[0]
        .dtype();
  };
  CHECK(product_with(outside) == DType::BFloat16);
  CHECK(product_with(whole) == DType::Float32);
}

}  // namespace
}  // namespace cornu
