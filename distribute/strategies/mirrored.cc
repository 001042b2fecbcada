// SPDX-License-Identifier: Apache-2.0
#include "distribute/strategies/mirrored.h"

#include "distribute/strategies/replicated.h"

namespace cornu::distribute {
namespace {

class Mirrored : public ReplicatedStrategy {
 public:
  using ReplicatedStrategy::ReplicatedStrategy;

 protected:
  std::vector<std::vector<Variable>> divide(const std::vector<Variable>& variables) const override {
    return Variable::of_replicas(variables, devices());
  }
};

}  // namespace

MirroredStrategy::MirroredStrategy(const MirroredStrategyOptions& options)
    : Strategy(std::make_shared<Mirrored>("MirroredStrategy",
                                          parse_devices("MirroredStrategy", options.devices),
                                          options.cross_device_ops)) {}

}  // namespace cornu::distribute
