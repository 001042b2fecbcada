// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/passes/group_order.h"

#include <algorithm>
#include <utility>

namespace cornu::passes {
namespace {

constexpr int64_t kSpacing = int64_t{1} << 36;  // between labels
constexpr int64_t kShare = 32;                  // groups moved into a gap take 1/kShare of it
constexpr int64_t kMaxSteps = 4096;             // of one search

}  // namespace

GroupOrder::GroupOrder(std::vector<std::vector<int>> readers) : readers_(std::move(readers)) {
  const size_t count = readers_.size();
  members_.resize(count);
  seen_.assign(count, 0);
  for (size_t i = 0; i <= count; ++i) {
    const int node = static_cast<int>(i);
    next_.push_back(node + 1);
    previous_.push_back(node - 1);
    label_.push_back(kSpacing * node);
    if (i == count) break;
    group_.push_back(node);
    members_[i].push_back(node);
  }
}

std::optional<int> GroupOrder::merge(int a, int b, Adjacent adjacent) {
  const auto [first, second] = label(a) < label(b) ? std::pair(a, b) : std::pair(b, a);
  const auto moved = between(first, second, adjacent);
  if (!moved) return std::nullopt;
  move_behind(second, *moved);
  unlink(first);
  auto& members = members_[static_cast<size_t>(second)];
  for (int member : std::exchange(members_[static_cast<size_t>(first)], {})) {
    group_[static_cast<size_t>(member)] = second;
    members.push_back(member);
  }
  return second;
}

std::optional<std::vector<int>> GroupOrder::between(int first, int second, Adjacent adjacent) {
  const int64_t end = label(second);
  const int64_t last_step = steps_ + kMaxSteps;
  ++searches_;
  std::vector<int> found;
  std::vector<int> stack = {first};
  while (!stack.empty()) {
    const int at = stack.back();
    stack.pop_back();
    for (int member : members(at)) {
      for (int reader : readers(member)) {
        const int group = group_of(reader);
        if (++steps_ > last_step) return std::nullopt;
        if (group == second && (at != first || adjacent == Adjacent::Refused)) return std::nullopt;
        int& seen = seen_[static_cast<size_t>(group)];
        if (group == at || seen == searches_ || label(group) >= end) continue;
        seen = searches_;
        stack.push_back(group);
        found.push_back(group);
      }
    }
  }
  return found;
}

void GroupOrder::move_behind(int group, std::vector<int> moved) {
  if (moved.empty()) return;
  std::ranges::sort(moved, {}, [&](int other) { return label(other); });
  const auto shares = kShare * static_cast<int64_t>(moved.size() + 1);
  if (label(next(group)) - label(group) < shares) renumber();
  const int64_t behind = label(next(group));
  const int64_t step = (behind - label(group)) / shares;
  auto left = static_cast<int64_t>(moved.size());
  int before = group;
  for (int other : moved) {
    unlink(other);
    link_behind(other, before);
    label(other) = behind - step * left--;
    before = other;
  }
}

void GroupOrder::unlink(int group) {
  if (previous(group) >= 0) next(previous(group)) = next(group);
  previous(next(group)) = previous(group);
}

void GroupOrder::link_behind(int group, int before) {
  next(group) = next(before);
  previous(group) = before;
  previous(next(group)) = group;
  next(before) = group;
}

void GroupOrder::renumber() {
  const int end = static_cast<int>(readers_.size());
  int at = end;
  while (previous(at) >= 0) at = previous(at);
  for (int64_t value = 0;; value += kSpacing, at = next(at)) {
    label(at) = value;
    if (at == end) return;
  }
}

}  // namespace cornu::passes
