// SPDX-License-Identifier: Apache-2.0
#include "distribute/strategies/known_values.h"

#include <algorithm>
#include <cstring>

#include "framework/core/error.h"
#include "framework/core/logging.h"

namespace cornu::distribute {
namespace {

bool is_own(const Variable& variable) {
  return variable.synchronization() == VariableSynchronization::OnRead;
}

std::vector<Variable> shared_variables(const KnownValues::Functions& functions) {
  std::vector<Variable> shared;
  for (const Variable& variable : functions.front()->variables) {
    if (!is_own(variable)) shared.push_back(variable);
  }
  return shared;
}

std::string bytes_of(const std::vector<Variable>& variables) {
  std::string bytes;
  for (const Variable& variable : variables) {
    const Tensor value = variable.value().host();
    if (value.bytes() > 0) bytes.append(reinterpret_cast<const char*>(value.raw()), value.bytes());
  }
  return bytes;
}

// Returns the variables whose values differed.
std::vector<Variable> assign_bytes(const std::vector<Variable>& variables, const std::string& bytes,
                                   const KnownValues::Member& member, int64_t source) {
  std::vector<Variable> changed;
  size_t at = 0;
  for (const Variable& variable : variables) {
    const Tensor own = variable.value().host();
    check<FailedPrecondition>(at + own.bytes() <= bytes.size(),
                              "Strategy '{}': worker {} has other variables than worker {}: a step "
                              "uses '{}', {} of shape {}. All workers must make the same model.",
                              member.strategy, member.worker, source, variable.path(),
                              variable.dtype(), variable.shape());
    if (own.bytes() > 0 && std::memcmp(own.raw(), bytes.data() + at, own.bytes()) != 0) {
      Tensor value = Tensor::empty(own.shape(), own.dtype());
      std::memcpy(value.mutable_raw(), bytes.data() + at, own.bytes());
      variable.assign(value);
      changed.push_back(variable);
    }
    at += own.bytes();
  }
  return changed;
}

void warn(const KnownValues::Member& member, int64_t source, const std::vector<Variable>& changed) {
  const std::string more =
      changed.size() > 1 ? fmt::format(" and {} more", changed.size() - 1) : std::string();
  logging::warn(fmt::format(
      "Strategy '{}': worker {} had other values of '{}'{} than worker {}, which all take in the "
      "step that begins. What sets variables between steps (load_weights, restore, assign) must do "
      "so on every worker.",
      member.strategy, member.worker, changed.front().path(), more, source));
}

}  // namespace

KnownValues::Account KnownValues::account_of(const Functions& functions) const {
  Account account;
  for (const auto& function : functions) {
    for (const Variable& variable : function->variables) {
      const auto known = versions_.find(variable.number());
      account.has_new = account.has_new || known == versions_.end();
      if (function != functions.front() || is_own(variable)) continue;
      account.writes += variable.version() - (known == versions_.end() ? 0 : known->second);
    }
  }
  return account;
}

bool KnownValues::may_differ(const std::vector<Account>& by_worker) {
  return std::ranges::any_of(by_worker, [&](const Account& theirs) {
    return theirs.has_new || theirs.writes != by_worker.front().writes;
  });
}

bool KnownValues::may_lose(const std::vector<Account>& by_worker) {
  return std::ranges::any_of(by_worker, [](const Account& theirs) { return theirs.writes > 0; });
}

void KnownValues::take(const Functions& functions, const Member& member,
                       const TakeOptions& options) {
  const std::vector<Variable> shared = shared_variables(functions);
  const bool had = std::ranges::any_of(
      shared, [&](const Variable& variable) { return earlier_.contains(variable.number()); });
  const auto by_worker = member.exchange("who has values", had ? "has" : "");
  const auto first = std::ranges::find_if_not(by_worker, &std::string::empty);
  const int64_t source = first == by_worker.end() ? 0 : first - by_worker.begin();
  const bool gives = member.worker == source;
  const auto values = member.exchange("values of variables", gives ? bytes_of(shared) : "");
  const std::vector<Variable> changed =
      assign_bytes(shared, values[static_cast<size_t>(source)], member, source);
  // A restarted worker takes the values of those that weren't restarted: no warning.
  const bool is_alike = had == (first != by_worker.end());
  if (options.warns && is_alike && !changed.empty()) warn(member, source, changed);
  for (const auto& function : functions) {
    for (const Variable& variable : function->variables) {
      const bool is_new = versions_.insert_or_assign(variable.number(), variable.version()).second;
      if (is_new && options.prepares) prepared_.insert(variable.number());
    }
  }
}

void KnownValues::begin_step(const Functions& functions) {
  if (prepared_.empty()) return;
  for (const auto& function : functions) {
    for (const Variable& variable : function->variables) prepared_.erase(variable.number());
  }
}

void KnownValues::begin_group() {
  for (const auto& [number, version] : versions_) {
    if (!prepared_.contains(number)) earlier_.insert(number);
  }
  versions_.clear();
  prepared_.clear();
}

}  // namespace cornu::distribute
