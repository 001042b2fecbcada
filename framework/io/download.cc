// SPDX-License-Identifier: Apache-2.0
#include "framework/io/download.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string_view>

#include "framework/core/ascii.h"
#include "framework/core/error.h"
#include "framework/io/console.h"
#include "framework/io/curl_library.h"
#include "framework/io/standard_files.h"

namespace cornu {
namespace {

constexpr long kConnectSeconds = 15;
constexpr long kStalledSeconds = 60;  // seconds below kMinSpeed before giving up
constexpr long kMinSpeed = 64;
constexpr long kMaxRedirections = 10;
constexpr long kOk = 200;
constexpr long kPartial = 206;
constexpr long kRangeNotSatisfiable = 416;
constexpr int kAttempts = 5;

// Redraws one line of the terminal: "[=======>      ]  3.2 of 9.6 MB".
class Progress {
 public:
  explicit Progress(bool shown) : shown_(shown && isatty(STDERR_FILENO) != 0) {}
  ~Progress() {
    if (drawn_ >= 0) console::write_error("\n");
  }

  void update(int64_t done, int64_t total) {
    if (!shown_ || total <= 0) return;
    const int64_t filled = kWidth * std::min(done, total) / total;
    const int64_t tenths = done / 100'000;
    if (tenths == drawn_) return;
    drawn_ = tenths;
    std::string bar(static_cast<size_t>(filled), '=');
    if (filled < kWidth) bar += '>';
    console::write_error(fmt::format("\r[{:<{}}] {:.1f} of {:.1f} MB", bar, kWidth,
                                     static_cast<double>(done) / 1e6,
                                     static_cast<double>(total) / 1e6));
  }

 private:
  static constexpr int64_t kWidth = 40;
  bool shown_;
  int64_t drawn_ = -1;
};

// The path of the file with a part's validator, which identifies the server's version.
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
  // Weak ETags don't guarantee identical bytes.
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

// Handles a header line of the response.
size_t on_header(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::string_view line(data, size * count);
  const auto value_of = [&](std::string_view name, std::string& value) {
    const bool same = line.size() > name.size() &&
                      std::equal(name.begin(), name.end(), line.begin(),
                                 [](char a, char b) { return a == ascii::to_lower(b); });
    if (!same) return;
    const std::string_view rest = line.substr(name.size());
    const size_t begin = std::min(rest.find_first_not_of(" \t"), rest.size());
    value = rest.substr(begin, rest.find_last_not_of(" \t\r\n") + 1 - begin);
  };
  if (line.starts_with("HTTP/")) transfer.etag = transfer.date = "";  // reset after a redirect
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

// Sets the request's options; the callbacks receive `transfer`.
void set_options(CurlTransfer& curl, const std::string& url, Transfer& transfer) {
  const bool secure = url.starts_with("https:");
  curl.set(CURLOPT_PROTOCOLS_STR, "http,https,file");
  curl.set(CURLOPT_REDIR_PROTOCOLS_STR, secure ? "https" : "http,https");
  curl.set(CURLOPT_FOLLOWLOCATION, 1L);
  curl.set(CURLOPT_MAXREDIRS, kMaxRedirections);
  curl.set(CURLOPT_FAILONERROR, 1L);
  curl.set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl.set(CURLOPT_LOW_SPEED_LIMIT, kMinSpeed);
  curl.set(CURLOPT_LOW_SPEED_TIME, kStalledSeconds);
  curl.set(CURLOPT_WRITEFUNCTION, &on_data);
  curl.set(CURLOPT_WRITEDATA, &transfer);
  curl.set(CURLOPT_HEADERFUNCTION, &on_header);
  curl.set(CURLOPT_HEADERDATA, &transfer);
  curl.set(CURLOPT_NOPROGRESS, 0L);
  curl.set(CURLOPT_XFERINFOFUNCTION, &on_progress);
  curl.set(CURLOPT_XFERINFODATA, &transfer);
  if (transfer.begin > 0) {
    curl.set(CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(transfer.begin));
  }
}

// Performs one transfer, appending the resource from byte `begin` on to `path`, if its version
// still matches the tag.
Outcome transfer_once(const std::string& url, const std::filesystem::path& path, int64_t begin,
                      const std::string& tag, int64_t most, Progress& progress) {
  occupy_standard_files();
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen(path.c_str(), begin > 0 ? "ab" : "wb"), std::fclose);
  if (!file) raise_unwritable(path, errno);
  CurlTransfer curl(url);
  if (begin > 0 && !tag.empty()) curl.add_header("If-Range: " + tag);
  Transfer transfer{path, file.get(), begin, most, progress};
  set_options(curl, url, transfer);

  Outcome outcome;
  outcome.code = curl.perform();
  outcome.status = curl.status();
  outcome.reason = curl.reason(outcome.code);
  outcome.too_large = transfer.is_too_large();
  if (std::fflush(file.get()) != 0) raise_unwritable(path, errno);
  if (outcome.code != CURLE_OK || outcome.status == 0) return outcome;  // 0: no server involved
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

// Whether the server (or the file's end) refused to resume from the middle.
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
