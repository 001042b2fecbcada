// SPDX-License-Identifier: Apache-2.0
#include "framework/core/strings.h"

#include <doctest/doctest.h>

#include "framework/core/dtype.h"
#include "framework/core/utf8.h"
#include "tests/support/errors.h"

using namespace cornu;

TEST_CASE("long names are near to nothing, and are cut where they are listed") {
  const std::vector<std::string> known = {"dense", "conv2d", std::string(1'000'000, 'x')};
  CHECK(all_nearest("dens", known).at(0) == "dense");
  CHECK(all_nearest(std::string(10'000'000, 'd'), known).empty());
  CHECK(all_nearest(std::string(900'000, 'x'), known).empty());
  const std::string tail = did_you_mean(std::string(10'000'000, 'd'), known);
  CHECK(tail == " Known: dense, conv2d, " + std::string(100, 'x') + "….");
}

TEST_CASE("the beginning of a name is near to it") {
  const std::vector<std::string> known = {"constant", "glorot_normal", "glorot_uniform"};
  CHECK(all_nearest("glorot", known).at(0) == "glorot_normal");
  CHECK(all_nearest("gl", known).empty());
  CHECK(all_nearest("uniform", known).empty());
}

TEST_CASE("texts that a terminal can show") {
  CHECK(printable("plain, größer, 日本") == "plain, größer, 日本");
  CHECK(printable("a\x1b[2J\n\x7f") == R"(a\x1b[2J\x0a\x7f)");
  CHECK(printable("\xc2\x9b") == R"(\x9b)");  // a UTF-8 encoded control character
  CHECK(printable("\xc2\xa0") == "\xc2\xa0");
  CHECK(printable("ööö", 3) == "öö…");
  CHECK(printable("ööö", 6) == "ööö");
}

TEST_CASE("a message without end is cut in its middle") {
  const Error error(StatusCode::InvalidArgument, "begin " + std::string(1'000'000, 'x') + " end");
  const std::string text = error.what();
  CHECK(text.size() < 8'100);
  CHECK(text.starts_with("begin xxx"));
  CHECK(text.ends_with("xxx end"));
}

// The expected values are those of TensorFlow's unicode_split and lower.
TEST_CASE("characters of UTF-8, whole and torn") {
  using Characters = std::vector<std::string>;
  const std::string bad = "\xEF\xBF\xBD";
  CHECK(utf8_characters("").empty());
  CHECK(utf8_characters("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80") ==
        Characters{"a", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"});
  CHECK(utf8_characters("ab\xC3") == Characters{"a", "b", bad});
  CHECK(utf8_characters("\xE2\x82") == Characters{bad});
  CHECK(utf8_characters("\xE2\x82"
                        "a") == Characters{bad, "a"});
  CHECK(utf8_characters("\xF0\x9F\x98") == Characters{bad});
  CHECK(utf8_characters("a\xFF\xC3\xA9") == Characters{"a", bad, "\xC3\xA9"});
  CHECK(utf8_characters("\xC3\xC3\xA9") == Characters{bad, "\xC3\xA9"});
  CHECK(utf8_characters("\xED\xA0\x80") == Characters{bad, bad, bad});  // a surrogate
  CHECK(utf8_characters("\xC0\xAF") == Characters{bad, bad});           // an overlong encoding
  CHECK(utf8_characters("\xF4\x90\x80\x80") == Characters{bad, bad, bad, bad});
  CHECK(utf8_characters("\xE2\x28\xA1") == Characters{bad, "(", bad});
  CHECK(is_utf8(bad));
  CHECK_FALSE(is_utf8("ab\xC3"));
  CHECK_FALSE(is_utf8("\xED\xA0\x80"));
  CHECK(utf8_case("\xE2\x82"
                  "A\xC3\x89",
                  false) == bad + "a\xC3\xA9");
  CHECK(utf8_case("\xED\xA0\x80", true) == bad + bad + bad);
}

TEST_CASE("a C string that is a null pointer") {
  CHECK(test::message_of([] { given_text(nullptr, "activation"); }) ==
        "activation: expected a text, got a null pointer. If the option may be omitted, omit it or "
        "write {}.");
  CHECK(std::string(given_text("relu", "activation")) == "relu");
  const char* none = nullptr;
  CHECK(test::message_of([&] { DTypeLike{none}; }).starts_with("dtype: expected a text"));
  CHECK(test::message_of([&] { DTypeName{none}; }).starts_with("dtype: expected a text"));
}
