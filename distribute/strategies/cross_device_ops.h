// SPDX-License-Identifier: Apache-2.0
// How replicas of one process exchange tensors (tf.distribute.CrossDeviceOps).
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "framework/core/device.h"
#include "framework/core/error.h"
#include "framework/graph/communicator.h"

namespace cornu::distribute {

// A way to make the ends of a group, one a replica. A user's kind is made of a function.
class CrossDeviceOps {
 public:
  using MakeGroup = std::function<std::vector<std::unique_ptr<CollectiveGroup>>(int replicas)>;

  // NCCL among GPUs of the machine, where there is one for each replica, and on the GPU itself
  // where they share one. Else the in-process group: every replica reduces its share of the
  // elements and takes the others' from them.
  CrossDeviceOps();
  // InvalidArgument without a function.
  CrossDeviceOps(std::string name, MakeGroup make)
      : CrossDeviceOps(std::move(name), std::move(make), Library::Never) {}
  const std::string& name() const { return name_; }
  // Of so many replicas of this process, which reduce in its memory.
  std::vector<std::unique_ptr<CollectiveGroup>> make_group(int replicas) const {
    return make_(replicas);
  }
  // Of replicas on these devices.
  std::vector<std::unique_ptr<CollectiveGroup>> make_group(std::span<const Device> devices) const;

 protected:
  // Whether devices are to be connected by their own library, if they have one.
  enum class Library { Never, Preferred, Expected };
  CrossDeviceOps(std::string name, MakeGroup make, Library library)
      : name_(std::move(name)), make_(std::move(make)), library_(library) {
    check<InvalidArgument>(make_ != nullptr,
                           "CrossDeviceOps '{}': expected a function that makes a group, got none.",
                           name_);
  }

 private:
  std::string name_;
  MakeGroup make_;
  Library library_;
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

// NVIDIA's library; where replicas share one GPU they reduce on it. Without it, on CPUs, and where
// some of several GPUs are shared, a warning and the in-process group.
class NcclAllReduce : public CrossDeviceOps {
 public:
  NcclAllReduce();
};

}  // namespace cornu::distribute
