// SPDX-License-Identifier: Apache-2.0
// Where the chunks of a dataset lie: the indexes of HDF5's formats, the earliest (a B-tree of
// version 1) and the newest (a single chunk, none, arrays, a B-tree of version 2).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "framework/saving/hdf5_object.h"

namespace cornu::hdf5 {

struct Chunk {
  uint64_t address = kUndefined;  // of one that was never written
  uint64_t stored = 0;            // bytes in the file
  uint32_t mask = 0;              // of filters it didn't go through
};

// A grid of chunks: how many along each axis, of what there is and of what there may be at most.
struct ChunkGrid {
  std::vector<uint64_t> sizes;
  std::vector<uint64_t> most;  // kUndefined: without bound
  uint64_t count = 1;          // the product of sizes
  uint64_t chunk_bytes = 0;
  bool filtered = false;
};

// Reads the places of all chunks, in row-major order of the grid. What is read is bounded by the
// file, and by the grid; there is nothing to read for chunks that aren't there. DataLoss when the
// index isn't one of this grid.
std::vector<Chunk> read_chunk_index(const Bytes& file, const Layout& layout, const ChunkGrid& grid);

// The same of arrays (VII.A and VII.B of version 3.0: fixed and extensible ones), by the
// chunk's number in the array.
class ChunkArray {
 public:
  virtual ~ChunkArray() = default;
  virtual Chunk at(uint64_t number) = 0;
};
std::unique_ptr<ChunkArray> open_fixed_array(const Bytes& file, uint64_t address,
                                             const ChunkGrid& grid);
std::unique_ptr<ChunkArray> open_extensible_array(const Bytes& file, uint64_t address,
                                                  const ChunkGrid& grid);

// What can be told before memory is taken for elements of so many bytes. DataLoss.
void verify_chunks(const Bytes& file, const Layout& layout, uint64_t bytes);

// Fills `out` with a dataset's elements. Takes memory for a chunk or two, beside `out`.
// Errors: DataLoss for a damaged file or chunks that were never written, ResourceExhausted for
// chunks out of all proportion to the dataset.
void read_chunked(const Bytes& file, const Object& dataset, const Layout& layout,
                  const Dataspace& space, std::span<std::byte> out);

}  // namespace cornu::hdf5
