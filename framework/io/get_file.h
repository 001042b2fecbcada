// SPDX-License-Identifier: Apache-2.0
// Downloads files to a cache (keras.utils.get_file).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace cornu {

struct GetFileOptions {
  std::vector<std::string> origin = {};    // URLs of the same file, tried in this order
  std::string file_hash = "";              // hexadecimal hash of the cached file; "": not verified
  std::string cache_subdir = "datasets";   // below cache_dir
  std::string hash_algorithm = "auto";     // "md5", "sha256", or "auto": determined by the length
                                           // of file_hash
  bool extract = false;                    // the origin is gzip data: cache it uncompressed
  std::filesystem::path cache_dir = {};    // empty: cache_directory()
  bool force_download = false;             // even if the file exists
  int64_t most_bytes = int64_t{32} << 30;  // limit for the file, compressed and uncompressed
};

// Returns the path of the file `cache_dir/cache_subdir/fname`, downloading it if it doesn't exist
// (with the right hash). An interrupted download is resumed by the next call; the file appears
// under its name only when it is complete and verified. Processes that need the same file at the
// same time download it once. Progress is shown on stderr if that is a terminal. Throws
// InvalidArgument when `fname` isn't a file name within the folder.
//
// When all origins fail: throws DataLoss if one of them returned data with another hash, otherwise
// NotFound if none of them has the file, otherwise Unavailable; the message has the reason for each
// origin. Also throws Unavailable when the cache isn't writable.
std::filesystem::path get_file(const std::string& fname, const GetFileOptions& options);

// The directory for Cornu's downloads: $XDG_CACHE_HOME/cornu, or ~/.cache/cornu.
std::filesystem::path cache_directory();

}  // namespace cornu
