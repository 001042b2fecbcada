// SPDX-License-Identifier: Apache-2.0
// Interface of a backend: memory, eager kernels, and a compiler from graphs to executables.
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

// A compiled graph. The state of a run is kept apart from it, so that several runs, and several
// replicas of one run, may use it at once.
class Executable {
 public:
  virtual ~Executable() = default;
  // The graph after all passes, as text.
  virtual std::string describe() const = 0;
  virtual size_t node_count() const = 0;  // of that graph
  // Bytes of memory for a replica's intermediate values.
  virtual size_t workspace_bytes() const = 0;
};

// What one local replica does in a run. Replicas may run different graphs, as their parts of a
// batch differ in shape.
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
  Device device = {};    // where it will run first
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  // Unimplemented, naming op and dtype, for an op that the backend has no kernel for.
  virtual std::unique_ptr<Executable> compile(Graph graph, const ExecutableOptions& options) = 0;
  // Runs all launches concurrently, one per local replica; their executables come from this
  // backend. Thread-safe. A run has exclusive access to the variables that it writes, and reads the
  // others as of one moment between the runs that write them. An error of one replica aborts the
  // collectives of the others and is thrown after all have stopped; variables that the graphs write
  // are then unchanged or poisoned.
  virtual void run(std::span<Launch> launches) = 0;
  // Runs one op now on `device`, which holds the inputs and will hold the outputs.
  virtual std::vector<Tensor> execute(const OpDef& op, std::span<const Tensor> inputs,
                                      const Attributes& attributes,
                                      std::span<const TensorType> output_types,
                                      const Device& device) = 0;
  // Copies a tensor from the host, or from another device of this backend, to `device`.
  // (Buffer::copy_to_host copies back.)
  virtual Tensor to_device(const Tensor& tensor, const Device& device) = 0;
  // The same from wherever the tensor lies: through the host from devices of other backends.
  Tensor copy(const Tensor& tensor, const Device& device);
  // Brings several to `device`, at once where that costs less.
  virtual void bring(std::span<Tensor> tensors, const Device& device);
  virtual int device_count() const = 0;  // of the machine
  // Devices that programs name, where some of the machine's are split into several.
  virtual int logical_device_count() const { return device_count(); }
  // What is known of a device of the machine, by name: config::get_device_details. Empty: nothing.
  virtual std::map<std::string, std::string> device_details(int index) const;
  // Bytes that a device holds, and the most it held: config::get_memory_info.
  virtual std::pair<size_t, size_t> memory_usage(const Device& device);
  // Splits a device of the machine into several with so many bytes of memory each (0: no limit), of
  // those that backends split themselves. FailedPrecondition when one has been used.
  virtual void split_device(int index, std::span<const size_t> memory_limits);
  // The ends of `group`, by replica, for replicas on `devices`: they reduce what lies there by the
  // devices' own means of communication. As they are where there is none between these.
  using Group = std::vector<std::unique_ptr<CollectiveGroup>>;
  virtual Group connect(std::span<const Device> devices, Group group);
  // The same of replicas on these devices with those of other processes, which all call this at
  // once. Null, in all processes alike, where there is no such way, and a warning that says why.
  // `timeout`: how long a process may keep the others waiting; then DeadlineExceeded ends the
  // group. Throws what ends the group.
  virtual std::shared_ptr<GroupConnection> connect_processes(
      std::span<const Device> devices, const std::shared_ptr<ProcessGroup>& processes,
      std::chrono::milliseconds timeout);
  // Whether there is a kernel for this op on these types.
  virtual bool supports(const OpDef& op, std::span<const TensorType> inputs,
                        const Attributes& attributes,
                        std::span<const TensorType> outputs) const = 0;
};

Backend& cpu_backend();
// That of NVIDIA's GPUs. Null where there is none to be used: `why` then says what was found and
// what is needed.
Backend* find_cuda_backend(std::string& why);
// That of TPUs, or whatever devices the PJRT plugin serves that is found. Null as above.
Backend* find_xla_backend(std::string& why);

// Whether the tensor's value lies in the memory of `device`.
bool is_there(const Tensor& tensor, const Device& device);

// Makes `backend`, which must never be destroyed, serve the devices of `type`. AlreadyExists when
// another backend does. Thread-safe.
void register_backend(DeviceType type, Backend& backend);

// Finds the backend of a type of devices when one is first asked for; null where there is none, and
// why in `reason`. Thread-safe.
using FindBackend = Backend* (*)(std::string& reason);
void register_backend_finder(DeviceType type, FindBackend find);

// Calls these two for the backends of this build, on the first use of a device; defined by
// framework/registration, since a static library drops objects that only register themselves.
void register_builtin_backends();

// The backend of a device. Unimplemented, naming the types that have one, when no backend serves
// its type, and FailedPrecondition, with what was found and what is needed, when this machine has
// no such devices; InvalidArgument when there is no such device.
Backend& backend_for(const Device& device);

}  // namespace cornu
