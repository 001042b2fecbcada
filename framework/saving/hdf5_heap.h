// SPDX-License-Identifier: Apache-2.0
// Fractal heaps and version 2 B-trees, in which HDF5's newer format stores many small items.
// Sections refer to the "HDF5 File Format Specification", version 3.0.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "framework/saving/hdf5_bytes.h"

namespace cornu::hdf5 {

// Record types of version 2 B-trees (III.A.2).
enum class RecordType : uint8_t {
  HugeObjects = 1,
  LinkNames = 5,
  AttributeNames = 8,
  Chunks = 10,
  FilteredChunks = 11,
};

// Calls `visit` with each record of the tree. Throws DataLoss, before any record is visited twice,
// for an invalid tree. Reads count toward the budget, if there is one.
void for_each_record(const Bytes& file, uint64_t address, RecordType type, Budget* budget,
                     const std::function<void(std::span<const std::byte>)>& visit);

// A fractal heap (III.G) of unfiltered objects.
class FractalHeap {
 public:
  FractalHeap(const Bytes& file, uint64_t address, Budget& budget);

  // Returns the object with this id, possibly followed by other bytes. The heap owns the bytes.
  std::span<const std::byte> object(std::span<const std::byte> id);

 private:
  uint64_t row_size(uint64_t row) const { return row < 2 ? first_size_ : first_size_ << (row - 1); }
  std::pair<const std::vector<std::byte>&, bool> block(uint64_t address, uint64_t size);
  std::span<const std::byte> from_direct(uint64_t address, uint64_t size, uint64_t offset,
                                         uint64_t length);
  std::span<const std::byte> from_indirect(uint64_t address, uint64_t rows, uint64_t offset,
                                           uint64_t length, int depth);
  uint64_t rows_for(uint64_t size) const;
  std::span<const std::byte> huge_object(uint64_t id);

  const Bytes& file_;
  Budget& budget_;
  bool has_checksums_ = false;
  uint64_t most_object_ = 0, width_ = 0, first_size_ = 0, most_direct_ = 0, offset_bytes_ = 0;
  uint64_t length_bytes_ = 0, root_ = 0, rows_ = 0, direct_rows_ = 0, huge_index_ = 0;
  Blocks blocks_;
  std::map<uint64_t, std::vector<std::byte>> read_;
  // Objects too large for the heap's blocks, by id: address and length.
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> huge_;
  bool huge_known_ = false;
};

}  // namespace cornu::hdf5
