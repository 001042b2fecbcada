// SPDX-License-Identifier: Apache-2.0
#include "optimizers/multi_optimizer.h"

#include <algorithm>
#include <map>

#include "framework/core/strings.h"
#include "framework/model/layer_registry.h"
#include "optimizers/path_pattern.h"

namespace cornu::optimizers {
namespace {

Json map_config(const OptimizerMap& map) {
  Json entries = Json::object();
  for (const auto& [expression, optimizer] : map.entries()) {
    entries.set(expression, serialize(optimizer));
  }
  return serialized_form("keras.optimizers", "OptimizerMap",
                         Json::object({{"default_optimizer", serialize(map.default_optimizer())},
                                       {"optimizer_map", entries}}));
}

class MultiImpl : public OptimizerImpl {
 public:
  explicit MultiImpl(const MultiOptimizerOptions& options)
      : OptimizerImpl("MultiOptimizer", {.learning_rate = 0.0,
                                         .loss_scale_factor = options.loss_scale_factor,
                                         .name = options.name}),
        choose_(options.optimizer_map) {
    if (const auto* map = std::get_if<OptimizerMap>(&choose_)) {
      for (const auto& entry : map->entries()) number_of(entry.second);
      number_of(map->default_optimizer());
    } else {
      check<InvalidArgument>(static_cast<bool>(std::get<Chooser>(choose_)),
                             "MultiOptimizer '{}': expected a function that chooses optimizers, "
                             "got none.",
                             name());
    }
  }

  void finalize_variable_values() override {
    for (const Optimizer& inner : inner_) inner.impl().finalize_variable_values();
  }
  void exclude_from_weight_decay(const WeightDecayExclusions& exclusions) override {
    for (const Optimizer& inner : inner_) inner.impl().exclude_from_weight_decay(exclusions);
  }
  Tensor learning_rate() const override { no_learning_rate(); }
  void set_learning_rate(const LearningRate&) override { no_learning_rate(); }

  std::vector<std::pair<std::string, Optimizer>> parts() const override {
    std::vector<std::pair<std::string, Optimizer>> result;
    std::map<std::string, int> counts;
    for (const Optimizer& inner : inner_) {
      const std::string name = default_name(inner.impl().class_name());
      const int before = counts[name]++;
      const std::string number = before == 0 ? "" : fmt::format("_{}", before);
      result.emplace_back("optimizers/" + name + number, inner);
    }
    return result;
  }

  Json get_config() const override {
    const auto* map = std::get_if<OptimizerMap>(&choose_);
    check<InvalidArgument>(map != nullptr,
                           "MultiOptimizer '{}': a function that chooses optimizers can't be "
                           "saved. Use an OptimizerMap.",
                           name());
    return Json::object({{"optimizer_map", map_config(*map)},
                         {"loss_scale_factor", config_value(options().loss_scale_factor)},
                         {"name", name()}});
  }

 protected:
  void build_extra() override {
    places_.clear();
    std::vector<std::vector<Variable>> variables(inner_.size());
    for (const Variable& variable : trainable_variables()) {
      const Optimizer chosen = std::visit([&](const auto& f) { return f(variable); }, choose_);
      check<InvalidArgument>(static_cast<bool>(chosen),
                             "MultiOptimizer '{}': expected an optimizer for variable '{}', got "
                             "none.",
                             name(), variable.path());
      const size_t number = number_of(chosen);
      variables.resize(inner_.size());
      places_.emplace_back(number, variables[number].size());
      variables[number].push_back(variable);
    }
    for (size_t i = 0; i < inner_.size(); ++i) adopt(inner_[i].impl(), variables[i]);
  }

  void update(Pairs pairs) override {
    std::vector<Pairs> of_each(inner_.size());
    for (const auto& [gradient, index] : pairs) {
      const auto& [number, place] = places_[index];
      of_each[number].emplace_back(gradient, place);
    }
    for (size_t i = 0; i < inner_.size(); ++i) {
      if (!of_each[i].empty()) OptimizerImpl::update(inner_[i].impl(), of_each[i]);
    }
    count_step();
  }

  void update_step(const Tensor&, const Variable&, size_t, std::span<const Tensor>) override {}

 private:
  [[noreturn]] void no_learning_rate() const {
    raise<FailedPrecondition>(
        "MultiOptimizer '{}': its optimizers have learning rates of their own. Ask those that "
        "impl().parts() gives.",
        name());
  }

  // Returns the index of an optimizer, adding it if it is new.
  size_t number_of(const Optimizer& optimizer) {
    for (size_t i = 0; i < inner_.size(); ++i) {
      if (&inner_[i].impl() == &optimizer.impl()) return i;
    }
    const std::string& kind = optimizer.impl().class_name();
    check<InvalidArgument>(kind != "LossScaleOptimizer" && kind != class_name(),
                           "MultiOptimizer '{}': expected optimizers that update variables "
                           "themselves, got a {}.",
                           name(), kind);
    set_loss_scale_factor(optimizer.impl(), options().loss_scale_factor);
    inner_.push_back(optimizer);
    return inner_.size() - 1;
  }

  using Chooser = std::function<Optimizer(const Variable&)>;
  std::variant<OptimizerMap, Chooser> choose_;
  std::vector<Optimizer> inner_;
  // For each variable: its optimizer, and its index among that optimizer's variables.
  std::vector<std::pair<size_t, size_t>> places_;
};

}  // namespace

OptimizerMap::OptimizerMap(Optimizer default_optimizer, Entries optimizer_map)
    : default_optimizer_(std::move(default_optimizer)), entries_(std::move(optimizer_map)) {
  check<InvalidArgument>(static_cast<bool>(default_optimizer_),
                         "OptimizerMap: expected a default_optimizer, got none.");
  for (const auto& [expression, optimizer] : entries_) {
    check<InvalidArgument>(static_cast<bool>(optimizer),
                           "OptimizerMap: expected an optimizer for '{}', got none.", expression);
    patterns_.push_back(std::make_shared<const PathPattern>(expression, "OptimizerMap"));
  }
}

Optimizer OptimizerMap::operator()(const Variable& variable) const {
  const std::string& path = variable.path();
  std::vector<const Entries::value_type*> found;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].first == path) return entries_[i].second;
    if (patterns_[i]->matches_all(path)) found.push_back(&entries_[i]);
  }
  check<InvalidArgument>(found.size() <= 1,
                         "OptimizerMap: expected one optimizer for variable '{}', but '{}' and "
                         "'{}' match it.",
                         path, found.empty() ? "" : found.front()->first,
                         found.empty() ? "" : found.back()->first);
  return found.empty() ? default_optimizer_ : found.front()->second;
}

MultiOptimizer::MultiOptimizer(const MultiOptimizerOptions& options)
    : Optimizer(std::make_shared<MultiImpl>(options)) {}

Optimizer multi_optimizer_from_config(const Json& config) {
  const Json* given = config.find("optimizer_map");
  check<InvalidArgument>(given != nullptr, "MultiOptimizer: expected an optimizer_map, got none.");
  const Json map = read_serialized(*given, "optimizer map").config;
  OptimizerMap::Entries entries;
  for (const auto& [expression, optimizer] : map.at("optimizer_map").as_object()) {
    entries.emplace_back(expression, optimizer_from_json(optimizer));
  }
  MultiOptimizerOptions options = {
      .optimizer_map =
          OptimizerMap(optimizer_from_json(map.at("default_optimizer")), std::move(entries))};
  ConfigReader fields(config);
  fields("loss_scale_factor", options.loss_scale_factor);
  fields("name", options.name);
  return MultiOptimizer(options);
}

}  // namespace cornu::optimizers
