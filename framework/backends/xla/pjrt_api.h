// SPDX-License-Identifier: Apache-2.0
// The parts of the PJRT C API used by Cornu: the layout of its structs, and the positions of its
// functions in a plugin's table (https://openxla.org/xla/pjrt; version 0.x, whose minor versions
// only append).
#pragma once

#include <cstddef>
#include <cstdint>

namespace cornu::xla::pjrt {

inline constexpr int kMajorVersion = 0;

// Objects owned by the plugin.
struct Error;
struct Event;
struct Client;
struct Device;
struct DeviceDescription;
struct Memory;
struct LoadedExecutable;
struct Buffer;

// The beginning of every struct.
struct Head {
  size_t struct_size = 0;
  void* extensions = nullptr;
};

struct Version {
  Head head;
  int major = 0;
  int minor = 0;
};

using Function = Error* (*)(void* arguments);

// Only the functions that are used; the plugin's own table may be longer.
struct Api {
  static constexpr size_t kFunctions = 71;
  Head head;
  Version version;
  Function functions[kFunctions];
};
using GetApi = const Api* (*)();
inline constexpr const char* kGetApi = "GetPjrtApi";

// ---- arguments of functions: kFunction is the position in the table ----

struct ErrorDestroy {
  static constexpr size_t kFunction = 0;
  Head head;
  Error* error = nullptr;
};
struct ErrorMessage {
  static constexpr size_t kFunction = 1;
  Head head;
  const Error* error = nullptr;
  const char* message = nullptr;  // out
  size_t message_size = 0;        // out
};
struct ErrorGetCode {
  static constexpr size_t kFunction = 2;
  Head head;
  const Error* error = nullptr;
  int code = 0;  // out: absl's status codes
};
struct PluginInitialize {
  static constexpr size_t kFunction = 3;
  Head head;
};
struct EventDestroy {
  static constexpr size_t kFunction = 5;
  Head head;
  Event* event = nullptr;
};
struct EventAwait {
  static constexpr size_t kFunction = 8;
  Head head;
  Event* event = nullptr;
};

// An option or an attribute.
struct NamedValue {
  enum class Type : int { String, Int64, Int64List, Float, Bool };
  Head head;
  const char* name = nullptr;
  size_t name_size = 0;
  Type type = Type::String;
  union {
    const char* string_value;
    int64_t int64_value = 0;
    bool bool_value;
  };
  size_t value_size = 1;  // the length of strings and lists
};
struct ClientCreate {
  static constexpr size_t kFunction = 10;
  Head head;
  const NamedValue* options = nullptr;
  size_t option_count = 0;
  void* key_value_store[4] = {};
  Client* client = nullptr;  // out
  void* try_get[2] = {};
};
struct ClientPlatformName {
  static constexpr size_t kFunction = 12;
  Head head;
  Client* client = nullptr;
  const char* name = nullptr;  // out
  size_t name_size = 0;        // out
};
struct ClientPlatformVersion {
  static constexpr size_t kFunction = 14;
  Head head;
  Client* client = nullptr;
  const char* version = nullptr;  // out
  size_t version_size = 0;        // out
};
struct ClientAddressableDevices {
  static constexpr size_t kFunction = 16;
  Head head;
  Client* client = nullptr;
  Device* const* devices = nullptr;  // out
  size_t device_count = 0;           // out
};

struct Program {
  Head head;
  char* code = nullptr;
  size_t code_size = 0;
  const char* format = nullptr;
  size_t format_size = 0;
};
struct ClientCompile {
  static constexpr size_t kFunction = 20;
  Head head;
  Client* client = nullptr;
  const Program* program = nullptr;
  const char* options = nullptr;  // a serialized CompileOptionsProto
  size_t options_size = 0;
  LoadedExecutable* executable = nullptr;  // out
};

enum class HostBuffer : int { ImmutableDuringCall };
struct ClientBufferFromHost {
  static constexpr size_t kFunction = 22;
  Head head;
  Client* client = nullptr;
  const void* data = nullptr;
  int type = 0;
  const int64_t* dims = nullptr;
  size_t rank = 0;
  const int64_t* byte_strides = nullptr;
  size_t byte_stride_count = 0;
  HostBuffer semantics = HostBuffer::ImmutableDuringCall;
  Device* device = nullptr;
  Memory* memory = nullptr;
  void* device_layout = nullptr;
  Event* done = nullptr;     // out
  Buffer* buffer = nullptr;  // out
};

struct DeviceDescriptionId {
  static constexpr size_t kFunction = 23;
  Head head;
  DeviceDescription* description = nullptr;
  int id = 0;  // out
};
struct DeviceDescriptionKind {
  static constexpr size_t kFunction = 26;
  Head head;
  DeviceDescription* description = nullptr;
  const char* kind = nullptr;  // out
  size_t kind_size = 0;        // out
};
struct DeviceGetDescription {
  static constexpr size_t kFunction = 29;
  Head head;
  Device* device = nullptr;
  DeviceDescription* description = nullptr;  // out
};
struct DeviceMemoryStats {
  struct Known {
    int64_t value = 0;
    bool is_set = false;
  };
  static constexpr size_t kFunction = 34;
  Head head;
  Device* device = nullptr;
  int64_t bytes_in_use = 0;  // out
  Known peak_bytes_in_use;   // out
  Known others[9];           // out
};

struct ExecutableDestroy {
  static constexpr size_t kFunction = 50;
  Head head;
  LoadedExecutable* executable = nullptr;
};
struct ExecuteOptions {
  Head head;
  void* send_callbacks = nullptr;
  void* receive_callbacks = nullptr;
  size_t send_count = 0;
  size_t receive_count = 0;
  int launch_id = 0;
  const int64_t* kept_inputs = nullptr;  // not to be donated
  size_t kept_input_count = 0;
  void* context = nullptr;
  const char* call_location = nullptr;
  size_t task_count = 0;
  int* task_ids = nullptr;
  int64_t* incarnations = nullptr;
};
struct ExecutableExecute {
  static constexpr size_t kFunction = 55;
  Head head;
  LoadedExecutable* executable = nullptr;
  ExecuteOptions* options = nullptr;
  Buffer* const* const* arguments = nullptr;  // by device
  size_t device_count = 0;
  size_t argument_count = 0;
  Buffer** const* outputs = nullptr;  // by device; filled in
  Event** done = nullptr;             // by device; filled in unless null
  Device* device = nullptr;
};

struct BufferDestroy {
  static constexpr size_t kFunction = 58;
  Head head;
  Buffer* buffer = nullptr;
};
struct BufferCopyToDevice {
  static constexpr size_t kFunction = 69;
  Head head;
  Buffer* buffer = nullptr;
  Device* device = nullptr;
  Buffer* copy = nullptr;  // out
};
// Row-major: the last axis is the most minor one.
struct TiledLayout {
  Head head;
  const int64_t* minor_to_major = nullptr;
  size_t rank = 0;
  const int64_t* tile_dims = nullptr;
  const size_t* tile_ranks = nullptr;
  size_t tile_count = 0;
};
struct MemoryLayout {
  Head head;
  TiledLayout tiled;
  int type = 0;  // tiled
};
struct BufferToHost {
  static constexpr size_t kFunction = 70;
  Head head;
  Buffer* buffer = nullptr;
  MemoryLayout* layout = nullptr;
  void* to = nullptr;
  size_t bytes = 0;
  Event* done = nullptr;  // out
};

}  // namespace cornu::xla::pjrt
