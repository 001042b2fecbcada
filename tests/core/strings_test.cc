// SPDX-License-Identifier: Apache-2.0
#include "framework/core/strings.h"

#include <doctest/doctest.h>

#include "framework/core/error.h"

using namespace cornu;

TEST_CASE("long names are near to nothing, and are cut where they are listed") {
  const std::vector<std::string> known = {"dense", "conv2d", std::string(1'000'000, 'x')};
  CHECK(nearest("dens", known) == "dense");
  CHECK(nearest(std::string(10'000'000, 'd'), known).empty());
  CHECK(nearest(std::string(900'000, 'x'), known).empty());
  const std::string tail = did_you_mean(std::string(10'000'000, 'd'), known);
  CHECK(tail == " Known: dense, conv2d, " + std::string(100, 'x') + "….");
}

TEST_CASE("the beginning of a name is near to it") {
  const std::vector<std::string> known = {"constant", "glorot_normal", "glorot_uniform"};
  CHECK(nearest("glorot", known) == "glorot_normal");
  CHECK(nearest("gl", known).empty());
  CHECK(nearest("uniform", known).empty());
}

TEST_CASE("texts that a terminal can show") {
  CHECK(printable("plain, größer, 日本") == "plain, größer, 日本");
  CHECK(printable("a\x1b[2J\n\x7f") == R"(a\x1b[2J\x0a\x7f)");
  CHECK(printable("\xc2\x9b") == R"(\x9b)");  // a control of its own in UTF-8
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
