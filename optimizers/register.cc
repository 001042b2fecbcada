// SPDX-License-Identifier: Apache-2.0
#include "optimizers/register.h"

#include <algorithm>
#include <cctype>

#include "optimizers/optimizers.h"

namespace cornu::optimizers {
namespace {

// Under the class name and, as Keras has it, all of it in lower case.
template <class Handle, class Options>
void add(Registry<OptimizerFactory>& registry, const std::string& name) {
  registry.add(name, optimizer_factory<Handle, Options>());
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  registry.add_alias(lower, name);
}

template <class Schedule, class Options>
void add_schedule(Registry<ScheduleFactory>& registry, const std::string& name) {
  registry.add(name, [](const Json& config) -> LearningRate {
    return Schedule(read_options<Options>(config));
  });
}

}  // namespace

void register_all(Registry<OptimizerFactory>& optimizers, Registry<ScheduleFactory>& schedules) {
  add<Adadelta, AdadeltaOptions>(optimizers, "Adadelta");
  add<Adagrad, AdagradOptions>(optimizers, "Adagrad");
  add<Adam, AdamOptions>(optimizers, "Adam");
  add<AdamW, AdamWOptions>(optimizers, "AdamW");
  add<Adamax, AdamaxOptions>(optimizers, "Adamax");
  add<Ftrl, FtrlOptions>(optimizers, "Ftrl");
  add<Lamb, LambOptions>(optimizers, "Lamb");
  add<Lion, LionOptions>(optimizers, "Lion");
  add<Nadam, NadamOptions>(optimizers, "Nadam");
  add<RMSprop, RMSpropOptions>(optimizers, "RMSprop");
  add<SGD, SGDOptions>(optimizers, "SGD");
  add_schedule<schedules::CosineDecay, schedules::CosineDecayOptions>(schedules, "CosineDecay");
  add_schedule<schedules::CosineDecayRestarts, schedules::CosineDecayRestartsOptions>(
      schedules, "CosineDecayRestarts");
  add_schedule<schedules::ExponentialDecay, schedules::ExponentialDecayOptions>(schedules,
                                                                                "ExponentialDecay");
  add_schedule<schedules::InverseTimeDecay, schedules::InverseTimeDecayOptions>(schedules,
                                                                                "InverseTimeDecay");
  add_schedule<schedules::PiecewiseConstantDecay, schedules::PiecewiseConstantDecayOptions>(
      schedules, "PiecewiseConstantDecay");
  add_schedule<schedules::PolynomialDecay, schedules::PolynomialDecayOptions>(schedules,
                                                                              "PolynomialDecay");
}

}  // namespace cornu::optimizers
