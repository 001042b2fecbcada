// SPDX-License-Identifier: Apache-2.0
// HTTP requests with small responses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cornu {

struct HttpOptions {
  std::vector<std::string> headers = {};  // "Name: value"
  std::string ca_file = "";               // PEM file of trusted certificates; "": the system's
  bool through_proxy = true;              // if the environment defines one
  int64_t most_bytes = 64 << 20;
  int64_t seconds = 30;  // timeout for the whole request
};

struct HttpAnswer {
  long status = 0;  // 200, 404, …
  std::string body;
};

// Sends a GET request to `url` (http or https) and returns the response, whatever its status;
// redirects aren't followed. Throws Unavailable, with the reason, when there is no response in
// time; ResourceExhausted when it has more than most_bytes. Thread-safe.
HttpAnswer http_get(const std::string& url, const HttpOptions& options = {});

struct HttpPost {
  std::string content_type;
  std::string body;
};

// The same for a POST request.
HttpAnswer http_post(const std::string& url, const HttpPost& post, const HttpOptions& options = {});

// Text as a part of a URL or of a form: bytes other than letters, digits and -._~ become %XX.
std::string percent_encoded(std::string_view text);

}  // namespace cornu
