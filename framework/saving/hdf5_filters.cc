// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/hdf5_filters.h"

#include <algorithm>

#include "framework/core/error.h"
#include "framework/core/strings.h"
#include "framework/io/fuzzing.h"
#include "framework/io/gzip.h"

namespace cornu::hdf5 {
namespace {

constexpr std::string_view kPipeline = "a dataset's list of filters";
constexpr uint16_t kDeflate = 1;
constexpr uint16_t kShuffle = 2;
constexpr uint16_t kFletcher32 = 3;
constexpr uint64_t kSumBytes = 4;

std::string name_of(uint16_t id, const std::string& name) {
  switch (id) {
    case 4:
      return "szip";
    case 5:
      return "nbit";
    case 6:
      return "scaleoffset";
    case 32000:
      return "lzf";
    default:
      return name.empty() ? fmt::format("number {}", id) : printable(name);
  }
}

// Input: all first bytes of the elements, then all second ones, and so on; bytes that don't form a
// whole element are at the end.
std::vector<std::byte> unshuffle(const std::vector<std::byte>& bytes, size_t element_bytes) {
  std::vector<std::byte> result(bytes.size());
  const size_t count = bytes.size() / element_bytes;
  if (count == 0) return bytes;
  for (size_t part = 0; part < element_bytes; ++part) {
    const std::byte* from = bytes.data() + part * count;
    std::byte* to = result.data() + part;
    for (size_t i = 0; i < count; ++i, to += element_bytes) *to = from[i];
  }
  const auto rest = static_cast<std::ptrdiff_t>(count * element_bytes);
  std::copy(bytes.begin() + rest, bytes.end(), result.begin() + rest);
  return result;
}

void take_off_sum(std::vector<std::byte>& bytes) {
  check<DataLoss>(bytes.size() >= kSumBytes, "a chunk is too short for its checksum.");
  const auto end = std::span(bytes).last(kSumBytes);
  const auto sum = static_cast<uint32_t>(Cursor(end, "a checksum").number(kSumBytes));
  bytes.resize(bytes.size() - kSumBytes);
  check<DataLoss>(!kChecksumsMatter || sum == fletcher32(bytes),
                  "a chunk is damaged: its checksum (fletcher32) is wrong.");
}

}  // namespace

Filters::Filters(const Object& dataset) {
  if (!dataset.find(MessageType::FilterPipeline)) return;
  Cursor cursor(dataset.at(MessageType::FilterPipeline, kPipeline).data, kPipeline);
  const uint8_t version = cursor.version(1, 2);
  const uint8_t count = cursor.u8();
  if (version == 1) cursor.skip(6);
  for (uint8_t i = 0; i < count; ++i) {
    Filter filter;
    filter.id = cursor.u16();
    constexpr uint16_t kFirstNamed = 256;
    const uint16_t name_bytes = version == 1 || filter.id >= kFirstNamed ? cursor.u16() : 0;
    cursor.skip(2);  // whether failures are allowed: the mask says which filters were skipped
    const uint16_t values = cursor.u16();
    std::string name = cursor.text(version == 1 ? (name_bytes + 7) / 8 * 8 : name_bytes);
    name = name.substr(0, name.find('\0'));
    for (uint16_t k = 0; k < values; ++k) {
      const uint32_t value = cursor.u32();
      if (k == 0 && filter.id == kShuffle) filter.element_bytes = value;
    }
    if (version == 1 && values % 2 == 1) cursor.skip(4);
    check<Unimplemented>(filter.id >= kDeflate && filter.id <= kFletcher32,
                         "it is stored with filter {}; only gzip, shuffle and fletcher32 are "
                         "supported. Convert the file with h5repack -f GZIP=6.",
                         name_of(filter.id, name));
    check<DataLoss>(filter.element_bytes > 0, "{} is damaged.", kPipeline);
    filters_.push_back(filter);
  }
}

uint64_t Filters::most_stored(uint64_t chunk_bytes) const {
  // Data that deflate can't compress grows by less than this.
  constexpr uint64_t kMaxGrowth = 64;
  const uint64_t each = chunk_bytes / 1000 + kMaxGrowth;
  return chunk_bytes + filters_.size() * each;
}

void Filters::undo(std::vector<std::byte>& stored, uint64_t chunk_bytes, uint32_t mask) const {
  for (size_t i = filters_.size(); i-- > 0;) {
    if (i < 32 && (mask >> i & 1)) continue;
    switch (filters_[i].id) {
      case kDeflate: {
        std::vector<std::byte> unpacked(static_cast<size_t>(chunk_bytes + i * kSumBytes));
        unpacked.resize(unpack_zlib(stored, unpacked, "a chunk"));
        stored = std::move(unpacked);
        break;
      }
      case kShuffle:
        stored = unshuffle(stored, filters_[i].element_bytes);
        break;
      default:
        take_off_sum(stored);
    }
  }
  check<DataLoss>(stored.size() == chunk_bytes, "a chunk is damaged: expected {} bytes, got {}.",
                  chunk_bytes, stored.size());
}

uint32_t fletcher32(std::span<const std::byte> bytes) {
  constexpr size_t kMaxWords = 360;  // their sums don't overflow
  uint32_t first = 0, second = 0;
  const auto fold = [](uint32_t sum) { return (sum & 0xFFFF) + (sum >> 16); };
  size_t at = 0;
  while (at < bytes.size()) {
    const size_t end = std::min(bytes.size(), at + 2 * kMaxWords);
    for (; at < end; at += 2) {
      const auto low = at + 1 < bytes.size() ? static_cast<uint32_t>(bytes[at + 1]) : 0;
      first += static_cast<uint32_t>(bytes[at]) << 8 | low;
      second += first;
    }
    first = fold(first);
    second = fold(second);
  }
  return fold(second) << 16 | fold(first);
}

}  // namespace cornu::hdf5
