// SPDX-License-Identifier: Apache-2.0
#include "framework/io/file_descriptor.h"

#include <cerrno>

namespace cornu {

namespace {

// `write` is called with the remaining bytes, and returns like write(2).
template <class F>
bool repeat(std::span<const std::byte> bytes, F&& write) {
  while (!bytes.empty()) {
    const ssize_t written = write(bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = EIO;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

bool write_all(int file, std::span<const std::byte> bytes) {
  return repeat(bytes, [&](auto left) { return ::write(file, left.data(), left.size()); });
}

bool write_all_at(int file, std::span<const std::byte> bytes, uint64_t offset) {
  return repeat(bytes, [&](auto left) {
    const uint64_t at = offset + (bytes.size() - left.size());
    return pwrite(file, left.data(), left.size(), static_cast<off_t>(at));
  });
}

}  // namespace cornu
