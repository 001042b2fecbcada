// SPDX-License-Identifier: Apache-2.0
// Random access to a stream's items.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/element.h"
#include "framework/core/json.h"

namespace cornu::data {

// The location of a stream's item: the part it is in, and the offset within the part.
struct Place {
  int64_t part = 0;
  int64_t at = 0;

  friend bool operator==(const Place&, const Place&) = default;
};

// Implemented by streams of elements that can return items again given their places, including
// items returned before the stream's position was restored.
class PlacedItems {
 public:
  virtual ~PlacedItems() = default;

  // Whether items have places; constant for a stream.
  virtual bool has_places() const = 0;
  // The place of the item that next() returned last.
  virtual Place last_place() const = 0;
  // The item at a place. Throws DataLoss when there is none.
  virtual Element item_at(const Place& place) = 0;
};

// Encodes places as text: 5 to 7 characters each, if they are within a few MB of each other.
std::string packed_places(const std::vector<Place>& places);
// Decodes the text. Throws DataLoss unless there are `count` places.
std::vector<Place> unpacked_places(const Json& text, size_t count);

}  // namespace cornu::data
