// SPDX-License-Identifier: Apache-2.0
#include "framework/train/model_in_training.h"

#include "framework/train/body.h"
#include "framework/train/model.h"
#include "framework/train/model_config.h"

namespace cornu {
namespace {

// Finds the optimizers that keep averages, among `optimizer` and those to which it delegates
// updates.
void find_averaging(const OptimizerImpl& optimizer, std::vector<const OptimizerImpl*>& found) {
  if (optimizer.options().use_ema) found.push_back(&optimizer);
  for (const auto& part : optimizer.parts()) find_averaging(part.second.impl(), found);
}

class ModelInTraining final : public TrainedModel {
 public:
  explicit ModelInTraining(Model& model) : model_(model) {}

  Model& model() override { return model_; }
  void stop_training() override { model_.stop_training = true; }
  std::vector<Metric> metrics() const override { return model_.metrics(); }
  std::vector<Tensor> get_weights() const override { return model_.get_weights(); }
  void set_weights(const std::vector<Tensor>& weights) override { model_.set_weights(weights); }
  double learning_rate() const override {
    return model_.optimizer().learning_rate().item<double>();
  }
  void set_learning_rate(double rate) override { model_.optimizer().set_learning_rate(rate); }
  int64_t iterations() const override { return model_.optimizer().iterations(); }
  std::vector<std::pair<Variable, Variable>> averages() const override {
    const OptimizerImpl& optimizer = model_.optimizer().impl();
    std::vector<const OptimizerImpl*> averaging;
    find_averaging(optimizer, averaging);
    check<InvalidArgument>(!averaging.empty(),
                           "expected an optimizer that keeps averages of the variables, got {} "
                           "'{}'. Make it with .use_ema = true.",
                           optimizer.class_name(), optimizer.name());
    std::vector<std::pair<Variable, Variable>> pairs;
    for (const OptimizerImpl* one : averaging) {
      for (size_t i = 0; i < one->averages().size(); ++i) {
        pairs.emplace_back(one->trainable_variables()[i], one->averages()[i]);
      }
    }
    return pairs;
  }
  std::vector<LayerHandle> layers() const override { return model_.layers(); }
  const FunctionalGraph* graph() const override {
    return model_.body() ? model_.body()->graph() : nullptr;
  }
  std::optional<std::string> architecture() const override {
    if (!model_.body()) return std::nullopt;
    return serialize_architecture(model_).dump();
  }
  void save(const std::string& path) const override { model_.save(path); }
  void save_weights(const std::string& path) const override { model_.save_weights(path); }

 private:
  Model& model_;
};

}  // namespace

std::shared_ptr<TrainedModel> in_training(Model& model) {
  return std::make_shared<ModelInTraining>(model);
}

}  // namespace cornu
