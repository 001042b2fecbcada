// SPDX-License-Identifier: Apache-2.0
#include "framework/io/archive.h"

#include <doctest/doctest.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <zip.h>

#include <cerrno>
#include <cstring>

#include "framework/core/random.h"
#include "tests/support/scratch.h"

// The system's function, except that the disk fails while a test says so.
static int write_error = 0;
extern "C" ssize_t pwrite(int file, const void* bytes, size_t count, off_t offset) {
  if (write_error == 0) return syscall(SYS_pwrite64, file, bytes, count, offset);
  errno = write_error;
  return -1;
}

namespace cornu {
namespace {

using test::contains;
using test::contents;
using test::message_of;
using test::put;
using test::Scratch;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

const std::string kConfig = R"({"class_name": "Sequential"})";
const std::string kWeights(100'000, 'w');
const std::string kAsset = "x";

void write_sample(const std::string& path) {
  const std::vector<ArchiveMember> members = {{"metadata.json", {}},
                                              {"config.json", bytes_of(kConfig)},
                                              {"model.weights.h5", bytes_of(kWeights)},
                                              {"assets/größe.txt", bytes_of(kAsset)}};
  write_archive(path, members);
}

// An archive with one member `text`, written by libzip with the given compression and encryption.
void write_with(const std::string& path, const std::string& text, int method, int encryption) {
  int error = 0;
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &error);
  REQUIRE(archive);
  zip_source_t* source = zip_source_buffer(archive, text.data(), text.size(), 0);
  REQUIRE(zip_file_add(archive, "member", source, 0) == 0);
  REQUIRE(zip_set_file_compression(archive, 0, method, 0) == 0);
  if (encryption) REQUIRE(zip_file_set_encryption(archive, 0, encryption, "secret") == 0);
  REQUIRE(zip_close(archive) == 0);
}

TEST_CASE("members are read back, in their order") {
  const Scratch scratch;
  const std::string path = scratch.path("model.keras");
  write_sample(path);
  const ArchiveReader reader(path);
  CHECK(reader.names() == std::vector<std::string>{"metadata.json", "config.json",
                                                   "model.weights.h5", "assets/größe.txt"});
  CHECK(reader.contains("config.json"));
  CHECK_FALSE(reader.contains("config"));
  CHECK(reader.read_text("metadata.json", 0).empty());
  CHECK(reader.read_text("config.json", 1000) == kConfig);
  CHECK(reader.read_text("assets/größe.txt", 1) == kAsset);
  const auto weights = reader.read("model.weights.h5", kWeights.size());
  CHECK(std::equal(weights.begin(), weights.end(), bytes_of(kWeights).begin(),
                   bytes_of(kWeights).end()));
  CHECK(scratch.names() == std::vector<std::string>{"model.keras"});
}

TEST_CASE("members are stored, and the same ones give the same bytes in any time zone") {
  const Scratch scratch;
  write_sample(scratch.path("a"));
  setenv("TZ", "Pacific/Kiritimati", 1);
  tzset();
  write_sample(scratch.path("b"));
  unsetenv("TZ");
  tzset();
  const std::string bytes = contents(scratch.path("a"));
  CHECK(bytes == contents(scratch.path("b")));
  CHECK(contains(bytes, kConfig));
  CHECK(bytes.size() > kWeights.size());
}

TEST_CASE("an archive without members") {
  const Scratch scratch;
  write_archive(scratch.path("a.keras"), {});
  CHECK(ArchiveReader(scratch.path("a.keras")).names().empty());
}

TEST_CASE("members are compressed where they say so") {
  const Scratch scratch;
  const std::vector<ArchiveMember> members = {{"stored", bytes_of(kWeights)},
                                              {"packed", bytes_of(kWeights), true}};
  write_archive(scratch.path("a.keras"), members);
  const size_t size = contents(scratch.path("a.keras")).size();
  CHECK(size > kWeights.size());
  CHECK(size < kWeights.size() * 3 / 2);
  const ArchiveReader reader(scratch.path("a.keras"));
  for (const char* name : {"stored", "packed"}) {
    CHECK(reader.read_text(name, 1'000'000) == kWeights);
    const auto buffer = reader.read_buffer(name);
    CHECK(buffer->bytes() == kWeights.size());
    CHECK(std::memcmp(buffer->data(), kWeights.data(), kWeights.size()) == 0);
  }
  CHECK_THROWS_AS(reader.read_buffer("packed", 10), ResourceExhausted);
}

TEST_CASE("more members than a directory's 16 bits can count") {
  const Scratch scratch;
  const std::string path = scratch.path("many.zip");
  constexpr size_t kCount = 70'000;
  std::vector<std::string> texts;
  for (size_t i = 0; i < kCount; ++i) texts.push_back(std::to_string(i));
  std::vector<ArchiveMember> members;
  for (const std::string& text : texts) {
    members.push_back({"member_" + text, std::as_bytes(std::span(text))});
  }
  write_archive(path, members);
  const ArchiveReader reader(path);
  CHECK(reader.names().size() == kCount);
  size_t same = 0;
  for (const std::string& text : texts) same += reader.read_text("member_" + text, 8) == text;
  CHECK(same == kCount);
}

TEST_CASE("names must be there, once") {
  const Scratch scratch;
  const auto write = [&](const std::vector<ArchiveMember>& members) {
    return message_of<InvalidArgument>([&] { write_archive(scratch.path("a"), members); });
  };
  CHECK(contains(write({{"", {}}}), "a member needs a name"));
  CHECK(contains(write({{"x", {}}, {"x", {}}}), "expected one member named 'x', got two."));
  CHECK(scratch.names().empty());
  CHECK(contains(message_of<NotFound>([&] { write_archive(scratch.path("no/a"), {}); }),
                 "there is no directory"));
}

TEST_CASE("deflated members are read; others are refused by name") {
  const Scratch scratch;
  const std::string path = scratch.path("a.zip");
  write_with(path, kWeights, ZIP_CM_DEFLATE, 0);
  CHECK(ArchiveReader(path).read_text("member", kWeights.size()) == kWeights);
  CHECK(contents(path).size() < 1000);
  if (zip_compression_method_supported(ZIP_CM_BZIP2, 1)) {
    write_with(path, kWeights, ZIP_CM_BZIP2, 0);
    CHECK(message_of<Unimplemented>([&] { ArchiveReader(path).read("member", 1'000'000); }) ==
          fmt::format("'{}': member 'member' is compressed by method 12. Pack it again, stored or "
                      "deflated.",
                      path));
  }
  if (zip_encryption_method_supported(ZIP_EM_AES_256, 1)) {
    write_with(path, kWeights, ZIP_CM_STORE, ZIP_EM_AES_256);
    CHECK(
        contains(message_of<Unimplemented>([&] { ArchiveReader(path).read("member", 1'000'000); }),
                 "is encrypted. Pack it again without a password."));
  }
}

TEST_CASE("sizes are bounded before anything is allocated") {
  const Scratch scratch;
  const std::string path = scratch.path("a.zip");
  write_with(path, kWeights, ZIP_CM_DEFLATE, 0);
  CHECK(message_of<ResourceExhausted>([&] { ArchiveReader(path).read("member", 99'999); }) ==
        fmt::format("'{}': member 'member' has 100000 bytes; at most 99999 were expected.", path));

  // The directory claims 2 GB, which deflate can't produce from so few bytes.
  std::string bytes = contents(path);
  const size_t entry = bytes.find("PK\x01\x02");
  REQUIRE(entry != std::string::npos);
  bytes.replace(entry + 24, 4, std::string("\0\0\0\x7f", 4));
  put(path, bytes);
  CHECK(contains(message_of<DataLoss>([&] { ArchiveReader(path).read("member", SIZE_MAX); }),
                 "is damaged: it can't have 2130706432 bytes and take"));
  // 50 bytes fewer than the actual size.
  bytes.replace(entry + 24, 4, std::string("\x6e\x86\x01\0", 4));
  put(path, bytes);
  CHECK(contains(message_of<DataLoss>([&] { ArchiveReader(path).read("member", SIZE_MAX); }),
                 "member 'member' is damaged"));
}

TEST_CASE("what the system refuses is said as for any other file") {
  const Scratch scratch;
  const std::string path = scratch.path("model.keras");
  const auto error_of = [&](int error) {
    try {
      write_error = error;
      write_sample(path);
    } catch (const Error& problem) {
      write_error = 0;
      return std::string(to_string(problem.code())) + ": " + problem.what();
    }
    write_error = 0;
    return std::string("written");
  };
  const std::string what = "'" + path + "' can't be written: ";
  CHECK(error_of(EIO) == "DataLoss: " + what + "Input/output error. The disk may be failing.");
  CHECK(error_of(EDQUOT) == "ResourceExhausted: " + what +
                                "Disk quota exceeded. Free some space, or choose another place.");
  CHECK(scratch.names().empty());
}

TEST_CASE("what isn't there or isn't an archive is said") {
  const Scratch scratch;
  const std::string path = scratch.path("model.keras");
  CHECK(contains(message_of<NotFound>([&] { ArchiveReader{path}; }), "No such file"));
  write_sample(path);
  CHECK(contains(message_of<NotFound>([&] { ArchiveReader(path).read("config.jso", 1); }),
                 "member 'config.jso' isn't there. Did you mean 'config.json'?"));
  put(path, "no archive at all");
  CHECK(contains(message_of<DataLoss>([&] { ArchiveReader{path}; }),
                 "can't be read as a zip archive: Not a zip archive. Is it complete?"));
}

TEST_CASE("a changed byte in a member is found by its checksum") {
  const Scratch scratch;
  const std::string path = scratch.path("model.keras");
  write_sample(path);
  std::string bytes = contents(path);
  bytes[bytes.find("Sequential")] = 's';
  put(path, bytes);
  const ArchiveReader reader(path);
  CHECK(reader.read("model.weights.h5", kWeights.size()).size() == kWeights.size());
  CHECK(message_of<DataLoss>([&] { reader.read("config.json", 1000); }) ==
        fmt::format("'{}': member 'config.json' is damaged: CRC error.", path));
}

TEST_CASE("names that lead outside of a folder") {
  for (const char* name : {"/x", "\\x", "..", "a/../b", "a\\..", "C:x", "c:\\x"}) {
    CAPTURE(name);
    CHECK(leads_outside(name));
  }
  for (const char* name : {"x", "a/b", "..x", "x..", "a/...", "1:2.jpg", "3:00 pm.png", ""}) {
    CAPTURE(name);
    CHECK_FALSE(leads_outside(name));
  }
}

// Reads everything; returns true when there was no error.
bool reads(const std::string& path) {
  try {
    const ArchiveReader reader(path);
    for (const std::string& name : reader.names()) reader.read(name, 1'000'000);
    return true;
  } catch (const Error&) {
    return false;
  }
}

TEST_CASE("truncated and changed archives are read, or are an Error") {
  const Scratch scratch;
  const std::string path = scratch.path("model.keras");
  write_sample(path);
  const std::string whole = contents(path);
  for (size_t i = 0; i < 50; ++i) {
    put(path, whole.substr(0, whole.size() * i / 50));
    REQUIRE_FALSE(reads(path));
  }
  constexpr uint64_t kSeed = 11;
  CAPTURE(kSeed);
  PhiloxEngine random(kSeed);
  const size_t data = whole.find(kWeights.substr(0, 100));
  int refused = 0;
  for (int i = 0; i < 500; ++i) {
    std::string bytes = whole;
    for (uint64_t flips = 1 + random.below(4); flips > 0; --flips) {
      // Mostly in the structures around the weights.
      size_t at = random.below(bytes.size() - kWeights.size());
      if (at >= data) at += kWeights.size();
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
    }
    put(path, bytes);
    refused += !reads(path);
  }
  CHECK(refused > 100);
}

}  // namespace
}  // namespace cornu
