// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda_runtime/kernel_cache.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>

#include "framework/core/ascii.h"
#include "framework/core/fnv.h"

namespace cornu::cuda {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "CORNUCU1";
constexpr size_t kDigits = 32;  // of a name

struct Header {
  char magic[8];
  uint64_t bytes;
  uint64_t checksum;
};

uint64_t checksum_of(const std::vector<char>& image) {
  const std::string_view bytes(image.data(), image.size());
  return low_word(Fnv<Word128>().add(bytes).add(uint64_t{bytes.size()}).value());
}

// Notes that the file is in use, at most once a day.
void mark_used(const fs::path& path) {
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  const auto before = fs::last_write_time(path, error);
  if (!error && now - before > std::chrono::hours(24)) fs::last_write_time(path, now, error);
}

// Whether it is a file of a cache: "<32 digits>.bin", or one that was being written,
// "<32 digits>.bin.<process>.<number>.tmp".
bool is_own(const std::string& file) {
  if (file.size() < kDigits) return false;
  const bool is_named = std::all_of(file.begin(), file.begin() + kDigits, [](char c) {
    return ascii::is_digit(c) || ('a' <= c && c <= 'f');
  });
  const std::string_view end = std::string_view(file).substr(kDigits);
  return is_named && (end == ".bin" || (end.starts_with(".bin.") && end.ends_with(".tmp")));
}

struct File {
  fs::file_time_type used;
  uint64_t bytes;
  fs::path path;
};

std::vector<File> own_files(const fs::path& folder) {
  std::vector<File> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;  // by another process
    if (!is_own(it->path().filename().string()) || !it->is_regular_file(gone)) continue;
    const auto used = it->last_write_time(gone);
    const uint64_t bytes = gone ? 0 : it->file_size(gone);
    if (!gone) files.push_back({used, bytes, it->path()});
  }
  return files;
}

}  // namespace

std::optional<std::vector<char>> KernelCache::read(const std::string& name) const {
  const fs::path path = path_of(name);
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return std::nullopt;
  const std::streamoff size = file.tellg();
  Header header;
  if (size <= static_cast<std::streamoff>(sizeof(header))) return std::nullopt;
  file.seekg(0);
  if (!file.read(reinterpret_cast<char*>(&header), sizeof(header))) return std::nullopt;
  const auto bytes = static_cast<uint64_t>(size) - sizeof(header);
  if (kMagic != std::string_view(header.magic, sizeof(header.magic)) || header.bytes != bytes) {
    return std::nullopt;
  }
  std::vector<char> image(bytes);
  if (!file.read(image.data(), static_cast<std::streamsize>(bytes))) return std::nullopt;
  if (checksum_of(image) != header.checksum) return std::nullopt;
  mark_used(path);
  return image;
}

// Other processes see either the complete file or none.
void KernelCache::write(const std::string& name, const std::vector<char>& image) const {
  static std::atomic<uint64_t> number = 0;
  const fs::path path = path_of(name);
  std::error_code error;
  fs::create_directories(folder_, error);
  fs::path scratch = path;
  scratch += fmt::format(".{}.{}.tmp", getpid(), number++);
  Header header = {{}, image.size(), checksum_of(image)};
  std::memcpy(header.magic, kMagic.data(), sizeof(header.magic));
  bool written = false;
  {
    std::ofstream file(scratch, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(&header), sizeof(header));
    file.write(image.data(), static_cast<std::streamsize>(image.size()));
    file.close();
    written = file.good();
  }
  if (written) fs::rename(scratch, path, error);
  if (!written || error) fs::remove(scratch, error);
}

void KernelCache::trim() const {
  std::vector<File> files = own_files(folder_);
  uint64_t total = 0;
  for (const File& file : files) total += file.bytes;
  if (total <= max_bytes_) return;
  std::ranges::sort(files, {}, &File::used);
  for (const File& file : files) {
    if (total <= max_bytes_ / 4 * 3) return;
    std::error_code error;
    fs::remove(file.path, error);
    total -= file.bytes;
  }
}

}  // namespace cornu::cuda
