// SPDX-License-Identifier: Apache-2.0
#include "framework/core/json.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "framework/core/error.h"
#include "tests/support/errors.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::error_of;

namespace {

Json round_trip(const Json& json) { return Json::parse(json.dump()); }

}  // namespace

TEST_CASE("what is written reads back equal") {
  Json json = Json::object({{"null", nullptr},
                            {"yes", true},
                            {"int", int64_t{-9007199254740993}},
                            {"least", std::numeric_limits<int64_t>::min()},
                            {"float", 0.1},
                            {"whole", 3.0},
                            {"tiny", std::numeric_limits<double>::denorm_min()},
                            {"text", "a \"quoted\" \\ line\nof ünïcode\x01"},
                            {"list", Json::array({1, "two", Json::array(), Json::object()})},
                            {"", "an empty key"}});
  CHECK(round_trip(json) == json);
  CHECK(Json::parse(json.dump(2)) == json);
  CHECK(json.at("whole").dump() == "3.0");
  CHECK_FALSE(round_trip(json).at("whole").is_int());
  CHECK(Json::array({1, 2}).dump() == "[1, 2]");
  CHECK(Json::object({{"b", 1}, {"a", Json::array({2})}}).dump(1) ==
        "{\n \"b\": 1,\n \"a\": [\n  2\n ]\n}");
  CHECK(Json::array().dump(2) == "[]");
}

TEST_CASE("Python's words for numbers that JSON doesn't have") {
  const double infinity = std::numeric_limits<double>::infinity();
  const Json json =
      Json::parse(R"({"a": NaN, "b": [Infinity, -Infinity], "c": "NaN \" Infinity"})");
  CHECK(std::isnan(json.at("a").as_double()));
  CHECK(json.at("b")[0].as_double() == infinity);
  CHECK(json.at("b")[1].as_double() == -infinity);
  CHECK(json.at("c").as_string() == "NaN \" Infinity");
  CHECK(json.dump() == R"({"a": NaN, "b": [Infinity, -Infinity], "c": "NaN \" Infinity"})");
  // A backslash at the end of a string doesn't escape the closing quote.
  const Json path = Json::parse(R"({"path": "C:\\", "loss": NaN, "\\": Infinity})");
  CHECK(path.at("path").as_string() == "C:\\");
  CHECK(std::isnan(path.at("loss").as_double()));
  CHECK(path.at("\\").as_double() == infinity);
  CHECK_THROWS_AS(Json::parse("NaNa"), DataLoss);
  CHECK_THROWS_AS(Json::parse("-NaN"), DataLoss);
  CHECK_THROWS_AS(Json::parse("[Infinity"), DataLoss);
}

TEST_CASE("numbers beyond their types") {
  CHECK(Json::parse("9223372036854775807").as_int() == std::numeric_limits<int64_t>::max());
  CHECK(Json::parse("9223372036854775808").as_double() == 0x1p63);
  CHECK(Json::parse("-9223372036854775808").as_int() == std::numeric_limits<int64_t>::min());
  CHECK(Json::parse("1e3").as_int() == 1000);
  CHECK(Json::parse("7").as_double() == 7);
}

TEST_CASE("what isn't JSON is DataLoss with its place") {
  CHECK(error_of([] {
          Json::parse(R"({"a": 1,, "b": 2})");
        }).starts_with("DataLoss: JSON: not readable at byte 9: "));
  for (const char* text :
       {"", " ", "{", "[1, 2", "[1 2]", "{\"a\"}", "{'a': 1}", "nul", "1 2", "\"open", "[1,]",
        "\"\\x\"", "01", "\"a\nb\"", "\xff", "\"\xff\"", "\"\\ud800\""}) {
    CAPTURE(text);
    CHECK_THROWS_AS(Json::parse(text), DataLoss);
  }
}

TEST_CASE("deep nesting is refused, not a crash") {
  const std::string open(100, '[');
  const std::string close(100, ']');
  CHECK(Json::parse(open + close).size() == 1);
  for (const size_t depth : {size_t{201}, size_t{100000}}) {
    CHECK_THROWS_AS(Json::parse(std::string(depth, '[') + std::string(depth, ']')), DataLoss);
    CHECK_THROWS_AS(Json::parse(std::string(depth, '[')), DataLoss);
  }
}

TEST_CASE("a value of another kind says what came") {
  const Json json = Json::parse(R"({"a": [1.5, null], "b": "x"})");
  CHECK(error_of([&] { json.at("c"); }) ==
        R"(NotFound: JSON: expected a member 'c' in {"a": [1.5, null], "b": "x"}.)");
  CHECK(error_of([&] { json.at("a")[0].as_int(); }) ==
        "InvalidArgument: JSON: expected an integer, got 1.5.");
  CHECK(error_of([&] { json.at("b").as_bool(); }) ==
        "InvalidArgument: JSON: expected true or false, got \"x\".");
  CHECK(error_of([&] { json.at("a")[2]; }) ==
        "OutOfRange: JSON: expected an index below 2, got 2.");
  CHECK_THROWS_AS(json.at("b").as_double(), InvalidArgument);
  CHECK_THROWS_AS(json.at("b").as_array(), InvalidArgument);
  CHECK_THROWS_AS(json.at("a").as_object(), InvalidArgument);
  CHECK_THROWS_AS(json.at("a").as_string(), InvalidArgument);
  CHECK_THROWS_AS(json.at("a").at("x"), NotFound);
  CHECK_THROWS_AS(json.at("a").as_ints(), InvalidArgument);
  CHECK_FALSE(json.at("a").contains("x"));
}

TEST_CASE("members and elements by brackets") {
  const Json json = Json::object({{"units", 8}, {"shape", Json::array({1, 2})}});
  CHECK(json["units"].as_int() == 8);
  CHECK(json["shape"][1].as_int() == 2);
  CHECK_THROWS_AS(json["unit"], NotFound);
}

TEST_CASE("shapes, lists of integers, members") {
  CHECK(Json(Shape{kUnknown, 3}).dump() == "[null, 3]");
  CHECK(Json::parse("[null, 3]").as_shape() == Shape{kUnknown, 3});
  CHECK(Json(std::vector<int64_t>{4, 5}).as_ints() == std::vector<int64_t>{4, 5});
  Json json;
  json.set("a", 1);
  json.set("b", 2);
  json.set("a", 3);
  json.merge(Json::object({{"c", 4}, {"b", 5}}));
  CHECK(json.dump() == R"({"a": 3, "b": 5, "c": 4})");
  Json list;
  list.push_back(1);
  CHECK(list.size() == 1);
  CHECK_THROWS_AS(list.set("a", 1), InvalidArgument);
  CHECK_THROWS_AS(json.push_back(1), InvalidArgument);
  CHECK(Json::parse(R"({"a": 1, "a": 2})").at("a").as_int() == 2);  // as in Python
}

TEST_CASE("bytes that are no UTF-8 are replaced when written") {
  const Json json = Json::object({{"key\xff", "value\xfe"}});
  CHECK(json.dump() == "{\"key\xEF\xBF\xBD\": \"value\xEF\xBF\xBD\"}");
}

TEST_CASE("an object of very many keys") {
  constexpr int kKeys = 100'000;
  std::string text = "{";
  for (int i = 0; i < kKeys; ++i) text += fmt::format("\"k{}\": {}, ", i, i);
  const Json json = Json::parse(text + "\"k7\": -1}");
  CHECK(json.size() == kKeys);
  CHECK(json.as_object()[7].second.as_int() == -1);
  CHECK(json.at("k99999").as_int() == 99'999);
}

TEST_CASE("an error shows the beginning of a large value") {
  Json list;
  for (int i = 0; i < 1'000'000; ++i) list.push_back(i);
  CHECK(list.excerpt().size() < 210);
  CHECK(list.excerpt().starts_with("[0, 1, 2, 3"));
  CHECK(list.excerpt().ends_with("…"));
  const Json tree = Json::object({{"a", Json::object({{"b", list}})}, {"c", 1}});
  const std::string error = test::message_of<InvalidArgument>([&] { tree.as_int(); });
  CHECK(error.starts_with("JSON: expected an integer, got {\"a\": {\"b\": [0, 1, 2, "));
  CHECK(error.size() < 300);
  CHECK(test::message_of<NotFound>([&] { tree.at("d"); }).size() < 300);
  CHECK(Json::object({{"a", 1}, {"b", "x"}}).excerpt() == R"({"a": 1, "b": "x"})");
  CHECK(Json(std::string(1'000'000, 'x')).excerpt().size() < 210);
}

TEST_CASE("a value is replaced by a part of itself") {
  Json config =
      Json::parse(R"({"config": {"b": "longer than a short string is"}, "x": [[1, 2], 3]})");
  Json list = config["x"];
  list = list[0];
  CHECK(list == Json::array({1, 2}));
  config = config["config"];
  CHECK(config == Json::object({{"b", "longer than a short string is"}}));
  config = config["b"];
  CHECK(config.as_string() == "longer than a short string is");
  Json& same = config;
  config = same;
  CHECK(config.as_string() == "longer than a short string is");
}

TEST_CASE("integers of any type and views are values, other pointers aren't") {
  CHECK(Json(size_t{7}) == Json(7));
  CHECK(Json(-3LL).as_int() == -3);
  CHECK(Json(uint8_t{200}).as_int() == 200);
  CHECK(Json(true).is_bool());
  CHECK(Json('a').as_int() == 97);
  enum Unscoped { kThree = 3 };
  CHECK(Json(kThree).as_int() == 3);
  CHECK(Json(0).is_int());
  CHECK(Json(nullptr).is_null());
  CHECK(Json(1.5f) == Json(1.5));
  CHECK(Json(std::string_view("text")) == Json("text"));
  static_assert(!std::is_constructible_v<Json, const int*>);
  static_assert(!std::is_constructible_v<Json, void*>);
  CHECK(error_of([] { const Json value(std::numeric_limits<uint64_t>::max()); }) ==
        "InvalidArgument: Json: expected an integer of at most 9223372036854775807, got "
        "18446744073709551615.");
  const char* const none = nullptr;
  CHECK(error_of([&] { Json value(none); }) ==
        "InvalidArgument: Json: expected text, got a null pointer.");
}

TEST_CASE("parts of a temporary outlive it") {
  auto made = [] { return Json::parse(R"({"list": ["a long text, so that it lies apart"]})"); };
  const Json& list = made().at("list");
  const std::string& text = made()["list"][0].as_string();
  CHECK(text == "a long text, so that it lies apart");
  CHECK(list.dump() == "[\"" + text + "\"]");
  for (const auto& [key, value] : made().as_object()) CHECK((key == "list" && value == list));
  for (const Json& element : made()["list"].as_array()) CHECK(element.as_string() == text);
}
