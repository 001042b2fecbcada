// SPDX-License-Identifier: Apache-2.0
#include "distribute/strategies/tpu.h"

#include "distribute/cluster/fixed_resolver.h"
#include "distribute/strategies/replicated.h"
#include "framework/core/error.h"
#include "framework/graph/backend.h"
#include "framework/graph/devices.h"

namespace cornu::distribute {
namespace {

std::shared_ptr<ClusterResolverImpl> resolve_tpus(const TPUClusterResolverOptions& options) {
  const std::string tpu = options.tpu.value_or("");
  check<Unimplemented>(tpu.empty() || tpu == "local",
                       "TPUClusterResolver: expected \"\" or \"local\", the TPUs of this machine, "
                       "got '{}'. Run the program on the machine that has them.",
                       tpu);
  backend_for({DeviceType::Tpu, 0});  // throws if there are none
  const auto count = static_cast<int64_t>(config::list_logical_devices(DeviceType::Tpu).size());
  FixedCluster known{.name = "TPUClusterResolver"};
  known.num_accelerators = std::map<std::string, int64_t>{{"TPU", count}};
  return std::make_shared<FixedResolver>(std::move(known));
}

std::vector<Device> all_tpus(const TPUClusterResolver& resolver) {
  std::vector<Device> devices;
  const auto count = static_cast<int>(resolver.num_accelerators().at("TPU"));
  for (int index = 0; index < count; ++index) devices.push_back({DeviceType::Tpu, index});
  return devices;
}

}  // namespace

TPUClusterResolver::TPUClusterResolver(const TPUClusterResolverOptions& options)
    : ClusterResolver(resolve_tpus(options)) {}

TPUStrategy::TPUStrategy(const TPUClusterResolver& resolver)
    : Strategy(std::make_shared<MirroredReplicas>("TPUStrategy", all_tpus(resolver),
                                                  CrossDeviceOps{})) {}

}  // namespace cornu::distribute
