// SPDX-License-Identifier: Apache-2.0
#include "framework/io/event_file.h"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <csignal>
#include <regex>

#include "framework/core/proto_wire.h"
#include "tests/support/events.h"
#include "tests/support/processes.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

using test::contains;
using test::EventRead;
using test::forked;
using test::message_of;
using test::read_events;
using test::Scratch;

// A tensorflow.Summary.Value with only a tag.
std::string tagged(const std::string& tag) {
  std::string value;
  wire::put_bytes(value, 1, tag);
  return value;
}

std::vector<std::string> tags_of(const std::string& path) {
  std::vector<std::string> tags;
  for (const EventRead& event : read_events(path)) tags.push_back(event.version + event.tag);
  return tags;
}

TEST_CASE("a file of events begins with its version, and has what was flushed") {
  const Scratch scratch;
  EventFile file(scratch.path());
  CHECK(tags_of(file.path()) == std::vector<std::string>{"brain.Event:2"});
  file.add_value(7, tagged("loss"));
  file.add_value(int64_t{1} << 40, tagged(std::string(1000, 'x')));
  file.add_graph("a graph");
  CHECK(read_events(file.path()).size() == 1);
  file.flush();

  const std::vector<EventRead> events = read_events(file.path());
  REQUIRE(events.size() == 4);
  CHECK(events[0].step == 0);
  CHECK(events[1].tag == "loss");
  CHECK(events[1].step == 7);
  CHECK(events[2].tag == std::string(1000, 'x'));
  CHECK(events[2].step == int64_t{1} << 40);
  CHECK(events[3].graph == "a graph");
  for (size_t i = 1; i < events.size(); ++i) {
    CHECK(events[i].wall_time >= events[i - 1].wall_time);
    CHECK(events[i].wall_time > 1.7e9);  // 2023
  }
}

TEST_CASE("files of events are named as TensorFlow names them, each anew") {
  const Scratch scratch;
  const EventFile first(scratch.path());
  const EventFile second(scratch.path());
  CHECK(scratch.names().size() == 2);
  const std::regex pattern("events\\.out\\.tfevents\\.([0-9]{10})\\.(.+)\\.([0-9]+)\\.[0-9]+\\.v2");
  for (const std::string& name : scratch.names()) {
    CAPTURE(name);
    std::smatch parts;
    REQUIRE(std::regex_match(name, parts, pattern));
    CHECK(parts[3] == std::to_string(getpid()));
  }
}

TEST_CASE("a file of events that can't be made is an error") {
  const Scratch scratch;
  CHECK(contains(message_of<NotFound>([&] { EventFile(scratch.path("none")); }),
                 "can't be written: No such file or directory. Check the path."));
}

TEST_CASE("a process that is killed leaves whole events") {
  const Scratch scratch;
  const int ended = forked([&] {
    EventFile file(scratch.path());
    for (int64_t step = 0; step < 100; ++step) {
      file.add_value(step, tagged("loss"));
      if (step < 90) file.flush();
    }
    kill(getpid(), SIGKILL);
    return true;
  });
  CHECK(ended == -SIGKILL);
  REQUIRE(scratch.names().size() == 1);
  CHECK(read_events(scratch.path(scratch.names()[0])).size() == 91);
}

TEST_CASE("on a full disk, a file of events ends with a whole one and goes on later") {
  const Scratch scratch;
  // A limit on file sizes simulates a full disk.
  const int ended = forked([&] {
    signal(SIGXFSZ, SIG_IGN);
    EventFile file(scratch.path());
    const auto limit_size = [](rlim_t bytes) {
      const rlimit limit{bytes, RLIM_INFINITY};
      return setrlimit(RLIMIT_FSIZE, &limit) == 0;
    };
    if (!limit_size(1000)) return false;
    file.add_value(1, tagged("before"));
    file.flush();
    file.add_value(2, tagged(std::string(5000, 'x')));
    const std::string message = message_of<FailedPrecondition>([&] { file.flush(); });
    if (!contains(message, file.path() + "' can't be written: File too large")) return false;
    if (read_events(file.path()).size() != 2 || !limit_size(RLIM_INFINITY)) return false;
    file.add_value(3, tagged("after"));
    file.flush();
    return true;
  });
  CHECK(ended == 0);
  REQUIRE(scratch.names().size() == 1);
  CHECK(tags_of(scratch.path(scratch.names()[0])) ==
        std::vector<std::string>{"brain.Event:2", "before", "after"});
}

}  // namespace
}  // namespace cornu
