// SPDX-License-Identifier: Apache-2.0
// Filters applied to a dataset's chunks before they are stored (IV.A.2.l).
#pragma once

#include <cstdint>
#include <vector>

#include "framework/saving/hdf5_object.h"

namespace cornu::hdf5 {

class Filters {
 public:
  // Reads the filters of a dataset; there may be none. Throws Unimplemented, naming the first
  // filter that is neither gzip, shuffle nor fletcher32.
  explicit Filters(const Object& dataset);

  bool empty() const { return filters_.empty(); }
  // The maximum size of a valid chunk in the file.
  uint64_t most_stored(uint64_t chunk_bytes) const;
  // Undoes the filters, except those in `mask`: replaces `stored` by the chunk's `chunk_bytes`
  // bytes, without allocating more memory than these need. Throws DataLoss if this fails or a
  // checksum is wrong.
  void undo(std::vector<std::byte>& stored, uint64_t chunk_bytes, uint32_t mask) const;

 private:
  struct Filter {
    uint16_t id = 0;
    uint32_t element_bytes = 1;  // for shuffle
  };
  std::vector<Filter> filters_;  // in the order in which they were applied
};

// HDF5's variant of Fletcher's checksum, over big-endian 16-bit words.
uint32_t fletcher32(std::span<const std::byte> bytes);

}  // namespace cornu::hdf5
