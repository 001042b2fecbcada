// SPDX-License-Identifier: Apache-2.0
#include "distribute/strategies/cross_device_ops.h"

#include "framework/core/logging.h"
#include "framework/graph/backend.h"
#include "framework/strategy/in_process_group.h"

namespace cornu::distribute {
namespace {

CrossDeviceOps::MakeGroup in_process(Reducers reducers) {
  return
      [reducers](int replicas) { return make_in_process_group(replicas, {.reducers = reducers}); };
}

}  // namespace

CrossDeviceOps::CrossDeviceOps()
    : CrossDeviceOps("InProcess", in_process(Reducers::All), Library::Preferred) {}

std::vector<std::unique_ptr<CollectiveGroup>> CrossDeviceOps::make_group(
    std::span<const Device> devices) const {
  auto group = make_(static_cast<int>(devices.size()));
  // The result of a user's function is checked by the strategy.
  const bool alone = devices.size() < 2 && library_ == Library::Preferred;
  if (library_ == Library::Never || group.empty() || alone) return group;
  const CollectiveGroup* const first = group.front().get();
  group = backend_for(devices.front()).connect(devices, std::move(group));
  if (library_ == Library::Expected && group.front().get() == first) {
    logging::warn(
        "NcclAllReduce: there is no NCCL between these devices, which are no GPUs, or share some; "
        "replicas exchange tensors through the process's memory instead.");
  }
  return group;
}

ReductionToOneDevice::ReductionToOneDevice()
    : CrossDeviceOps("ReductionToOneDevice", in_process(Reducers::First)) {}

HierarchicalCopyAllReduce::HierarchicalCopyAllReduce()
    : CrossDeviceOps("HierarchicalCopyAllReduce", in_process(Reducers::All)) {}

NcclAllReduce::NcclAllReduce()
    : CrossDeviceOps("NcclAllReduce", in_process(Reducers::All), Library::Expected) {}

}  // namespace cornu::distribute
