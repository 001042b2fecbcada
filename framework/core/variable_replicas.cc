// SPDX-License-Identifier: Apache-2.0
// What each replica has of a variable.
#include <algorithm>
#include <cstring>
#include <mutex>

#include "framework/core/dtype.h"
#include "framework/core/variable.h"
#include "framework/core/variable_access.h"

namespace cornu {
namespace {

// Guards the lists of copies. Taken before the access to values.
std::mutex& copies_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

// The sum or mean of values in their order, as an all-reduce makes it; on the host.
Tensor combined(const std::vector<Tensor>& given, bool mean) {
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

Tensor zeros_like(const Tensor& value) {
  Tensor zeros = Tensor::empty(value.shape(), value.dtype());
  std::memset(zeros.mutable_raw(), 0, zeros.bytes());
  return zeros;
}

}  // namespace

// Copies of an OnRead variable go their own way while they are there. Versions are looked at one by
// one while another run may be counting them up: then settle waits for that run, and finds nothing
// to do.
bool Variable::is_settled(size_t copies) const {
  const Impl& state = impl();
  auto is_current = [&](const Variable& copy) { return copy.version() == state.version; };
  return state.copies.size() == copies &&
         (is_on_read() || std::all_of(state.copies.begin(), state.copies.end(), is_current));
}

void Variable::settle(size_t copies) const {
  Impl& state = impl();
  const bool is_new = state.copies.size() != copies;
  if (is_new) {
    gather_alone();
    state.copies.clear();
    while (state.copies.size() < copies) {
      Variable copy;
      copy.impl_ = std::make_shared<Impl>();
      Impl& made = *copy.impl_;
      made.name = state.name;
      made.path = state.path;
      made.shape = state.shape;
      made.dtype = state.dtype;
      made.device = state.device;
      state.copies.push_back(copy);
    }
  }
  VariableAccess access;
  access.add(*this, true);
  for (const Variable& copy : state.copies) access.add(copy, true);
  access.acquire();
  if (!is_new && is_settled(copies)) return;
  require_healthy();
  const bool adds = is_on_read() && state.aggregation == VariableAggregation::Sum;
  for (const Variable& copy : state.copies) {
    copy.impl().value = own_handle(adds ? zeros_like(state.value) : state.value);
    copy.impl().poisoned.clear();
    copy.impl().version = state.version.load();
  }
}

std::vector<std::vector<Variable>> Variable::of_replicas(std::span<const Variable> variables,
                                                         size_t count) {
  std::vector<std::vector<Variable>> result(count);
  for (auto& list : result) list.reserve(variables.size());
  const std::lock_guard lock(copies_mutex());
  for (const Variable& variable : variables) {
    if (!variable.is_settled(count - 1)) variable.settle(count - 1);
    result[0].push_back(variable);
    for (size_t i = 1; i < count; ++i) result[i].push_back(variable.impl().copies[i - 1]);
  }
  return result;
}

void Variable::gather() const {
  if (!is_on_read()) return;
  const std::lock_guard lock(copies_mutex());
  gather_alone();
}

void Variable::gather_alone() const {
  Impl& state = impl();
  if (!is_on_read() || state.copies.empty()) return;
  const std::vector<Variable> copies = std::move(state.copies);
  state.copies.clear();
  VariableAccess access;
  access.add(*this, true);
  for (const Variable& copy : copies) access.add(copy, true);
  access.acquire();
  const bool sums = state.aggregation == VariableAggregation::Sum;
  if (!sums && state.aggregation != VariableAggregation::Mean) return;
  require_healthy();
  std::vector<Tensor> values = {state.value};
  for (const Variable& copy : copies) values.push_back(copy.impl().value);
  state.value = own_handle(combined(values, !sums));
  ++state.version;
}

// As the replicas would read them.
std::vector<Tensor> Variable::replica_values() const {
  const std::lock_guard lock(copies_mutex());
  const Impl& state = impl();
  VariableAccess access;
  access.add(*this, false);
  for (const Variable& copy : state.copies) access.add(copy, false);
  access.acquire();
  require_healthy();
  std::vector<Tensor> values = {state.value};
  for (const Variable& copy : state.copies) {
    const bool current = is_on_read() || copy.version() == version();
    values.push_back(current ? copy.impl().value : state.value);
  }
  return values;
}

void Variable::forget_copies() const {
  if (!is_on_read()) return;
  const std::lock_guard lock(copies_mutex());
  impl().copies.clear();
}

}  // namespace cornu
