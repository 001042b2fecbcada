// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "framework/core/ascii.h"
#include "framework/ops/arrange.h"
#include "framework/ops/definition.h"
#include "framework/ops/shape.h"
#include "framework/ops/whole_op.h"

namespace cornu::ops {

using namespace internal;

namespace {

using Group = std::vector<std::string>;  // the names of the axes that are merged into one axis
using AxisSizes = std::map<std::string, int64_t>;

[[noreturn]] void raise_pattern(std::string_view pattern, const std::string& what) {
  raise<InvalidArgument>(
      "rearrange: expected a pattern such as \"b (h1 h) c -> (b h1) h c\", in which both sides "
      "have "
      "the same axes, each once, got \"{}\": {}.",
      pattern, what);
}

// The axes on one side of the pattern.
std::vector<Group> groups_of(std::string_view side, std::string_view pattern) {
  std::vector<Group> groups;
  bool within = false;
  for (size_t at = 0; at < side.size();) {
    const char c = side[at];
    if (ascii::is_alnum(c) || c == '_') {
      size_t end = at;
      while (end < side.size() && (ascii::is_alnum(side[end]) || side[end] == '_')) {
        ++end;
      }
      if (!within) groups.emplace_back();
      groups.back().emplace_back(side.substr(at, end - at));
      at = end;
      continue;
    }
    if (c == '(' && !within) {
      groups.emplace_back();
      within = true;
    } else if (c == ')' && within) {
      if (groups.back().empty()) raise_pattern(pattern, "there is nothing between parentheses");
      within = false;
    } else if (c != ' ') {
      raise_pattern(pattern, fmt::format("'{}' isn't expected there", c));
    }
    ++at;
  }
  if (within) raise_pattern(pattern, "a parenthesis isn't closed");
  return groups;
}

Group names_of(const std::vector<Group>& groups) {
  Group names;
  for (const Group& group : groups) names.insert(names.end(), group.begin(), group.end());
  return names;
}

struct Pattern {
  std::vector<Group> from, to;
};

Pattern parsed(std::string_view pattern) {
  const size_t arrow = pattern.find("->");
  if (arrow == std::string_view::npos) raise_pattern(pattern, "there is no \"->\"");
  const Pattern result = {groups_of(pattern.substr(0, arrow), pattern),
                          groups_of(pattern.substr(arrow + 2), pattern)};
  Group from = names_of(result.from), to = names_of(result.to);
  std::sort(from.begin(), from.end());
  std::sort(to.begin(), to.end());
  const auto twice = std::adjacent_find(from.begin(), from.end());
  if (twice != from.end()) raise_pattern(pattern, fmt::format("'{}' comes twice", *twice));
  if (from != to) raise_pattern(pattern, "the sides differ");
  return result;
}

// The size of an axis with these parts; unknown if any of them is.
int64_t joined_size(const Group& group, const AxisSizes& sizes) {
  Checked size(1, "rearrange");
  for (const std::string& name : group) {
    const int64_t part = sizes.at(name);
    if (part == kUnknown) return kUnknown;
    size = size * part;
  }
  return size;
}

// The sizes of all parts of the axes of `shape`.
AxisSizes sizes_of_parts(const std::vector<Group>& groups, const Shape& shape,
                         const AxisSizes& given) {
  AxisSizes sizes;
  for (size_t i = 0; i < groups.size(); ++i) {
    const int64_t whole = shape[static_cast<int64_t>(i)];
    Group known;
    const std::string* unknown = nullptr;
    for (const std::string& name : groups[i]) {
      const auto found = given.find(name);
      if (found != given.end()) {
        check<InvalidArgument>(found->second > 0,
                               "rearrange: expected sizes of at least 1, got {} for '{}'.",
                               found->second, name);
        sizes[name] = found->second;
        known.push_back(name);
        continue;
      }
      check<InvalidArgument>(unknown == nullptr,
                             "rearrange: expected a size for '{}' or '{}', parts of one axis.",
                             unknown ? *unknown : "", name);
      unknown = &name;
    }
    const int64_t product = joined_size(known, sizes);
    const bool fits = whole == kUnknown || (unknown ? whole % product == 0 : whole == product);
    check<InvalidArgument>(fits,
                           "rearrange: expected axis {} of shape {} to have the parts ({}), whose "
                           "known sizes make {}.",
                           i, shape, fmt::join(groups[i], " "), product);
    if (unknown) sizes[*unknown] = whole == kUnknown ? kUnknown : whole / product;
  }
  return sizes;
}

Shape shape_of(const std::vector<Group>& groups, const AxisSizes& sizes) {
  Shape shape;
  for (const Group& group : groups) shape.push_back(joined_size(group, sizes));
  return shape;
}

Tensor rearranged(const Tensor& x, const Pattern& pattern, const AxisSizes& given) {
  const AxisSizes sizes = sizes_of_parts(pattern.from, x.shape(), given);
  const Group from = names_of(pattern.from), to = names_of(pattern.to);
  std::vector<Group> apart;
  for (const std::string& name : from) apart.push_back({name});
  std::vector<int64_t> order;
  for (const std::string& name : to) {
    order.push_back(std::find(from.begin(), from.end(), name) - from.begin());
  }
  Tensor result = x.strong();
  if (apart.size() != pattern.from.size()) result = reshape(result, shape_of(apart, sizes));
  if (!std::is_sorted(order.begin(), order.end())) result = transpose(result, order);
  if (to.size() != pattern.to.size()) result = reshape(result, shape_of(pattern.to, sizes));
  return result;
}

}  // namespace

Tensor rearrange(const Tensor& tensor, std::string_view pattern, const AxisSizes& axes_lengths) {
  require_defined(tensor, "rearrange");
  const Pattern read = parsed(pattern);
  check<InvalidArgument>(static_cast<int64_t>(read.from.size()) == tensor.rank(),
                         "rearrange: expected a tensor of {} axes for \"{}\", got shape {}.",
                         read.from.size(), pattern, tensor.shape());
  const Group names = names_of(read.from);
  for (const auto& [name, size] : axes_lengths) {
    check<InvalidArgument>(std::count(names.begin(), names.end(), name) > 0,
                           "rearrange: expected sizes of axes in \"{}\", got {} for '{}'.", pattern,
                           size, name);
  }
  // A reshape allows a single unknown size.
  const auto unknown = std::count(tensor.shape().begin(), tensor.shape().end(), kUnknown);
  const auto f = [=](const std::vector<Tensor>& in) {
    return rearranged(in[0], read, axes_lengths);
  };
  return unknown > 1 ? as_whole("rearrange", {tensor}, f) : f({tensor});
}

}  // namespace cornu::ops
