// SPDX-License-Identifier: Apache-2.0
#include "framework/core/logging.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>

namespace cornu::logging {
namespace {

constexpr const char* kName = "cornu";

std::atomic<void (*)()> line_end = nullptr;

std::shared_ptr<spdlog::logger> logger() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (auto known = spdlog::get(kName)) return known;
  auto made = std::make_shared<spdlog::logger>(
      kName, std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  spdlog::initialize_logger(made);
  made->set_pattern(isatty(STDERR_FILENO) == 1 ? "%^%v%$" : "[%Y-%m-%d %H:%M:%S.%e] [%l] %v");
  return made;
}

void write(spdlog::level::level_enum level, const std::string& message) {
  const auto to = logger();
  if (!to->should_log(level)) return;
  if (void (*end)() = line_end.load()) end();
  to->log(level, spdlog::string_view_t(message));
  to->flush();
}

}  // namespace

void set_level(Level level) {
  logger()->set_level(level == Level::Off       ? spdlog::level::off
                      : level == Level::Warning ? spdlog::level::warn
                                                : spdlog::level::info);
}

void info(const std::string& message) { write(spdlog::level::info, message); }
void warn(const std::string& message) { write(spdlog::level::warn, message); }

void set_line_end(void (*end_line)()) { line_end = end_line; }

}  // namespace cornu::logging
