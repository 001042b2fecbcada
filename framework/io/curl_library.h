// SPDX-License-Identifier: Apache-2.0
// libcurl, loaded on first use: it pulls in dozens of shared libraries, which a program that
// already has its data shouldn't wait for. Include only in .cc files.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>

#include "framework/core/error.h"
#include "framework/io/dynamic_library.h"

namespace cornu {

struct Curl {
  DynamicLibrary library{
      {"libcurl.so.4", "libcurl-gnutls.so.4"}, "Transfers over the network", "libcurl4"};
  decltype(&curl_global_init) global_init =
      library.function<decltype(curl_global_init)>("curl_global_init");
  decltype(&curl_easy_init) init = library.function<decltype(curl_easy_init)>("curl_easy_init");
  decltype(&curl_easy_cleanup) cleanup =
      library.function<decltype(curl_easy_cleanup)>("curl_easy_cleanup");
  decltype(&curl_easy_setopt) setopt =
      library.function<decltype(curl_easy_setopt)>("curl_easy_setopt");
  decltype(&curl_easy_getinfo) getinfo =
      library.function<decltype(curl_easy_getinfo)>("curl_easy_getinfo");
  decltype(&curl_easy_perform) perform =
      library.function<decltype(curl_easy_perform)>("curl_easy_perform");
  decltype(&curl_easy_strerror) message =
      library.function<decltype(curl_easy_strerror)>("curl_easy_strerror");
  decltype(&curl_slist_append) append =
      library.function<decltype(curl_slist_append)>("curl_slist_append");
  decltype(&curl_slist_free_all) free_all =
      library.function<decltype(curl_slist_free_all)>("curl_slist_free_all");

  Curl();
};

// Throws Unavailable when libcurl isn't installed.
const Curl& curl();

// A transfer of `url`, with its options and headers.
class CurlTransfer {
 public:
  // Throws ResourceExhausted when there isn't enough memory.
  explicit CurlTransfer(std::string url);

  // Throws Unavailable when this libcurl is too old for the option.
  template <class T>
  void set(CURLoption option, T value) {
    const CURLcode code = curl().setopt(handle_.get(), option, value);
    check<Unavailable>(
        code == CURLE_OK,
        "{}: this system's libcurl refuses option {}: {}. Cornu needs 7.85 or newer.", url_,
        static_cast<int>(option), curl().message(code));
  }
  void add_header(const std::string& line);
  CURLcode perform();
  long status() const;  // HTTP status of the response; 0: none
  // Why the transfer failed.
  std::string reason(CURLcode code) const;

 private:
  std::string url_;
  std::unique_ptr<CURL, void (*)(CURL*)> handle_;
  std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers_;
  char text_[CURL_ERROR_SIZE] = "";
};

}  // namespace cornu
