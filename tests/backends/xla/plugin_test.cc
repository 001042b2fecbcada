// SPDX-License-Identifier: Apache-2.0
// The loader's errors for files that aren't plugins, or that don't exist.
#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "framework/backends/xla/plugin.h"
#include "tests/backends/xla/fake_event.h"
#include "tests/support/errors.h"
#include "tests/support/scratch.h"

namespace cornu::xla {
namespace {

using test::message_of;

TEST_CASE("a file that isn't there, or no library, is named with the system's words") {
  const std::string missing = message_of<FailedPrecondition>([] { Plugin("/nowhere/plugin.so"); });
  CHECK(missing.find("/nowhere/plugin.so couldn't be loaded (") == 0);
  CHECK(missing.find("No such file") != std::string::npos);
  const test::Scratch folder;
  const std::string text = folder.path("text.so");
  std::ofstream(text) << "no library";
  CHECK(message_of<FailedPrecondition>([&] { Plugin plugin(text); }).find("couldn't be loaded") !=
        std::string::npos);
}

TEST_CASE("a library without GetPjrtApi is no plugin") {
  CHECK(message_of<FailedPrecondition>([] { Plugin plugin("libm.so.6"); }) ==
        "libm.so.6 is no PJRT plugin: it has no function GetPjrtApi. Name one, such as TPUs' "
        "libtpu.so.");
}

TEST_CASE("a plugin of another version is refused before any function is called") {
  CHECK(message_of<FailedPrecondition>([] { Plugin plugin(CORNU_TEST_OLD_PLUGIN); }) ==
        CORNU_TEST_OLD_PLUGIN
        ": expected a PJRT API of version 0.x with 71 functions or more, got version 7.3 with 8. "
        "Install another version of the plugin.");
}

TEST_CASE("all events are awaited and destroyed, then the first error is thrown") {
  const Plugin plugin(CORNU_TEST_FAKE_PLUGIN);
  std::array<test::FakeEvent, 4> fakes;
  fakes[1].code = static_cast<int>(StatusCode::OutOfRange);
  fakes[2].code = static_cast<int>(StatusCode::NotFound);
  std::vector<pjrt::Event*> events = {nullptr};
  for (test::FakeEvent& fake : fakes) events.push_back(reinterpret_cast<pjrt::Event*>(&fake));
  CHECK(message_of<OutOfRange>([&] { plugin.await(events, "XLA: a program failed"); }) ==
        "XLA: a program failed: it is lost");
  for (const test::FakeEvent& fake : fakes) {
    CHECK(fake.awaited == 1);
    CHECK(fake.destroyed == 1);
    CHECK(fake.errors == 0);
  }
  plugin.await(std::span(events).first(2), "XLA: nothing failed");
}

TEST_CASE("the environment names the plugin; what was looked for is told") {
  const char* before = std::getenv("PJRT_PLUGIN_LIBRARY_PATH");
  const std::string kept = before ? before : "";
  setenv("PJRT_PLUGIN_LIBRARY_PATH", "/nowhere/plugin.so", 1);
  std::string why;
  CHECK(find_plugin(why) == nullptr);
  CHECK(why.find("no PJRT plugin can be used; looked for /nowhere/plugin.so, named by "
                 "PJRT_PLUGIN_LIBRARY_PATH.") == 0);
  CHECK(why.find("Name a plugin's file in PJRT_PLUGIN_LIBRARY_PATH") != std::string::npos);
  unsetenv("PJRT_PLUGIN_LIBRARY_PATH");
  setenv("TPU_LIBRARY_PATH", "/nowhere/libtpu.so", 1);
  CHECK(find_plugin(why) == nullptr);
  CHECK(why.find("looked for /nowhere/libtpu.so, named by TPU_LIBRARY_PATH.") != std::string::npos);
  unsetenv("TPU_LIBRARY_PATH");
  if (before) setenv("PJRT_PLUGIN_LIBRARY_PATH", kept.c_str(), 1);
}

}  // namespace
}  // namespace cornu::xla
