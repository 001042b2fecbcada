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
  // The first replica runs the step as it is. The others write nothing but what each replica has of
  // its own (metrics): what they would compute for that alone, the optimizer's update above all, is
  // left out.
  void bind(std::vector<Part>& parts) override {
    for (size_t i = 0; i < parts.size(); ++i) {
      Part& part = parts[i];
      part.variables = own_variables(*part.function);
      part.executable = i == 0 ? part.function->executable.get() : &reading(part.function);
      std::vector<Variable> divided;
      for (const Variable& variable : part.variables) {
        if (is_on_read(variable)) divided.push_back(variable);
      }
      const auto copies = Variable::of_replicas(divided, parts.size());
      auto own = copies[i].begin();
      for (Variable& variable : part.variables) {
        if (is_on_read(variable)) variable = *own++;
      }
    }
  }

 private:
  Executable& reading(const std::shared_ptr<const CompiledFunction>& function) {
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
                                        {.name = "replica", .optimize = true});
    }
    return *reading.executable;
  }

  struct Reading {
    std::weak_ptr<const CompiledFunction> of;
    std::unique_ptr<Executable> executable;
  };
  std::mutex reading_mutex_;
  std::map<const CompiledFunction*, Reading> reading_;
};

std::vector<Device> checked_devices(const CentralStorageStrategyOptions& options) {
  constexpr char kWho[] = "CentralStorageStrategy";
  const std::vector<Device> devices =
      parse_devices(kWho, options.compute_devices.empty() ? std::vector<std::string>{"CPU:0"}
                                                          : options.compute_devices);
  if (!options.parameter_device.empty()) {
    const Device parameters = Device::parse(options.parameter_device);
    check<Unimplemented>(parameters.type == DeviceType::Cpu,
                         "{}: variables lie in the host's memory, got parameter_device {}. Leave "
                         "it out.",
                         kWho, parameters);
  }
  return devices;
}

}  // namespace

CentralStorageStrategy::CentralStorageStrategy(const CentralStorageStrategyOptions& options)
    : Strategy(std::make_shared<CentralStorage>("CentralStorageStrategy", checked_devices(options),
                                                CrossDeviceOps())) {}

}  // namespace cornu::distribute
