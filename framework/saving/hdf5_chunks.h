// SPDX-License-Identifier: Apache-2.0
// Locates the chunks of a dataset, using the indexes of HDF5's formats: the earliest (a version 1
// B-tree) and the newest (a single chunk, implicit, arrays, a version 2 B-tree).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "framework/saving/hdf5_object.h"

namespace cornu::hdf5 {

struct Chunk {
  uint64_t address = kUndefined;  // undefined if never written
  uint64_t stored = 0;            // size in the file in bytes
  uint32_t mask = 0;              // filters that were skipped
};

// A grid of chunks: the current and the maximum number along each axis.
struct ChunkGrid {
  std::vector<uint64_t> sizes;
  std::vector<uint64_t> most;  // kUndefined: unlimited
  uint64_t count = 1;          // product of sizes
  uint64_t chunk_bytes = 0;
  bool filtered = false;
};

// Reads the locations of all chunks, in row-major order of the grid. Reading is bounded by the file
// and the grid; nothing is read for chunks that don't exist. Throws DataLoss when the index doesn't
// match the grid.
std::vector<Chunk> read_chunk_index(const Bytes& file, const Layout& layout, const ChunkGrid& grid);

// As above for arrays (sections VII.A and VII.B of version 3.0: fixed and extensible ones), by a
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

// Performs the checks possible before allocating memory for elements of this many bytes. Throws
// DataLoss.
void verify_chunks(const Bytes& file, const Layout& layout, uint64_t bytes);

// Fills `out` with a dataset's elements. Allocates memory for a chunk or two in addition. Throws
// DataLoss for a damaged file or chunks that were never written, and ResourceExhausted for chunks
// out of all proportion to the dataset.
void read_chunked(const Bytes& file, const Object& dataset, const Layout& layout,
                  const Dataspace& space, std::span<std::byte> out);

}  // namespace cornu::hdf5
