// SPDX-License-Identifier: Apache-2.0
#include "distribute/strategies/cross_device_ops.h"

#include "framework/core/logging.h"
#include "framework/strategy/in_process_group.h"

namespace cornu::distribute {
namespace {

CrossDeviceOps::MakeGroup in_process(Reducers reducers) {
  return
      [reducers](int replicas) { return make_in_process_group(replicas, {.reducers = reducers}); };
}

}  // namespace

CrossDeviceOps::CrossDeviceOps() : CrossDeviceOps("InProcess", in_process(Reducers::All)) {}

ReductionToOneDevice::ReductionToOneDevice()
    : CrossDeviceOps("ReductionToOneDevice", in_process(Reducers::First)) {}

HierarchicalCopyAllReduce::HierarchicalCopyAllReduce()
    : CrossDeviceOps("HierarchicalCopyAllReduce", in_process(Reducers::All)) {}

NcclAllReduce::NcclAllReduce() : CrossDeviceOps("NcclAllReduce", in_process(Reducers::All)) {
  logging::warn(
      "NcclAllReduce: this build has no NCCL; replicas exchange tensors through the process's "
      "memory instead.");
}

}  // namespace cornu::distribute
