// SPDX-License-Identifier: Apache-2.0
// What a dataset's chunks went through before they were stored (IV.A.2.l).
#pragma once

#include <cstdint>
#include <vector>

#include "framework/saving/hdf5_object.h"

namespace cornu::hdf5 {

class Filters {
 public:
  // Those of a dataset; none for one without. Unimplemented, naming the first that is neither
  // gzip, shuffle nor fletcher32.
  explicit Filters(const Object& dataset);

  bool empty() const { return filters_.empty(); }
  // The most bytes that a sound chunk takes in the file.
  uint64_t most_stored(uint64_t chunk_bytes) const;
  // Undoes them, but for those in `mask`. `stored` becomes the `chunk_bytes` bytes of the chunk;
  // no more memory is taken than for these. DataLoss when it doesn't, or a checksum is wrong.
  void undo(std::vector<std::byte>& stored, uint64_t chunk_bytes, uint32_t mask) const;

 private:
  struct Filter {
    uint16_t id = 0;
    uint32_t element_bytes = 1;  // of shuffle
  };
  std::vector<Filter> filters_;  // in the order in which they were applied
};

// Fletcher's checksum, as HDF5 has it: of big-endian words of 16 bits.
uint32_t fletcher32(std::span<const std::byte> bytes);

}  // namespace cornu::hdf5
