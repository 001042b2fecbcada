// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/onnx/open_axes.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "framework/core/logging.h"

namespace cornu::onnx {
namespace {

// The sizes of a group: the second is one more than the first, so that strides leave a different
// remainder at the end of the axis; padding that depends on it is thereby detected. (In the first
// range, the first is a multiple of 2, 3 and 4.) The third, by which groups are told apart, is such
// that no size, and no product of two, is another one times a number plus a number. Sizes that
// tables often have aren't among them.
constexpr Size kBatch = {24, 25, 31};

Size of_first_range(size_t group) {
  const auto n = static_cast<int64_t>(group);
  const int64_t first = 240 + 120 * n;
  return {first, first + 1, first + 13 + 6 * n};
}

constexpr size_t kGroups = 8;
constexpr std::array<std::array<Size, kGroups>, kSizeRanges - 1> kRanges = {{
    // at most 127
    {{{108, 109, 127},
      {84, 85, 126},
      {72, 73, 125},
      {60, 61, 124},
      {60, 61, 123},
      {60, 61, 122},
      {60, 61, 121},
      {60, 61, 120}}},
    // at most 63
    {{{60, 61, 63},
      {56, 57, 62},
      {52, 53, 61},
      {44, 45, 60},
      {40, 41, 59},
      {36, 37, 58},
      {36, 37, 57},
      {36, 37, 56}}},
    // at most 30
    {{{28, 29, 30},
      {20, 21, 29},
      {12, 13, 28},
      {12, 13, 27},
      {12, 13, 25},
      {12, 13, 23},
      {12, 13, 22},
      {12, 13, 20}}},
    // at most 15
    {{{12, 13, 15}, {10, 11, 14}, {6, 7, 12}, {4, 5, 13}, {4, 5, 9}, {4, 5, 6}}},
    // at most 7
    {{{4, 5, 6}, {2, 3, 5}, {3, 4, 7}}},
}};

std::optional<Size> size_of_group(size_t group, size_t range) {
  if (range == 0) return of_first_range(group);
  if (group >= kGroups || kRanges[range - 1][group] == Size()) return std::nullopt;
  return kRanges[range - 1][group];
}

// How many times finest_groups asks about sets of several axes.
constexpr int kMostSets = 200;

// A group being split: its members, and what is asked about them.
class Splitting {
 public:
  Splitting(AxisGroups& groups, size_t group, const std::function<bool(const AxisGroups&)>& accepts)
      : groups_(groups), accepts_(accepts) {
    for (size_t i = 0; i < groups.size(); ++i) {
      if (groups[i] == group) members_.push_back(i);
    }
  }

  // Takes out the smallest sets that can be taken out, as often as there is one. Returns false if
  // it had to give up.
  bool run(int& asked) {
    for (size_t size = 1; 2 * size <= members_.size();) {
      const auto found = separable(size, asked);
      if (asked > kMostSets) return false;
      if (!found) ++size;
    }
    return true;
  }

 private:
  // Takes out a set of this size.
  bool separable(size_t size, int& asked) {
    std::vector<char> taken(members_.size(), 0);
    std::fill_n(taken.begin(), size, 1);
    do {
      if (size > 1 && ++asked > kMostSets) return false;
      AxisGroups apart = groups_;
      const size_t next = 1 + *std::ranges::max_element(groups_);
      for (size_t i = 0; i < taken.size(); ++i) {
        if (taken[i] != 0) apart[members_[i]] = next;
      }
      if (!accepts_(apart)) continue;
      groups_ = std::move(apart);
      std::vector<size_t> rest;
      for (size_t i = 0; i < taken.size(); ++i) {
        if (taken[i] == 0) rest.push_back(members_[i]);
      }
      members_ = std::move(rest);
      return true;
    } while (std::prev_permutation(taken.begin(), taken.end()));
    return false;
  }

  AxisGroups& groups_;
  const std::function<bool(const AxisGroups&)>& accepts_;
  std::vector<size_t> members_;
};

// The name of a group in the file.
std::string name_of(const std::vector<ExportedInput>& inputs, const std::vector<OpenPlace>& members,
                    const std::vector<OpenAxis>& others) {
  const OpenPlace& first = members.front();
  const bool one_position = std::ranges::all_of(
      members, [&](const OpenPlace& member) { return member.axis == first.axis; });
  const auto is_taken = [&](const std::string& name) {
    return std::ranges::find(others, name, &OpenAxis::name) != others.end();
  };
  std::string name = fmt::format("axis_{}", first.axis);
  if (members.size() == 1 || !one_position || is_taken(name)) {
    name = fmt::format("{}_axis_{}", inputs[first.input].name, first.axis);
  }
  while (is_taken(name)) name += "_";
  return name;
}

}  // namespace

std::vector<OpenPlace> open_places(const std::vector<ExportedInput>& inputs) {
  std::vector<OpenPlace> places;
  for (size_t input = 0; input < inputs.size(); ++input) {
    for (int64_t axis = 1; axis < inputs[input].shape.rank(); ++axis) {
      if (inputs[input].shape[axis] == kUnknown) places.push_back({input, axis});
    }
  }
  return places;
}

std::optional<OpenAxes> OpenAxes::make(const std::vector<ExportedInput>& inputs,
                                       const AxisGroups& groups, size_t range) {
  OpenAxes result;
  for (size_t input = 0; input < inputs.size(); ++input) {
    Sizes sizes(inputs[input].shape.begin(), inputs[input].shape.end());
    if (!sizes.empty() && inputs[input].shape[0] == kUnknown) {
      sizes[0] = kBatch;
      if (result.list_.empty()) result.list_.push_back({"batch", input, 0, kBatch});
    }
    result.shapes_.push_back(std::move(sizes));
  }
  const std::vector<OpenPlace> places = open_places(inputs);
  std::map<size_t, std::vector<OpenPlace>> by_group;
  std::vector<size_t> order;  // of the groups' first members
  for (size_t i = 0; i < places.size(); ++i) {
    std::vector<OpenPlace>& members = by_group[groups[i]];
    if (members.empty()) order.push_back(groups[i]);
    members.push_back(places[i]);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    const std::vector<OpenPlace>& members = by_group[order[i]];
    const std::optional<Size> size = size_of_group(i, range);
    if (!size) return std::nullopt;
    for (const OpenPlace& member : members) {
      result.shapes_[member.input][static_cast<size_t>(member.axis)] = *size;
    }
    std::string name = name_of(inputs, members, result.list_);
    result.list_.push_back({std::move(name), members.front().input, members.front().axis, *size});
  }
  return result;
}

std::vector<TensorType> OpenAxes::types(const std::vector<ExportedInput>& inputs,
                                        size_t trace) const {
  std::vector<TensorType> types;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Shape shape;
    for (const Size& size : shapes_[i]) shape.push_back(size.by_trace[trace]);
    types.push_back({inputs[i].dtype, shape});
  }
  return types;
}

AxisGroups finest_groups(AxisGroups groups, const std::function<bool(const AxisGroups&)>& accepts) {
  const std::set<size_t> all(groups.begin(), groups.end());
  int asked = 0;
  for (const size_t group : all) {
    if (Splitting(groups, group, accepts).run(asked)) continue;
    logging::warn(
        "ONNX: too many axes of unknown size to find out which of them may differ. In the file "
        "some are the same that needn't be.");
    break;
  }
  return groups;
}

}  // namespace cornu::onnx
