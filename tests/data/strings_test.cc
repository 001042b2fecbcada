// SPDX-License-Identifier: Apache-2.0
// Functions on string tensors, with the results of tf.strings.
#include <doctest/doctest.h>
#include <locale.h>

#include <limits>

#include "data/strings.h"
#include "framework/ops/ops.h"
#include "tests/data/support.h"

using namespace cornu;
using namespace cornu::testing;
namespace strings = cornu::data::strings;
using Texts = std::vector<std::string>;

namespace {

Tensor t(const Texts& texts) { return Tensor::from(texts); }
Tensor s(const std::string& text) { return Tensor::scalar(text); }
Texts texts(const Tensor& tensor) { return tensor.to_vector<std::string>(); }

}  // namespace

TEST_CASE("strings::split gives parts, filled up to the most") {
  const Tensor parts = strings::split(t({"  a b\t\nc ", "", "x"}));
  CHECK(parts.shape() == Shape{3, 3});
  CHECK(texts(parts) == Texts{"a", "b", "c", "", "", "", "x", "", ""});
  CHECK(texts(strings::split(s("a,b,,c"), {.sep = ","})) == Texts{"a", "b", "", "c"});
  CHECK(texts(strings::split(t({"", ",", ",a"}), {.sep = ","})) == Texts{"", "", "", "", "", "a"});
  CHECK(texts(strings::split(s("a<>b<><>c"), {.sep = "<>"})) == Texts{"a", "b", "", "c"});
  CHECK(texts(strings::split(t({" a b  c ", " x"}), {.maxsplit = 1})) ==
        Texts{"a", "b  c ", "x", ""});
  CHECK(texts(strings::split(s("a,b,c"), {.sep = ",", .maxsplit = 1})) == Texts{"a", "b,c"});
  CHECK(texts(strings::split(s("a b"), {.maxsplit = 0})) == Texts{"a b"});
  CHECK(texts(strings::split(s("a b c"), {.maxsplit = 5})) == Texts{"a", "b", "c"});
  CHECK(strings::split(s("   ")).shape() == Shape{0});
  CHECK(message_of<InvalidArgument>([] {
          strings::split(Tensor({1, 2}));
        }).starts_with("strings::split: expected strings, got Tensor("));
}

// Values of tf.strings.unicode_split.
TEST_CASE("strings::unicode_split gives characters, filled up to the most") {
  const Tensor parts = strings::unicode_split(t({"a\u00e9b", "", "\u65e5\u672c"}));
  CHECK(parts.shape() == Shape{3, 3});
  CHECK(texts(parts) == Texts{"a", "\u00e9", "b", "", "", "", "\u65e5", "\u672c", ""});
  CHECK(texts(strings::unicode_split(s("x\xffy"), "UTF-8")) == Texts{"x", "\ufffd", "y"});
  CHECK(texts(strings::unicode_split(s("\xe6\x97"))) == Texts{"\ufffd"});
  CHECK(texts(strings::unicode_split(s("\xed\xa0\x80"))) == Texts{"\ufffd", "\ufffd", "\ufffd"});
  CHECK(strings::unicode_split(s("")).shape() == Shape{0});
  CHECK(message_of([] { strings::unicode_split(s("a"), "UTF-16-BE"); }) ==
        "strings::unicode_split: expected an input_encoding of \"UTF-8\", got \"UTF-16-BE\".");
}

TEST_CASE("strings have cases, lengths and parts, in bytes or characters") {
  CHECK(texts(strings::lower(t({"AbZ[", "\xC3\x84"}))) == Texts{"abz[", "\xC3\x84"});
  CHECK(texts(strings::lower(t({"ÄB", "Я"}), "utf-8")) == Texts{"äb", "я"});
  CHECK(texts(strings::upper(t({"äbz{", "я€𐐨"}), "utf-8")) == Texts{"ÄBZ{", "Я€𐐀"});
  CHECK(texts(strings::upper(t({"ä"}))) == Texts{"ä"});
  CHECK(texts(strings::lower(t({"\xff", "\xe2\x82"}), "utf-8")) == Texts{"\uFFFD", "\uFFFD"});
  CHECK_THROWS_AS(strings::lower(s("x"), "latin-1"), InvalidArgument);
  CHECK(texts(strings::strip(t({" \t\n a b \r\v\f", "\xC2\xA0x", "  "}))) ==
        Texts{"a b", "\xC2\xA0x", ""});
  CHECK(strings::length(t({"äb", "", "€"})).to_vector<int32_t>() == std::vector<int32_t>{3, 0, 3});
  CHECK(strings::length(t({"äb", "", "€", "\xff\xc3", "\x80z\x80"}), "UTF8_CHAR")
            .to_vector<int32_t>() == std::vector<int32_t>{2, 0, 1, 2, 1});
  CHECK_THROWS_AS(strings::length(s("x"), "WORD"), InvalidArgument);
  CHECK(texts(strings::substr(t({"hello"}), -3, 2)) == Texts{"ll"});
  CHECK(texts(strings::substr(t({"hello"}), 5, 2)) == Texts{""});
  CHECK(texts(strings::substr(t({"hello"}), 1, 100)) == Texts{"ello"});
  CHECK(texts(strings::substr(t({"äöü€"}), 1, 2, "UTF8_CHAR")) == Texts{"öü"});
  CHECK(texts(strings::substr(t({"äöü€"}), -2, 5, "UTF8_CHAR")) == Texts{"ü€"});
  CHECK(message_of<InvalidArgument>([] { strings::substr(s("hello"), 6, 2); }) ==
        "strings::substr: expected a pos of -5 to 5 in \"hello\", got 6.");
}

TEST_CASE("strings are joined at each place, or along an axis") {
  CHECK(texts(strings::join({t({"a", "b"}), s("-"), t({"c", "d"})}, {.separator = "_"})) ==
        Texts{"a_-_c", "b_-_d"});
  CHECK(strings::join({s("a"), s("b")}).item<std::string>() == "ab");
  CHECK_THROWS_AS(strings::join({t({"a"}), t({"b", "c"})}), InvalidArgument);
  const Tensor square = Tensor::from(Texts{"a", "b", "c", "d"}, {2, 2});
  CHECK(texts(strings::reduce_join(square, {.axis = 0, .separator = "+"})) == Texts{"a+c", "b+d"});
  CHECK(strings::reduce_join(square).item<std::string>() == "abcd");
  const Tensor kept =
      strings::reduce_join(square, {.axis = -1, .keepdims = true, .separator = ","});
  CHECK(kept.shape() == Shape{2, 1});
  CHECK(texts(kept) == Texts{"a,b", "c,d"});
  CHECK_THROWS_AS(strings::reduce_join(square, {.axis = 2}), InvalidArgument);
}

TEST_CASE("patterns are RE2's") {
  CHECK(texts(strings::regex_replace(t({"a1b22", ""}), "[0-9]+", "<\\0>")) ==
        Texts{"a<1>b<22>", ""});
  CHECK(texts(strings::regex_replace(t({"a1b2"}), "([a-z])([0-9])", "\\2\\1", false)) ==
        Texts{"1ab2"});
  CHECK(texts(strings::regex_replace(t({"äb"}), ".", "x")) == Texts{"xx"});
  CHECK(strings::regex_full_match(t({"a1", "ab"}), "a[0-9]").to_vector<bool>() ==
        std::vector<bool>{true, false});
  CHECK(message_of<InvalidArgument>([] { strings::regex_full_match(s("a"), "("); }) ==
        "strings::regex_full_match: \"(\" is no pattern: missing ): (.");
  CHECK_THROWS_AS(strings::regex_replace(s("a"), "a", "\\1"), InvalidArgument);
}

TEST_CASE("strings become numbers, and numbers strings") {
  CHECK(strings::to_number(t({" 1.5 ", "1e400", "0x10", "+3"})).to_vector<float>() ==
        std::vector<float>{1.5, std::numeric_limits<float>::infinity(), 16, 3});
  CHECK(strings::to_number(t({" 15 ", "+3"}), "int32").to_vector<int32_t>() ==
        std::vector<int32_t>{15, 3});
  for (const char* bad : {"99999999999", "1.5", "0x10", "", "1_0", "-+1"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(strings::to_number(s(bad), "int32"), InvalidArgument);
  }
  CHECK(message_of<InvalidArgument>([] { strings::to_number(s("1_0")); }) ==
        "strings::to_number: expected a number (float32), got \"1_0\".");
  const auto of = [](const Tensor& x, const strings::AsStringOptions& options = {}) {
    return texts(strings::as_string(x, options));
  };
  const float inf = std::numeric_limits<float>::infinity();
  CHECK(of(Tensor::from({1.5f, 1e20f, -inf, 0.1f})) ==
        Texts{"1.500000", "100000002004087734272.000000", "-inf", "0.100000"});
  CHECK(of(Tensor::from({true, false})) == Texts{"true", "false"});
  CHECK(of(Tensor({1.5}), {.precision = 2}) == Texts{"1.50"});
  CHECK(of(Tensor({1.5e10}), {.scientific = true}) == Texts{"1.500000e+10"});
  CHECK(of(Tensor({1.5e10, 0.1}), {.shortest = true}) == Texts{"1.5e+10", "0.1"});
  CHECK(of(Tensor({5, -5}), {.width = 4}) == Texts{"   5", "  -5"});
  CHECK(of(Tensor({5, -5}), {.width = 4, .fill = "0"}) == Texts{"0005", "-005"});
  CHECK(of(Tensor({5, -5}), {.width = 4, .fill = "-"}) == Texts{"5   ", "-5  "});
  CHECK(of(Tensor({5, -5}), {.width = 4, .fill = "+"}) == Texts{"  +5", "  -5"});
  CHECK(of(Tensor({2.5}), {.precision = 1, .width = 8, .fill = "0"}) == Texts{"000002.5"});
  CHECK_THROWS_AS(of(Tensor({1}), {.precision = 2}), InvalidArgument);
  // Independent of the program's locale, e.g. one with a decimal comma.
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"}) {
    const locale_t comma = newlocale(LC_ALL_MASK, name, nullptr);
    if (!comma) continue;
    const locale_t before = uselocale(comma);
    CHECK(of(Tensor({1.5}), {.precision = 2}) == Texts{"1.50"});
    CHECK(uselocale(before) == comma);
    freelocale(comma);
  }
}

TEST_CASE("a label is found in a path") {
  const Tensor class_names = t({"daisy", "roses", "tulips"});
  const auto label_of = [=](const Tensor& path) {
    return ops::argmax(strings::split(path, {.sep = "/"})[-2] == class_names);
  };
  const auto paths = data::Dataset::from_tensor_slices(t({"f/roses/1.jpg", "f/daisy/2.jpg"}));
  CHECK(numbers(paths.map(label_of)) == std::vector<int64_t>{1, 0});
  CHECK(numbers(paths.map(label_of, {.num_parallel_calls = 2})) == std::vector<int64_t>{1, 0});
}

TEST_CASE("files and tables give the values of strings") {
  const TempFolder folder;
  write_text(folder / "f", std::string("a\0b", 3));
  CHECK(data::read_file((folder / "f").string()).item<std::string>() == std::string("a\0b", 3));
  CHECK_THROWS_AS(data::read_file((folder / "no").string()), NotFound);

  const data::StaticHashTable table(t({"a", "b"}), Tensor({1, 2}), -1);
  CHECK(table.size() == 2);
  const Tensor found = table.lookup(Tensor::from(Texts{"b", "?", "a", "b"}, {2, 2}));
  CHECK(found.shape() == Shape{2, 2});
  CHECK(found.to_vector<int32_t>() == std::vector<int32_t>{2, -1, 1, 2});
  const data::StaticHashTable names(Tensor({1, 2}), t({"one", "two"}), s("none"));
  CHECK(texts(names.lookup(Tensor::from({int64_t{2}, int64_t{3}}))) == Texts{"two", "none"});
  CHECK(message_of<InvalidArgument>([&] {
          data::StaticHashTable(t({"a", "a"}), Tensor({1, 2}), -1);
        }) == "StaticHashTable: the key a comes twice, with different values.");
  CHECK_NOTHROW(data::StaticHashTable(t({"a", "a"}), Tensor({1, 1}), -1));
  CHECK_THROWS_AS(data::StaticHashTable(t({"a"}), Tensor({1, 1}), -1), InvalidArgument);
  CHECK_THROWS_AS(data::StaticHashTable(t({"a"}), Tensor({1}), s("x")), InvalidArgument);
  CHECK_THROWS_AS(table.lookup(Tensor({1})), InvalidArgument);
  // Defaults that the values' type can't represent.
  const Tensor bytes = Tensor::from(std::vector<uint8_t>{1});
  const Tensor longs = Tensor::from(std::vector<int64_t>{1});
  CHECK(message_of<InvalidArgument>([&] { data::StaticHashTable(t({"a"}), bytes, 300); }) ==
        "StaticHashTable: the default_value was expected to be a number that uint8 has, got 300.");
  CHECK_THROWS_AS(data::StaticHashTable(t({"a"}), bytes, -1), InvalidArgument);
  CHECK_THROWS_AS(data::StaticHashTable(t({"a"}), longs, 1.5), InvalidArgument);
  CHECK_THROWS_AS(data::StaticHashTable(t({"a"}), longs, 1e30), InvalidArgument);
  CHECK_NOTHROW(data::StaticHashTable(t({"a"}), bytes, 255));

  const auto lengths =
      data::Dataset::from_tensor_slices(t({"a b", "c d"})).map([=](const Tensor& text) {
        return table.lookup(strings::split(text));
      });
  std::vector<int64_t> all = numbers(lengths);
  CHECK(all == std::vector<int64_t>{1, 2, -1, -1});
}
