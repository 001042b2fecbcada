// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/xla/plugin.h"

#include <dlfcn.h>

#include <cstdlib>
#include <exception>

#include "framework/core/error.h"

namespace cornu::xla {
namespace {

constexpr const char* kVariables[] = {"PJRT_PLUGIN_LIBRARY_PATH", "TPU_LIBRARY_PATH"};
constexpr const char* kSystemLibrary = "libtpu.so";

[[noreturn]] void throw_status(int code, const std::string& message) {
  switch (static_cast<StatusCode>(code)) {
    case StatusCode::InvalidArgument:
      throw InvalidArgument(message);
    case StatusCode::DeadlineExceeded:
      throw DeadlineExceeded(message);
    case StatusCode::NotFound:
      throw NotFound(message);
    case StatusCode::ResourceExhausted:
      throw ResourceExhausted(message);
    case StatusCode::FailedPrecondition:
      throw FailedPrecondition(message);
    case StatusCode::OutOfRange:
      throw OutOfRange(message);
    case StatusCode::Unimplemented:
      throw Unimplemented(message);
    case StatusCode::Unavailable:
      throw Unavailable(message);
    case StatusCode::DataLoss:
      throw DataLoss(message);
    default:
      throw Internal(message);
  }
}

}  // namespace

Plugin::Plugin(const std::string& file) : file_(file) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  check<FailedPrecondition>(library != nullptr, "{} couldn't be loaded ({}).", file,
                            library ? "" : dlerror());
  const auto get_api = reinterpret_cast<pjrt::GetApi>(dlsym(library, pjrt::kGetApi));
  check<FailedPrecondition>(get_api != nullptr,
                            "{} is no PJRT plugin: it has no function {}. Name one, such as TPUs' "
                            "libtpu.so.",
                            file, pjrt::kGetApi);
  api_ = get_api();
  check<FailedPrecondition>(api_ != nullptr, "{}: {} gave nothing.", file, pjrt::kGetApi);
  check<FailedPrecondition>(
      api_->version.major == pjrt::kMajorVersion && api_->head.struct_size >= sizeof(pjrt::Api),
      "{}: expected a PJRT API of version {}.x with {} functions or more, got version {} with {}. "
      "Install another version of the plugin.",
      file, pjrt::kMajorVersion, pjrt::Api::kFunctions, version(),
      (api_->head.struct_size - offsetof(pjrt::Api, functions)) / sizeof(pjrt::Function));
  auto arguments = sized<pjrt::PluginInitialize>();
  call(arguments, "PJRT plugin: its initialization failed");
}

std::string Plugin::version() const {
  return fmt::format("{}.{}", api_->version.major, api_->version.minor);
}

void Plugin::fail(pjrt::Error* error, const char* what) const {
  auto code = sized<pjrt::ErrorGetCode>();
  code.error = error;
  finish(code);
  auto message = sized<pjrt::ErrorMessage>();
  message.error = error;
  finish(message);
  const std::string text =
      fmt::format("{}: {}", what, std::string(message.message, message.message_size));
  auto destroy = sized<pjrt::ErrorDestroy>();
  destroy.error = error;
  finish(destroy);
  throw_status(code.code, text);
}

void Plugin::await(std::span<pjrt::Event* const> events, const char* what) const {
  std::exception_ptr first;
  for (pjrt::Event* event : events) {
    if (event == nullptr) continue;
    auto wait = sized<pjrt::EventAwait>();
    wait.event = event;
    pjrt::Error* error = function(pjrt::EventAwait::kFunction)(&wait);
    auto destroy = sized<pjrt::EventDestroy>();
    destroy.event = event;
    finish(destroy);
    if (!error) continue;
    try {
      fail(error, what);
    } catch (const Error&) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

std::unique_ptr<Plugin> find_plugin(std::string& why) {
  std::string file = kSystemLibrary;
  std::string place = "where the system looks for libraries";
  for (const char* variable : kVariables) {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    file = value;
    place = fmt::format("named by {}", variable);
    break;
  }
  try {
    return std::make_unique<Plugin>(file);
  } catch (const Error& error) {
    why = fmt::format(
        "no PJRT plugin can be used; looked for {}, {}. {} Name a plugin's file in "
        "PJRT_PLUGIN_LIBRARY_PATH (TPUs' is libtpu.so, of the Python package libtpu).",
        file, place, error.what());
    return nullptr;
  }
}

}  // namespace cornu::xla
