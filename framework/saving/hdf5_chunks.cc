// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/hdf5_chunks.h"

#include <algorithm>
#include <cstring>

#include "framework/core/error.h"
#include "framework/io/gzip.h"
#include "framework/saving/hdf5_filters.h"
#include "framework/saving/hdf5_heap.h"

namespace cornu::hdf5 {
namespace {

constexpr std::string_view kChunks = "a dataset's index of chunks";
// A chunk may be as large as its dataset, or this large; no more memory is allocated for one.
constexpr uint64_t kMaxChunk = uint64_t{16} << 20;

ChunkGrid grid_of(const Layout& layout, const Dataspace& space, bool filtered) {
  ChunkGrid grid;
  grid.filtered = filtered;
  const auto rank = static_cast<size_t>(space.shape.rank());
  check<DataLoss>(layout.chunk.size() == rank && rank > 0, "its chunks have {} axes, not {}.",
                  layout.chunk.size(), rank);
  const auto elements = static_cast<uint64_t>(space.shape.num_elements());
  const uint64_t most = std::max(kMaxChunk, elements * layout.element_bytes);
  grid.chunk_bytes = layout.element_bytes;
  for (size_t axis = 0; axis < rank; ++axis) {
    const uint64_t chunk = layout.chunk[axis];
    check<DataLoss>(chunk > 0, "its chunks have an axis without elements.");
    check<ResourceExhausted>(chunk <= most / grid.chunk_bytes,
                             "its chunks are out of all proportion: shape ({}), in a dataset of "
                             "shape {}.",
                             fmt::join(layout.chunk, ", "), space.shape);
    grid.chunk_bytes *= chunk;
    const auto dim = static_cast<uint64_t>(space.shape[static_cast<int64_t>(axis)]);
    grid.sizes.push_back((dim + chunk - 1) / chunk);
    const uint64_t most_dim = space.most.empty() ? dim : space.most[axis];
    grid.most.push_back(most_dim == kUndefined ? kUndefined
                                               : most_dim / chunk + (most_dim % chunk != 0));
    grid.count *= grid.sizes.back();
  }
  return grid;
}

// Puts chunks that an index identifies by coordinates into their places in the grid.
class Places {
 public:
  explicit Places(const ChunkGrid& grid) : grid_(grid), chunks_(grid.count) {}

  // The coordinates follow in `cursor`, in units of `unit` elements along each axis.
  void put(Cursor& cursor, const std::vector<uint64_t>& unit, const Chunk& chunk) {
    uint64_t number = 0;
    for (size_t axis = 0; axis < grid_.sizes.size(); ++axis) {
      const uint64_t at = cursor.u64();
      const uint64_t place = at / unit[axis];
      check<DataLoss>(at % unit[axis] == 0 && place < grid_.sizes[axis],
                      "{} has a chunk that isn't the dataset's.", kChunks);
      number = number * grid_.sizes[axis] + place;
    }
    check<DataLoss>(chunks_[number].address == kUndefined, "{} has a chunk twice.", kChunks);
    chunks_[number] = chunk;
  }

  std::vector<Chunk> take() { return std::move(chunks_); }

 private:
  const ChunkGrid& grid_;
  std::vector<Chunk> chunks_;
};

// III.A.1, of type 1.
class OldTree {
 public:
  OldTree(const Bytes& file, const Layout& layout, const ChunkGrid& grid)
      : file_(file), layout_(layout), grid_(grid), places_(grid), blocks_(file) {}

  std::vector<Chunk> read() {
    if (layout_.address != kUndefined) read_node(layout_.address, -1);
    return places_.take();
  }

 private:
  // `level` is the expected level of the node; -1: any.
  void read_node(uint64_t address, int level) {
    constexpr uint64_t kHead = 24;
    const auto head_bytes = file_.block(address, kHead, kChunks);
    Cursor head(head_bytes, kChunks);
    head.expect("TREE");
    const uint8_t type = head.u8();
    const uint8_t found = head.u8();
    check<DataLoss>(type == 1 && (level < 0 || level == found), "{} is no tree of chunks.",
                    kChunks);
    const uint16_t children = head.u16();
    const uint64_t key_bytes = 8 + 8 * (grid_.sizes.size() + 1);
    const uint64_t bytes = children * (key_bytes + 8);
    blocks_.add(address, kHead + bytes, kChunks);
    const auto body = file_.block(address + kHead, bytes, kChunks);
    Cursor cursor(body, kChunks);
    for (uint16_t i = 0; i < children; ++i) {
      Cursor key(cursor.take(key_bytes), kChunks);
      const uint64_t child = cursor.u64();
      if (found > 0) {
        read_node(child, found - 1);
      } else {
        const uint32_t stored = key.u32();
        places_.put(key, layout_.chunk, {child, stored, key.u32()});
      }
    }
  }

  const Bytes& file_;
  const Layout& layout_;
  const ChunkGrid& grid_;
  Places places_;
  Blocks blocks_;
};

std::vector<Chunk> from_new_tree(const Bytes& file, const Layout& layout, const ChunkGrid& grid) {
  Places places(grid);
  if (layout.address == kUndefined) return places.take();
  const std::vector<uint64_t> units(grid.sizes.size(), 1);
  for_each_record(file, layout.address,
                  grid.filtered ? RecordType::FilteredChunks : RecordType::Chunks, nullptr,
                  [&](std::span<const std::byte> record) {
                    Cursor cursor(record, kChunks);
                    Chunk chunk{cursor.u64(), grid.chunk_bytes, 0};
                    if (grid.filtered) {
                      const uint64_t others = 8 + 4 + 8 * grid.sizes.size();
                      check<DataLoss>(record.size() > others, "{} is damaged.", kChunks);
                      chunk.stored = cursor.number(record.size() - others);
                      chunk.mask = cursor.u32();
                    }
                    places.put(cursor, units, chunk);
                  });
  return places.take();
}

// Calls `visit` with the coordinates of each chunk, in row-major order.
template <class F>
void for_each_chunk(const ChunkGrid& grid, F&& visit) {
  std::vector<uint64_t> at(grid.sizes.size(), 0);
  for (uint64_t number = 0; number < grid.count; ++number) {
    visit(number, std::as_const(at));
    for (size_t axis = at.size(); axis-- > 0 && ++at[axis] == grid.sizes[axis];) at[axis] = 0;
  }
}

// Chunks of arrays are numbered as if the dataset had its maximum size. The unlimited axis is the
// slowest.
std::vector<Chunk> from_array(ChunkArray& array, const ChunkGrid& grid) {
  std::vector<size_t> order;
  for (size_t axis = 0; axis < grid.sizes.size(); ++axis) order.push_back(axis);
  const auto open = std::find(grid.most.begin(), grid.most.end(), kUndefined);
  if (open != grid.most.end()) {
    const auto first = order.begin() + (open - grid.most.begin());
    std::rotate(order.begin(), first, first + 1);
  }
  std::vector<Chunk> chunks(grid.count);
  for_each_chunk(grid, [&](uint64_t place, const std::vector<uint64_t>& at) {
    uint64_t number = 0;
    for (const size_t axis : order) {
      const uint64_t most = grid.most[axis];
      check<DataLoss>(
          most == kUndefined || (number < uint64_t{1} << 31 && most < uint64_t{1} << 31),
          "{} has more chunks than can be read.", kChunks);
      number = (most == kUndefined ? 0 : number * most) + at[axis];
    }
    chunks[place] = array.at(number);
  });
  return chunks;
}

// Consecutive chunks without an index.
class Consecutive : public ChunkArray {
 public:
  Consecutive(const Bytes& file, uint64_t address, const ChunkGrid& grid)
      : file_(file), address_(address), bytes_(grid.chunk_bytes) {}

  Chunk at(uint64_t number) override {
    if (address_ == kUndefined) return {};
    check<DataLoss>(number <= file_.size() / bytes_, "{} has chunks past the file's end.", kChunks);
    return {address_ + number * bytes_, bytes_, 0};
  }

 private:
  const Bytes& file_;
  uint64_t address_;
  uint64_t bytes_;
};

// Copies a chunk's elements to their places in the dataset; those past its end are dropped.
void place_chunk(std::span<const std::byte> chunk, const Layout& layout, const Shape& shape,
                 const std::vector<uint64_t>& at, std::span<std::byte> out) {
  const size_t rank = at.size();
  std::vector<uint64_t> begin(rank), extent(rank), row(rank, 0);
  for (size_t axis = 0; axis < rank; ++axis) {
    begin[axis] = at[axis] * layout.chunk[axis];
    const auto dim = static_cast<uint64_t>(shape[static_cast<int64_t>(axis)]);
    extent[axis] = std::min(layout.chunk[axis], dim - begin[axis]);
  }
  const uint64_t bytes = extent[rank - 1] * layout.element_bytes;
  for (bool more = true; more;) {
    uint64_t from = 0, to = 0;
    for (size_t axis = 0; axis < rank; ++axis) {
      from = from * layout.chunk[axis] + row[axis];
      to = to * static_cast<uint64_t>(shape[static_cast<int64_t>(axis)]) + begin[axis] + row[axis];
    }
    std::memcpy(out.data() + to * layout.element_bytes, chunk.data() + from * layout.element_bytes,
                bytes);
    more = false;
    for (size_t axis = rank - 1; axis-- > 0 && !more;) {
      more = ++row[axis] < extent[axis];
      if (!more) row[axis] = 0;
    }
  }
}

bool is_partial(const Layout& layout, const Shape& shape, const std::vector<uint64_t>& at) {
  for (size_t axis = 0; axis < at.size(); ++axis) {
    const auto dim = static_cast<uint64_t>(shape[static_cast<int64_t>(axis)]);
    if ((at[axis] + 1) * layout.chunk[axis] > dim) return true;
  }
  return false;
}

}  // namespace

std::vector<Chunk> read_chunk_index(const Bytes& file, const Layout& layout,
                                    const ChunkGrid& grid) {
  switch (layout.index) {
    case ChunkIndex::OldTree:
      return OldTree(file, layout, grid).read();
    case ChunkIndex::Single: {
      check<DataLoss>(grid.count == 1, "it is said to have one chunk, but has {}.", grid.count);
      const uint64_t stored = grid.filtered ? layout.single_stored : grid.chunk_bytes;
      return {{layout.address, stored, layout.single_mask}};
    }
    case ChunkIndex::Consecutive: {
      Consecutive chunks(file, layout.address, grid);
      return from_array(chunks, grid);
    }
    case ChunkIndex::NewTree:
      return from_new_tree(file, layout, grid);
    case ChunkIndex::FixedArray:
    case ChunkIndex::ExtensibleArray:
      break;
  }
  if (layout.address == kUndefined) return std::vector<Chunk>(grid.count);
  const auto array = layout.index == ChunkIndex::FixedArray
                         ? open_fixed_array(file, layout.address, grid)
                         : open_extensible_array(file, layout.address, grid);
  return from_array(*array, grid);
}

void verify_chunks(const Bytes& file, const Layout& layout, uint64_t bytes) {
  check<DataLoss>(bytes == 0 || layout.address < file.size(), "its elements were never written.");
  check<DataLoss>(bytes / kMaxInflation <= file.size(),
                  "it is said to have {} bytes, which a file of {} can't hold.", bytes,
                  file.size());
}

void read_chunked(const Bytes& file, const Object& dataset, const Layout& layout,
                  const Dataspace& space, std::span<std::byte> out) {
  if (out.empty()) return;
  const auto elements = static_cast<uint64_t>(space.shape.num_elements());
  check<DataLoss>(layout.element_bytes == out.size() / elements,
                  "its chunks have elements of {} bytes, which isn't its datatype's.",
                  layout.element_bytes);
  const Filters filters(dataset);
  const ChunkGrid grid = grid_of(layout, space, !filters.empty());
  check<DataLoss>(grid.count <= file.size(), "it has more chunks than the file has bytes.");
  const std::vector<Chunk> chunks = read_chunk_index(file, layout, grid);
  std::vector<std::byte> bytes;
  for_each_chunk(grid, [&](uint64_t number, const std::vector<uint64_t>& at) {
    const Chunk& chunk = chunks[number];
    check<DataLoss>(chunk.address != kUndefined, "some of its elements were never written.");
    const bool plain = grid.filtered && layout.edges_plain && is_partial(layout, space.shape, at);
    const uint64_t most = plain ? grid.chunk_bytes : filters.most_stored(grid.chunk_bytes);
    check<DataLoss>(chunk.stored <= most && chunk.stored <= file.size(),
                    "a chunk of {} bytes is said to take {} in the file.", grid.chunk_bytes,
                    chunk.stored);
    bytes.resize(static_cast<size_t>(chunk.stored));
    file.read(chunk.address, bytes, "a chunk");
    if (plain) {
      check<DataLoss>(bytes.size() == grid.chunk_bytes,
                      "a chunk is damaged: expected {} bytes, got {}.", grid.chunk_bytes,
                      bytes.size());
    } else {
      filters.undo(bytes, grid.chunk_bytes, chunk.mask);
    }
    place_chunk(bytes, layout, space.shape, at, out);
  });
}

}  // namespace cornu::hdf5
