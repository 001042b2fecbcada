// SPDX-License-Identifier: Apache-2.0
#include "framework/io/curl_library.h"

#include <utility>

namespace cornu {

Curl::Curl() { global_init(CURL_GLOBAL_DEFAULT); }

const Curl& curl() {
  static const Curl instance;
  return instance;
}

CurlTransfer::CurlTransfer(std::string url)
    : url_(std::move(url)),
      handle_(curl().init(), curl().cleanup),
      headers_(nullptr, curl().free_all) {
  check<ResourceExhausted>(handle_ != nullptr, "{}: no memory for a transfer.", url_);
  set(CURLOPT_URL, url_.c_str());
  set(CURLOPT_ERRORBUFFER, text_);
  set(CURLOPT_NOSIGNAL, 1L);
}

void CurlTransfer::add_header(const std::string& line) {
  curl_slist* longer = curl().append(headers_.get(), line.c_str());
  check<ResourceExhausted>(longer != nullptr, "{}: no memory for a transfer.", url_);
  static_cast<void>(headers_.release());  // the same list
  headers_.reset(longer);
}

CURLcode CurlTransfer::perform() {
  set(CURLOPT_HTTPHEADER, headers_.get());
  return curl().perform(handle_.get());
}

long CurlTransfer::status() const {
  long status = 0;
  curl().getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &status);
  return status;
}

std::string CurlTransfer::reason(CURLcode code) const {
  return text_[0] ? text_ : curl().message(code);
}

}  // namespace cornu
