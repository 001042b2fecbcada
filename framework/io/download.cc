// SPDX-License-Identifier: Apache-2.0
// libcurl pulls in dozens of shared libraries: it is loaded at the first download, so that a
// program which has its data already doesn't wait for it.
#include "framework/io/download.h"

#include <curl/curl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string_view>

#include "framework/core/error.h"
#include "framework/io/dynamic_library.h"

namespace cornu {
namespace {

constexpr long kConnectSeconds = 15;
constexpr long kStalledSeconds = 60;  // with fewer bytes than kLeastSpeed in each
constexpr long kLeastSpeed = 64;
constexpr long kMostRedirections = 10;
constexpr long kOk = 200;
constexpr long kPartial = 206;
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

  decltype(&curl_slist_append) append =
      library.function<decltype(curl_slist_append)>("curl_slist_append");
  decltype(&curl_slist_free_all) free_all =
      library.function<decltype(curl_slist_free_all)>("curl_slist_free_all");

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

// Where the validator of a part lies: what the server said by which its version can be told.
std::filesystem::path tag_of(const std::filesystem::path& path) { return path.string() + ".tag"; }

std::string read_tag(const std::filesystem::path& path) {
  std::string tag;
  std::getline(std::ifstream(tag_of(path)), tag);
  return tag;
}

struct Transfer {
  std::filesystem::path path;
  std::FILE* file;
  int64_t begin;  // bytes that were there before
  int64_t most;
  Progress& progress;
  int64_t come = 0;
  std::string etag = {};
  std::string date = {};

  bool is_too_large() const { return begin + come > most; }
  // Weak ETags don't promise equal bytes.
  const std::string& validator() const { return etag.empty() || etag[0] == 'W' ? date : etag; }
};

size_t on_data(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (transfer.begin == 0 && transfer.come == 0) {
    std::ofstream(tag_of(transfer.path)) << transfer.validator();
  }
  transfer.come += static_cast<int64_t>(size * count);
  if (transfer.is_too_large()) return 0;
  return std::fwrite(data, size, count, transfer.file) * size;
}

// One line of the answer's header.
size_t on_header(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::string_view line(data, size * count);
  const auto value_of = [&](std::string_view name, std::string& value) {
    const bool same = line.size() > name.size() &&
                      std::equal(name.begin(), name.end(), line.begin(), [](char a, char b) {
                        return a == std::tolower(static_cast<unsigned char>(b));
                      });
    if (!same) return;
    const std::string_view rest = line.substr(name.size());
    const size_t begin = std::min(rest.find_first_not_of(" \t"), rest.size());
    value = rest.substr(begin, rest.find_last_not_of(" \t\r\n") + 1 - begin);
  };
  if (line.starts_with("HTTP/")) transfer.etag = transfer.date = "";  // after a redirection
  value_of("etag:", transfer.etag);
  value_of("last-modified:", transfer.date);
  return line.size();
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
  bool too_large = false;
};

[[noreturn]] void raise_unwritable(const std::filesystem::path& path, int error) {
  raise<Unavailable>("{}: can't be written: {}.", path.string(), std::strerror(error));
}

void empty_file(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::resize_file(path, 0, error);
  if (error) raise_unwritable(path, error.value());
}

// What is sent and how; the callbacks get `transfer`, errors their text in `text`.
void set_options(CURL* handle, const std::string& url, const curl_slist* headers,
                 Transfer& transfer, char* text) {
  const auto set = [&](CURLoption option, auto value) {
    const CURLcode code = curl().setopt(handle, option, value);
    check<Unavailable>(code == CURLE_OK,
                       "{}: this system's libcurl refuses option {}: {}. Cornu needs 7.85 or "
                       "newer.",
                       url, static_cast<int>(option), curl().message(code));
  };
  const bool secure = url.starts_with("https:");
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https,file");
  set(CURLOPT_REDIR_PROTOCOLS_STR, secure ? "https" : "http,https");
  set(CURLOPT_FOLLOWLOCATION, 1L);
  set(CURLOPT_MAXREDIRS, kMostRedirections);
  set(CURLOPT_FAILONERROR, 1L);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  set(CURLOPT_LOW_SPEED_LIMIT, kLeastSpeed);
  set(CURLOPT_LOW_SPEED_TIME, kStalledSeconds);
  set(CURLOPT_ERRORBUFFER, text);
  set(CURLOPT_WRITEFUNCTION, &on_data);
  set(CURLOPT_WRITEDATA, &transfer);
  set(CURLOPT_HEADERFUNCTION, &on_header);
  set(CURLOPT_HEADERDATA, &transfer);
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &on_progress);
  set(CURLOPT_XFERINFODATA, &transfer);
  set(CURLOPT_HTTPHEADER, headers);
  if (transfer.begin > 0) set(CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(transfer.begin));
}

// One transfer, appending to `path` from byte `begin` of the resource on, if that is still the one
// with this tag.
Outcome transfer_once(const std::string& url, const std::filesystem::path& path, int64_t begin,
                      const std::string& tag, int64_t most, Progress& progress) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen(path.c_str(), begin > 0 ? "ab" : "wb"), std::fclose);
  if (!file) raise_unwritable(path, errno);
  const std::unique_ptr<CURL, void (*)(CURL*)> handle(curl().init(), curl().cleanup);
  check<ResourceExhausted>(handle != nullptr, "{}: no memory for a download.", url);
  std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers(nullptr, curl().free_all);
  if (begin > 0 && !tag.empty()) {
    headers.reset(curl().append(nullptr, ("If-Range: " + tag).c_str()));
  }
  Transfer transfer{path, file.get(), begin, most, progress};
  char text[CURL_ERROR_SIZE] = "";
  set_options(handle.get(), url, headers.get(), transfer, text);

  Outcome outcome;
  outcome.code = curl().perform(handle.get());
  curl().getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &outcome.status);
  outcome.reason = text[0] ? text : curl().message(outcome.code);
  outcome.too_large = transfer.is_too_large();
  if (std::fflush(file.get()) != 0) raise_unwritable(path, errno);
  if (outcome.code != CURLE_OK || outcome.status == 0) return outcome;  // 0: no server's
  if (outcome.status != (begin > 0 ? kPartial : kOk)) {
    outcome.code = CURLE_WEIRD_SERVER_REPLY;
    outcome.reason = fmt::format("the server's answer is no file (status {})", outcome.status);
    empty_file(path);
  } else if (begin + transfer.come == 0) {
    outcome.code = CURLE_WEIRD_SERVER_REPLY;
    outcome.reason = "the server sent an empty file";
  }
  return outcome;
}

int64_t size_of_file(const std::filesystem::path& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : static_cast<int64_t>(size);
}

// Did the server (or the file's end) refuse to resume from the middle?
bool refused_range(const Outcome& outcome) {
  return outcome.code == CURLE_RANGE_ERROR || outcome.code == CURLE_BAD_DOWNLOAD_RESUME ||
         outcome.status == kRangeNotSatisfiable;
}

bool broke_off(CURLcode code) {
  return code == CURLE_PARTIAL_FILE || code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING;
}

}  // namespace

void download(const std::string& url, const std::filesystem::path& path,
              const DownloadOptions& options) {
  Progress progress(options.show_progress);
  Outcome outcome;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::string tag = read_tag(path);
    int64_t begin = size_of_file(path);
    if (tag.empty() && !options.checked_afterwards) begin = 0;
    outcome = transfer_once(url, path, begin, tag, options.most_bytes, progress);
    std::error_code ignored;
    if (outcome.code == CURLE_OK) {
      std::filesystem::remove(tag_of(path), ignored);
      return;
    }
    if (begin > 0 && refused_range(outcome)) {
      empty_file(path);
    } else if (!broke_off(outcome.code) || size_of_file(path) == begin) {
      break;
    }
  }
  const bool missing = outcome.status == 404 || outcome.status == 410 ||
                       outcome.code == CURLE_FILE_COULDNT_READ_FILE;
  if (missing) raise<NotFound>("{}: there is no such file ({}).", url, outcome.reason);
  check<ResourceExhausted>(!outcome.too_large, "{}: the file has more than {} bytes.", url,
                           options.most_bytes);
  raise<Unavailable>("{}: the download failed: {}.", url, outcome.reason);
}

}  // namespace cornu
