// SPDX-License-Identifier: Apache-2.0
// How the replicas of one process exchange tensors (tf.distribute.CrossDeviceOps).
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

// Makes the ends of a group, one per replica. Users define their own kind by passing a function.
class CrossDeviceOps {
 public:
  using MakeGroup = std::function<std::vector<std::unique_ptr<CollectiveGroup>>(int replicas)>;

  // NCCL between the GPUs of the machine if each replica has one of its own, and on the GPU itself
  // if the replicas share one. Otherwise the in-process group: every replica reduces its share of
  // the elements and copies the other shares from the other replicas.
  CrossDeviceOps();
  // Throws InvalidArgument without a function.
  CrossDeviceOps(std::string name, MakeGroup make)
      : CrossDeviceOps(std::move(name), std::move(make), Library::Never) {}
  const std::string& name() const { return name_; }
  // Makes a group for this many replicas of this process, which reduce in its memory.
  std::vector<std::unique_ptr<CollectiveGroup>> make_group(int replicas) const {
    return make_(replicas);
  }
  // Makes a group for replicas on these devices.
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

// One replica reduces everything, and the others copy the result. Produces the same bits as the
// other kinds; slower for large tensors.
class ReductionToOneDevice : public CrossDeviceOps {
 public:
  ReductionToOneDevice();
};

// Equivalent to the in-process group, as all devices are of one kind and in one process.
class HierarchicalCopyAllReduce : public CrossDeviceOps {
 public:
  HierarchicalCopyAllReduce();
};

// NVIDIA's library; replicas that share a single GPU reduce on it. Without the library, on CPUs, or
// if some of several GPUs are shared, logs a warning and uses the in-process group.
class NcclAllReduce : public CrossDeviceOps {
 public:
  NcclAllReduce();
};

}  // namespace cornu::distribute
