// SPDX-License-Identifier: Apache-2.0
#include "framework/train/agreed_values.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>

#include "framework/core/error.h"
#include "framework/core/json.h"
#include "framework/core/logging.h"
#include "framework/io/tensor_checksum.h"
#include "framework/strategy/strategy.h"

namespace cornu {
namespace {

// The type of each variable, and a checksum of its value.
struct Description {
  std::vector<std::string> types;
  std::vector<std::string> checksums;
};

// Empty if a value can't be read because a step failed halfway.
Description description_of(const std::vector<Variable>& variables) {
  Description own;
  try {
    for (const Variable& variable : variables) {
      own.types.push_back(fmt::format("{} {}", variable.dtype(), variable.shape()));
      own.checksums.push_back(checksum_of_values(variable.value()));
    }
  } catch (const Error&) {
    return {};
  }
  return own;
}

// Returns which variables differ between two workers; empty if the workers have different
// variables, which is reported when their models are compared.
std::set<size_t> differences(const Json& first, const Json& other) {
  std::set<size_t> places;
  if (first.at("types") != other.at("types")) return places;
  const Json::Array& theirs = other.at("checksums").as_array();
  for (size_t i = 0; i < theirs.size(); ++i) {
    if (theirs[i] != first.at("checksums").as_array()[i]) places.insert(i);
  }
  return places;
}

std::string bytes_of(const std::vector<Variable>& variables, const std::set<size_t>& places) {
  std::string bytes;
  for (const size_t place : places) {
    const Tensor value = variables[place].value().host();
    if (value.bytes() > 0) bytes.append(reinterpret_cast<const char*>(value.raw()), value.bytes());
  }
  return bytes;
}

void take_bytes(const std::vector<Variable>& variables, const std::set<size_t>& places,
                const std::set<size_t>& own, const std::string& bytes) {
  size_t at = 0;
  for (const size_t place : places) {
    Tensor value = Tensor::empty(variables[place].shape(), variables[place].dtype());
    check<DataLoss>(at + value.bytes() <= bytes.size(), "Values of variables: got {} bytes.",
                    bytes.size());
    if (own.contains(place)) {
      std::memcpy(value.mutable_raw(), bytes.data() + at, value.bytes());
      variables[place].assign(value);
    }
    at += value.bytes();
  }
}

void warn(const char* what, size_t worker, size_t source, const std::vector<Variable>& variables,
          const std::set<size_t>& places) {
  const std::string more =
      places.size() > 1 ? fmt::format(" and {} more", places.size() - 1) : std::string();
  logging::warn(fmt::format(
      "{}: worker {} has other values of '{}'{} than worker {}, which all take. What sets weights "
      "between calls (load_weights, set_weights, assign) must do so on every worker.",
      what, worker, variables[*places.begin()].path(), more, source));
}

}  // namespace

void agree_on_values(const char* what, const std::vector<Variable>& variables, bool were_alike) {
  StrategyImpl& strategy = get_strategy().impl();
  std::vector<Variable> compared;
  for (const Variable& variable : variables) {
    const bool is_own = variable.synchronization() == VariableSynchronization::OnRead;
    if (were_alike && !is_own) compared.push_back(variable);
  }
  const Description own = description_of(compared);
  std::string digest;
  for (const std::string& checksum : own.checksums) digest += checksum;
  const std::vector<std::string> digests = strategy.exchange("digests of variables", digest);
  const auto first = std::ranges::find_if_not(digests, &std::string::empty);
  const bool is_same = std::ranges::all_of(
      digests, [&](const std::string& theirs) { return theirs.empty() || theirs == *first; });
  if (is_same) return;
  const auto source = static_cast<size_t>(first - digests.begin());
  const Json told = Json::object({{"types", own.types}, {"checksums", own.checksums}});
  std::vector<Json> all;
  for (const std::string& text : strategy.exchange("checksums of variables", told.dump())) {
    all.push_back(Json::parse(text));
  }
  std::vector<std::set<size_t>> by_worker;
  std::set<size_t> places;
  for (const Json& theirs : all) {
    by_worker.push_back(differences(all[source], theirs));
    places.insert(by_worker.back().begin(), by_worker.back().end());
  }
  if (places.empty()) return;
  const auto worker = static_cast<size_t>(strategy.worker());
  const bool gives = worker == source;
  const std::string values =
      strategy.exchange("values of variables", gives ? bytes_of(compared, places) : "")[source];
  // Only workers with the same variables can name them or take their values.
  if (all[worker].at("types") != all[source].at("types")) return;
  for (size_t other = 0; other < all.size(); ++other) {
    if (!by_worker[other].empty()) warn(what, other, source, compared, by_worker[other]);
  }
  take_bytes(compared, places, by_worker[worker], values);
}

}  // namespace cornu
