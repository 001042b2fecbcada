// SPDX-License-Identifier: Apache-2.0
// Items that can be had again one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/element.h"
#include "framework/core/json.h"

namespace cornu::data {

// Where a stream's item is: in which of its parts, and where in it.
struct Place {
  int64_t part = 0;
  int64_t at = 0;

  friend bool operator==(const Place&, const Place&) = default;
};

// A stream of elements whose items can be had again by their places, also when they were given
// before its position was restored.
class PlacedItems {
 public:
  virtual ~PlacedItems() = default;

  // Do they have places? The same for all of a stream.
  virtual bool has_places() const = 0;
  // Of the item that next() gave last.
  virtual Place last_place() const = 0;
  // The item that is there. DataLoss when there is none.
  virtual Element item_at(const Place& place) = 0;
};

// Places as text: 5 to 7 characters for each, where they lie within some MB of each other.
std::string packed_places(const std::vector<Place>& places);
// The same again. DataLoss, unless they are `count`.
std::vector<Place> unpacked_places(const Json& text, size_t count);

}  // namespace cornu::data
