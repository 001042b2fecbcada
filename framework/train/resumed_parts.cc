// SPDX-License-Identifier: Apache-2.0
#include "framework/train/resumed_parts.h"

#include <optional>
#include <string>
#include <unordered_set>

#include "framework/core/logging.h"
#include "framework/saving/saved_variables.h"
#include "framework/train/same_on_workers.h"

namespace cornu {
namespace {

// Identifies a state: callbacks of the same class are distinguished by name and by what they
// monitor.
std::string name_of(const Json& saved) {
  const Json* name = saved.find("name");
  return name ? name->as_string() : "";
}
std::optional<Json> monitor_of(const Json& info) {
  const Json* monitor = info.is_object() ? info.find("monitor") : nullptr;
  return monitor ? std::optional(*monitor) : std::nullopt;
}

// How well a callback matches a saved one of its class: 0 to 3.
int likeness(const Json& saved, const std::string& name, const std::optional<Json>& monitor) {
  const bool same_name = !name.empty() && name == name_of(saved);
  return 2 * same_name + (monitor == monitor_of(saved.at("info")));
}

// For each callback, the index of the saved state that belongs to it: of the same class, best
// matches first.
std::vector<std::optional<size_t>> places_of_states(const Json::Array& saved,
                                                    const std::vector<CallbackHandle>& callbacks) {
  std::vector<std::optional<size_t>> places(callbacks.size());
  std::vector<bool> taken(saved.size());
  std::vector<std::optional<Json>> monitors;
  for (const CallbackHandle& callback : callbacks) {
    monitors.push_back(monitor_of(callback->save_state().info));
  }
  for (const int least : {3, 2, 1, 0}) {
    for (size_t k = 0; k < callbacks.size(); ++k) {
      for (size_t i = 0; i < saved.size() && !places[k]; ++i) {
        if (taken[i] || saved[i].at("class") != Json(callbacks[k]->class_name())) continue;
        if (likeness(saved[i], callbacks[k]->state_name(), monitors[k]) < least) continue;
        places[k] = i;
        taken[i] = true;
      }
    }
  }
  return places;
}

std::string prefix_of(size_t place) { return fmt::format("callback/{}/", place); }

RunState saved_part(const RunState& state, size_t place) {
  RunState part;
  part.info = state.info.at(kCallbacks)[place].at("info");
  const std::string prefix = prefix_of(place);
  for (const auto& [name, tensor] : state.tensors) {
    if (name.starts_with(prefix)) part.tensors.emplace_back(name.substr(prefix.size()), tensor);
  }
  return part;
}

bool is_empty(const RunState& part) {
  const bool no_info =
      part.info.is_null() || (part.info.is_object() && part.info.as_object().empty());
  return no_info && part.tensors.empty();
}

// Compares numbers in the optimizer's precision.
bool same(const Json& a, const Json& b) {
  if (!a.is_number() || !b.is_number()) return a == b;
  return static_cast<float>(a.as_double()) == static_cast<float>(b.as_double());
}
std::string text_of(const Json& value) {
  return value.is_number() ? fmt::format("{}", static_cast<float>(value.as_double()))
                           : value.dump();
}

void warn_of_values(const std::string& path, const Json& then, const Json& now) {
  if (same(then, now) || text_of(then) == text_of(now)) return;
  if (then.is_object() && now.is_object()) {
    for (const auto& [key, value] : now.as_object()) {
      const Json* before = then.find(key);
      warn_of_values(key == "config" ? path : path + "." + key, before ? *before : Json(), value);
    }
    return;
  }
  const bool restored = path == "learning_rate" && then.is_number() && now.is_number();
  logging::warn(fmt::format(
      "fit: the optimizer's {} was {} in the saved run, but is {} in this program. {}", path,
      text_of(then), text_of(now),
      restored
          ? std::string(
                "It continues with the saved run's value; a LearningRateScheduler can change it.")
          : fmt::format("It continues with {}, as this program says.", text_of(now))));
}

}  // namespace

void add_others(VariableGroups& groups, const char* group, const std::vector<Variable>& written) {
  std::unordered_set<uint64_t> known;
  for (const auto& before : groups) {
    for (const Variable& variable : before.second) known.insert(variable.number());
  }
  auto& others = groups.emplace_back(group, std::vector<Variable>()).second;
  for (const Variable& variable : written) {
    if (!known.contains(variable.number())) others.push_back(variable);
  }
}

std::vector<Variable> on_read(const VariableGroups& groups) {
  std::vector<Variable> result;
  for (const auto& [group, members] : groups) {
    std::ranges::copy_if(members, std::back_inserter(result), [](const Variable& variable) {
      return variable.synchronization() == VariableSynchronization::OnRead;
    });
  }
  return result;
}

VariableGroups restore_groups(const RunState& state, const VariableGroups& groups) {
  VariableGroups same;
  for (const auto& [group, members] : groups) {
    if (group == kOfTestStep && count_of_saved_variables(state, group) == 0) continue;
    const std::string difference = difference_of_variables(state, group, members);
    if (difference.empty()) {
      same.emplace_back(group, members);
      continue;
    }
    check<FailedPrecondition>(group == kOfStep || group == kOfTestStep,
                              "fit: the saved run had a different {}: {}. Restart the original "
                              "program, or delete the saved state to start over.",
                              group, difference);
    logging::warn(
        fmt::format("fit: what steps write in addition to model, optimizer and metrics differs "
                    "from the saved run: {}. This program's values are kept.",
                    difference));
  }
  for (const auto& [group, members] : same) restore_variables(state, group, members);
  return same;
}

std::optional<RunState> kept_state(const std::vector<CallbackHandle>& callbacks) {
  std::optional<RunState> newest;
  std::optional<DataLoss> damage;
  for (const CallbackHandle& callback : callbacks) {
    try {
      auto state = callback->resume_run();
      if (!state || (newest && place_in_run(*state) <= place_in_run(*newest))) continue;
      newest = std::move(state);
    } catch (const DataLoss& error) {
      damage = error;
    }
  }
  if (damage && !newest) throw *damage;
  if (damage) {
    logging::warn(fmt::format("{} The state in '{}' is used.", damage->what(), newest->folder));
  }
  return newest;
}

void save_callbacks(RunState& state, const std::vector<CallbackHandle>& callbacks) {
  Json::Array parts;
  for (const CallbackHandle& callback : callbacks) {
    const RunState part = callback->save_state();
    for (const auto& [name, tensor] : part.tensors) {
      state.tensors.emplace_back(prefix_of(parts.size()) + name, tensor);
    }
    parts.push_back(Json::object({{"class", callback->class_name()}, {"info", part.info}}));
    if (const std::string name = callback->state_name(); !name.empty()) {
      parts.back().set("name", name);
    }
  }
  state.info.set(kCallbacks, Json(std::move(parts)));
}

void take_callbacks(RunState& state, const Json& chiefs) {
  Json::Array parts = state.info.at(kCallbacks).as_array();
  std::vector<bool> taken(parts.size());
  for (const Json& part : chiefs.as_array()) {
    size_t place = 0;
    while (place < taken.size() && (taken[place] || parts[place].at("class") != part.at("class"))) {
      ++place;
    }
    if (place < taken.size()) {
      parts[place] = part;
      taken[place] = true;
    } else {
      parts.push_back(part);
    }
  }
  state.info.set(kCallbacks, Json(std::move(parts)));
}

void restore_callbacks(const RunState& state, const std::vector<CallbackHandle>& callbacks) {
  const auto places = places_of_states(state.info.at(kCallbacks).as_array(), callbacks);
  for (size_t i = 0; i < callbacks.size(); ++i) {
    if (!places[i]) continue;
    try {
      callbacks[i]->restore_state(saved_part(state, *places[i]));
    } catch (Error& error) {
      error.add_place(fmt::format("fit: the saved state of {}", callbacks[i]->class_name()));
      throw;
    }
  }
}

void warn_of_other_callbacks(const RunState& state, const std::vector<CallbackHandle>& callbacks) {
  const Json::Array& saved = state.info.at(kCallbacks).as_array();
  const auto places = places_of_states(saved, callbacks);
  std::vector<bool> taken(saved.size());
  for (size_t i = 0; i < callbacks.size(); ++i) {
    if (places[i]) {
      taken[*places[i]] = true;
    } else if (!is_empty(callbacks[i]->save_state())) {
      logging::warn(
          fmt::format("fit: callback {} wasn't part of the saved run; it starts without a state.",
                      callbacks[i]->class_name()));
    }
  }
  for (size_t place = 0; place < saved.size(); ++place) {
    if (taken[place] || is_empty(saved_part(state, place))) continue;
    logging::warn(
        fmt::format("fit: the saved run had a callback {} that this program doesn't have; its "
                    "state is dropped.",
                    saved[place].at("class").as_string()));
  }
}

void warn_of_other_facts(const Json& saved, const Json& now) {
  for (const FactDifference& difference : differences_of_facts(saved, now)) {
    const auto& [name, where, then, here] = difference;
    logging::warn(
        fmt::format("fit: expected {} {} the {}, as in the saved run, got {}. It continues with "
                    "this program's.",
                    then, where.empty() ? "for" : where, name, here));
  }
}

void warn_of_fewer_epochs(int64_t epochs, const std::string& place) {
  logging::warn(fmt::format(
      "fit: the state was saved {}, but epochs is {} in this program: nothing is trained, and the "
      "saved state is kept. Increase epochs to continue, or delete the state to start over.",
      place, epochs));
}

Json resumed_config(const Json& saved, const Json& now) {
  Json result = now;
  for (const auto& [key, value] : now.as_object()) {
    const Json* before = saved.find(key);
    if (key == "name" || !before) continue;
    warn_of_values(key, *before, value);
    if (key == "learning_rate" && before->is_number() && value.is_number())
      result.set(key, *before);
  }
  return result;
}

}  // namespace cornu
