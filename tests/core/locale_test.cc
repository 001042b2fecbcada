// SPDX-License-Identifier: Apache-2.0
// Programs that follow their user's locale get the same names, numbers and files.
#include <doctest/doctest.h>

#include <clocale>
#include <locale>

#include "framework/core/device.h"
#include "framework/core/json.h"
#include "framework/core/strings.h"
#include "framework/core/tensor.h"
#include "tests/support/skip.h"

using namespace cornu;

namespace {

// Sets the locale of C's and C++'s functions for its lifetime.
class LocaleScope {
 public:
  explicit LocaleScope(const std::string& name) {
    std::setlocale(LC_ALL, name.c_str());
    std::locale::global(std::locale(name));
  }
  ~LocaleScope() {
    std::locale::global(std::locale::classic());
    std::setlocale(LC_ALL, "C");
  }
  LocaleScope(const LocaleScope&) = delete;
  LocaleScope& operator=(const LocaleScope&) = delete;
};

// Those of them that this machine has.
std::vector<std::string> some_locales() {
  std::vector<std::string> known;
  for (const char* name : {"tr_TR.UTF-8", "tr_TR.ISO-8859-9", "de_DE.UTF-8"}) {
    if (std::setlocale(LC_ALL, name)) known.emplace_back(name);
  }
  std::setlocale(LC_ALL, "C");
  if (known.empty()) {
    test::skip_test("none of the locales tr_TR.UTF-8, tr_TR.ISO-8859-9, de_DE.UTF-8 is installed");
  }
  return known;
}

}  // namespace

TEST_CASE("names and numbers don't depend on the locale") {
  for (const std::string& name : some_locales()) {
    CAPTURE(name);
    const LocaleScope locale(name);
    // In Turkish, tolower('I') isn't 'i', and toupper('i') isn't 'I'.
    CHECK(to_snake_case("InputLayer") == "input_layer");
    CHECK(to_snake_case("BinaryIoU") == "binary_io_u");
    CHECK(to_snake_case("\xc3\x9cI") == "\xc3\x9ci");  // only ASCII is changed
    CHECK(all_nearest("IDENTITY", std::vector<std::string>{"identity"}).size() == 1);
    const std::string text = R"({"a": [1.5, -1e-07, 123456789.25], "b": 1234567})";
    CHECK(Json::parse(text).dump() == text);
    CHECK(fmt::format("{}", Tensor::from<float>({1234.5f})) ==
          "Tensor([1234.5], shape=(1,), dtype=float32)");
  }
}
