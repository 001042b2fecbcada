// SPDX-License-Identifier: Apache-2.0
#include "framework/strategy/per_replica.h"

#include <algorithm>
#include <string>

#include "framework/core/strings.h"

namespace cornu::distribute {

PerReplica PerReplica::of_arguments(std::vector<std::vector<Tensors>> by_replica) {
  PerReplica result;
  for (const std::vector<Tensors>& arguments : by_replica) {
    if (arguments.size() == 1) {
      result.values_.push_back(arguments.front());
      continue;
    }
    std::vector<Tensor> all;
    for (const Tensors& argument : arguments) {
      all.insert(all.end(), argument.begin(), argument.end());
    }
    result.values_.emplace_back(std::move(all));
  }
  result.arguments_ = std::move(by_replica);
  return result;
}

const Tensors& PerReplica::operator[](size_t replica) const {
  check<OutOfRange>(replica < values_.size(), "PerReplica: expected a replica in [0, {}), got {}.",
                    values_.size(), replica);
  return values_[replica];
}

std::vector<Tensors> PerReplica::arguments(size_t replica) const {
  const Tensors& all = (*this)[replica];
  return arguments_.empty() ? std::vector<Tensors>{all} : arguments_[replica];
}

PerReplica PerReplica::at(size_t place) const {
  std::vector<Tensors> result;
  for (const Tensors& value : values_) {
    check<OutOfRange>(place < value.size(),
                      "PerReplica: expected the place of one of {} tensors that each replica has, "
                      "got {}.",
                      value.size(), place);
    result.emplace_back(value[place]);
  }
  return PerReplica(std::move(result));
}

PerReplica PerReplica::at(std::string_view name) const {
  std::vector<Tensors> result;
  for (size_t replica = 0; replica < values_.size(); ++replica) {
    std::vector<std::string> known;
    const Tensor* found = nullptr;
    const std::vector<Tensors> arguments = this->arguments(replica);
    for (const Tensors& argument : arguments) {
      for (size_t i = 0; i < argument.names().size(); ++i) {
        known.push_back(argument.names()[i]);
        if (known.back() == name) found = &argument[i];
      }
    }
    if (!found) {
      raise<NotFound>("PerReplica: replica {} has no tensor '{}'.{}", replica, name,
                      known.empty() ? " Its tensors have no names: take them by their places."
                                    : did_you_mean(name, known));
    }
    result.emplace_back(*found);
  }
  return PerReplica(std::move(result));
}

}  // namespace cornu::distribute
