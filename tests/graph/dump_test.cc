// SPDX-License-Identifier: Apache-2.0
// CORNU_DUMP_GRAPH: the files written by compilations.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/files.h"
#include "tests/support/log.h"
#include "tests/support/scratch.h"

using namespace cornu;
using testing::EnvironmentScope;

TEST_CASE("each compiled signature has files of its own, in a folder that is made") {
  const test::Scratch scratch;
  const std::string folder = scratch.path("graphs/of a run");
  const Function twice = function([](const Tensor& x) { return x + x; }, {.name = "model/twice"});
  {
    const EnvironmentScope dump("CORNU_DUMP_GRAPH", folder);
    twice(ops::ones({3}));
    twice(ops::ones({5}));
  }
  twice(ops::ones({7}));
  const auto has = [&](const std::string& name, const std::string& shape) {
    return test::contents(folder + "/" + name).find(shape) != std::string::npos;
  };
  CHECK(has("model_twice.0.traced.txt", "float32[3]"));
  CHECK(has("model_twice-2.0.traced.txt", "float32[5]"));
  CHECK(!std::filesystem::exists(folder + "/model_twice-3.0.traced.txt"));
}

TEST_CASE("a folder that can't be written to is told once") {
  const test::Scratch scratch;
  std::ofstream(scratch.path("file")) << "text";
  const test::Log log;
  const EnvironmentScope dump("CORNU_DUMP_GRAPH", scratch.path("file/folder"));
  function([](const Tensor& x) { return x + x; }, {.name = "untold"})(ops::ones({3}));
  function([](const Tensor& x) { return x + x; }, {.name = "untold"})(ops::ones({5}));
  const std::string text = log.text();
  const size_t place = text.find("CORNU_DUMP_GRAPH: '" + scratch.path("file/folder") +
                                 "/untold.0.traced.txt' can't be written.");
  REQUIRE(place != std::string::npos);
  CHECK(text.find("CORNU_DUMP_GRAPH", place + 1) == std::string::npos);
}
