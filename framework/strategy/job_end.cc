// SPDX-License-Identifier: Apache-2.0
#include "framework/strategy/job_end.h"

namespace cornu {
JobEnd& JobEnd::get() {
  static auto* const end = new JobEnd;  // never destroyed: used at the end of the process
  return *end;
}

void JobEnd::set_in_call(bool is_in_call) {
  const std::lock_guard lock(mutex_);
  is_in_call_ = is_in_call;
}

bool JobEnd::is_in_call() const {
  const std::lock_guard lock(mutex_);
  return is_in_call_;
}

void JobEnd::add(const ObsoleteStates& states) {
  const std::lock_guard lock(mutex_);
  const auto append = [](std::vector<std::string>& all, const std::vector<std::string>& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  append(obsolete_.states, states.states);
  append(obsolete_.folders, states.folders);
}

void JobEnd::forget() {
  const std::lock_guard lock(mutex_);
  obsolete_ = {};
}

Json JobEnd::to_json() const {
  const std::lock_guard lock(mutex_);
  return Json::object({{"states", obsolete_.states}, {"folders", obsolete_.folders}});
}

ObsoleteStates JobEnd::from_json(const Json& json) {
  return {.states = json.at("states").as_strings(), .folders = json.at("folders").as_strings()};
}

}  // namespace cornu
