// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/remote_monitor.h"

#include "framework/core/logging.h"
#include "framework/io/http.h"
#include "framework/strategy/strategy.h"

namespace cornu::callbacks {
namespace {

class RemoteMonitorImpl : public Callback {
 public:
  explicit RemoteMonitorImpl(const RemoteMonitorOptions& options) : options_(options) {
    for (const auto& [name, value] : options.headers) {
      check<InvalidArgument>((name + value).find_first_of("\r\n") == std::string::npos,
                             "RemoteMonitor: expected headers of one line, got '{}'.", name);
      http_.headers.push_back(name + ": " + value);
    }
  }
  std::string class_name() const override { return "RemoteMonitor"; }

  void on_epoch_end(int64_t epoch, const Logs& logs) override {
    if (!get_strategy().is_chief()) return;
    Json sent = Json::object({{"epoch", epoch}});
    for (const auto& [name, value] : logs) sent.set(name, value);
    HttpPost post = {.content_type = "application/json", .body = sent.dump()};
    if (!options_.send_as_json) {
      post = {.content_type = "application/x-www-form-urlencoded",
              .body = percent_encoded(options_.field) + "=" + percent_encoded(post.body)};
    }
    try {
      http_post(options_.root + options_.path, post, http_);
    } catch (const Error& error) {
      logging::warn(fmt::format("Could not reach RemoteMonitor root server at {}: {}",
                                options_.root, error.what()));
    }
  }

 private:
  RemoteMonitorOptions options_;
  HttpOptions http_;
};

}  // namespace

RemoteMonitor::RemoteMonitor(const RemoteMonitorOptions& options)
    : CallbackHandle(std::make_shared<RemoteMonitorImpl>(options)) {}

}  // namespace cornu::callbacks
