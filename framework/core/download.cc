// SPDX-License-Identifier: Apache-2.0
// libcurl pulls in dozens of shared libraries: it is loaded at the first download, so that a
// program which has its data already doesn't wait for it.
#include "cornu/core/download.h"

#include <curl/curl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "cornu/core/dynamic_library.h"
#include "cornu/core/error.h"

namespace cornu {
namespace {

constexpr long kConnectSeconds = 15;
constexpr long kStalledSeconds = 60;  // without a byte
constexpr long kRangeNotSatisfiable = 416;
constexpr int kAttempts = 5;

struct Curl {
  DynamicLibrary library{{"libcurl.so.4", "libcurl-gnutls.so.4"}, "Downloading a file", "libcurl4"};
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

  Curl() { global_init(CURL_GLOBAL_DEFAULT); }
};

const Curl& curl() {
  static const Curl instance;
  return instance;
}

// Redraws one line of the terminal: "[=======>      ]  3.2 of 9.6 MB".
class Progress {
 public:
  explicit Progress(bool shown) : shown_(shown && isatty(STDERR_FILENO) != 0) {}
  ~Progress() {
    if (drawn_ >= 0) fmt::print(stderr, "\n");
  }

  void update(int64_t done, int64_t total) {
    if (!shown_ || total <= 0) return;
    const int64_t filled = kWidth * std::min(done, total) / total;
    const int64_t tenths = done / 100'000;
    if (tenths == drawn_) return;
    drawn_ = tenths;
    std::string bar(static_cast<size_t>(filled), '=');
    if (filled < kWidth) bar += '>';
    fmt::print(stderr, "\r[{:<{}}] {:.1f} of {:.1f} MB", bar, kWidth,
               static_cast<double>(done) / 1e6, static_cast<double>(total) / 1e6);
    std::fflush(stderr);
  }

 private:
  static constexpr int64_t kWidth = 40;
  bool shown_;
  int64_t drawn_ = -1;
};

struct Transfer {
  std::FILE* file;
  int64_t begin;  // bytes that were there before
  Progress& progress;
};

size_t on_data(char* data, size_t size, size_t count, void* user) {
  return std::fwrite(data, size, count, static_cast<Transfer*>(user)->file) * size;
}

int on_progress(void* user, curl_off_t total, curl_off_t done, curl_off_t, curl_off_t) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (total > 0) transfer.progress.update(transfer.begin + done, transfer.begin + total);
  return 0;
}

struct Outcome {
  CURLcode code = CURLE_OK;
  long status = 0;
  std::string reason;
};

// One transfer, appending to `path` from byte `begin` of the resource on.
Outcome transfer_once(const std::string& url, const std::filesystem::path& path, int64_t begin,
                      Progress& progress) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen(path.c_str(), begin > 0 ? "ab" : "wb"), std::fclose);
  check<Unavailable>(file != nullptr, "{}: can't be written: {}.", path.string(),
                     std::strerror(errno));
  const std::unique_ptr<CURL, void (*)(CURL*)> handle(curl().init(), curl().cleanup);
  Transfer transfer{file.get(), begin, progress};
  char text[CURL_ERROR_SIZE] = "";
  auto set = [&](CURLoption option, auto value) { curl().setopt(handle.get(), option, value); };
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https,file");
  set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 1L);
  set(CURLOPT_FAILONERROR, 1L);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, kStalledSeconds);
  set(CURLOPT_ERRORBUFFER, text);
  set(CURLOPT_WRITEFUNCTION, &on_data);
  set(CURLOPT_WRITEDATA, &transfer);
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &on_progress);
  set(CURLOPT_XFERINFODATA, &transfer);
  if (begin > 0) set(CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(begin));

  Outcome outcome;
  outcome.code = curl().perform(handle.get());
  curl().getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &outcome.status);
  outcome.reason = text[0] ? text : curl().message(outcome.code);
  check<Unavailable>(std::fflush(file.get()) == 0, "{}: can't be written: {}.", path.string(),
                     std::strerror(errno));
  return outcome;
}

int64_t size_of_file(const std::filesystem::path& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : static_cast<int64_t>(size);
}

// Did the server (or the file's end) refuse to go on from the middle?
bool refused_range(const Outcome& outcome) {
  return outcome.code == CURLE_RANGE_ERROR || outcome.code == CURLE_BAD_DOWNLOAD_RESUME ||
         outcome.status == kRangeNotSatisfiable;
}

bool broke_off(CURLcode code) {
  return code == CURLE_PARTIAL_FILE || code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING;
}

}  // namespace

void download(const std::string& url, const std::filesystem::path& path, bool show_progress) {
  Progress progress(show_progress);
  Outcome outcome;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const int64_t begin = size_of_file(path);
    outcome = transfer_once(url, path, begin, progress);
    if (outcome.code == CURLE_OK) return;
    if (begin > 0 && refused_range(outcome)) {
      std::filesystem::resize_file(path, 0);
    } else if (!broke_off(outcome.code) || size_of_file(path) == begin) {
      break;
    }
  }
  const bool missing = outcome.status == 404 || outcome.status == 410 ||
                       outcome.code == CURLE_FILE_COULDNT_READ_FILE;
  if (missing) raise<NotFound>("{}: there is no such file ({}).", url, outcome.reason);
  raise<Unavailable>("{}: the download failed: {}.", url, outcome.reason);
}

}  // namespace cornu
