// SPDX-License-Identifier: Apache-2.0
// A PJRT client: devices, arrays in their memory, and programs that run on them.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/backends/xla/plugin.h"
#include "framework/core/buffer.h"
#include "framework/graph/op.h"

namespace cornu::xla {

class Client;

// An immutable array of one type in a device's memory; it may still be computed or transferred.
// Freed with its last owner.
class DeviceArray {
 public:
  DeviceArray(Client& client, pjrt::Buffer* buffer, TensorType type, int device)
      : client_(client), buffer_(buffer), type_(std::move(type)), device_(device) {}
  ~DeviceArray();
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  pjrt::Buffer* buffer() const { return buffer_; }
  const TensorType& type() const { return type_; }
  int device() const { return device_; }
  Client& client() const { return client_; }

 private:
  Client& client_;
  pjrt::Buffer* buffer_;
  TensorType type_;
  int device_;
};
using ArrayPtr = std::shared_ptr<DeviceArray>;

// The memory of a tensor on such a device. Its address only identifies it, and can't be
// dereferenced. A clone shares the array, or has its own copy of a part of it.
class ArrayBuffer : public Buffer {
 public:
  explicit ArrayBuffer(ArrayPtr array);

  const ArrayPtr& array() const { return array_; }

  void copy_to_host(size_t offset, std::span<std::byte> to) const override;
  std::shared_ptr<Buffer> clone(size_t offset, size_t bytes) const override;

 private:
  ArrayPtr array_;
};

// A compiled program.
class LoadedProgram {
 public:
  LoadedProgram(Client& client, pjrt::LoadedExecutable* executable, std::vector<int> devices,
                std::vector<TensorType> outputs)
      : client_(client),
        executable_(executable),
        devices_(std::move(devices)),
        outputs_(std::move(outputs)) {}
  ~LoadedProgram();
  LoadedProgram(const LoadedProgram&) = delete;
  LoadedProgram& operator=(const LoadedProgram&) = delete;

  const std::vector<int>& devices() const { return devices_; }

  // Starts the program on all its devices; `arguments` and results are by device. Inputs in `kept`
  // aren't overwritten even if the program could do so. Results may still be pending when it
  // returns, unless `awaited` is set. Thread-safe.
  std::vector<std::vector<ArrayPtr>> run(std::span<const std::vector<ArrayPtr>> arguments,
                                         std::span<const int64_t> kept, bool awaited) const;

 private:
  Client& client_;
  pjrt::LoadedExecutable* executable_;
  std::vector<int> devices_;
  std::vector<TensorType> outputs_;
};

// Thread-safe; never destroyed, since tensors in static objects may be destroyed in any order.
class Client {
 public:
  // Uses those of the plugin's devices that this process may use. Options come from
  // $CORNU_PJRT_OPTIONS, "name=value,name=value": numbers, true and false, or else text. Throws
  // InvalidArgument for malformed options.
  explicit Client(std::unique_ptr<Plugin> plugin);

  const Plugin& plugin() const { return *plugin_; }
  int device_count() const { return static_cast<int>(devices_.size()); }
  std::map<std::string, std::string> details(int device) const;
  // Bytes in use on a device, and their peak. Throws Unimplemented when the plugin doesn't report
  // them.
  std::pair<size_t, size_t> memory_usage(int device) const;

  // Copies host memory, which may be changed after this returns.
  ArrayPtr upload(const std::byte* from, const TensorType& type, int device);
  // Reads all bytes of an array, row-major; blocks until it is available.
  void read(const DeviceArray& array, std::span<std::byte> to) const;
  ArrayPtr copy(const DeviceArray& array, int device);

  // Compiles StableHLO text for one replica on each of `devices`, unless it is among the most
  // recently used programs. `outputs`: the types of its function's results.
  std::shared_ptr<LoadedProgram> compile(const std::string& text, const std::vector<int>& devices,
                                         const std::vector<TensorType>& outputs);

 private:
  friend class LoadedProgram;
  pjrt::Device* device(int index) const { return devices_.at(static_cast<size_t>(index)); }
  int64_t id_of(int device) const;
  std::shared_ptr<LoadedProgram> compile_anew(std::string_view text, std::vector<int> devices,
                                              std::vector<TensorType> outputs);

  struct Compiled {
    std::string text;
    std::shared_ptr<LoadedProgram> program;
  };
  std::unique_ptr<Plugin> plugin_;
  pjrt::Client* client_ = nullptr;
  std::vector<pjrt::Device*> devices_;
  std::string platform_;
  std::string platform_version_;
  std::mutex mutex_;            // guards the list below
  std::list<Compiled> recent_;  // most recently used first
};

// A CompileOptionsProto: one replica on each device, identified by the plugin's IDs.
std::string compile_options(std::span<const int64_t> device_ids);

// Parses options such as "cpu_device_count=4,name=text". The results point into the text.
std::vector<pjrt::NamedValue> client_options(std::string_view text);

// Wraps an array in a tensor.
Tensor tensor_of(const ArrayPtr& array);

}  // namespace cornu::xla
