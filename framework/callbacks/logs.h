// SPDX-License-Identifier: Apache-2.0
// What training reports: the metrics of a batch or an epoch, and their history.
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cornu {

template <class T>
class NamedValueReference;

// Values by name, in order of insertion: {"accuracy": 0.97, "loss": 0.09}. Reading a name that
// isn't there is NotFound, with the nearest known name; writing one adds it.
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
  const T& at(std::string_view name) const {
    const T* found = find(name);
    if (!found) not_found(name);
    return *found;
  }
  // No number is a name; 0 would be a null pointer to one.
  void at(std::nullptr_t) const = delete;
  void operator[](std::nullptr_t) const& = delete;
  void operator[](std::nullptr_t) & = delete;
  void operator[](std::nullptr_t) && = delete;
  void set(std::string_view name, T value) { entry(name) = std::move(value); }
  // logs["loss"] reads, logs["loss"] = x writes.
  const T& operator[](std::string_view name) const& { return at(name); }
  NamedValueReference<T> operator[](std::string_view name) &;
  T operator[](std::string_view name) && { return at(name); }

  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const Entry& entry : entries_) result.push_back(entry.first);
    return result;
  }

 protected:
  // The value of that name, made where there is none.
  T& entry(std::string_view name) {
    if (const T* found = find(name)) return const_cast<T&>(*found);
    return entries_.emplace_back(std::string(name), T()).second;
  }

 private:
  [[noreturn]] void not_found(std::string_view name) const;

  std::vector<Entry> entries_;
};

// What logs["loss"] is where it can be assigned: a read that finds nothing adds nothing. Lives as
// long as its NamedValues does.
template <class T>
class NamedValueReference {
 public:
  NamedValueReference(NamedValues<T>& values, std::string_view name)
      : values_(values), name_(name) {}
  NamedValueReference(const NamedValueReference&) = default;
  const T& get() const { return values_.at(name_); }
  operator const T&() const { return get(); }  // NOLINT: implicit on purpose
  const T* operator->() const { return &get(); }
  NamedValueReference& operator=(T value) {
    values_.set(name_, std::move(value));
    return *this;
  }
  NamedValueReference& operator=(const NamedValueReference& other) { return *this = other.get(); }

 private:
  NamedValues<T>& values_;
  std::string name_;
};

template <class T>
NamedValueReference<T> NamedValues<T>::operator[](std::string_view name) & {
  return {*this, name};
}

using Logs = NamedValues<double>;

// What fit returns: each metric's value by epoch (tf.keras.callbacks.History).
class History : public NamedValues<std::vector<double>> {
 public:
  const std::vector<double>& operator[](std::string_view name) const { return at(name); }
  void operator[](std::nullptr_t) const = delete;
  // Adds an epoch's metrics.
  void add(int64_t number, const Logs& logs) {
    epoch.push_back(number);
    for (const auto& [name, value] : logs) entry(name).push_back(value);
  }

  std::vector<int64_t> epoch;  // the epochs that were run
};

}  // namespace cornu

template <class T>
struct fmt::formatter<cornu::NamedValueReference<T>> : fmt::formatter<T> {
  template <class Context>
  auto format(const cornu::NamedValueReference<T>& reference, Context& context) const {
    return fmt::formatter<T>::format(reference.get(), context);
  }
};
