// SPDX-License-Identifier: Apache-2.0
// Hashes, gzip, files, and downloads from a local server.
#include "framework/io/get_file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <pty.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "framework/io/file_descriptor.h"
#include "framework/io/file_reader.h"
#include "framework/io/fuzzing.h"
#include "framework/io/gzip.h"
#include "framework/io/hash.h"
#include "tests/support/files.h"
#include "tests/support/http_server.h"

using namespace cornu;
using namespace cornu::testing;
namespace fs = std::filesystem;

namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}
std::string md5(const std::string& text) { return hash_of(bytes_of(text), HashAlgorithm::Md5); }

std::string unpacked(const std::string& data, size_t piece) {
  GzipReader reader(bytes_of(data), "data.gz");
  std::string result;
  std::string buffer(piece, '\0');
  for (size_t count = piece; count == piece;) {
    count = reader.read(std::as_writable_bytes(std::span(buffer)));
    result.append(buffer, 0, count);
  }
  CHECK(reader.unpacked_bytes() == result.size());
  return result;
}

std::string long_text() {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(i * i) + "\n";
  return text;
}

// A port that nobody listens on: one that was released a moment ago.
std::string dead_url() { return HttpServer().url(); }

}  // namespace

TEST_CASE("hashes") {
  CHECK(md5("") == "d41d8cd98f00b204e9800998ecf8427e");
  CHECK(md5("message digest") == "f96b697d7cb7938d525a2f31aaf161d0");
  CHECK(hash_of(bytes_of("abc"), HashAlgorithm::Sha256) ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const TempFolder folder;
  write_file(folder / "a", "message digest");
  CHECK(hash_of_file(folder / "a", HashAlgorithm::Md5) == md5("message digest"));
  CHECK_THROWS_AS(hash_of_file(folder / "b", HashAlgorithm::Md5), NotFound);
}

TEST_CASE("files in memory, which don't change when they do") {
  const TempFolder folder;
  write_file(folder / "a", "abc");
  write_file(folder / "empty", "");
  const auto file = read_whole_file(folder / "a");
  fs::resize_file(folder / "a", 0);
  CHECK(std::string(reinterpret_cast<const char*>(file->data()), file->bytes()) == "abc");
  CHECK(read_whole_file(folder / "empty")->bytes() == 0);
  CHECK(contains(message_of<NotFound>([&] { FileReader(folder / "none"); }),
                 "none: the file can't be opened: No such file"));
  CHECK(contains(message_of<InvalidArgument>([&] { FileReader(folder.path()); }),
                 "expected a regular file"));
  write_file(folder / "b", "abc");
  FileReader reader(folder / "b");
  fs::resize_file(folder / "b", 1);
  std::array<std::byte, 3> bytes;
  CHECK(contains(message_of<DataLoss>([&] { reader.read(bytes); }),
                 "b: the file was shortened while it was being read."));
}

TEST_CASE("gzip data in pieces of any size") {
  const std::string text = long_text();
  const std::string packed = gzipped(text);
  CHECK(is_gzip(bytes_of(packed)));
  CHECK_FALSE(is_gzip(bytes_of(text)));
  for (const size_t piece : {size_t{1}, size_t{7}, text.size() - 1, text.size(), text.size() + 1}) {
    CHECK(unpacked(packed, piece) == text);
  }
  CHECK(unpacked(gzipped(""), 10).empty());
  CHECK(unpacked(packed + gzipped("more"), 1000) == text + "more");  // several members
}

TEST_CASE("damaged gzip data is told from whole data" * doctest::skip(!kChecksumsMatter)) {
  const std::string packed = gzipped(long_text());
  for (size_t length = 0; length < packed.size(); length += length < 40 ? 1 : 501) {
    CAPTURE(length);
    CHECK(contains(message_of<DataLoss>([&] { unpacked(packed.substr(0, length), 1000); }),
                   "data.gz: gzip data is truncated at byte " + std::to_string(length)));
  }
  for (size_t at = 10; at < packed.size(); at += 97) {  // after the header, whose name may vary
    std::string flipped = packed;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    CHECK_THROWS_AS(unpacked(flipped, 1000), DataLoss);
  }
  CHECK(contains(message_of<DataLoss>([&] { unpacked(packed + "xyz", 1000); }),
                 "followed by something else"));
}

TEST_CASE("get_file downloads once, into the cache") {
  const std::string text = long_text();
  const HttpServer server(HttpServer::Files{{"/digits.txt", text}});
  const TempFolder cache;
  const EnvironmentScope home("XDG_CACHE_HOME", cache.path().string());
  const GetFileOptions options{
      .origin = {server.url() + "digits.txt"}, .file_hash = md5(text), .cache_subdir = "texts"};
  const fs::path path = get_file("d.txt", options);
  CHECK(path == cache / "cornu/texts/d.txt");
  CHECK(read_file(path) == text);
  CHECK(get_file("d.txt", options) == path);
  CHECK(server.requests() == std::vector<std::string>{"/digits.txt"});
  CHECK(names_in(path.parent_path()) == std::vector<std::string>{"d.txt"});

  write_file(path, "damaged");  // detected by its hash
  CHECK(read_file(get_file("d.txt", options)) == text);
  GetFileOptions forced = options;
  forced.force_download = true;
  get_file("d.txt", forced);
  CHECK(server.requests().size() == 3);
}

TEST_CASE("get_file unpacks gzip data and checks what it unpacked") {
  const std::string text = long_text();
  const HttpServer server(HttpServer::Files{{"/a.gz", gzipped(text)}});
  const TempFolder cache;
  const std::string sha = hash_of(bytes_of(text), HashAlgorithm::Sha256);
  const fs::path path = get_file("a", {.origin = {server.url() + "a.gz"},
                                       .file_hash = sha,
                                       .extract = true,
                                       .cache_dir = cache.path()});
  CHECK(path == cache / "datasets/a");
  CHECK(read_file(path) == text);
  CHECK(names_in(path.parent_path()) == std::vector<std::string>{"a"});
}

TEST_CASE("a download that breaks off goes on where it stopped") {
  const std::string text = long_text();
  for (const bool ranges : {true, false}) {
    CAPTURE(ranges);
    const HttpServer server(HttpServer::Files{{"/a", text}},
                            {.ranges = ranges, .break_after = 1000});
    const TempFolder cache;
    const fs::path path =
        get_file("a", {.origin = {server.url() + "a"}, .cache_dir = cache.path()});
    CHECK(read_file(path) == text);
    std::vector<std::string> requests{"/a", "/a from 1000"};
    if (!ranges) requests.push_back("/a");  // from the beginning
    CHECK(server.requests() == requests);
  }
}

TEST_CASE("a download doesn't depend on a terminal that shows its progress") {
  int ends[2];
  std::array<char, 64> name;
  REQUIRE(openpty(&ends[0], &ends[1], name.data(), nullptr, nullptr) == 0);
  const FileDescriptor screen(ends[0]), keyboard(ends[1]);
  const FileDescriptor unwritable(open(name.data(), O_RDONLY | O_NOCTTY));
  const FileDescriptor standard_error(dup(STDERR_FILENO));
  REQUIRE(unwritable.is_open());
  const std::string text(300'000, 'x');
  const HttpServer server({{"/a", text}});
  const TempFolder cache;
  dup2(unwritable.get(), STDERR_FILENO);
  CHECK(isatty(STDERR_FILENO) == 1);
  std::string got;
  try {
    got = read_file(get_file("a", {.origin = {server.url() + "a"}, .cache_dir = cache.path()}));
  } catch (const std::exception& error) {
    got = error.what();
  }
  dup2(standard_error.get(), STDERR_FILENO);
  CHECK_MESSAGE((got == text), got.substr(0, 200));
}

TEST_CASE("a call goes on with the part that an earlier one left, if it fits") {
  const std::string text = long_text();
  const HttpServer server(HttpServer::Files{{"/a", text}});
  const TempFolder cache;
  const GetFileOptions options{
      .origin = {server.url() + "a"}, .file_hash = md5(text), .cache_dir = cache.path()};
  const fs::path folder = cache / "datasets";
  const fs::path part =
      folder /
      fmt::format("a.{:08x}.part", std::hash<std::string>{}(options.origin[0]) & 0xffffffff);
  fs::create_directories(folder);
  auto requests_with_part = [&](const std::string& content) {
    fs::remove(folder / "a");
    write_file(part, content);
    const size_t before = server.requests().size();
    CHECK(read_file(get_file("a", options)) == text);
    CHECK(names_in(folder) == std::vector<std::string>{"a"});
    auto requests = server.requests();
    requests.erase(requests.begin(), requests.begin() + static_cast<std::ptrdiff_t>(before));
    return requests;
  };
  using Requests = std::vector<std::string>;
  CHECK(requests_with_part(text.substr(0, 700)) == Requests{"/a from 700"});
  CHECK(requests_with_part(std::string(700, 'x')) == Requests{"/a from 700", "/a"});
  const std::string too_long = text + text;
  CHECK(requests_with_part(too_long) == Requests{fmt::format("/a from {}", too_long.size()), "/a"});
}

TEST_CASE("a file that changed meanwhile, of which no hash is known, is fetched anew") {
  const std::string text = long_text();
  const std::string newer = "newer\n" + text;
  using Requests = std::vector<std::string>;
  for (const bool tagged : {true, false}) {
    CAPTURE(tagged);
    const HttpServer server(HttpServer::Files{{"/a", text}},
                            {.break_after = 1000, .etag = tagged ? "\"1\"" : "", .later = newer});
    const TempFolder cache;
    const fs::path path =
        get_file("a", {.origin = {server.url() + "a"}, .cache_dir = cache.path()});
    CHECK(read_file(path) == newer);
    CHECK(server.requests() ==
          (tagged ? Requests{"/a", "/a from 1000", "/a"} : Requests{"/a", "/a"}));
    CHECK(names_in(cache / "datasets") == std::vector<std::string>{"a"});
  }
}

TEST_CASE("answers that aren't the file") {
  const TempFolder cache;
  const auto error_of_reply = [&](const std::string& reply) {
    const HttpServer server({}, {.reply = "HTTP/1.1 " + reply});
    const std::string url = server.url() + "a";
    const std::string error = message_of<Unavailable>(
        [&] { get_file("a", {.origin = {url}, .cache_dir = cache.path()}); });
    CHECK(names_in(cache / "datasets").empty());
    const size_t at = error.find("failed: ");
    return at == std::string::npos ? error : error.substr(at + 8);
  };
  CHECK(error_of_reply("206 Partial Content\r\nContent-Range: bytes 0-3/9\r\nContent-Length: "
                       "4\r\n\r\npart") == "the server's answer is no file (status 206).");
  CHECK(error_of_reply("204 No Content\r\n\r\n") == "the server's answer is no file (status 204).");
  CHECK(error_of_reply("302 Found\r\nContent-Length: 5\r\n\r\nmoved") ==
        "the server's answer is no file (status 302).");
  CHECK(error_of_reply("200 OK\r\nContent-Length: 0\r\n\r\n") == "the server sent an empty file.");
  CHECK(contains(error_of_reply("302 Found\r\nLocation: /a\r\nContent-Length: 0\r\n\r\n"),
                 "Maximum (10) redirects followed"));
  CHECK(contains(
      error_of_reply("302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n"),
      "rotocol \"file\""));
}

TEST_CASE("more than was to be expected") {
  const std::string text = long_text();
  const HttpServer server(HttpServer::Files{{"/a", text}, {"/a.gz", gzipped(text)}});
  const TempFolder cache;
  GetFileOptions options{
      .origin = {server.url() + "a"}, .cache_dir = cache.path(), .most_bytes = 10'000};
  CHECK(contains(message_of<Unavailable>([&] { get_file("a", options); }),
                 "a: the file has more than 10000 bytes."));
  options.origin = {server.url() + "a.gz"};
  options.extract = true;
  options.most_bytes = static_cast<int64_t>(text.size()) - 1;
  CHECK(contains(message_of<Unavailable>([&] { get_file("a", options); }),
                 fmt::format("more than {} bytes were unpacked.", text.size() - 1)));
  CHECK(names_in(cache / "datasets").empty());
  ++options.most_bytes;
  CHECK(read_file(get_file("a", options)) == text);
}

TEST_CASE("names that lead out of the cache, and caches that can't be used") {
  const TempFolder cache;
  for (const std::string name : {"", ".", "..", "folder/", "../x", "a/../../x", "/etc/x"}) {
    CAPTURE(name);
    const GetFileOptions options{.origin = {"file:///dev/null"}, .cache_dir = cache.path()};
    CHECK(message_of<InvalidArgument>([&] { get_file(name, options); }) ==
          "get_file '" + name +
              "': expected the name of a file in the cache directory, without '.' and '..'.");
  }
  CHECK(names_in(cache.path()).empty());
  write_file(cache / "file", "");
  CHECK(contains(message_of<Unavailable>([&] {
                   get_file("a", {.origin = {"file:///dev/null"}, .cache_dir = cache / "file"});
                 }),
                 "get_file 'a': the cache can't be used: "));
}

TEST_CASE("callers that want the same file at the same time download it once") {
  const std::string text = long_text();
  const HttpServer server(HttpServer::Files{{"/a", text}});
  const TempFolder cache;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back(
        [&] { get_file("a", {.origin = {server.url() + "a"}, .cache_dir = cache.path()}); });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(read_file(cache / "datasets/a") == text);
  CHECK(server.requests().size() == 1);

  // One download at a time, even if each thread forces a download and removes the lock file
  // afterwards.
  threads.clear();
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const fs::path path = get_file(
          "a", {.origin = {server.url() + "a"}, .cache_dir = cache.path(), .force_download = true});
      CHECK(read_file(path) == text);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(server.requests().size() == 5);
  CHECK(names_in(cache / "datasets") == std::vector<std::string>{"a"});
}

TEST_CASE("a file of another hash is DataLoss, and isn't kept") {
  const HttpServer server(HttpServer::Files{{"/a", "something else"}});
  const TempFolder cache;
  const GetFileOptions options{
      .origin = {server.url() + "a"}, .file_hash = md5("the file"), .cache_dir = cache.path()};
  CHECK(message_of<DataLoss>([&] { get_file("a", options); }) ==
        "get_file 'a': no origin delivered it.\n  " + server.url() +
            "a: expected a file with the hash " + md5("the file") + ", got one with " +
            md5("something else") + ".");
  CHECK(names_in(cache / "datasets").empty());
}

TEST_CASE("origins are tried in order") {
  const HttpServer empty;
  const HttpServer good(HttpServer::Files{{"/a", "the file"}});
  const TempFolder cache;
  const fs::path path =
      get_file("a", {.origin = {dead_url() + "a", empty.url() + "a", good.url() + "a"},
                     .file_hash = md5("the file"),
                     .cache_dir = cache.path()});
  CHECK(read_file(path) == "the file");
}

TEST_CASE("what get_file throws when nobody delivers") {
  const TempFolder cache;
  const HttpServer empty;
  const std::string dead = dead_url();
  auto fetch = [&](std::vector<std::string> origin) {
    get_file("a", {.origin = std::move(origin), .cache_dir = cache.path()});
  };
  CHECK(contains(message_of<NotFound>([&] { fetch({empty.url() + "a"}); }),
                 empty.url() + "a: there is no such file"));
  const std::string message = message_of<Unavailable>([&] {
    fetch({dead + "a", empty.url() + "b"});
  });
  CHECK(contains(message, dead + "a: the download failed: "));
  CHECK(contains(message, empty.url() + "b: there is no such file"));
  CHECK_THROWS_AS(fetch({"file:///no/such/file"}), NotFound);
  CHECK_THROWS_AS(fetch({"gopher://127.0.0.1/a"}), Unavailable);
  CHECK(contains(message_of<InvalidArgument>([&] { fetch({}); }), "expected an origin"));
  CHECK(contains(
      message_of<InvalidArgument>([&] { get_file("a", {.origin = {"x"}, .file_hash = "abc"}); }),
      "expected a hash of 32 (md5) or 64 (sha256) hexadecimal digits, got 3"));
}

TEST_CASE("file URLs") {
  const TempFolder folder;
  write_file(folder / "source", "the file");
  const fs::path path = get_file("a", {.origin = {"file://" + (folder / "source").string()},
                                       .file_hash = md5("the file"),
                                       .cache_dir = folder.path()});
  CHECK(read_file(path) == "the file");
}

TEST_CASE("the cache directory") {
  {
    const EnvironmentScope cache("XDG_CACHE_HOME", "/somewhere");
    CHECK(cache_directory() == "/somewhere/cornu");
  }
  const EnvironmentScope cache("XDG_CACHE_HOME", std::nullopt);
  const EnvironmentScope home("HOME", "/home/me");
  CHECK(cache_directory() == "/home/me/.cache/cornu");
}
