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
// remainder at the end of the axis; padding that depends on it is thereby detected. The third
// verifies what the first two suggest: it was searched for such that no quotient of a multiple by a
// number up to 16 (above the first size, that size), no sum of up to three sizes, and no product of
// two is a constant, or another size times a number plus a number. Groups have different third
// sizes. Sizes that tables often have aren't among them.
constexpr Size kBatch = {24, 25, 425};

constexpr size_t kGroups = 12;
constexpr std::array<std::array<Size, kGroups>, kSizeRanges> kRanges = {{
    {{{240, 241, 1250},
      {252, 253, 1249},
      {264, 265, 1247},
      {276, 277, 1248},
      {288, 289, 1246},
      {300, 301, 1245},
      {312, 313, 1243},
      {324, 325, 1244},
      {336, 337, 1236},
      {348, 349, 1237},
      {360, 361, 1233},
      {372, 373, 1234}}},
    // at most 127
    {{{36, 37, 127},
      {36, 37, 124},
      {24, 25, 126},
      {24, 25, 123},
      {30, 31, 122},
      {30, 31, 95},
      {48, 49, 112},
      {12, 13, 66}}},
    // at most 63
    {{{24, 25, 63}, {12, 13, 62}, {12, 13, 59}, {18, 19, 60}, {6, 7, 33}}},
    // at most 30
    {{{12, 13, 30}, {6, 7, 27}, {4, 5, 29}, {4, 5, 26}}},
    // at most 15
    {{{6, 7, 15}, {4, 5, 14}, {2, 3, 6}}},
    // at most 7
    {{{3, 4, 7}}},
}};

// In the first range, there are sizes for any number of groups, told apart less surely.
std::optional<Size> size_of_group(size_t group, size_t range) {
  if (group < kGroups && kRanges[range][group] != Size()) return kRanges[range][group];
  if (range > 0) return std::nullopt;
  const auto first = static_cast<int64_t>(240 + 12 * group);
  return Size(first, first + 1, 3 * first + 130);
}

// How many times finest_groups asks about sets of several axes.
constexpr int kMaxSets = 200;

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
      if (asked > kMaxSets) return false;
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
      if (size > 1 && ++asked > kMaxSets) return false;
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
