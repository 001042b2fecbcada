// SPDX-License-Identifier: Apache-2.0
// Fetching a URL into a file.
#pragma once

#include <filesystem>
#include <string>

namespace cornu {

// Fetches `url` (http, https or file) into `path`. Bytes that the file holds already are taken for
// the beginning of it: only the rest is fetched where the server can do that, else all of it anew.
// What has come stays in the file when the transfer breaks off, for the next attempt.
// `show_progress` draws a progress bar on stderr where that is a terminal.
//
// NotFound when there is nothing at the URL; Unavailable, with the reason, when it can't be reached
// or the transfer breaks off. libcurl does the work; it is loaded by the first call. Thread-safe,
// but a file must be written by one caller only.
void download(const std::string& url, const std::filesystem::path& path, bool show_progress);

}  // namespace cornu
