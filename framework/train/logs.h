// SPDX-License-Identifier: Apache-2.0
// What training reports: the figures of a batch or an epoch, and their history.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cornu {

// Values by name, in order of insertion: {"accuracy": 0.97, "loss": 0.09}.
template <class T>
class NamedValues {
 public:
  using Entry = std::pair<std::string, T>;
  NamedValues() = default;
  NamedValues(std::initializer_list<Entry> entries) : entries_(entries) {}

  bool contains(std::string_view name) const { return find(name) != nullptr; }
  const T* find(std::string_view name) const {
    for (const Entry& entry : entries_) {
      if (entry.first == name) return &entry.second;
    }
    return nullptr;
  }
  // NotFound, with the nearest known name.
  const T& at(std::string_view name) const {
    const T* found = find(name);
    if (!found) not_found(name);
    return *found;
  }
  T& operator[](std::string_view name) {
    for (Entry& entry : entries_) {
      if (entry.first == name) return entry.second;
    }
    entries_.emplace_back(std::string(name), T());
    return entries_.back().second;
  }
  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const Entry& entry : entries_) result.push_back(entry.first);
    return result;
  }

 private:
  [[noreturn]] void not_found(std::string_view name) const;

  std::vector<Entry> entries_;
};

using Logs = NamedValues<double>;

// What fit returns: each figure's value by epoch (tf.keras.callbacks.History).
class History : public NamedValues<std::vector<double>> {
 public:
  std::vector<int64_t> epoch;  // the epochs that were run
};

}  // namespace cornu
