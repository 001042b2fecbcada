// SPDX-License-Identifier: Apache-2.0
#include "distribute/strategies/mirrored.h"

#include "distribute/strategies/replicated.h"
#include "framework/graph/backend.h"

namespace cornu::distribute {
namespace {

class Mirrored : public ReplicatedStrategy {
 public:
  using ReplicatedStrategy::ReplicatedStrategy;

 protected:
  void bind(std::vector<Part>& parts) override {
    for (size_t i = 0; i < parts.size(); ++i) {
      parts[i].executable = parts[i].function->executable.get();
      if (!parts[i].variables.empty()) continue;
      const auto copies = Variable::of_replicas(own_variables(*parts[i].function), parts.size());
      for (size_t k = i; k < parts.size(); ++k) {
        if (parts[k].function == parts[i].function) parts[k].variables = copies[k];
      }
    }
  }
};

}  // namespace

MirroredStrategy::MirroredStrategy(const MirroredStrategyOptions& options)
    : Strategy(std::make_shared<Mirrored>(
          "MirroredStrategy",
          parse_devices("MirroredStrategy", options.devices.empty()
                                                ? std::vector<std::string>{"CPU:0"}
                                                : options.devices),
          options.cross_device_ops)) {}

}  // namespace cornu::distribute
