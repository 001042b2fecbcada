// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <string>
#include <utility>
#include <vector>

#include "distribute/strategies/cross_device_ops.h"
#include "framework/strategy/strategy.h"

namespace cornu::distribute {

// "CPU:0", "GPU:1", …: one or several.
class DeviceNames : public std::vector<std::string> {
 public:
  using vector::vector;
  DeviceNames(std::vector<std::string> names) : vector(std::move(names)) {}  // NOLINT: implicit
  DeviceNames(std::string name) : vector{std::move(name)} {}                 // NOLINT
  DeviceNames(const char* name) : vector{name} {}                            // NOLINT
};

struct MirroredStrategyOptions {
  // All of one type. Empty: all GPUs of the machine, or its CPU.
  DeviceNames devices = {};
  CrossDeviceOps cross_device_ops = {};
};

// Synchronous training on several devices of one machine (tf.distribute.MirroredStrategy): every
// replica has a copy of all variables and processes its part of each batch; gradients, losses and
// metrics are those of the whole batch. Logical devices "CPU:0", "CPU:1", … each get a share of the
// cores.
//
//   distribute::MirroredStrategy strategy({.devices = {"CPU:0", "CPU:1"}});  // or {"CPU:0", …}
//   auto scope = strategy.scope();
//   … make and compile a model …
//   model.fit(dataset, {.epochs = 3});
class MirroredStrategy final : public Strategy {
 public:
  explicit MirroredStrategy(const MirroredStrategyOptions& options = {});

  // For a plain list of names: two or more in braces (a single one makes options), or a vector.
  class DeviceList {
   public:
    template <std::convertible_to<std::string>... Names>
    requires(sizeof...(Names) > 1) DeviceList(const Names&... names)  // NOLINT: implicit
        : names_{names...} {}
    template <std::same_as<std::vector<std::string>> List>
    DeviceList(const List& names) : names_(names) {}  // NOLINT
    const std::vector<std::string>& names() const { return names_; }

   private:
    std::vector<std::string> names_;
  };
  explicit MirroredStrategy(const DeviceList& devices, const CrossDeviceOps& cross_device_ops = {})
      : MirroredStrategy(MirroredStrategyOptions{.devices = devices.names(),
                                                 .cross_device_ops = cross_device_ops}) {}
};

}  // namespace cornu::distribute
