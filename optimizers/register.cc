// SPDX-License-Identifier: Apache-2.0
#include "optimizers/register.h"

#include "framework/core/strings.h"
#include "optimizers/optimizers.h"

namespace cornu::optimizers {
namespace {

// Registers the class name and, as in Keras, its lower-case form.
template <class Handle, class Options>
void add(Registry<OptimizerFactory>& registry, const std::string& name) {
  registry.add(name, optimizer_factory<Handle, Options>());
  registry.add_alias(lower_case(name), name);
}

}  // namespace

void register_all(Registry<OptimizerFactory>& registry) {
  add<Adadelta, AdadeltaOptions>(registry, "Adadelta");
  add<Adafactor, AdafactorOptions>(registry, "Adafactor");
  add<Adagrad, AdagradOptions>(registry, "Adagrad");
  add<Adam, AdamOptions>(registry, "Adam");
  add<AdamW, AdamWOptions>(registry, "AdamW");
  add<Adamax, AdamaxOptions>(registry, "Adamax");
  add<Ftrl, FtrlOptions>(registry, "Ftrl");
  add<Lamb, LambOptions>(registry, "Lamb");
  add<Lion, LionOptions>(registry, "Lion");
  add<Muon, MuonOptions>(registry, "Muon");
  add<Nadam, NadamOptions>(registry, "Nadam");
  add<RMSprop, RMSpropOptions>(registry, "RMSprop");
  add<SGD, SGDOptions>(registry, "SGD");
  add<ScheduleFreeAdamW, ScheduleFreeAdamWOptions>(registry, "ScheduleFreeAdamW");
  registry.add("LossScaleOptimizer", loss_scale_optimizer_from_config);
  registry.add("MultiOptimizer", multi_optimizer_from_config);
}

namespace schedules {
namespace {

template <class Schedule, class Options>
void add(Registry<ScheduleFactory>& registry, const std::string& name) {
  registry.add(name, [](const Json& config) -> LearningRate {
    return Schedule(read_options<Options>(config));
  });
}

}  // namespace

void register_all(Registry<ScheduleFactory>& registry) {
  add<CosineDecay, CosineDecayOptions>(registry, "CosineDecay");
  add<CosineDecayRestarts, CosineDecayRestartsOptions>(registry, "CosineDecayRestarts");
  add<ExponentialDecay, ExponentialDecayOptions>(registry, "ExponentialDecay");
  add<InverseTimeDecay, InverseTimeDecayOptions>(registry, "InverseTimeDecay");
  add<PiecewiseConstantDecay, PiecewiseConstantDecayOptions>(registry, "PiecewiseConstantDecay");
  add<PolynomialDecay, PolynomialDecayOptions>(registry, "PolynomialDecay");
}

}  // namespace schedules
}  // namespace cornu::optimizers
