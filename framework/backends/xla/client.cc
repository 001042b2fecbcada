// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/xla/client.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "framework/core/error.h"
#include "framework/core/proto_wire.h"

namespace cornu::xla {
namespace {

constexpr size_t kKeptPrograms = 256;
constexpr size_t kMaxKept = size_t{1} << 18;  // bytes of text

// PJRT's numbers of element types.
int element_type(DType dtype) {
  switch (dtype) {
    case DType::Bool:
      return 1;
    case DType::Int8:
      return 2;
    case DType::Int32:
      return 4;
    case DType::Int64:
      return 5;
    case DType::UInt8:
      return 6;
    case DType::UInt32:
      return 8;
    case DType::UInt64:
      return 9;
    case DType::Float16:
      return 10;
    case DType::Float32:
      return 11;
    case DType::Float64:
      return 12;
    case DType::BFloat16:
      return 13;
    case DType::String:
      break;
  }
  raise<Internal>("The XLA backend was given strings.");
}

}  // namespace

// CompileOptionsProto { 3: executable_build_options }, ExecutableBuildOptionsProto
// { 4: num_replicas, 5: num_partitions, 9: device_assignment }, DeviceAssignmentProto
// { 1: replica_count, 2: computation_count, 3: computation_devices { 1: replica_device_ids } }.
std::string compile_options(std::span<const int64_t> device_ids) {
  const auto devices = static_cast<int64_t>(device_ids.size());
  std::string ids;
  for (const int64_t id : device_ids) wire::put_varint(ids, static_cast<uint64_t>(id));
  std::string computation;
  wire::put_bytes(computation, 1, ids);
  std::string assignment;
  wire::put_int(assignment, 1, devices);
  wire::put_int(assignment, 2, 1);
  wire::put_bytes(assignment, 3, computation);
  std::string build;
  wire::put_int(build, 4, devices);
  wire::put_int(build, 5, 1);
  wire::put_bytes(build, 9, assignment);
  std::string options;
  wire::put_bytes(options, 3, build);
  return options;
}

std::vector<pjrt::NamedValue> client_options(std::string_view text) {
  std::vector<pjrt::NamedValue> options;
  while (!text.empty()) {
    const std::string_view option = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), option.size() + 1));
    const size_t equals = option.find('=');
    check<InvalidArgument>(equals != std::string_view::npos && equals > 0,
                           "CORNU_PJRT_OPTIONS: expected name=value,name=value, got '{}'.", option);
    const std::string_view value = option.substr(equals + 1);
    auto named = sized<pjrt::NamedValue>();
    named.name = option.data();
    named.name_size = equals;
    const char* const end = value.data() + value.size();
    int64_t number = 0;
    const auto read = std::from_chars(value.data(), end, number);
    if (read.ec == std::errc() && read.ptr == end) {
      named.type = pjrt::NamedValue::Type::Int64;
      named.int64_value = number;
    } else if (value == "true" || value == "false") {
      named.type = pjrt::NamedValue::Type::Bool;
      named.bool_value = value == "true";
    } else {
      named.type = pjrt::NamedValue::Type::String;
      named.string_value = value.data();
      named.value_size = value.size();
    }
    options.push_back(named);
  }
  return options;
}

Tensor tensor_of(const ArrayPtr& array) {
  const TensorType& type = array->type();
  return Tensor::from_buffer(std::make_shared<ArrayBuffer>(array), 0, type.shape, type.dtype);
}

// ---- arrays ----

DeviceArray::~DeviceArray() {
  auto destroy = sized<pjrt::BufferDestroy>();
  destroy.buffer = buffer_;
  client_.plugin().finish(destroy);
}

ArrayBuffer::ArrayBuffer(ArrayPtr array)
    : Buffer(reinterpret_cast<std::byte*>(this), array->type().bytes(),
             {DeviceType::Tpu, array->device()}),
      array_(std::move(array)) {}

void ArrayBuffer::copy_to_host(size_t offset, std::span<std::byte> to) const {
  if (to.empty()) return;
  if (offset == 0 && to.size() == bytes()) return array_->client().read(*array_, to);
  std::vector<std::byte> whole(bytes());
  array_->client().read(*array_, whole);
  std::memcpy(to.data(), whole.data() + offset, to.size());
}

std::shared_ptr<Buffer> ArrayBuffer::clone(size_t offset, size_t bytes) const {
  if (offset == 0 && bytes == this->bytes()) return std::make_shared<ArrayBuffer>(array_);
  std::vector<std::byte> part(bytes);
  copy_to_host(offset, part);
  const TensorType type{DType::UInt8, {static_cast<int64_t>(bytes)}};
  return std::make_shared<ArrayBuffer>(
      array_->client().upload(part.data(), type, array_->device()));
}

// ---- programs ----

LoadedProgram::~LoadedProgram() {
  auto destroy = sized<pjrt::ExecutableDestroy>();
  destroy.executable = executable_;
  client_.plugin().finish(destroy);
}

std::vector<std::vector<ArrayPtr>> LoadedProgram::run(
    std::span<const std::vector<ArrayPtr>> arguments, std::span<const int64_t> kept,
    bool awaited) const {
  const size_t devices = devices_.size();
  CORNU_ASSERT(arguments.size(), ==, devices);
  std::vector<std::vector<pjrt::Buffer*>> in(devices);
  std::vector<std::vector<pjrt::Buffer*>> out(devices,
                                              std::vector<pjrt::Buffer*>(outputs_.size(), nullptr));
  std::vector<pjrt::Buffer* const*> in_lists;
  std::vector<pjrt::Buffer**> out_lists;
  for (size_t i = 0; i < devices; ++i) {
    for (const ArrayPtr& array : arguments[i]) in[i].push_back(array->buffer());
    in_lists.push_back(in[i].data());
    out_lists.push_back(out[i].data());
  }
  auto options = sized<pjrt::ExecuteOptions>();
  options.kept_inputs = kept.data();
  options.kept_input_count = kept.size();
  std::vector<pjrt::Event*> done(devices, nullptr);
  auto execute = sized<pjrt::ExecutableExecute>();
  execute.executable = executable_;
  execute.options = &options;
  execute.arguments = in_lists.data();
  execute.device_count = devices;
  execute.argument_count = arguments.front().size();
  execute.outputs = out_lists.data();
  execute.done = awaited ? done.data() : nullptr;
  client_.plugin().call(execute, "XLA: a program failed");
  std::vector<std::vector<ArrayPtr>> results(devices);
  for (size_t i = 0; i < devices; ++i) {
    for (size_t k = 0; k < outputs_.size(); ++k) {
      results[i].push_back(
          std::make_shared<DeviceArray>(client_, out[i][k], outputs_[k], devices_[i]));
    }
  }
  client_.plugin().await(done, "XLA: a program failed");
  return results;
}

// ---- the client ----

Client::Client(std::unique_ptr<Plugin> plugin) : plugin_(std::move(plugin)) {
  const char* text = std::getenv("CORNU_PJRT_OPTIONS");
  const std::vector<pjrt::NamedValue> options = client_options(text ? text : "");
  auto create = sized<pjrt::ClientCreate>();
  create.options = options.data();
  create.option_count = options.size();
  plugin_->call(create, "PJRT plugin: no client could be made");
  client_ = create.client;
  auto devices = sized<pjrt::ClientAddressableDevices>();
  devices.client = client_;
  plugin_->call(devices, "PJRT plugin: its devices can't be listed");
  devices_.assign(devices.devices, devices.devices + devices.device_count);
  auto name = sized<pjrt::ClientPlatformName>();
  name.client = client_;
  plugin_->call(name, "PJRT plugin: its platform has no name");
  platform_.assign(name.name, name.name_size);
  auto version = sized<pjrt::ClientPlatformVersion>();
  version.client = client_;
  plugin_->call(version, "PJRT plugin: its platform has no version");
  platform_version_.assign(version.version, version.version_size);
}

int64_t Client::id_of(int index) const {
  auto description = sized<pjrt::DeviceGetDescription>();
  description.device = device(index);
  plugin_->call(description, "PJRT plugin: a device has no description");
  auto id = sized<pjrt::DeviceDescriptionId>();
  id.description = description.description;
  plugin_->call(id, "PJRT plugin: a device has no number");
  return id.id;
}

std::map<std::string, std::string> Client::details(int index) const {
  auto description = sized<pjrt::DeviceGetDescription>();
  description.device = device(index);
  plugin_->call(description, "PJRT plugin: a device has no description");
  auto kind = sized<pjrt::DeviceDescriptionKind>();
  kind.description = description.description;
  plugin_->call(kind, "PJRT plugin: a device is of no kind");
  return {{"device_name", std::string(kind.kind, kind.kind_size)},
          {"platform", platform_},
          {"platform_version", platform_version_},
          {"plugin", plugin_->file()},
          {"pjrt_api", plugin_->version()}};
}

std::pair<size_t, size_t> Client::memory_usage(int index) const {
  auto stats = sized<pjrt::DeviceMemoryStats>();
  stats.device = device(index);
  plugin_->call(stats, "get_memory_info");
  const int64_t peak = stats.peak_bytes_in_use.is_set ? stats.peak_bytes_in_use.value : 0;
  return {static_cast<size_t>(stats.bytes_in_use),
          static_cast<size_t>(std::max(peak, stats.bytes_in_use))};
}

ArrayPtr Client::upload(const std::byte* from, const TensorType& type, int index) {
  auto upload = sized<pjrt::ClientBufferFromHost>();
  upload.client = client_;
  upload.data = from;
  upload.type = element_type(type.dtype);
  upload.dims = type.shape.dims().data();
  upload.rank = type.shape.dims().size();
  upload.device = device(index);
  plugin_->call(upload, "XLA: copying to the device failed");
  auto array = std::make_shared<DeviceArray>(*this, upload.buffer, type, index);
  plugin_->await({&upload.done, 1}, "XLA: copying to the device failed");
  return array;
}

void Client::read(const DeviceArray& array, std::span<std::byte> to) const {
  if (to.empty()) return;
  std::vector<int64_t> minor_to_major(static_cast<size_t>(array.type().shape.rank()));
  std::iota(minor_to_major.rbegin(), minor_to_major.rend(), 0);
  auto layout = sized<pjrt::MemoryLayout>();
  layout.tiled = sized<pjrt::TiledLayout>();
  layout.tiled.minor_to_major = minor_to_major.data();
  layout.tiled.rank = minor_to_major.size();
  auto read = sized<pjrt::BufferToHost>();
  read.buffer = array.buffer();
  read.layout = &layout;
  read.to = to.data();
  read.bytes = to.size();
  plugin_->call(read, "XLA: reading an array failed");
  plugin_->await({&read.done, 1}, "XLA: reading an array failed");
}

ArrayPtr Client::copy(const DeviceArray& array, int index) {
  auto copy = sized<pjrt::BufferCopyToDevice>();
  copy.buffer = array.buffer();
  copy.device = device(index);
  plugin_->call(copy, "XLA: copying between devices failed");
  return std::make_shared<DeviceArray>(*this, copy.copy, array.type(), index);
}

std::shared_ptr<LoadedProgram> Client::compile(const std::string& text,
                                               const std::vector<int>& devices,
                                               const std::vector<TensorType>& outputs) {
  if (text.size() > kMaxKept) return compile_anew(text, devices, outputs);
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(recent_, [&](const Compiled& one) {
      return one.program->devices() == devices && one.text == text;
    });
    if (found != recent_.end()) {
      recent_.splice(recent_.begin(), recent_, found);
      return found->program;
    }
  }
  auto program = compile_anew(text, devices, outputs);
  const std::lock_guard lock(mutex_);
  recent_.push_front({text, program});
  if (recent_.size() > kKeptPrograms) recent_.pop_back();
  return program;
}

std::shared_ptr<LoadedProgram> Client::compile_anew(std::string_view text, std::vector<int> devices,
                                                    std::vector<TensorType> outputs) {
  constexpr std::string_view kFormat = "mlir";
  std::vector<int64_t> ids;
  for (const int index : devices) ids.push_back(id_of(index));
  const std::string options = compile_options(ids);
  auto program = sized<pjrt::Program>();
  program.code = const_cast<char*>(text.data());
  program.code_size = text.size();
  program.format = kFormat.data();
  program.format_size = kFormat.size();
  auto compile = sized<pjrt::ClientCompile>();
  compile.client = client_;
  compile.program = &program;
  compile.options = options.data();
  compile.options_size = options.size();
  plugin_->call(compile, "XLA: a program can't be compiled");
  return std::make_shared<LoadedProgram>(*this, compile.executable, std::move(devices),
                                         std::move(outputs));
}

}  // namespace cornu::xla
