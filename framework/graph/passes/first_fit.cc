// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/passes/first_fit.h"

#include <algorithm>
#include <iterator>

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

// Calls visit_range(range, whole) for the tree nodes that [first, last] divides into (whole), and
// for those above them.
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

size_t FirstFit::place(size_t bytes, int first, int last) {
  if (bytes == 0) return 0;
  const int end = static_cast<int>(tree_.size() / 2);
  std::vector<const Taken*> obstacles;
  visit(1, 0, end, first, last, [&](Range& range, bool whole) {
    const Taken& taken = whole ? range.sometimes : range.always;
    if (!taken.empty()) obstacles.push_back(&taken);
  });
  size_t offset = 0;
  // Every obstacle is checked again after the offset moved.
  for (size_t i = 0, clear = 0; clear < obstacles.size(); i = (i + 1) % obstacles.size()) {
    ++steps_;
    const auto after = obstacles[i]->lower_bound(offset + bytes);
    if (after != obstacles[i]->begin() && std::prev(after)->second > offset) {
      offset = std::prev(after)->second;
      clear = 0;
    } else {
      ++clear;
    }
  }
  visit(1, 0, end, first, last, [&](Range& range, bool whole) {
    if (whole) take(range.always, offset, offset + bytes);
    take(range.sometimes, offset, offset + bytes);
  });
  return offset;
}

}  // namespace cornu::passes
