// SPDX-License-Identifier: Apache-2.0
#include "distribute/parameter_server/at_exit.h"

#include <unistd.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

namespace cornu::distribute {
namespace {

// Never destroyed.
struct Functions {
  const pid_t process = ::getpid();
  std::mutex mutex;
  std::map<uint64_t, std::function<void()>> by_number;
  uint64_t last = 0;

  static Functions& get() {
    static auto* const functions = new Functions;
    return *functions;
  }
};

void call_all() {
  Functions& functions = Functions::get();
  if (::getpid() != functions.process) return;
  const std::lock_guard lock(functions.mutex);
  for (const auto& [number, function] : functions.by_number) function();
}

}  // namespace

AtExit::AtExit(std::function<void()> function) {
  Functions& functions = Functions::get();
  const std::lock_guard lock(functions.mutex);
  number_ = ++functions.last;
  functions.by_number.emplace(number_, std::move(function));
  static const int registered = std::atexit(call_all);
  static_cast<void>(registered);
}

AtExit::~AtExit() {
  Functions& functions = Functions::get();
  const std::lock_guard lock(functions.mutex);
  functions.by_number.erase(number_);
}

}  // namespace cornu::distribute
