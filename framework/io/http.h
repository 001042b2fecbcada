// SPDX-License-Identifier: Apache-2.0
// Asking a server over HTTP for something small.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cornu {

struct HttpOptions {
  std::vector<std::string> headers = {};  // "Name: value"
  std::string ca_file = "";               // certificates to trust, in PEM; "": the system's
  bool through_proxy = true;              // where the environment names one
  int64_t most_bytes = 64 << 20;
  int64_t seconds = 30;  // for all of it
};

struct HttpAnswer {
  long status = 0;  // 200, 404, …
  std::string body;
};

// The server's answer, whatever its status, to a GET of `url` (http or https); redirections aren't
// followed. Unavailable, with the reason, when there is none in time; ResourceExhausted when it has
// more than most_bytes. Thread-safe.
HttpAnswer http_get(const std::string& url, const HttpOptions& options = {});

struct HttpPost {
  std::string content_type;
  std::string body;
};

// The same, of a POST.
HttpAnswer http_post(const std::string& url, const HttpPost& post, const HttpOptions& options = {});

}  // namespace cornu
