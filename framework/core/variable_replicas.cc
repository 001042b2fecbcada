// SPDX-License-Identifier: Apache-2.0
// What each replica has of a variable.
#include <algorithm>
#include <mutex>

#include "framework/core/dtype.h"
#include "framework/core/variable.h"
#include "framework/core/variable_access.h"
#include "framework/core/zeros.h"

namespace cornu {
namespace {

// The version of a copy that was never given a value.
constexpr uint64_t kNoValue = ~uint64_t{0};

// Guards the lists of copies. Nobody waits for anything while holding it.
std::mutex& copies_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

// The sum or mean of values in their order, as an all-reduce makes it; on the host.
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

// Copies of an OnRead variable go their own way once they have a value. Versions are looked at one
// by one while another run may be counting them up: then settle waits for that run, and finds
// nothing to do.
bool Variable::is_settled(const std::vector<Variable>& copies) const {
  auto is_current = [&](const Variable& copy) {
    return is_on_read() ? copy.version() != kNoValue : copy.version() == version();
  };
  return std::all_of(copies.begin(), copies.end(), is_current);
}

std::vector<Variable> Variable::copies() const {
  const std::lock_guard lock(copies_mutex());
  return impl().copies;
}

std::vector<Variable> Variable::take_copies() const {
  const std::lock_guard lock(copies_mutex());
  return std::move(impl().copies);
}

std::vector<Variable> Variable::copies(size_t count) const {
  if (is_on_read()) {
    const size_t there = copies().size();
    if (there != 0 && there != count) gather();
  }
  const std::lock_guard lock(copies_mutex());
  Impl& state = impl();
  state.copies.resize(count);
  for (Variable& copy : state.copies) {
    if (copy.defined()) continue;
    copy.impl_ = std::make_shared<Impl>();
    Impl& made = *copy.impl_;
    made.name = state.name;
    made.path = state.path;
    made.shape = state.shape;
    made.dtype = state.dtype;
    made.device = state.device;
    made.version = kNoValue;
  }
  return state.copies;
}

void Variable::settle(const std::vector<Variable>& copies) const {
  Impl& state = impl();
  VariableAccess access;
  access.add(*this, true);
  for (const Variable& copy : copies) access.add(copy, true);
  access.acquire();
  require_healthy();
  const bool adds = is_on_read() && state.aggregation == VariableAggregation::Sum;
  for (const Variable& copy : copies) {
    if (is_settled({copy})) continue;
    copy.impl().value = own_handle(adds ? host_zeros(state.shape, state.dtype) : state.value);
    copy.impl().poisoned.clear();
    copy.impl().version = state.version.load();
  }
}

std::vector<std::vector<Variable>> Variable::of_replicas(std::span<const Variable> variables,
                                                         size_t count) {
  std::vector<std::vector<Variable>> result(count);
  for (auto& list : result) list.reserve(variables.size());
  for (const Variable& variable : variables) {
    const std::vector<Variable> copies = variable.copies(count - 1);
    if (!variable.is_settled(copies)) variable.settle(copies);
    result[0].push_back(variable);
    for (size_t i = 1; i < count; ++i) result[i].push_back(copies[i - 1]);
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
  const std::vector<Variable> copies = take_copies();
  if (copies.empty() || !is_settled(copies)) return;
  VariableAccess access;
  access.add(*this, true);
  for (const Variable& copy : copies) access.add(copy, true);
  access.acquire();
  require_healthy();
  std::vector<Tensor> values = {impl().value};
  for (const Variable& copy : copies) values.push_back(copy.impl().value);
  impl().value = combined(values);
  ++impl().version;
}

std::vector<Tensor> Variable::replica_values() const {
  const std::vector<Variable> copies = this->copies();
  VariableAccess access;
  access.add(*this, false);
  for (const Variable& copy : copies) access.add(copy, false);
  access.acquire();
  require_healthy();
  std::vector<Tensor> values = {impl().value};
  if (is_on_read() && !is_settled(copies)) return values;
  for (const Variable& copy : copies) {
    values.push_back(is_settled({copy}) ? copy.impl().value : impl().value);
  }
  return values;
}

void Variable::store_replicas(const std::vector<Tensor>& values) const {
  if (!is_on_read() || values.size() == 1) return store(combined(values));
  store(values[0]);
  const std::vector<Variable> copies = this->copies(values.size() - 1);
  settle(copies);
  for (size_t i = 1; i < values.size(); ++i) copies[i - 1].store(values[i]);
}

}  // namespace cornu
