// SPDX-License-Identifier: Apache-2.0
// The results of training: the metrics of a batch or an epoch, and their history.
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

// Named values in insertion order: {"accuracy": 0.97, "loss": 0.09}. Reading an unknown name throws
// NotFound, with the closest known name; writing one adds it.
template <class T>
class NamedValues {
 public:
  using Entry = std::pair<std::string, T>;
  NamedValues() = default;
  NamedValues(std::initializer_list<Entry> entries) : entries_(entries) {}

  bool contains(std::string_view name) const { return find(name) != nullptr; }
  const T* find(std::string_view name) && = delete;  // would point into the temporary
  const T* find(std::string_view name) const& {
    for (const Entry& entry : entries_) {
      if (entry.first == name) return &entry.second;
    }
    return nullptr;
  }
  const T& at(std::string_view name) const& {
    const T* found = find(name);
    if (!found) not_found(name);
    return *found;
  }
  T at(std::string_view name) && { return std::as_const(*this).at(name); }
  // Numbers aren't names; a literal 0 would convert to a null pointer.
  void at(std::nullptr_t) const = delete;
  void operator[](std::nullptr_t) const& = delete;
  void operator[](std::nullptr_t) & = delete;
  void operator[](std::nullptr_t) && = delete;
  void set(std::string_view name, T value) { entry(name) = std::move(value); }
  // logs["loss"] reads, logs["loss"] = x writes.
  const T& operator[](std::string_view name) const& { return at(name); }
  NamedValueReference<T> operator[](std::string_view name) &;
  T operator[](std::string_view name) && { return std::move(*this).at(name); }

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
  // The value with that name, which is added if it doesn't exist.
  T& entry(std::string_view name) {
    if (const T* found = find(name)) return const_cast<T&>(*found);
    return entries_.emplace_back(std::string(name), T()).second;
  }

 private:
  [[noreturn]] void not_found(std::string_view name) const;

  std::vector<Entry> entries_;
};

// The result of logs["loss"] if it is assignable: reading an unknown name adds nothing. Valid as
// long as its NamedValues.
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

// The result of fit: each metric's value by epoch (tf.keras.callbacks.History).
class History : public NamedValues<std::vector<double>> {
 public:
  const std::vector<double>& operator[](std::string_view name) const& { return at(name); }
  std::vector<double> operator[](std::string_view name) && { return std::move(*this).at(name); }
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
