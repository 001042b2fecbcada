// SPDX-License-Identifier: Apache-2.0
// Captures what the library logs while a Log exists.
#pragma once

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <mutex>
#include <string>

namespace cornu::test {

class Log {
 public:
  Log() : before_(spdlog::get("cornu")) {
    spdlog::drop("cornu");
    spdlog::register_logger(std::make_shared<spdlog::logger>("cornu", sink_));
  }
  ~Log() {
    spdlog::drop("cornu");
    if (before_) spdlog::register_logger(before_);
  }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  std::string text() const { return sink_->text(); }  // others may log meanwhile

 private:
  class Sink : public spdlog::sinks::base_sink<std::mutex> {
   public:
    std::string text() {
      const std::lock_guard lock(mutex_);
      return text_;
    }

   private:
    void sink_it_(const spdlog::details::log_msg& message) override {
      spdlog::memory_buf_t line;
      formatter_->format(message, line);
      text_.append(line.data(), line.size());
    }
    void flush_() override {}

    std::string text_;
  };

  const std::shared_ptr<Sink> sink_ = std::make_shared<Sink>();
  std::shared_ptr<spdlog::logger> before_;
};

}  // namespace cornu::test
