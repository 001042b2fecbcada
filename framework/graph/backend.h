// SPDX-License-Identifier: Apache-2.0
// The interface of a backend: memory, eager kernels, and a compiler from graphs to executables.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "framework/graph/communicator.h"
#include "framework/graph/graph.h"
#include "framework/graph/process_group.h"

namespace cornu {

// A compiled graph. The state of a run is kept outside of it, so several runs, and several replicas
// of one run, may use it concurrently.
class Executable {
 public:
  virtual ~Executable() = default;
  // The graph after all passes, as text.
  virtual std::string describe() const = 0;
  virtual size_t node_count() const = 0;  // of the graph after all passes
  // Bytes of memory for a replica's intermediate values.
  virtual size_t workspace_bytes() const = 0;
};

// The work of one local replica in a run. Replicas may run different graphs, since the shapes of
// their parts of a batch may differ.
struct Launch {
  Executable* executable = nullptr;
  Device device;
  std::span<const Tensor> inputs;       // one for each graph input
  std::span<const Variable> variables;  // one for each graph state; updated in place
  std::vector<Tensor> outputs;          // filled by the run
  CollectiveGroup* group = nullptr;     // for collectives; null: a group of one
};

struct ExecutableOptions {
  std::string name = "function";
  bool optimize = true;  // false: no passes, one kernel per node (for debugging and tests)
  Device device = {};    // the device that it will run on first
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  // Throws Unimplemented, naming op and dtype, for an op that the backend has no kernel for.
  virtual std::unique_ptr<Executable> compile(Graph graph, const ExecutableOptions& options) = 0;
  // Runs all launches concurrently, one per local replica; their executables must come from this
  // backend. Thread-safe. A run has exclusive access to the variables that it writes, and sees a
  // consistent snapshot of the others, taken between runs that write them. An error of one replica
  // aborts the collectives of the others and is thrown after all have stopped; the variables that
  // the graphs write are then either unchanged or poisoned.
  virtual void run(std::span<Launch> launches) = 0;
  // Runs one op eagerly on `device`, which holds the inputs and will hold the outputs.
  virtual std::vector<Tensor> execute(const OpDef& op, std::span<const Tensor> inputs,
                                      const Attributes& attributes,
                                      std::span<const TensorType> output_types,
                                      const Device& device) = 0;
  // Copies a tensor from the host, or from another device of this backend, to `device`.
  // (Buffer::copy_to_host copies back.)
  virtual Tensor to_device(const Tensor& tensor, const Device& device) = 0;
  // Copies from any device: via the host if the source belongs to another backend.
  Tensor copy(const Tensor& tensor, const Device& device);
  // Copies several tensors to `device`, in a single transfer if that is cheaper.
  virtual void bring(std::span<Tensor> tensors, const Device& device);
  virtual int device_count() const = 0;  // of the machine
  // The number of devices that programs see, which is larger if devices of the machine have been
  // split.
  virtual int logical_device_count() const { return device_count(); }
  // Information about a device of the machine, by name: config::get_device_details. May be empty.
  virtual std::map<std::string, std::string> device_details(int index) const;
  // The current and peak memory use of a device in bytes: config::get_memory_info.
  virtual std::pair<size_t, size_t> memory_usage(const Device& device);
  // Splits a device of the machine into logical devices with the given memory limits in bytes (0:
  // no limit). For backends that split their devices themselves. Throws FailedPrecondition when a
  // device has already been used.
  virtual void split_device(int index, std::span<const size_t> memory_limits);
  // Returns `group`, one end per replica, for replicas on `devices`, such that data on these
  // devices is reduced by the devices' own means of communication. Returns it unchanged if there is
  // no such means between them.
  using Group = std::vector<std::unique_ptr<CollectiveGroup>>;
  virtual Group connect(std::span<const Device> devices, Group group);
  // Connects replicas on these devices with those of other processes, which must all call this
  // concurrently. If that isn't possible, returns null in all processes alike and warns about the
  // reason. `timeout` limits how long a process may keep the others waiting; after that,
  // DeadlineExceeded ends the group. Throws the error that ends the group.
  virtual std::shared_ptr<GroupConnection> connect_processes(
      std::span<const Device> devices, const std::shared_ptr<ProcessGroup>& processes,
      std::chrono::milliseconds timeout);
  // Whether there is a kernel for this op on these types.
  virtual bool supports(const OpDef& op, std::span<const TensorType> inputs,
                        const Attributes& attributes,
                        std::span<const TensorType> outputs) const = 0;
};

Backend& cpu_backend();
// The backend for NVIDIA GPUs. Returns null when it can't be used, and sets `why` to what was found
// and what is needed.
Backend* find_cuda_backend(std::string& why);
// The backend for TPUs, or for the devices of any other PJRT plugin that is found. Returns null as
// above.
Backend* find_xla_backend(std::string& why);

// Whether the tensor's value is in the memory of `device`.
bool is_there(const Tensor& tensor, const Device& device);

// Registers `backend`, which must never be destroyed, for devices of `type`. Throws AlreadyExists
// when another backend is registered. Thread-safe.
void register_backend(DeviceType type, Backend& backend);

// Registers a function that finds the backend of a device type when it is first needed; it returns
// null, and the reason in `reason`, when there is none. Thread-safe.
using FindBackend = Backend* (*)(std::string& reason);
void register_backend_finder(DeviceType type, FindBackend find);

// Calls the two functions above for the backends of this build, on first use of a device. Defined
// by framework/registration, since linking a static library drops objects that only register
// themselves.
void register_builtin_backends();

// Returns the backend of a device. Throws Unimplemented, naming the types that have one, when no
// backend serves its type; FailedPrecondition, with what was found and what is needed, when this
// machine has no devices of the type; InvalidArgument when there is no such device.
Backend& backend_for(const Device& device);

}  // namespace cornu
