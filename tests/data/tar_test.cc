// SPDX-License-Identifier: Apache-2.0
// Tar archives of all formats, and everything that can be wrong with one. CORNU_FUZZ_CORPUS has
// archives written by Python (tests/fuzz/make_corpus.py).
#include "data/readers/tar.h"

#include <doctest/doctest.h>

#include "framework/core/random.h"
#include "framework/io/fuzzing.h"
#include "tests/data/foreign_files.h"

using namespace cornu;
using namespace cornu::testing;
using data::TarEntry;
using data::TarKind;

namespace {

struct Member {
  std::string name;
  TarKind kind;
  std::string content;
  friend bool operator==(const Member&, const Member&) = default;
};

std::vector<Member> members_of(const std::string& archive) {
  data::TarReader tar(std::as_bytes(std::span(archive)), "archive");
  std::vector<Member> members;
  for (TarEntry entry; tar.next(entry);) {
    Member member{entry.name, entry.kind, ""};
    if (entry.kind == TarKind::File) {
      const auto content = tar.read();
      CHECK(content->bytes() == entry.size);
      member.content.assign(reinterpret_cast<const char*>(content->data()), content->bytes());
    }
    members.push_back(member);
  }
  return members;
}

template <class Kind = DataLoss>
std::string error_of(const std::string& archive) {
  return message_of<Kind>([&] { members_of(archive); });
}

std::string small_archive() {
  return tar_member("a", "first") + tar_member("b/c", std::string(600, 'x')) +
         tar_member("empty", "") + tar_end();
}

std::string pax(const std::string& key, const std::string& value) {
  const size_t rest = key.size() + value.size() + 3;  // the space, '=' and the newline
  size_t length = rest + 2;
  if (length >= 100) ++length;
  return tar_member("pax", std::to_string(length) + " " + key + "=" + value + "\n", 'x');
}

}  // namespace

TEST_CASE("tar: files are read, plain and packed") {
  for (const std::string& archive : {small_archive(), gzipped(small_archive())}) {
    CHECK(members_of(archive) == std::vector<Member>{{"a", TarKind::File, "first"},
                                                     {"b/c", TarKind::File, std::string(600, 'x')},
                                                     {"empty", TarKind::File, ""}});
  }
  CHECK(members_of(tar_end()).empty());
  // Members that aren't read are skipped.
  const std::string packed = gzipped(small_archive());
  data::TarReader tar(std::as_bytes(std::span(packed)), "archive");
  int count = 0;
  for (TarEntry entry; tar.next(entry);) ++count;
  CHECK(count == 3);
  CHECK_THROWS_AS(tar.read(), InvalidArgument);
}

TEST_CASE("tar: what Python writes, in each format") {
  for (const char* name : {"ustar", "gnu", "pax"}) {
    CAPTURE(name);
    const std::string path = std::string(CORNU_FUZZ_CORPUS) + "/tar/" + name + ".tar";
    const std::string inner = "folder/" + std::string(name == std::string("ustar") ? 90 : 120, 'b');
    const std::vector<Member> wanted{
        {"a", TarKind::File, "a"}, {inner, TarKind::File, inner}, {"link", TarKind::Link, ""}};
    CHECK(members_of(read_file(path)) == wanted);
    CHECK(members_of(read_file(path + ".gz")) == wanted);
  }
}

TEST_CASE("tar: members that aren't files, and records about the next one") {
  const std::string archive =
      tar_header("folder/", 0, '5') + tar_header("hard", 7, '1') + tar_header("pipe", 0, '6') +
      tar_member("global", "12 comment=x\n", 'g') + pax("mtime", "1.5") + tar_member("./a", "1") +
      pax("path", "long/name") + tar_member("short", "2") +
      tar_member("././@LongLink", std::string("other/name\0", 11), 'L') + tar_member("short", "3") +
      pax("size", "1") + tar_header("b", 0) + "4" + std::string(511, '\0') +
      tar_header("binary", 0, '0', std::string("\x80\0\0\0\0\0\0\0\0\0\0\1", 12)) + "5" +
      std::string(511, '\0') + tar_end();
  CHECK(members_of(archive) == std::vector<Member>{{"folder/", TarKind::Directory, ""},
                                                   {"hard", TarKind::Link, ""},
                                                   {"pipe", TarKind::Other, ""},
                                                   {"a", TarKind::File, "1"},
                                                   {"long/name", TarKind::File, "2"},
                                                   {"other/name", TarKind::File, "3"},
                                                   {"b", TarKind::File, "4"},
                                                   {"binary", TarKind::File, "5"}});
}

TEST_CASE("tar: names that lead elsewhere, links and sparse files are refused") {
  for (const char* name : {"../a", "a/../../b", "..", "/etc/passwd", ".//etc/passwd", "a/.."}) {
    CHECK(error_of<InvalidArgument>(tar_member(name, "x") + tar_end()) ==
          fmt::format("archive: the tar archive has a member '{}', which leads out of the "
                      "directory that it would be unpacked into.",
                      name));
  }
  CHECK_THROWS_AS(members_of(pax("path", "../a") + tar_member("a", "x") + tar_end()),
                  InvalidArgument);
  CHECK(members_of(tar_member("..a/b..", "x") + tar_end()).size() == 1);

  const std::string link = tar_header("link", 0, '2') + tar_end();
  data::TarReader tar(std::as_bytes(std::span(link)), "archive");
  TarEntry entry;
  CHECK(tar.next(entry));
  CHECK(contains(message_of<InvalidArgument>([&] { tar.read(); }),
                 "got a link, which isn't followed: 'link'"));
  CHECK(contains(error_of<Unimplemented>(tar_header("a", 0, 'S') + tar_end()), "a sparse file"));
  CHECK(contains(error_of<Unimplemented>(pax("GNU.sparse.major", "1") + tar_member("a", "x")),
                 "a sparse file"));
}

TEST_CASE("tar: every beginning is cut off") {
  const std::string archive = small_archive();
  const size_t without_end = archive.size() - 1024;
  for (size_t length = 0; length < without_end + 512; ++length) {
    CAPTURE(length);
    const std::string text = error_of(archive.substr(0, length));
    const bool said = contains(text, "truncated");
    CHECK(said);
  }
  const std::string packed = gzipped(archive);
  for (size_t length = 2; length < packed.size() - 8; ++length) {
    CAPTURE(length);
    CHECK_FALSE(error_of(packed.substr(0, length)).empty());
  }
}

TEST_CASE("tar: what is damaged is said, with its place") {
  std::string archive = small_archive();
  archive[1] = 'x';
  if (kChecksumsMatter) {
    CHECK(error_of(archive) ==
          "archive: the tar archive is damaged: at byte 0, a header has another checksum.");
  }
  CHECK(contains(error_of("not an archive"), "truncated at byte 14"));
  CHECK(contains(error_of(tar_header("a", 0, '0', "x")), "a size that is no number"));
  CHECK(contains(error_of(tar_header("a", 0, '0', std::string(12, '\xff'))), "no number"));
  CHECK(contains(error_of(tar_member("p", "5 a=b\n", 'x')), "a pax header isn't one"));
  CHECK(contains(error_of(tar_member("p", "999 a=b\n", 'x')), "a pax header isn't one"));
  CHECK(contains(error_of(tar_member("p", "9 size=x\n", 'x')), "a pax header isn't one"));
}

TEST_CASE("tar: absurd sizes are refused before memory is taken for them") {
  const std::string much = tar_header("a", 0, '0', "77777777777") + std::string(512, 'x');
  CHECK(error_of(much) ==
        "archive: the tar archive is damaged or truncated: 'a' can't have 8589934591 bytes.");
  CHECK(contains(error_of(gzipped(much)), "'a' can't have 8589934591 bytes"));
  // Possible for compressed data of this size, but the data isn't there.
  CHECK(contains(error_of(gzipped(tar_header("a", 20'000) + std::string(512, 'x'))),
                 "truncated at byte 1024, within a member"));
  CHECK(contains(error_of(tar_header("long", 2 << 20, 'L')), "a record of more than 1 MiB"));
  const std::string binary =
      tar_header("a", 0, '0', std::string("\x80\0\0\0\x3f\xff\xff\xff\xff\xff\xff\xff", 12));
  CHECK(contains(error_of(binary), "can't have 4611686018427387903 bytes"));
}

TEST_CASE("tar: no flipped bit or noise does worse than an error") {
  const std::string archive = small_archive();
  const auto try_it = [](const std::string& content) {
    try {
      CHECK(members_of(content).size() <= 4);
    } catch (const Error& error) {
      CHECK(contains(error.what(), "archive: "));
      CHECK(error.code() != StatusCode::Internal);
    }
  };
  for (size_t bit = 0; bit < 8 * archive.size(); bit += 3) {
    std::string flipped = archive;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    try_it(flipped);
  }
  PhiloxEngine random(1);
  for (int round = 0; round < 500; ++round) {
    std::string content = gzipped(archive);
    for (uint64_t i = random.below(6); i < 6; ++i) {
      content[random.below(content.size())] = static_cast<char>(random());
    }
    content.resize(random.below(content.size() + 4));
    try_it(content);
  }
}
