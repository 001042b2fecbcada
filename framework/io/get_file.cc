// SPDX-License-Identifier: Apache-2.0
#include "framework/io/get_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>

#include "framework/core/error.h"
#include "framework/core/strings.h"
#include "framework/io/console.h"
#include "framework/io/download.h"
#include "framework/io/file_descriptor.h"
#include "framework/io/file_lock.h"
#include "framework/io/file_reader.h"
#include "framework/io/gzip.h"
#include "framework/io/hash.h"
#include "framework/io/standard_files.h"

namespace cornu {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPieceBytes = size_t{1} << 20;

// The expected hash of a finished file, if any.
struct Expected {
  std::string digest;
  HashAlgorithm algorithm;
};

std::optional<Expected> expected_hash(const std::string& fname, const GetFileOptions& options) {
  if (options.file_hash.empty()) return std::nullopt;
  const size_t digits = options.file_hash.size();
  const std::string& name = options.hash_algorithm;
  const bool md5 = name == "md5" || (name == "auto" && digits == 32);
  const bool sha256 = name == "sha256" || (name == "auto" && digits == 64);
  check<InvalidArgument>(
      (md5 && digits == 32) || (sha256 && digits == 64),
      "get_file '{}': expected a hash of 32 (md5) or 64 (sha256) hexadecimal digits, got {} digits "
      "for hash_algorithm \"{}\".",
      fname, digits, name);
  return Expected{lower_case(options.file_hash), md5 ? HashAlgorithm::Md5 : HashAlgorithm::Sha256};
}

// The name must be below the folder, so that a list of files from elsewhere can't overwrite others.
void check_name(const std::string& fname) {
  const fs::path path = fname;
  bool inside = path.is_relative() && path.has_filename() && fname.find('\0') == std::string::npos;
  for (const fs::path& part : path) inside = inside && part != ".." && part != ".";
  check<InvalidArgument>(
      inside,
      "get_file '{}': expected the name of a file in the cache directory, without '.' and '..'.",
      printable(fname));
}

// Decompresses gzip data into `to`.
void unpack(const fs::path& from, const fs::path& to, int64_t most_bytes) {
  const auto packed = read_whole_file(from);
  GzipReader reader(std::span(packed->data(), packed->bytes()), from.string());
  occupy_standard_files();
  const FileDescriptor file(open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  check<Unavailable>(file.is_open(), "{}: can't be written: {}.", to.string(),
                     std::strerror(errno));
  std::vector<std::byte> piece(kPieceBytes);
  for (size_t count = piece.size(); count == piece.size();) {
    count = reader.read(piece);
    check<ResourceExhausted>(static_cast<int64_t>(reader.unpacked_bytes()) <= most_bytes,
                             "{}: more than {} bytes were unpacked.", from.string(), most_bytes);
    check<Unavailable>(write_all(file.get(), std::span(piece).first(count)),
                       "{}: can't be written: {}.", to.string(), std::strerror(errno));
  }
}

void check_hash(const fs::path& path, const std::optional<Expected>& expected,
                const std::string& url) {
  if (!expected) return;
  const std::string digest = hash_of_file(path, expected->algorithm);
  check<DataLoss>(digest == expected->digest,
                  "{}: expected a file with the hash {}, got one with {}.", url, expected->digest,
                  digest);
}

// The temporary name of a finished file before it is renamed.
fs::path beside(const fs::path& target, const std::string& ending) {
  fs::path path = target;
  path += ending;
  return path;
}

void publish(const fs::path& finished, const fs::path& target) {
  const FileDescriptor file(open(finished.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.is_open()) fsync(file.get());
  fs::rename(finished, target);
}

// The partial download from `url`. Mirrors may compress the file differently, so each has its own.
fs::path part_of(const fs::path& target, const std::string& url) {
  return beside(target, fmt::format(".{:08x}.part", std::hash<std::string>{}(url)&0xffffffffu));
}

void remove_part(const fs::path& part) {
  fs::remove(part);
  fs::remove(beside(part, ".tag"));
}

// Downloads from one origin.
void fetch(const std::string& url, const fs::path& target, const GetFileOptions& options,
           const std::optional<Expected>& expected) {
  const fs::path part = part_of(target, url);
  for (;;) {
    std::error_code ignored;
    const bool continues = fs::file_size(part, ignored) > 0 && !ignored;
    try {
      if (isatty(STDERR_FILENO) != 0) {
        console::write_error(fmt::format("Downloading data from {}\n", url));
      }
      download(url, part,
               {.show_progress = true,
                .checked_afterwards = expected.has_value(),
                .most_bytes = options.most_bytes});
      fs::path finished = part;
      if (options.extract) {
        finished = beside(target, ".unpacked");
        unpack(part, finished, options.most_bytes);
      }
      check_hash(finished, expected, url);
      publish(finished, target);
      return;
    } catch (const Error& error) {
      fs::remove(beside(target, ".unpacked"));
      const bool empty = fs::file_size(part, ignored) == 0 && !ignored;
      // Only an interrupted download is worth keeping.
      if (empty || error.code() != StatusCode::Unavailable) remove_part(part);
      // The part may have been the beginning of a different file: try once more, from the start.
      if (!continues || error.code() != StatusCode::DataLoss) throw;
    }
  }
}

bool is_there(const fs::path& target, const std::optional<Expected>& expected) {
  std::error_code error;
  if (!fs::is_regular_file(target, error)) return false;
  return !expected || hash_of_file(target, expected->algorithm) == expected->digest;
}

[[noreturn]] void raise_all_failed(const std::string& fname,
                                   const std::vector<std::pair<StatusCode, std::string>>& errors) {
  std::string text = fmt::format("get_file '{}': no origin delivered it.", fname);
  bool damaged = false;
  bool missing = true;
  for (const auto& [code, message] : errors) {
    text += "\n  " + message;
    damaged |= code == StatusCode::DataLoss;
    missing &= code == StatusCode::NotFound;
  }
  if (damaged) throw DataLoss(text);
  if (missing) throw NotFound(text);
  throw Unavailable(text);
}

}  // namespace

fs::path cache_directory() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache) {
    return fs::path(cache) / "cornu";
  }
  const char* home = std::getenv("HOME");
  return fs::path(home && *home ? home : ".") / ".cache" / "cornu";
}

namespace {

fs::path find_or_fetch(const std::string& fname, const GetFileOptions& options) {
  const auto expected = expected_hash(fname, options);
  const fs::path directory =
      (options.cache_dir.empty() ? cache_directory() : options.cache_dir) / options.cache_subdir;
  const fs::path target = directory / fname;
  if (!options.force_download && is_there(target, expected)) return target;

  fs::create_directories(target.parent_path());
  const FileLock lock(beside(target, ".lock"));
  // Another process may have downloaded it in the meantime.
  if (!options.force_download && is_there(target, expected)) return target;

  std::vector<std::pair<StatusCode, std::string>> errors;
  for (const std::string& url : options.origin) {
    try {
      fetch(url, target, options, expected);
      for (const std::string& other : options.origin) remove_part(part_of(target, other));
      return target;
    } catch (const Error& problem) {
      errors.emplace_back(problem.code(), problem.what());
    }
  }
  raise_all_failed(fname, errors);
}

}  // namespace

fs::path get_file(const std::string& fname, const GetFileOptions& options) {
  check<InvalidArgument>(!options.origin.empty(), "get_file '{}': expected an origin (a URL).",
                         fname);
  check_name(fname);
  try {
    return find_or_fetch(fname, options);
  } catch (const fs::filesystem_error& error) {
    raise<Unavailable>("get_file '{}': the cache can't be used: {}.", fname, error.what());
  }
}

}  // namespace cornu
