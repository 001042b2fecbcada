// SPDX-License-Identifier: Apache-2.0
// The per-replica copies of variables.
#include <algorithm>
#include <mutex>

#include "framework/core/dtype.h"
#include "framework/core/variable.h"
#include "framework/core/variable_access.h"

namespace cornu {
namespace {

// Guards the lists of copies. Never held while waiting for anything else.
std::mutex& copies_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

// The sum or mean of values in order, as computed by an all-reduce; on the host.
Tensor reduced(const std::vector<Tensor>& given, bool mean) {
  std::vector<Tensor> values;
  for (const Tensor& value : given) values.push_back(value.host());
  Tensor result = Tensor::empty(values[0].shape(), values[0].dtype());
  const auto count = static_cast<size_t>(result.num_elements());
  dispatch_dtype(result.dtype(), [&]<class T>(T) {
    using Wide = std::conditional_t<std::is_same_v<T, float16> || std::is_same_v<T, bfloat16> ||
                                        std::is_same_v<T, bool>,
                                    float, T>;
    auto* out = reinterpret_cast<T*>(result.mutable_raw());
    for (size_t i = 0; i < count; ++i) {
      Wide total{};
      for (size_t k = 0; k < values.size(); ++k) {
        const auto next = static_cast<Wide>(reinterpret_cast<const T*>(values[k].raw())[i]);
        total = k == 0 ? next : static_cast<Wide>(total + next);
      }
      if (mean) total = static_cast<Wide>(total / static_cast<Wide>(values.size()));
      out[i] = static_cast<T>(total);
    }
  });
  return result;
}

}  // namespace

// Copies of an OnRead variable evolve independently once they have a value.
bool Variable::is_settled(const Impl& original, const Impl& copy) {
  const bool on_read = original.synchronization == VariableSynchronization::OnRead;
  return on_read ? copy.version != Impl::kNoValue : copy.version == original.version;
}

// Versions are read one by one while another run may be incrementing them; settle then waits for
// that run and finds nothing to do.
bool Variable::is_settled(const std::vector<Variable>& copies) const {
  return std::all_of(copies.begin(), copies.end(),
                     [&](const Variable& copy) { return is_settled(impl(), copy.impl()); });
}

std::vector<Variable> Variable::copies() const {
  const std::lock_guard lock(copies_mutex());
  return impl().copies;
}

std::vector<Variable> Variable::copies(std::span<const Device> devices) const {
  auto lives_there = [&](const std::vector<Variable>& list, size_t i) {
    return i < list.size() && list[i].device().shares_memory_with(devices[i]);
  };
  if (is_on_read()) {
    // Other replicas than those that have copies so far.
    const std::vector<Variable> list = copies();
    const auto divided = std::count_if(list.begin(), list.end(), [](const Variable& copy) {
      return copy.version() != Impl::kNoValue;
    });
    bool fits = divided == std::ssize(devices);
    for (size_t i = 0; i < devices.size(); ++i) fits = fits && lives_there(list, i);
    if (divided != 0 && !fits) gather();
  }
  const std::lock_guard lock(copies_mutex());
  Impl& state = impl();
  // A run may be about to write the copies of an OnRead variable, so they are kept.
  if (!is_on_read() && state.copies.size() > devices.size()) state.copies.resize(devices.size());
  for (size_t i = 0; i < devices.size(); ++i) {
    if (lives_there(state.copies, i)) continue;
    Variable copy;
    copy.impl_ = std::make_shared<Impl>();
    Impl& made = *copy.impl_;
    made.name = state.name;
    made.path = state.path;
    made.shape = state.shape;
    made.dtype = state.dtype;
    made.device = state.device.shares_memory_with(devices[i]) ? state.device : devices[i];
    made.version = Impl::kNoValue;
    made.original = impl_;
    if (i == state.copies.size()) state.copies.emplace_back();
    state.copies[i] = std::move(copy);
  }
  return {state.copies.begin(), state.copies.begin() + std::ssize(devices)};
}

// A request for copies that are to be written, together with the original, brings them up to date
// (VariableAccess).
void Variable::settle(const std::vector<Variable>& copies) const {
  VariableAccess access;
  access.add(*this, true);
  for (const Variable& copy : copies) access.add(copy, true);
  access.acquire();
  access.require_healthy(0);
}

std::vector<std::vector<Variable>> Variable::of_replicas(std::span<const Variable> variables,
                                                         size_t count) {
  std::vector<std::vector<Variable>> result(count);
  for (const Variable& variable : variables) {
    const std::vector<Device> devices(count, variable.device());
    auto one = of_replicas({&variable, 1}, devices);
    for (size_t i = 0; i < count; ++i) result[i].push_back(std::move(one[i].front()));
  }
  return result;
}

std::vector<std::vector<Variable>> Variable::of_replicas(std::span<const Variable> variables,
                                                         std::span<const Device> devices) {
  std::vector<std::vector<Variable>> result(devices.size());
  for (auto& list : result) list.reserve(variables.size());
  for (const Variable& variable : variables) {
    const std::vector<Variable> copies = variable.copies(devices.subspan(1));
    if (!variable.is_settled(copies)) variable.settle(copies);
    result[0].push_back(variable);
    for (size_t i = 1; i < devices.size(); ++i) result[i].push_back(copies[i - 1]);
  }
  return result;
}

Tensor Variable::combined(const std::vector<Tensor>& values) const {
  const VariableAggregation aggregation = impl().aggregation;
  const bool sums = aggregation == VariableAggregation::Sum;
  if (values.size() == 1 || !(sums || aggregation == VariableAggregation::Mean)) return values[0];
  return own_handle(reduced(values, !sums));
}

void Variable::gather() const {
  if (!is_on_read()) return;
  for (;;) {
    const std::vector<Variable> copies = this->copies();
    const bool divided = std::any_of(copies.begin(), copies.end(), [](const Variable& copy) {
      return copy.version() != Impl::kNoValue;
    });
    if (!divided) return;
    VariableAccess access;
    access.add(*this, true);
    for (const Variable& copy : copies) access.add(copy, true);
    access.acquire();
    if (this->copies().size() != copies.size()) continue;  // a run has come in between
    access.require_healthy(0);
    std::vector<Tensor> values = {impl().value};
    for (size_t i = 0; i < copies.size(); ++i) {
      if (!access.was_stale(i + 1)) values.push_back(copies[i].impl().value);
    }
    impl().value = combined(values);
    ++impl().version;
    for (const Variable& copy : copies) copy.impl().version = Impl::kNoValue;
    return;
  }
}

std::vector<Tensor> Variable::replica_values() const {
  const std::vector<Variable> copies = this->copies();
  VariableAccess access;
  access.add(*this, false);
  for (const Variable& copy : copies) access.add(copy, false);
  access.acquire();
  std::vector<Tensor> values = {access.value(0)};
  for (size_t i = 1; i <= copies.size(); ++i) {
    if (!is_on_read() || !access.was_stale(i)) values.push_back(access.value(i));
  }
  return values;
}

void Variable::store_replicas(const std::vector<Tensor>& values) const {
  if (!is_on_read() || values.size() == 1 || home()) return store(combined(values));
  store(values[0]);
  std::vector<Device> devices;
  for (const Variable& copy : this->copies()) devices.push_back(copy.device());
  devices.resize(values.size() - 1, device());
  const std::vector<Variable> copies = this->copies(devices);
  settle(copies);
  for (size_t i = 1; i < values.size(); ++i) copies[i - 1].store(values[i]);
}

}  // namespace cornu
