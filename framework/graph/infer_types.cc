// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "framework/core/ascii.h"
#include "framework/graph/open_axes.h"
#include "framework/graph/trace.h"

namespace cornu {
namespace {

// The user-facing text of an error that occurred with one substitute: numbers that differ with the
// other substitute become None, except within names ("dense_1"). Unchanged if the two texts don't
// match.
std::string with_unknowns(const std::string& text, const std::string& other) {
  auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  auto number_at = [&](const std::string& from, size_t i) {
    size_t end = i;
    while (end < from.size() && is_digit(from[end])) ++end;
    return from.substr(i, end - i);
  };
  std::string result;
  size_t i = 0;
  size_t j = 0;
  while (i < text.size() && j < other.size()) {
    const std::string number = number_at(text, i);
    const std::string number_of_other = number_at(other, j);
    if (number.empty() != number_of_other.empty()) return text;
    if (number.empty()) {
      if (text[i] != other[j++]) return text;
      result += text[i++];
      continue;
    }
    const bool in_name =
        !result.empty() && (result.back() == '_' || ascii::is_alnum(result.back()));
    result += in_name || number == number_of_other ? number : "None";
    i += number.size();
    j += number_of_other.size();
  }
  return i == text.size() && j == other.size() ? result : text;
}

// The first axis is the batch's, which nothing divides.
bool has_open_axis_behind_first(const TensorType& type) {
  return std::find(type.shape.begin() + std::min<int64_t>(type.shape.rank(), 1), type.shape.end(),
                   kUnknown) != type.shape.end();
}

// The position of an axis: 0 for the batch's, all others are counted from the last.
int64_t place_of(const Shape& shape, int64_t axis) { return axis == 0 ? 0 : axis - shape.rank(); }

// A position where some inputs have this one size, and others an unknown one.
struct HalfKnown {
  int64_t place;
  int64_t size;
};

std::vector<HalfKnown> half_known(const std::vector<TensorType>& inputs) {
  std::set<int64_t> open;
  std::map<int64_t, std::set<int64_t>> sizes;
  for (const TensorType& type : inputs) {
    for (int64_t axis = 0; axis < type.shape.rank(); ++axis) {
      const int64_t size = type.shape[axis];
      const int64_t place = place_of(type.shape, axis);
      if (size == kUnknown) open.insert(place);
      if (size > 1) sizes[place].insert(size);
    }
  }
  std::vector<HalfKnown> result;
  for (const auto& [place, known] : sizes) {
    if (open.contains(place) && known.size() == 1) result.push_back({place, *known.begin()});
  }
  return result;
}

// Candidate inputs that may go together: the types with sizes that others have at the same
// positions, at one position, at two …
std::vector<std::vector<TensorType>> fitted(const std::vector<TensorType>& inputs) {
  constexpr size_t kMaxPlaces = 5;
  std::vector<HalfKnown> places = half_known(inputs);
  places.resize(std::min(places.size(), kMaxPlaces));
  std::vector<unsigned> choices((size_t{1} << places.size()) - 1);
  std::iota(choices.begin(), choices.end(), 1U);
  std::stable_sort(choices.begin(), choices.end(),
                   [](unsigned a, unsigned b) { return std::popcount(a) < std::popcount(b); });
  std::vector<std::vector<TensorType>> result;
  for (const unsigned choice : choices) {
    std::vector<TensorType> types = inputs;
    for (TensorType& type : types) {
      for (int64_t axis = 0; axis < type.shape.rank(); ++axis) {
        if (type.shape[axis] != kUnknown) continue;
        for (size_t i = 0; i < places.size(); ++i) {
          const bool here = places[i].place == place_of(type.shape, axis);
          if (here && (choice >> i & 1U) != 0) type.shape[axis] = places[i].size;
        }
      }
    }
    result.push_back(std::move(types));
  }
  return result;
}

// Further candidates, for products that sum over one input's last axis and another's first, or
// masks that have an axis at a different position than what they hide: the types with one of the
// known sizes for all unknown axes except the batch's, and with two sizes for two of them.
std::vector<std::vector<TensorType>> filled(const std::vector<TensorType>& inputs,
                                            const std::vector<Shape>& within) {
  constexpr size_t kMaxSizes = 6, kMaxPairs = 64;
  std::vector<std::pair<size_t, int64_t>> open;  // input and axis
  std::set<int64_t> sizes;
  const auto add_sizes = [&](const Shape& shape) {
    for (const int64_t size : shape) {
      if (size > 1 && sizes.size() < kMaxSizes) sizes.insert(size);
    }
  };
  for (const Shape& shape : within) add_sizes(shape);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Shape& shape = inputs[i].shape;
    add_sizes(shape);
    for (int64_t axis = 1; axis < shape.rank(); ++axis) {
      if (shape[axis] == kUnknown) open.emplace_back(i, axis);
    }
  }
  std::vector<std::vector<TensorType>> result;
  for (const int64_t size : sizes) {
    result.push_back(inputs);
    for (const auto& [input, axis] : open) result.back()[input].shape[axis] = size;
  }
  for (size_t i = 0; i < open.size(); ++i) {
    for (size_t j = 0; j < open.size(); ++j) {
      for (auto a = sizes.begin(); i != j && a != sizes.end(); ++a) {
        for (auto b = std::next(a); b != sizes.end(); ++b) {
          if (result.size() == sizes.size() + kMaxPairs) return result;
          result.push_back(inputs);
          result.back()[open[i].first].shape[open[i].second] = *a;
          result.back()[open[j].first].shape[open[j].second] = *b;
        }
      }
    }
  }
  return result;
}

using Types = std::optional<std::vector<TensorType>>;  // nullopt: an error
using Infer = std::function<Types(const std::vector<TensorType>&)>;

// The output types for `given`, which has sizes for some unknown axes of `inputs`. Sizes that
// aren't needed are made unknown again. An output axis is known only if it doesn't change when one
// of the others is 1, as a broadcast axis may be, or when all that have the same size get another
// one: they may have to be equal, and be limited by the rows of a table.
Types with_needed_sizes(const std::vector<TensorType>& inputs, std::vector<TensorType> given,
                        const Infer& infer) {
  Types found = infer(given);
  if (!found) return found;
  using Axis = std::pair<size_t, int64_t>;  // input and axis
  std::vector<Axis> chosen;
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (int64_t axis = 0; axis < inputs[i].shape.rank(); ++axis) {
      if (given[i].shape[axis] != inputs[i].shape[axis]) chosen.emplace_back(i, axis);
    }
  }
  const auto with = [&](const std::vector<Axis>& axes, int64_t size) {
    std::vector<TensorType> other = given;
    for (const auto& [input, axis] : axes) other[input].shape[axis] = size;
    return other;
  };
  const auto take_back = [&](const std::vector<Axis>& axes) {
    const std::vector<TensorType> other = with(axes, kUnknown);
    const Types types = infer(other);
    if (!types) return;
    found = types;
    given = other;
    for (const Axis& axis : axes) std::erase(chosen, axis);
  };
  for (const Axis& axis : std::vector<Axis>(chosen)) take_back({axis});
  // The same for a tensor and its mask together.
  const std::vector<Axis> rest = chosen;
  for (size_t i = 0; i < rest.size(); ++i) {
    for (size_t j = i + 1; j < rest.size(); ++j) {
      const auto is_left = [&](const Axis& axis) {
        return std::ranges::find(chosen, axis) != chosen.end();
      };
      if (is_left(rest[i]) && is_left(rest[j])) take_back({rest[i], rest[j]});
    }
  }
  for (const Axis& axis : chosen) {
    if (const Types types = infer(with({axis}, 1))) found = open_where_different(*found, *types);
  }
  std::map<int64_t, std::vector<Axis>> by_size;
  for (const Axis& axis : chosen) by_size[given[axis.first].shape[axis.second]].push_back(axis);
  for (const auto& [size, axes] : by_size) {
    for (const int64_t other : {size - 1, size + 1}) {
      const Types types = infer(with(axes, other));
      if (types) found = open_where_different(*found, *types);
      if (types) break;
    }
  }
  return found;
}

class Inference;
thread_local const Inference* innermost = nullptr;

// One trace on this thread for the sake of types.
class Inference {
 public:
  explicit Inference(int64_t size) : size_(size), outer_(innermost) { innermost = this; }
  ~Inference() { innermost = outer_; }
  Inference(const Inference&) = delete;
  Inference& operator=(const Inference&) = delete;

  int64_t unknown_size() const {
    has_unknown_ = true;
    return size_;
  }
  // Whether an unknown size was requested.
  bool has_unknown() const { return has_unknown_; }

 private:
  int64_t size_;
  const Inference* outer_;
  mutable bool has_unknown_ = false;
};

}  // namespace

std::vector<TensorType> infer_types(
    const std::vector<TensorType>& inputs,
    const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& body,
    const std::function<std::vector<Shape>()>& shapes_within) {
  const TraceOptions options{.name = "shape inference"};
  StopRecordingScope quiet;
  bool known = std::all_of(inputs.begin(), inputs.end(),
                           [](const TensorType& type) { return type.shape.is_static(); });
  auto output_types = [&](const std::vector<TensorType>& given, int64_t size) {
    const Inference inference(size);
    const TracedGraph traced = trace(with_sizes(given, size), body, options);
    std::vector<TensorType> types;
    for (ValueId id : traced.graph.outputs) types.push_back(traced.graph.type(id));
    known = known && !inference.has_unknown();
    return types;
  };
  // nullopt if one of the sizes causes an error.
  auto types_of_sizes = [&](const std::vector<TensorType>& given,
                            const std::array<int64_t, 2>& sizes) {
    std::optional<std::vector<TensorType>> types;
    try {
      types = open_where_different(output_types(given, sizes[0]), output_types(given, sizes[1]));
    } catch (const Error&) {  // NOLINT: the first error is the one to report
    }
    return types;
  };
  std::vector<TensorType> types;
  try {
    types = output_types(inputs, kSubstituteSizes[0]);
    if (known) return types;
  } catch (const Error& error) {
    if (known) throw;
    for (const auto& sizes : kMultipleSizes) {
      if (auto found = types_of_sizes(inputs, sizes)) return *found;
    }
    std::vector<std::vector<TensorType>> guesses = fitted(inputs);
    std::ranges::move(filled(inputs, shapes_within ? shapes_within() : std::vector<Shape>()),
                      std::back_inserter(guesses));
    for (const auto& given : guesses) {
      const auto found =
          with_needed_sizes(inputs, given, [&](const std::vector<TensorType>& types) {
            return types_of_sizes(types, kSubstituteSizes);
          });
      if (found) return *found;
    }
    std::string text = error.what();
    try {
      output_types(inputs, kSubstituteSizes[1]);
    } catch (const Error& other) {
      text = with_unknowns(text, other.what());
    }
    std::rethrow_exception(error.with_text(text));
  }
  types = open_where_different(std::move(types), output_types(inputs, kSubstituteSizes[1]));
  if (std::ranges::none_of(inputs, has_open_axis_behind_first)) return types;
  try {
    return open_where_different(types, output_types(inputs, kDistantSize));
  } catch (const Error&) {
    return types;
  }
}

bool is_inferring_types() { return innermost != nullptr; }

int64_t unknown_size() {
  check<Internal>(innermost != nullptr, "unknown_size: nobody infers types.");
  return innermost->unknown_size();
}

}  // namespace cornu
