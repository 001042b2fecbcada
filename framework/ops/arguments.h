// SPDX-License-Identifier: Apache-2.0
// Argument types shared by ops and layers: axes, spatial sizes, padding, seeds.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu {

// The axes an op works on; none given means all (Keras's None). Negative axes count from the end.
class Axes {
 public:
  Axes() = default;
  Axes(std::nullopt_t) {}  // NOLINT: implicit on purpose
  template <std::integral T>
  Axes(T axis) : axes_(std::vector<int64_t>{static_cast<int64_t>(axis)}) {}         // NOLINT
  Axes(std::initializer_list<int64_t> axes) : axes_(std::vector<int64_t>(axes)) {}  // NOLINT
  Axes(std::vector<int64_t> axes) : axes_(std::move(axes)) {}                       // NOLINT

  bool all() const { return !axes_; }
  // The axes as passed; empty for all.
  std::vector<int64_t> values() const { return axes_.value_or(std::vector<int64_t>()); }
  size_t count() const { return axes_ ? axes_->size() : 0; }  // number of axes passed
  // The axes sorted and counted from the front, for a tensor of `shape`. Throws OutOfRange, naming
  // `who`, for an axis it doesn't have, and InvalidArgument for a repeated axis.
  std::vector<int64_t> normalized(const Shape& shape, std::string_view who) const;

 private:
  std::optional<std::vector<int64_t>> axes_;
};

// Sizes of spatial axes (strides, windows, …): one for all axes, or one per axis. May be None.
class Sizes {
 public:
  Sizes() = default;
  Sizes(std::nullopt_t) {}  // NOLINT: implicit on purpose
  template <std::integral T>
  Sizes(T size) : sizes_{static_cast<int64_t>(size)}, for_all_(true) {}  // NOLINT
  Sizes(std::initializer_list<int64_t> sizes) : sizes_(sizes) {}         // NOLINT
  Sizes(std::vector<int64_t> sizes) : sizes_(std::move(sizes)) {}        // NOLINT

  bool given() const { return !sizes_.empty(); }
  // Returns one size (>= least) for each of `count` axes. Throws InvalidArgument, naming `who` and
  // `what`, if that isn't possible.
  std::vector<int64_t> spread(int64_t count, std::string_view who, std::string_view what,
                              int64_t least = 1) const;
  // The sizes as passed: a single number for all axes is one element.
  const std::vector<int64_t>& values() const { return sizes_; }

 private:
  std::vector<int64_t> sizes_;
  bool for_all_ = false;
};

// Zero padding around spatial axes: "valid" (none), "same" (output size = input size / stride,
// rounded up; if the padding is odd, the extra zero goes after), or pairs (before, after), one per
// axis.
class Padding {
 public:
  using Pairs = std::vector<std::pair<int64_t, int64_t>>;

  Padding() = default;               // "valid"
  Padding(const char* name);         // NOLINT: implicit on purpose
  Padding(const std::string& name);  // NOLINT: in any case; throws InvalidArgument otherwise
  Padding(Pairs pairs);              // NOLINT

  // Returns the padding before and after axis 0, before and after axis 1, …, for spatial axes of
  // these sizes. Throws InvalidArgument, naming `who`, for "same" with an axis of unknown size.
  std::vector<int64_t> resolve(const std::vector<int64_t>& sizes,
                               const std::vector<int64_t>& window,
                               const std::vector<int64_t>& strides,
                               const std::vector<int64_t>& dilation, std::string_view who) const;
  bool is_same() const { return kind_ == Kind::Same; }
  bool is_valid() const { return kind_ == Kind::Valid; }

 private:
  enum class Kind { Valid, Same, Explicit };
  Kind kind_ = Kind::Valid;
  Pairs pairs_;
};

// The number of elements spanned by a window whose entries are `dilation` apart. Throws
// InvalidArgument, naming `who`, if it doesn't fit in int64.
int64_t dilated_extent(int64_t window, int64_t dilation, std::string_view who);
// The number of positions of a window spanning `extent` elements, `stride` apart, on an axis of
// `size` elements that is `padded` long. Returns nullopt if the window is longer than that, except
// for 0 on an axis without elements that "same" padding leaves empty.
std::optional<int64_t> places_of_window(int64_t size, int64_t padded, int64_t extent,
                                        int64_t stride);

namespace random {
class SeedGenerator;
}

// The key of a random op: a number (the same numbers each time), a uint32[2] tensor, a generator
// (its next draw), or none: new numbers on each call, from the thread's sequence (set_random_seed),
// also in traced code.
class Seed {
 public:
  Seed() = default;
  Seed(std::nullopt_t) {}  // NOLINT: implicit on purpose
  template <std::integral T>
  Seed(T value) : value_(static_cast<int64_t>(value)) {}  // NOLINT
  Seed(std::optional<int64_t> value) : value_(value) {}   // NOLINT
  Seed(Tensor key) : key_(std::move(key)) {}              // NOLINT
  Seed(const random::SeedGenerator& generator);           // NOLINT

  bool given() const { return value_ || key_.defined(); }
  bool is_key() const { return key_.defined(); }
  bool is_generators() const { return is_generators_; }  // a key drawn by a generator
  // The key, uint32[2]. In traced code a seed number is a constant; without a seed, the key is
  // derived from a new one that the compiled function receives on each call.
  Tensor key() const;
  std::optional<int64_t> value() const { return value_; }

 private:
  std::optional<int64_t> value_;
  Tensor key_;
  bool is_generators_ = false;
};

}  // namespace cornu
