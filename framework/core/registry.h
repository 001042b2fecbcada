// SPDX-License-Identifier: Apache-2.0
// Names to things: what makes a class from its name in a file or a string option.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cornu/core/error.h"
#include "cornu/core/strings.h"

namespace cornu {

// A table by name. `kind` ("layer", "optimizer", …) is for its error messages. Fill it before it is
// used from several threads.
template <class T>
class Registry {
 public:
  explicit Registry(std::string kind) : kind_(std::move(kind)) {}

  // AlreadyExists when the name is taken.
  void add(const std::string& name, T value) {
    check<AlreadyExists>(entries_.emplace(name, std::move(value)).second,
                         "The {} '{}' is registered already. Choose another name.", kind_, name);
  }
  const T* find(std::string_view name) const {
    const auto it = entries_.find(name);
    return it == entries_.end() ? nullptr : &it->second;
  }
  // InvalidArgument with the nearest known name.
  const T& at(std::string_view name) const {
    if (const T* found = find(name)) return *found;
    raise<InvalidArgument>("Unknown {} '{}'.{}", kind_, name, did_you_mean(name, names()));
  }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& [name, value] : entries_) result.push_back(name);
    return result;
  }

 private:
  std::string kind_;
  std::map<std::string, T, std::less<>> entries_;
};

}  // namespace cornu
