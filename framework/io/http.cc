// SPDX-License-Identifier: Apache-2.0
#include "framework/io/http.h"

#include <fmt/core.h>

#include "framework/core/ascii.h"
#include "framework/core/error.h"
#include "framework/io/curl_library.h"

namespace cornu {
namespace {

struct HttpBody {
  std::string& text;
  const size_t most;
  bool is_too_large = false;
};

size_t add_to_body(char* data, size_t size, size_t count, void* user) {
  auto& body = *static_cast<HttpBody*>(user);
  body.is_too_large = size * count > body.most - body.text.size();
  if (body.is_too_large) return 0;
  body.text.append(data, size * count);
  return size * count;
}

// A GET request if there is nothing to post.
HttpAnswer ask(const std::string& url, const HttpPost* post, const HttpOptions& options) {
  HttpAnswer answer;
  HttpBody body{answer.body, static_cast<size_t>(options.most_bytes)};
  CurlTransfer curl(url);
  for (const std::string& header : options.headers) curl.add_header(header);
  curl.set(CURLOPT_PROTOCOLS_STR, "http,https");
  curl.set(CURLOPT_TIMEOUT, static_cast<long>(options.seconds));
  curl.set(CURLOPT_WRITEFUNCTION, &add_to_body);
  curl.set(CURLOPT_WRITEDATA, &body);
  if (!options.ca_file.empty()) curl.set(CURLOPT_CAINFO, options.ca_file.c_str());
  if (!options.through_proxy) curl.set(CURLOPT_NOPROXY, "*");
  if (post) {
    curl.add_header("Content-Type: " + post->content_type);
    curl.add_header("Expect:");  // don't ask for permission to send the body
    curl.set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(post->body.size()));
    curl.set(CURLOPT_POSTFIELDS, post->body.c_str());
  }
  const CURLcode code = curl.perform();
  check<ResourceExhausted>(!body.is_too_large, "{}: the answer has more than {} bytes.", url,
                           options.most_bytes);
  check<Unavailable>(code == CURLE_OK, "{}: no answer: {}.", url, curl.reason(code));
  answer.status = curl.status();
  return answer;
}

}  // namespace

HttpAnswer http_get(const std::string& url, const HttpOptions& options) {
  return ask(url, nullptr, options);
}

HttpAnswer http_post(const std::string& url, const HttpPost& post, const HttpOptions& options) {
  return ask(url, &post, options);
}

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const bool plain =
        ascii::is_alnum(c) || std::string_view("-._~").find(c) != std::string_view::npos;
    encoded += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

}  // namespace cornu
