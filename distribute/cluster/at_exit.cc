// SPDX-License-Identifier: Apache-2.0
#include "distribute/cluster/at_exit.h"

#include <unistd.h>

#include <map>
#include <mutex>
#include <utility>

namespace cornu::distribute {
namespace {

struct Handler {
  std::function<void(int code)> function;
  pid_t process = ::getpid();
};

// Never destroyed.
struct Handlers {
  std::mutex mutex;
  std::map<uint64_t, Handler, std::greater<>> by_number;
  uint64_t last = 0;

  static Handlers& get() {
    static auto* const handlers = new Handlers;
    return *handlers;
  }
};

void call_all(int code, void*) {
  Handlers& handlers = Handlers::get();
  const std::lock_guard lock(handlers.mutex);
  for (const auto& [number, handler] : handlers.by_number) {
    if (handler.process == ::getpid()) handler.function(code);
  }
}

}  // namespace

AtExit::AtExit(std::function<void(int code)> function) {
  Handlers& handlers = Handlers::get();
  const std::lock_guard lock(handlers.mutex);
  number_ = ++handlers.last;
  handlers.by_number.emplace(number_, Handler{std::move(function)});
  static const int registered = ::on_exit(call_all, nullptr);
  static_cast<void>(registered);
}

AtExit::~AtExit() {
  Handlers& handlers = Handlers::get();
  const std::lock_guard lock(handlers.mutex);
  handlers.by_number.erase(number_);
}

}  // namespace cornu::distribute
