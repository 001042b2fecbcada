// SPDX-License-Identifier: Apache-2.0
#include "framework/strategy/stream.h"

#include <algorithm>
#include <utility>

namespace cornu::streams {
namespace {

[[noreturn]] void damaged(const Json& state, std::string_view key) {
  raise<DataLoss>("a position's state {} is damaged: '{}' was expected there.", state.excerpt(),
                  key);
}

int64_t as_count(const Json& value, const Json& state, std::string_view key) {
  if (!value.is_int() || value.as_int() < 0) damaged(state, key);
  check<DataLoss>(value.as_int() <= kMaxItems,
                  "a position's state {} is damaged: no pass comes to '{}' of {}.", state.excerpt(),
                  key, value.as_int());
  return value.as_int();
}

// Key of an object that marks a part: no stream uses this name for a member.
constexpr const char* kMark = "\x01later";

}  // namespace

const Json& saved_part(const Json& state, std::string_view key) {
  const Json* part = state.is_object() ? state.find(key) : nullptr;
  if (!part) damaged(state, key);
  return *part;
}

int64_t saved_count(const Json& state, std::string_view key) {
  return as_count(saved_part(state, key), state, key);
}

std::vector<int64_t> saved_counts(const Json& state, std::string_view key) {
  const Json& part = saved_part(state, key);
  if (!part.is_array()) damaged(state, key);
  std::vector<int64_t> counts;
  for (const Json& value : part.as_array()) counts.push_back(as_count(value, state, key));
  if (!std::is_sorted(counts.begin(), counts.end())) damaged(state, key);
  return counts;
}

Json written_later(std::function<Json()> make) {
  return KeptPosition::write(std::make_shared<const std::function<Json()>>(std::move(make)));
}

std::vector<KeptPosition::Part>*& KeptPosition::PartsScope::active() {
  static thread_local std::vector<Part>* active = nullptr;
  return active;
}

Json KeptPosition::write(Part part) {
  std::vector<Part>* parts = PartsScope::active();
  if (!parts) return (*part)();
  parts->push_back(std::move(part));
  return Json::object({{kMark, std::ssize(*parts) - 1}});
}

Json KeptPosition::get() const {
  if (error_) std::rethrow_exception(error_);
  return parts_.empty() ? position_ : without_marks(position_);
}

Json KeptPosition::without_marks(const Json& tree) const {
  if (tree.is_array()) {
    Json array = Json::array();
    for (const Json& element : tree.as_array()) array.push_back(without_marks(element));
    return array;
  }
  if (!tree.is_object()) return tree;
  const Json* mark = tree.find(kMark);
  if (mark && mark->is_int() && 0 <= mark->as_int() && mark->as_int() < std::ssize(parts_)) {
    return write(parts_[static_cast<size_t>(mark->as_int())]);
  }
  Json::Object members;
  for (const auto& [name, value] : tree.as_object()) {
    members.emplace_back(name, without_marks(value));
  }
  return Json::of_members(std::move(members));
}

void Snapshots::add(int64_t number, KeptPosition state) {
  if (state.is_null()) return;
  states_.emplace_back(number, std::move(state));
  if (states_.size() <= kMax) return;
  every_ *= 2;
  std::deque<std::pair<int64_t, KeptPosition>> kept;
  for (size_t i = 0; i < states_.size(); i += 2) kept.push_back(std::move(states_[i]));
  states_ = std::move(kept);
}

void Snapshots::release(int64_t oldest) {
  while (states_.size() >= 2 && states_[1].first <= oldest) states_.pop_front();
}

Json Snapshots::position(int64_t taken, int64_t oldest) const {
  for (auto state = states_.rbegin(); state != states_.rend(); ++state) {
    if (state->first <= oldest) return position_of(taken, state->first, state->second.get());
  }
  return position_of(taken, 0, {});
}

Json position_of(int64_t taken, int64_t at, Json state) {
  Json position = Json::object({{"taken", taken}});
  if (state.is_null()) return position;
  if (at != taken) position.set("at", at);
  position.set("state", std::move(state));
  return position;
}

}  // namespace cornu::streams
