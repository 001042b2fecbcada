// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/passes/first_fit.h"

#include <algorithm>
#include <iterator>
#include <queue>

namespace cornu::passes {
namespace {

void take(std::map<size_t, size_t>& taken, size_t begin, size_t end) {
  auto it = taken.upper_bound(begin);
  if (it != taken.begin() && std::prev(it)->second >= begin) {
    --it;
    begin = it->first;
  }
  while (it != taken.end() && it->first <= end) {
    end = std::max(end, it->second);
    it = taken.erase(it);
  }
  taken.emplace_hint(it, begin, end);
}

}  // namespace

FirstFit::FirstFit(int times) {
  size_t leaves = 1;
  while (leaves < static_cast<size_t>(times)) leaves *= 2;
  tree_.resize(2 * leaves);
}

// Calls visit_range(range, whole) for the tree nodes that [first, last] is divided into (whole),
// and for their ancestors.
template <class Visit>
void FirstFit::visit(size_t node, int begin, int end, int first, int last, Visit visit_range) {
  if (last < begin || end <= first) return;
  const bool whole = first <= begin && end - 1 <= last;
  visit_range(tree_[node], whole);
  if (whole) return;
  const int middle = begin + (end - begin) / 2;
  visit(2 * node, begin, middle, first, last, visit_range);
  visit(2 * node + 1, middle, end, first, last, visit_range);
}

// Sweeps over all obstacles together, ordered by the start of their intervals.
size_t FirstFit::lowest_free(const std::vector<const Taken*>& obstacles, size_t bytes) {
  struct Next {
    Taken::const_iterator interval;
    const Taken* taken;
  };
  const auto later = [](const Next& a, const Next& b) {
    return a.interval->first > b.interval->first;
  };
  std::priority_queue<Next, std::vector<Next>, decltype(later)> open(later);
  for (const Taken* taken : obstacles) open.push({taken->begin(), taken});
  size_t offset = 0;
  while (!open.empty() && open.top().interval->first < offset + bytes) {
    ++steps_;
    Next next = open.top();
    open.pop();
    offset = std::max(offset, next.interval->second);
    // The next interval that ends after the offset.
    if (++next.interval != next.taken->end() && next.interval->second <= offset) {
      next.interval = std::prev(next.taken->upper_bound(offset));
      if (next.interval->second <= offset) ++next.interval;
    }
    if (next.interval != next.taken->end()) open.push(next);
  }
  return offset;
}

size_t FirstFit::place(size_t bytes, int first, int last) {
  if (bytes == 0) return 0;
  const int end = static_cast<int>(tree_.size() / 2);
  std::vector<const Taken*> obstacles;
  visit(1, 0, end, first, last, [&](Range& range, bool whole) {
    const Taken& taken = whole ? range.sometimes : range.always;
    if (!taken.empty()) obstacles.push_back(&taken);
  });
  const size_t offset = lowest_free(obstacles, bytes);
  visit(1, 0, end, first, last, [&](Range& range, bool whole) {
    if (whole) take(range.always, offset, offset + bytes);
    take(range.sometimes, offset, offset + bytes);
  });
  return offset;
}

}  // namespace cornu::passes
