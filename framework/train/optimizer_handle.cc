// SPDX-License-Identifier: Apache-2.0
// Learning rates, optimizer handles, and their forms in configs.
#include <utility>

#include "framework/core/strings.h"
#include "framework/model/registration_advice.h"
#include "framework/train/optimizer.h"

namespace cornu {

Tensor LearningRate::operator()(const Tensor& step) const {
  return schedule_ ? (*schedule_)(step) : Tensor::scalar(static_cast<float>(value_));
}

Json config_value(const LearningRate& learning_rate) {
  const auto& schedule = learning_rate.schedule();
  if (!schedule) return learning_rate.value();
  return serialized_form("keras.optimizers.schedules", schedule->class_name(),
                         schedule->get_config());
}

void set_from_config(const Json& json, LearningRate& learning_rate) {
  learning_rate =
      json.is_number() ? LearningRate(json.as_double()) : make_from_file(schedule_registry(), json);
}

OptimizerOptions OptimizerOptions::from_config(const Json& config) {
  OptimizerOptions options;
  each_shared_option(ConfigReader(config), options);
  return options;
}

Optimizer::Optimizer(const char* name) : Optimizer(std::string(given_text(name, "optimizer"))) {}
Optimizer::Optimizer(const std::string& name)
    : Optimizer(make_from_serialized(optimizer_registry(), name)) {
  named_ = std::make_shared<Named>();
  named_->made_of = name;
}

namespace {

// Removes a generated name from an optimizer's config; others get their own.
Json without_name(Json serialized) {
  Json::Object config;
  for (const Json::Member& member : serialized.at("config").as_object()) {
    if (member.first != "name") config.push_back(member);
  }
  serialized.set("config", Json::of_members(std::move(config)));
  return serialized;
}

}  // namespace

Optimizer Optimizer::for_compile() const {
  if (!named_) return *this;
  const std::lock_guard lock(named_->mutex);
  if (std::exchange(named_->is_taken, true)) {
    return make_from_serialized(optimizer_registry(), named_->made_of);
  }
  try {
    named_->made_of = without_name(serialize(*this));
  } catch (const Error&) {  // a user-defined class that can't be serialized
  }
  return *this;
}

void Optimizer::apply(const std::vector<Tensor>& gradients) const {
  check<FailedPrecondition>(impl().built(),
                            "{} '{}': apply without variables needs an optimizer that was built "
                            "for some. Call build(variables) first, or give the variables.",
                            impl().class_name(), impl().name());
  impl().apply_gradients(gradients, impl().trainable_variables());
}

Registry<OptimizerFactory>& optimizer_registry() {
  static auto& registry = make_registry<OptimizerFactory>("optimizer", register_builtins);
  return registry;
}
Registry<ScheduleFactory>& schedule_registry() {
  static auto& registry = make_registry<ScheduleFactory>("schedule", register_builtins);
  return registry;
}

Json serialize(const Optimizer& optimizer) {
  if (!optimizer) return nullptr;
  return serialized_form("keras.optimizers", optimizer.impl().class_name(),
                         optimizer.impl().get_config());
}

Optimizer optimizer_from_json(const Json& json) {
  return json.is_null() ? Optimizer() : make_from_file(optimizer_registry(), json);
}

}  // namespace cornu
