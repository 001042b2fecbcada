// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/saved_variables.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace cornu {
namespace {

using Saved = std::vector<std::pair<std::string, Tensor>>;

// Values of a variable on replicas other than the first.
constexpr std::string_view kPart = "replica ";
std::string name_of_part(const std::string& group, size_t variable, size_t replica) {
  return fmt::format("{}{} of {}/{}", kPart, replica, group, variable);
}

// A group's tensors, with the paths of their variables.
Saved saved_group(const RunState& state, const std::string& group) {
  const int64_t noted = count_of_saved_variables(state, group);
  check<DataLoss>(0 <= noted && noted <= std::ssize(state.tensors),
                  "Saved variables: expected a count of '{}' among {} tensors, got {}.", group,
                  state.tensors.size(), noted);
  const auto count = static_cast<size_t>(noted);
  Saved result(count);
  size_t found = 0;
  for (const auto& [name, tensor] : state.tensors) {
    const std::string prefix = fmt::format("{}/{}/", group, found);
    if (found == count || !name.starts_with(prefix)) continue;
    result[found++] = {name.substr(prefix.size()), tensor};
  }
  check<DataLoss>(found == count, "Saved variables: expected {} of '{}', got {}.", count, group,
                  found);
  return result;
}

template <class T>
std::string described(const std::string& path, const T& value) {
  return fmt::format("'{}' of shape {} and dtype {}", path, value.shape(), value.dtype());
}

}  // namespace

void save_variables(RunState& state, const std::string& group,
                    const std::vector<Variable>& variables) {
  for (size_t i = 0; i < variables.size(); ++i) {
    const Variable& variable = variables[i];
    // Each replica's own values are stored separately: sums in another order would differ in the
    // last bits.
    const bool divided = variable.synchronization() == VariableSynchronization::OnRead;
    const std::vector<Tensor> values =
        divided ? variable.replica_values() : std::vector<Tensor>{variable.value()};
    state.tensors.emplace_back(fmt::format("{}/{}/{}", group, i, variable.path()), values[0]);
    for (size_t replica = 1; replica < values.size(); ++replica) {
      state.tensors.emplace_back(name_of_part(group, i, replica), values[replica]);
    }
  }
  Json counts = state.info.contains("variables") ? state.info.at("variables") : Json::object();
  counts.set(group, static_cast<int64_t>(variables.size()));
  state.info.set("variables", std::move(counts));
}

int64_t count_of_saved_variables(const RunState& state, const std::string& group) {
  const Json* counts = state.info.find("variables");
  const Json* count = counts ? counts->find(group) : nullptr;
  return count ? count->as_int() : 0;
}

std::string difference_of_variables(const RunState& state, const std::string& group,
                                    const std::vector<Variable>& variables) {
  const Saved saved = saved_group(state, group);
  const size_t both = std::min(saved.size(), variables.size());
  std::string first;
  for (size_t i = 0; i < both && first.empty(); ++i) {
    const auto& [path, value] = saved[i];
    if (value.shape() == variables[i].shape() && value.dtype() == variables[i].dtype()) continue;
    first = fmt::format("variable {} was {}, here it is {}", i, described(path, value),
                        described(variables[i].path(), variables[i]));
  }
  if (saved.size() == variables.size()) return first;
  if (first.empty() && both < saved.size()) {
    first = fmt::format("variable {}, {}, isn't here", both,
                        described(saved[both].first, saved[both].second));
  } else if (first.empty()) {
    first = fmt::format("variable {}, {}, wasn't there", both,
                        described(variables[both].path(), variables[both]));
  }
  return fmt::format("it had {} variables, here are {}; {}", saved.size(), variables.size(), first);
}

void restore_variables(const RunState& state, const std::string& group,
                       const std::vector<Variable>& variables) {
  const Saved saved = saved_group(state, group);
  std::map<std::string, Tensor> parts;
  for (const auto& [name, tensor] : state.tensors) {
    if (name.starts_with(kPart)) parts.emplace(name, tensor);
  }
  const size_t both = std::min(saved.size(), variables.size());
  for (size_t i = 0; i < both; ++i) {
    std::vector<Tensor> values = {saved[i].second};
    for (auto part = parts.find(name_of_part(group, i, 1)); part != parts.end();
         part = parts.find(name_of_part(group, i, values.size()))) {
      check<DataLoss>(part->second.shape() == variables[i].shape() &&
                          part->second.dtype() == variables[i].dtype(),
                      "Saved variables: expected {}, got {}.", described(part->first, variables[i]),
                      described(part->first, part->second));
      values.push_back(part->second);
    }
    if (values.size() == 1) {
      variables[i].assign(values[0]);
    } else {
      variables[i].store_replicas(values);
    }
  }
}

}  // namespace cornu
