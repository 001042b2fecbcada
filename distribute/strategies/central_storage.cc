// SPDX-License-Identifier: Apache-2.0
#include "distribute/strategies/central_storage.h"

#include <algorithm>
#include <map>

#include "distribute/strategies/replicated.h"
#include "framework/graph/backend.h"
#include "framework/graph/passes/pass.h"

namespace cornu::distribute {
namespace {

bool is_on_read(const Variable& variable) {
  return variable.synchronization() == VariableSynchronization::OnRead;
}

class CentralStorage : public ReplicatedStrategy {
 public:
  using ReplicatedStrategy::ReplicatedStrategy;

 protected:
  // Replicas with their own memory have copies to read, which each run updates.
  std::vector<std::vector<Variable>> divide(const std::vector<Variable>& variables) const override {
    const std::vector<Device> devices = this->devices();
    if (!devices.front().shares_memory_with(devices.back())) {
      return Variable::of_replicas(variables, devices);
    }
    std::vector<Variable> own;
    for (const Variable& variable : variables) {
      if (is_on_read(variable)) own.push_back(variable);
    }
    const auto copies = Variable::of_replicas(own, devices);
    std::vector<std::vector<Variable>> result(copies.size(), variables);
    for (size_t i = 0; i < copies.size(); ++i) {
      auto copy = copies[i].begin();
      for (Variable& variable : result[i]) {
        if (is_on_read(variable)) variable = *copy++;
      }
    }
    return result;
  }

  // The first replica runs the step as it is. The others only write what each replica has of its
  // own (metrics); whatever they would compute for other variables only, above all the optimizer's
  // update, is left out.
  Executable& code(const Compiled& function, size_t replica) override {
    if (replica == 0) return *function->executable;
    const std::lock_guard lock(reading_mutex_);
    std::erase_if(reading_, [](const auto& entry) { return entry.second.of.expired(); });
    Reading& reading = reading_[function.get()];
    if (!reading.executable) {
      Graph graph = function->graph;
      for (StateBinding& state : graph.states) {
        if (!is_on_read(state.variable)) state.out = state.in;
      }
      reading.of = function;
      reading.executable = backend_for(devices().front())
                               .compile(passes::eliminate_dead_nodes(std::move(graph)),
                                        {.name = "replica", .optimize = function->optimized});
    }
    return *reading.executable;
  }

 private:
  struct Reading {
    std::weak_ptr<const CompiledFunction> of;
    std::unique_ptr<Executable> executable;
  };
  std::mutex reading_mutex_;
  std::map<const CompiledFunction*, Reading> reading_;
};

std::vector<Device> checked_devices(const CentralStorageStrategyOptions& options) {
  constexpr char kWho[] = "CentralStorageStrategy";
  const std::vector<Device> devices = parse_devices(kWho, options.compute_devices);
  if (!options.parameter_device.empty()) {
    const Device parameters = Device::parse(options.parameter_device);
    const Device& home = devices.front();
    check<Unimplemented>(
        parameters.shares_memory_with(home),
        "{}: variables are in {}'s memory, got parameter_device {}. Omit it.", kWho,
        home.type == DeviceType::Cpu ? std::string("the host") : home.to_string(), parameters);
  }
  return devices;
}

}  // namespace

CentralStorageStrategy::CentralStorageStrategy(const CentralStorageStrategyOptions& options)
    : Strategy(std::make_shared<CentralStorage>("CentralStorageStrategy", checked_devices(options),
                                                CrossDeviceOps())) {}

}  // namespace cornu::distribute
