// SPDX-License-Identifier: Apache-2.0
// Registries that map names to values, such as the factory of a class named in a file or a string
// option.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/core/ascii.h"
#include "framework/core/error.h"
#include "framework/core/strings.h"

namespace cornu {

// A table keyed by name. `kind` ("layer", "optimizer", …) is used in its error messages. Must be
// filled before several threads use it.
template <class T>
class Registry {
 public:
  explicit Registry(std::string kind) : kind_(std::move(kind)) {}
  const std::string& kind() const { return kind_; }

  // Throws AlreadyExists when the name is taken.
  void add(const std::string& name, T value) {
    check<AlreadyExists>(find(name) == nullptr,
                         "The {} '{}' is registered already. Choose another name.", kind_, name);
    entries_.emplace(name, std::move(value));
  }
  // Adds a second name ("mse") for a registered one. Throws AlreadyExists when the alias is taken.
  void add_alias(const std::string& alias, const std::string& name) {
    check<AlreadyExists>(find(alias) == nullptr,
                         "The {} '{}' is registered already. Choose another name.", kind_, alias);
    at(name);
    aliases_.emplace(alias, name);
  }
  const T* find(std::string_view name) const {
    const auto alias = aliases_.find(name);
    const auto it = entries_.find(alias == aliases_.end() ? name : alias->second);
    return it == entries_.end() ? nullptr : &it->second;
  }
  // Throws InvalidArgument, with the nearest known name, for an unknown name.
  const T& at(std::string_view name) const {
    if (const T* found = find(name)) return *found;
    raise<InvalidArgument>("Unknown {} '{}'.{}", kind_, printable(name),
                           did_you_mean(name, names(), alias_names()));
  }
  // Returns the registered name that `text` refers to: `text` itself, the name it is an alias of,
  // or the name whose snake_case form it is ("he_normal" for "HeNormal"). Throws InvalidArgument,
  // with the nearest known name in the same spelling, when there is none.
  const std::string& resolve(std::string_view text) const {
    if (const auto alias = aliases_.find(text); alias != aliases_.end()) return alias->second;
    if (const auto it = entries_.find(text); it != entries_.end()) return it->first;
    const bool lower = std::none_of(text.begin(), text.end(), ascii::is_upper);
    std::vector<std::string> known;
    for (const auto& [name, value] : entries_) {
      known.push_back(lower ? to_snake_case(name) : name);
      if (known.back() == text) return name;
      // The common spelling: "adamw" for "AdamW".
      const std::string flat = lower_case(name);
      if (lower && aliases_.contains(flat)) known.back() = flat;
    }
    raise<InvalidArgument>("Unknown {} '{}'.{}", kind_, printable(text),
                           did_you_mean(text, known, alias_names()));
  }
  // Whether a registered name is the library's own, as opposed to the program's.
  bool is_builtin(std::string_view name) const { return builtins_.contains(name); }
  // Makes all names so far the library's own.
  void mark_builtins() {
    for (const auto& [name, value] : entries_) builtins_.insert(name);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& [name, value] : entries_) result.push_back(name);
    return result;
  }

 private:
  std::vector<std::string> alias_names() const {
    std::vector<std::string> result;
    for (const auto& [alias, name] : aliases_) result.push_back(alias);
    return result;
  }

  std::string kind_;
  std::map<std::string, T, std::less<>> entries_;
  std::map<std::string, std::string, std::less<>> aliases_;
  std::set<std::string, std::less<>> builtins_;
};

// Creates a registry, filled by `fill` and never destroyed. For the functions that return a
// program's only registry of a kind:
//   Registry<LossFactory>& loss_registry() {
//     static auto& registry = make_registry<LossFactory>("loss", register_builtins);
//     return registry;
//   }
// The register_builtins functions are all in framework/registration, which names every directory
// with classes: linking a static library drops objects that only register themselves.
template <class T>
Registry<T>& make_registry(const char* kind, void (*fill)(Registry<T>&)) {
  auto* registry = new Registry<T>(kind);
  fill(*registry);
  registry->mark_builtins();
  return *registry;
}

}  // namespace cornu
