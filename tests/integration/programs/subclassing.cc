// SPDX-License-Identifier: Apache-2.0
// A custom layer and a custom model.
#include <cornu/cornu.h>

using namespace cornu;

class Residual : public Layer {
 public:
  explicit Residual(int64_t units)
      : dense_(track(layers::Dense({.units = units, .activation = "relu"}))) {}

  void build(const Shape& input_shape) override {
    gain_ = add_weight({.shape = {input_shape.back()}, .initializer = "ones", .name = "gain"});
  }

  Tensor call(const Tensor& x, const CallArgs& args) override {
    return x + gain_ * dense_(x, args);
  }

 private:
  layers::Dense dense_;
  Variable gain_;
};

class Classifier : public Model {
 public:
  Classifier()
      : block_(track(make_layer<Residual>(64))), head_(track(layers::Dense({.units = 10}))) {}

  Tensor call(const Tensor& x, const CallArgs& args) override {
    return head_(block_(x, args), args);
  }

 private:
  LayerRef<Residual> block_;
  layers::Dense head_;
};

int main() {
  Classifier model;
  model.compile({.optimizer = optimizers::AdamW({.weight_decay = 1e-4}),
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  model.fit(
      random::normal({512, 64}, {.seed = 0}), random::randint({512}, 0, 10, {.seed = 1}),
      {.epochs = 2, .callbacks = {callbacks::EarlyStopping({.monitor = "loss", .patience = 3})}});
  model.save_weights("classifier.weights.h5");
  return 0;
}
