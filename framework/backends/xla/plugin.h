// SPDX-License-Identifier: Apache-2.0
// A PJRT plugin: the library that compiles and runs programs on its devices.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "framework/backends/xla/pjrt_api.h"

namespace cornu::xla {

// An empty struct of the API.
template <class T>
T sized() {
  T value{};
  value.head.struct_size = sizeof(T);
  return value;
}

// A loaded library; never unloaded, since its threads live on.
class Plugin {
 public:
  // Loads the file's table of functions. Throws FailedPrecondition, naming the file, when it can't
  // be loaded, isn't a plugin, or has an API that is too old or of another major version.
  explicit Plugin(const std::string& file);

  const std::string& file() const { return file_; }
  std::string version() const;  // of its API: "0.81"

  // Calls the function for these arguments. Throws an error as Cornu's error with the same code;
  // `what` was being done prefixes its message.
  template <class Arguments>
  void call(Arguments& arguments, const char* what) const {
    if (pjrt::Error* error = function(Arguments::kFunction)(&arguments)) fail(error, what);
  }
  // Like call(), for functions that can't fail.
  template <class Arguments>
  void finish(Arguments& arguments) const noexcept {
    function(Arguments::kFunction)(&arguments);
  }

  // Waits for these events, some of which may be null, and destroys them; then throws the first
  // error among them.
  void await(std::span<pjrt::Event* const> events, const char* what) const;

 private:
  pjrt::Function function(size_t index) const { return api_->functions[index]; }
  [[noreturn]] void fail(pjrt::Error* error, const char* what) const;

  std::string file_;
  const pjrt::Api* api_ = nullptr;
};

// Finds the plugin for this process: the file named by $PJRT_PLUGIN_LIBRARY_PATH, else the one
// named by $TPU_LIBRARY_PATH, else libtpu.so on the system's search path. Returns null when there
// is no usable plugin: `why` then says what was looked for and what to do.
std::unique_ptr<Plugin> find_plugin(std::string& why);

}  // namespace cornu::xla
