// SPDX-License-Identifier: Apache-2.0
// A PJRT plugin: the library that compiles and runs programs on its devices.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "framework/backends/xla/pjrt_api.h"

namespace cornu::xla {

// A struct of the API, empty.
template <class T>
T sized() {
  T value{};
  value.head.struct_size = sizeof(T);
  return value;
}

// A library that was loaded; never unloaded, since its threads live on.
class Plugin {
 public:
  // The file's table of functions. FailedPrecondition, naming the file, when it can't be loaded, is
  // no plugin, or has an API that is too old or of another major version.
  explicit Plugin(const std::string& file);

  const std::string& file() const { return file_; }
  std::string version() const;  // of its API: "0.81"

  // Calls the function of these arguments. An error is thrown as Cornu's of the same code, with
  // `what` was done before its message.
  template <class Arguments>
  void call(Arguments& arguments, const char* what) const {
    if (pjrt::Error* error = function(Arguments::kFunction)(&arguments)) fail(error, what);
  }
  // The same of functions that can't fail.
  template <class Arguments>
  void finish(Arguments& arguments) const noexcept {
    function(Arguments::kFunction)(&arguments);
  }

  // Waits for these events, of which some may be null, and destroys them; then throws the first
  // error among them.
  void await(std::span<pjrt::Event* const> events, const char* what) const;

 private:
  pjrt::Function function(size_t index) const { return api_->functions[index]; }
  [[noreturn]] void fail(pjrt::Error* error, const char* what) const;

  std::string file_;
  const pjrt::Api* api_ = nullptr;
};

// The plugin that this process uses: the file that $PJRT_PLUGIN_LIBRARY_PATH names, else the one
// that $TPU_LIBRARY_PATH names, else libtpu.so, where the system finds it. Null where there is none
// to be used: `why` then says what was looked for and what to do.
std::unique_ptr<Plugin> find_plugin(std::string& why);

}  // namespace cornu::xla
