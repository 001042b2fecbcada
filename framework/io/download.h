// SPDX-License-Identifier: Apache-2.0
// Fetching a URL into a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace cornu {

struct DownloadOptions {
  bool show_progress = false;       // a bar on stderr, where that is a terminal
  bool checked_afterwards = false;  // the caller knows the file's hash
  int64_t most_bytes = INT64_MAX;
};

// Fetches `url` (http, https or file) into `path`. Bytes that the file holds already are taken for
// the beginning of it: only the rest is fetched where the server can do that, else all of it anew.
// Unless it is checked afterwards, only where the server confirms that the resource hasn't changed
// since (by its ETag or date, which is kept beside the file, under its name and ".tag").
// What has come stays in the file when the transfer breaks off, for the next attempt.
//
// NotFound when there is nothing at the URL; ResourceExhausted when there is more than most_bytes;
// Unavailable, with the reason, when it can't be reached, the transfer breaks off, or the answer
// isn't the file (empty, a part that wasn't asked for, a redirection to nowhere, to another
// protocol than http and https, from https to http, or more than 10 of them). libcurl does the
// work; it is loaded by the first call. Thread-safe, but a file must be written by one caller only.
void download(const std::string& url, const std::filesystem::path& path,
              const DownloadOptions& options);

}  // namespace cornu
