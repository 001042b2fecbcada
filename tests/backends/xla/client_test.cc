// SPDX-License-Identifier: Apache-2.0
// What a client is created with.
#include <doctest/doctest.h>

#include "framework/backends/xla/client.h"
#include "tests/support/errors.h"

namespace cornu::xla {
namespace {

TEST_CASE("compile options are a CompileOptionsProto of one replica a device") {
  const int64_t ids[] = {0, 300};
  const std::string bytes = compile_options(ids);
  const unsigned char expected[] = {0x1a, 0x11, 0x20, 0x02, 0x28, 0x01, 0x4a, 0x0b, 0x08, 0x02,
                                    0x10, 0x01, 0x1a, 0x05, 0x0a, 0x03, 0x00, 0xac, 0x02};
  CHECK(bytes == std::string(reinterpret_cast<const char*>(expected), sizeof(expected)));
}

TEST_CASE("a client's options are numbers, bools and texts") {
  const std::string text = "cpu_device_count=4,eager=true,name=a=b";
  const auto options = client_options(text);
  REQUIRE(options.size() == 3);
  CHECK(std::string(options[0].name, options[0].name_size) == "cpu_device_count");
  CHECK(options[0].type == pjrt::NamedValue::Type::Int64);
  CHECK(options[0].int64_value == 4);
  CHECK(options[1].type == pjrt::NamedValue::Type::Bool);
  CHECK(options[1].bool_value);
  CHECK(options[2].type == pjrt::NamedValue::Type::String);
  CHECK(std::string(options[2].string_value, options[2].value_size) == "a=b");
  CHECK(client_options("").empty());
  CHECK(test::message_of([] { client_options("cpu_device_count"); }) ==
        "CORNU_PJRT_OPTIONS: expected name=value,name=value, got 'cpu_device_count'.");
}

}  // namespace
}  // namespace cornu::xla
