// SPDX-License-Identifier: Apache-2.0
// Files from the web, kept in a cache (keras.utils.get_file).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace cornu {

struct GetFileOptions {
  std::vector<std::string> origin = {};    // URLs of the same file, tried in this order
  std::string file_hash = "";              // hexadecimal, of the file as it is kept; "": unchecked
  std::string cache_subdir = "datasets";   // below cache_dir
  std::string hash_algorithm = "auto";     // "md5", "sha256", or "auto": by the length of file_hash
  bool extract = false;                    // the origin is gzip data: keep it unpacked
  std::filesystem::path cache_dir = {};    // empty: cache_directory()
  bool force_download = false;             // even if the file is there
  int64_t most_bytes = int64_t{32} << 30;  // of the file, packed and unpacked
};

// The path of the file `cache_dir/cache_subdir/fname`, which is downloaded first unless it is there
// (with the right hash). A download that breaks off is continued by the next call; a file appears
// under its name only when it is complete and checked. Processes that want the same file at the
// same time download it once. Progress is shown on stderr where that is a terminal.
// InvalidArgument when `fname` leads out of the folder or names none.
//
// When no origin delivers: DataLoss if one of them delivered something of another hash, else
// NotFound if none of them has it, else Unavailable; the message has each origin's reason.
// Unavailable also when the cache can't be written.
std::filesystem::path get_file(const std::string& fname, const GetFileOptions& options);

// Where Cornu keeps what it downloads: $XDG_CACHE_HOME/cornu, else ~/.cache/cornu.
std::filesystem::path cache_directory();

}  // namespace cornu
