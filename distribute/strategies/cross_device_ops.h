// SPDX-License-Identifier: Apache-2.0
// How replicas of one process exchange tensors (tf.distribute.CrossDeviceOps).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "framework/graph/communicator.h"

namespace cornu::distribute {

// A way to make the ends of a group, one a replica. A user's kind is made of a function.
class CrossDeviceOps {
 public:
  using MakeGroup = std::function<std::vector<std::unique_ptr<CollectiveGroup>>(int replicas)>;

  // The in-process group: every replica reduces its share of the elements and takes the others'
  // from them.
  CrossDeviceOps();
  CrossDeviceOps(std::string name, MakeGroup make)
      : name_(std::move(name)), make_(std::move(make)) {}
  const std::string& name() const { return name_; }
  std::vector<std::unique_ptr<CollectiveGroup>> make_group(int replicas) const {
    return make_(replicas);
  }

 private:
  std::string name_;
  MakeGroup make_;
};

// One replica reduces everything, and the others take the result from it. The same bits as the
// others give; slower for large tensors.
class ReductionToOneDevice : public CrossDeviceOps {
 public:
  ReductionToOneDevice();
};

// Among devices of one kind in one process it is the in-process group.
class HierarchicalCopyAllReduce : public CrossDeviceOps {
 public:
  HierarchicalCopyAllReduce();
};

// NVIDIA's library. Without it, and on CPUs, a warning and the in-process group.
class NcclAllReduce : public CrossDeviceOps {
 public:
  NcclAllReduce();
};

}  // namespace cornu::distribute
