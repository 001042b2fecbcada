// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/gathered_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

namespace cornu {

bool GatheredFile::is_shared(std::span<const std::byte> bytes) const {
  const std::less_equal<const std::byte*> before;
  return !shared_.empty() && before(shared_.data(), bytes.data()) &&
         before(bytes.data() + bytes.size(), shared_.data() + shared_.size());
}

void GatheredFile::write(uint64_t address, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  if (is_shared(bytes)) {
    references_[address] = bytes;
    return;
  }
  while (!bytes.empty()) {
    Page& page = pages_[address / kPage];
    if (!page) page = std::make_unique<std::byte[]>(kPage);
    const uint64_t within = address % kPage;
    const size_t count = std::min<size_t>(bytes.size(), kPage - within);
    std::memcpy(page.get() + within, bytes.data(), count);
    bytes = bytes.subspan(count);
    address += count;
  }
}

std::span<const std::byte> GatheredFile::run_at(uint64_t address, uint64_t most) const {
  const auto next = references_.upper_bound(address);
  if (next != references_.begin()) {
    const auto& [begin, bytes] = *std::prev(next);
    const uint64_t within = address - begin;
    if (within < bytes.size()) return bytes.subspan(within, std::min(most, bytes.size() - within));
  }
  if (next != references_.end()) most = std::min(most, next->first - address);
  static constexpr std::array<std::byte, kPage> kZeros = {};
  const auto page = pages_.find(address / kPage);
  const uint64_t within = address % kPage;
  const std::byte* bytes = page == pages_.end() ? kZeros.data() : page->second.get();
  return {bytes + within, static_cast<size_t>(std::min(most, kPage - within))};
}

void GatheredFile::read(uint64_t address, std::span<std::byte> out) const {
  while (!out.empty()) {
    const auto run = run_at(address, out.size());
    std::copy(run.begin(), run.end(), out.begin());
    out = out.subspan(run.size());
    address += run.size();
  }
}

std::vector<std::span<const std::byte>> GatheredFile::pieces(uint64_t size) const {
  std::vector<std::span<const std::byte>> result;
  for (uint64_t at = 0; at < size; at += result.back().size()) {
    result.push_back(run_at(at, size - at));
  }
  return result;
}

}  // namespace cornu
