// SPDX-License-Identifier: Apache-2.0
// What the library logs while a Log lives.
#pragma once

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <sstream>
#include <string>

namespace cornu::test {

class Log {
 public:
  Log() : before_(spdlog::get("cornu")) {
    spdlog::drop("cornu");
    spdlog::register_logger(std::make_shared<spdlog::logger>(
        "cornu", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_)));
  }
  ~Log() {
    spdlog::drop("cornu");
    if (before_) spdlog::register_logger(before_);
  }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::shared_ptr<spdlog::logger> before_;
};

}  // namespace cornu::test
