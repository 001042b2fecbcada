// SPDX-License-Identifier: Apache-2.0
// Downloads a URL to a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace cornu {

struct DownloadOptions {
  bool show_progress = false;       // show a progress bar on stderr, if it is a terminal
  bool checked_afterwards = false;  // the caller will verify the file's hash
  int64_t most_bytes = INT64_MAX;
};

// Downloads `url` (http, https or file) to `path`. If the file already has bytes, they are assumed
// to be the beginning of the resource: only the rest is fetched if the server supports that;
// otherwise the download starts over. Unless checked_afterwards is set, it resumes only if the
// server confirms that the resource hasn't changed since (by its ETag or date, which is stored next
// to the file, with the suffix ".tag"). If the transfer is interrupted, the file keeps the bytes
// received so far for the next attempt.
//
// Throws NotFound when the resource doesn't exist; ResourceExhausted when it has more than
// most_bytes; Unavailable, with the reason, when the server can't be reached, the transfer is
// interrupted, or the response isn't the file (empty, an unrequested part, a redirect to nowhere,
// to a protocol other than http and https, from https to http, or more than 10 redirects). Uses
// libcurl, which is loaded by the first call. Thread-safe, but a file must be written by one caller
// at a time.
void download(const std::string& url, const std::filesystem::path& path,
              const DownloadOptions& options);

}  // namespace cornu
