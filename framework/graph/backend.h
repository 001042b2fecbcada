// SPDX-License-Identifier: Apache-2.0
// What a backend is: memory, eager kernels, and a compiler from graphs to executables.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "framework/graph/communicator.h"
#include "framework/graph/graph.h"

namespace cornu {

// A compiled graph. What a run needs is apart from the code, so that several runs and several
// replicas of one run may use it at once.
class Executable {
 public:
  virtual ~Executable() = default;
  // The graph after all passes, as text.
  virtual std::string describe() const = 0;
  virtual size_t node_count() const = 0;  // of that graph
  // Bytes of memory that a replica's intermediate values take.
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
  bool optimize = true;  // false: no passes, one kernel a node (for debugging and tests)
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  // Unimplemented, naming op and dtype, for what the backend has no kernel for.
  virtual std::unique_ptr<Executable> compile(Graph graph, const ExecutableOptions& options) = 0;
  // Runs all launches at once, one a local replica; their executables are this backend's.
  // Thread-safe. A run has the variables that it writes for itself alone, and sees the others as
  // they are at one moment between the runs that write them. An error of one replica aborts the
  // others' collectives and is thrown after all have stopped; variables that the graphs write are
  // then as before, or poisoned.
  virtual void run(std::span<Launch> launches) = 0;
  // Runs one op now on `device`, where the inputs lie and the outputs shall lie.
  virtual std::vector<Tensor> execute(const OpDef& op, std::span<const Tensor> inputs,
                                      const Attributes& attributes,
                                      std::span<const TensorType> output_types,
                                      const Device& device) = 0;
  // A copy, on one of its devices, of a tensor that lies on the host or on another of its devices.
  // (Buffer::copy_to_host is the way back.)
  virtual Tensor to_device(const Tensor& tensor, const Device& device) = 0;
  virtual int device_count() const = 0;  // of the machine
  // Does it have a kernel for this op on these types?
  virtual bool supports(const OpDef& op, std::span<const TensorType> inputs,
                        const Attributes& attributes,
                        std::span<const TensorType> outputs) const = 0;
};

Backend& cpu_backend();

// From now on `backend`, which must live on, serves the devices of `type`. AlreadyExists when
// another one does. Thread-safe.
void register_backend(DeviceType type, Backend& backend);

// Calls register_backend for what this build has, at the first use of a device; defined by
// framework/registration, since a static library drops objects that only register themselves.
void register_builtin_backends();

// The backend of a device. Unimplemented, naming what there is, when no backend serves its type;
// InvalidArgument when there is no such device.
Backend& backend_for(const Device& device);

}  // namespace cornu
