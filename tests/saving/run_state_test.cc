// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/run_state.h"

#include <doctest/doctest.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <limits>

#include "framework/core/random.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/processes.h"

using namespace cornu;
using test::message_of;
using testing::contains;
using testing::TempFolder;

namespace {

RunState some_state(int epoch) {
  RunState state;
  state.info = Json::object({{"epoch", epoch},
                             {"loss", 0.1},
                             {"nan", std::numeric_limits<double>::quiet_NaN()},
                             {"name", "größer \"\n"}});
  state.tensors = {{"kernel", Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3})},
                   {"count", Tensor::from<int64_t>({epoch}, {})},
                   {"none", Tensor::empty({0, 4}, DType::Float64)},
                   {"flags", Tensor::from<uint8_t>({1, 0, 255})},
                   {"last", Tensor::from<double>({1e300, -0.0})}};
  return state;
}

void check_same(const RunState& a, const RunState& b) {
  CHECK(a.info.dump() == b.info.dump());
  REQUIRE(a.tensors.size() == b.tensors.size());
  for (size_t i = 0; i < a.tensors.size(); ++i) {
    CHECK(a.tensors[i].first == b.tensors[i].first);
    const Tensor& left = a.tensors[i].second;
    const Tensor& right = b.tensors[i].second;
    CHECK(left.dtype() == right.dtype());
    REQUIRE(left.shape() == right.shape());
    const size_t bytes = left.bytes();
    CHECK((bytes == 0 || std::memcmp(left.raw(), right.raw(), bytes) == 0));
  }
}

std::string damage_of(const std::string& path) {
  return message_of<DataLoss>([&] { read_run_state(path); });
}

}  // namespace

TEST_CASE("a run state reads back to the bit, and its bytes are the same each time") {
  const TempFolder folder;
  const std::string path = folder / "state";
  write_run_state(path, some_state(3));
  check_same(read_run_state(path), some_state(3));
  CHECK(read_run_state(path).tensor("count").item<int64_t>() == 3);
  CHECK(message_of<NotFound>([&] { read_run_state(path).tensor("bias"); }) ==
        "Run state: there is no tensor named 'bias'.");
  write_run_state(folder / "again", some_state(3));
  CHECK(testing::read_file(path) == testing::read_file(folder / "again"));
  write_run_state(path, {});
  check_same(read_run_state(path), {});
  CHECK_THROWS_AS(read_run_state(folder / "nothing"), NotFound);
}

TEST_CASE("every file that is cut off, and every flipped bit, is found out") {
  const TempFolder folder;
  const std::string path = folder / "state";
  write_run_state(path, some_state(1));
  const std::string whole = testing::read_file(path);
  for (size_t length = 0; length < whole.size(); ++length) {
    testing::write_file(path, whole.substr(0, length));
    CHECK(contains(damage_of(path), "Run state " + path + ": "));
  }
  testing::write_file(path, whole + '\0');
  CHECK(contains(damage_of(path), "it is too long."));
  CHECK(contains(damage_of(path), "bytes, got "));
  PhiloxEngine random(17);
  for (int i = 0; i < 10'000; ++i) {
    std::string flipped = whole;
    char& byte = flipped[random.below(whole.size())];
    byte = static_cast<char>(byte ^ (1 + random.below(255)));
    testing::write_file(path, flipped);
    CHECK_THROWS_AS(read_run_state(path), DataLoss);
  }
}

TEST_CASE("what isn't this build's run state says what it is") {
  const TempFolder folder;
  const std::string path = folder / "state";
  testing::write_file(path, std::string(100, 'x'));
  CHECK(damage_of(path) == "Run state " + path + ": it isn't a run state.");
  write_run_state(path, some_state(1));
  std::string bytes = testing::read_file(path);
  std::string other = bytes;
  other[8] = 1;
  testing::write_file(path, other);
  CHECK(damage_of(path) ==
        "Run state " + path +
            ": expected version 2 of the format, got 1; another version of Cornu wrote it.");
  other = bytes;
  std::swap(other[12], other[15]);
  std::swap(other[13], other[14]);
  testing::write_file(path, other);
  CHECK(damage_of(path) ==
        "Run state " + path + ": it was written on a machine of another byte order.");
}

TEST_CASE("a folder keeps the state before the last, and falls back to it") {
  const TempFolder scratch;
  const std::string path = scratch / "runs/first";
  RunStateFolder folder(path);
  CHECK(!folder.load());
  folder.save(some_state(1));
  folder.save(some_state(2));
  folder.save(some_state(3));
  check_same(*folder.load(), some_state(3));
  testing::write_file(path + "/run_state", "damaged");
  check_same(*folder.load(), some_state(2));
  std::filesystem::remove(path + "/run_state");
  check_same(*folder.load(), some_state(2));
  testing::write_file(path + "/run_state.previous", "damaged");
  CHECK(message_of<DataLoss>([&] { folder.load(); }) ==
        "Run state " + path +
            "/run_state.previous: it is cut off. There is no complete state before it, either. "
            "Delete the directory '" +
            path + "' to start over.");
  folder.clear();
  CHECK(!folder.load());
}

TEST_CASE("a state that can't be written leaves the last one") {
  const TempFolder scratch;
  RunStateFolder folder(scratch.path());
  folder.save(some_state(1));
  RunState wrong = some_state(2);
  wrong.tensors.push_back(wrong.tensors[0]);
  CHECK(message_of<InvalidArgument>([&] { folder.save(wrong); }) ==
        "Run state: two tensors are named 'kernel'.");
  check_same(*folder.load(), some_state(1));
}

TEST_CASE("one run has a folder at a time") {
  const TempFolder scratch;
  const std::string path = scratch.path();
  {
    const RunStateFolder first(path);
    CHECK(message_of<FailedPrecondition>([&] { RunStateFolder second(path); }) ==
          "Run state: another run that is alive, or another callback of this one, keeps its state "
          "in '" +
              path + "'. Wait for its end, or choose another directory.");
  }
  CHECK_NOTHROW(RunStateFolder{path});
  CHECK(test::forked([&] {  // the lock ends with its owner, however that ends
          const RunStateFolder folder(path);
          return std::raise(SIGKILL) == 0;
        }) == -SIGKILL);
  CHECK_NOTHROW(RunStateFolder{path});
  testing::write_file(scratch / "file", "");
  CHECK(contains(message_of<FailedPrecondition>([&] { RunStateFolder{scratch / "file"}; }),
                 "isn't a directory, and none can be created there"));
}

TEST_CASE("what killed writers have left in a folder goes with its states") {
  const TempFolder folder;
  const std::string path = folder / "run";
  {
    RunStateFolder states(path);
    states.save(some_state(1));
    for (const std::string name : {"/.run_state.0123abcd.cornu-tmp", "/run_state.previous.link"}) {
      testing::write_file(path + name, "a part");
    }
    states.clear();
  }
  CHECK(!std::filesystem::exists(path));
}
