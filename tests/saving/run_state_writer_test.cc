// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/run_state_writer.h"

#include <doctest/doctest.h>

#include "tests/support/files.h"
#include "tests/support/limited_memory.h"

using namespace cornu;
using testing::TempFolder;

TEST_CASE("a state is written in the background, and memory that runs out is an error") {
  const TempFolder scratch;
  const auto folder = std::make_shared<RunStateFolder>(scratch / "run");
  {
    RunStateWriter writer(folder);
    writer.write({.info = Json::object({{"epoch", 1}})});
    writer.finish();
    CHECK(writer.has_written());
    CHECK(writer.take_error().empty());
  }
  RunStateWriter writer(folder);
  RunState next = {.info = Json::object({{"epoch", 2}, {"name", std::string(100, 'x')}})};
  {
    const test::NoMemory none;
    writer.write(std::move(next));
    writer.finish();
  }
  CHECK(!writer.has_written());
  CHECK(writer.take_error() == "std::bad_alloc");
  CHECK(writer.take_error().empty());
  CHECK(folder->load()->info.at("epoch").as_int() == 1);
}
