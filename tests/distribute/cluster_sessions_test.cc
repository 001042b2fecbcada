// SPDX-License-Identifier: Apache-2.0
// Sessions message by message, without connections: what the coordinator and workers send each
// other, and how they handle messages from strangers. Also how connections begin.
#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "distribute/cluster/coordinator.h"
#include "distribute/cluster/credentials.h"
#include "distribute/cluster/data_link.h"
#include "distribute/cluster/grpc_sessions.h"
#include "distribute/cluster/membership.h"
#include "distribute/cluster/refusals.h"
#include "framework/core/error.h"
#include "framework/core/logging.h"
#include "tests/distribute/recorded_session.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/log.h"

using namespace cornu;
using namespace cornu::distribute;
using test::error_of;
using test::RecordedSession;

namespace {

constexpr char kSecret[] = "the secret of this job";

// A worker's end of a session with the coordinator.
class Client {
 public:
  Client(Coordinator& coordinator, std::string peer)
      : session_(std::make_shared<RecordedSession>(std::move(peer))),
        listener_(coordinator.accept(session_)) {}

  void say(const Json& message) { listener_.on_message(message); }
  void hang_up() { listener_.on_end("the connection was closed"); }
  void hello() { say(Json::object({{"kind", "hello"}, {"protocol", 1}, {"nonce", "n"}})); }

  Json join_message(int rank, int64_t generation = 0) {
    const std::string nonces = "n" + session_->wait_for("challenge").at("nonce").as_string();
    return Json::object({{"kind", "join"},
                         {"proof", signature(kSecret, "worker " + nonces)},
                         {"rank", rank},
                         {"generation", generation},
                         {"facts", Json::object()},
                         {"inbox", Json::object()}});
  }
  void join(int rank) {
    hello();
    say(join_message(rank));
  }
  RecordedSession& session() { return *session_; }

 private:
  std::shared_ptr<RecordedSession> session_;
  Session::Listener listener_;
};

std::shared_ptr<Coordinator> coordinator_of_two() {
  return std::make_shared<Coordinator>(
      CoordinatorOptions{.addresses = {"host0:1", "host1:1"}, .token = kSecret});
}

Json with(Json message, const std::string& name, Json value) {
  message.set(name, std::move(value));
  return message;
}

Json without(const Json& message, const std::string& name) {
  Json rest = Json::object();
  for (const auto& [own, value] : message.as_object()) {
    if (own != name) rest.set(own, value);
  }
  return rest;
}

// A worker whose coordinator is played by the test.
struct Worker {
  explicit Worker(int rank)
      : membership({.rank = rank,
                    .addresses = {"host0:1", "host1:1"},
                    .token = kSecret,
                    .connect = [this](const std::string&, Session::Listener own) {
                      const std::lock_guard lock(mutex);
                      listeners.push_back(std::move(own));
                      sessions.push_back(std::make_shared<RecordedSession>());
                      connected.notify_all();
                      return sessions.back();
                    }}) {}

  // Returns the session of this number once it has sent hello.
  RecordedSession& session(size_t number) {
    std::unique_lock lock(mutex);
    connected.wait(lock, [&] { return sessions.size() > number; });
    RecordedSession& own = *sessions[number];
    lock.unlock();
    own.wait_for("hello");
    return own;
  }
  void hear(size_t number, const Json& message) {
    std::unique_lock lock(mutex);
    const auto listener = listeners[number];
    lock.unlock();
    listener.on_message(message);
  }
  void lose(size_t number) { listeners[number].on_end("the connection was closed"); }
  void challenge(size_t number) {
    const std::string nonce = session(number).wait_for("hello").at("nonce").as_string();
    hear(number, Json::object({{"kind", "challenge"},
                               {"nonce", "c"},
                               {"proof", signature(kSecret, "coordinator " + nonce + "c")}}));
  }
  static Json members(int64_t generation) {
    const Json member = Json::object({{"inbox", Json::object()}});
    return Json::object({{"kind", "members"},
                         {"generation", generation},
                         {"nonce", "g"},
                         {"members", Json::array({member, member})}});
  }

  std::mutex mutex;
  std::condition_variable connected;
  std::vector<std::shared_ptr<RecordedSession>> sessions;
  std::vector<Session::Listener> listeners;
  Membership membership;
};

}  // namespace

TEST_CASE("a join that lacks what a group needs harms nobody else") {
  logging::set_level(logging::Level::Off);
  const auto coordinator = coordinator_of_two();
  Client good(*coordinator, "good");
  good.join(0);
  for (const char* name : {"kind", "rank", "generation", "facts", "inbox", "proof"}) {
    CAPTURE(name);
    Client bad(*coordinator, "bad");
    bad.hello();
    const Json join = bad.join_message(1);
    CHECK_THROWS_AS(bad.say(without(join, name)), Error);
    bad.hang_up();
  }
  for (const Json& generation : {Json(-1), Json(INT64_MAX), Json("1")}) {
    Client bad(*coordinator, "bad");
    bad.hello();
    CHECK_THROWS_AS(bad.say(with(bad.join_message(1), "generation", generation)), Error);
    bad.hang_up();
  }
  CHECK(good.session().sent("members").empty());
  Client other(*coordinator, "other");
  other.join(1);
  CHECK(good.session().sent("members").size() == 1);
  CHECK(good.session().sent("lost").empty());
  CHECK(other.session().sent("members").size() == 1);
}

TEST_CASE("who has left goes on when all have noted it, and who joins then tries again") {
  const test::Log log;
  const auto coordinator = coordinator_of_two();
  std::vector<std::unique_ptr<Client>> members;
  for (int rank = 0; rank < 2; ++rank) {
    members.push_back(std::make_unique<Client>(*coordinator, "member"));
    members.back()->join(rank);
  }
  for (const char* kind : {"ready", "leave"}) {
    for (const auto& member : members) {
      member->say(
          Json::object({{"kind", kind}, {"generation", 1}, {"shares_memory", true}, {"calls", 0}}));
    }
  }
  CHECK(members[0]->session().sent("bye").size() == 1);
  members[0]->say(Json::object({{"kind", "noted"}}));
  members[0]->say(Json::object({{"kind", "noted"}}));
  CHECK(members[0]->session().sent("over").empty());
  SUBCASE("one of them having noted it, and been killed") { members[1]->hang_up(); }
  SUBCASE("all of them having noted it") { members[1]->say(Json::object({{"kind", "noted"}})); }
  CHECK(members[0]->session().sent("over").size() == 1);
  Client next(*coordinator, "next");
  next.join(1);
  CHECK(next.session().closed);
  CHECK(next.session().sent("refused").empty());
  next.hang_up();
  CHECK(log.text().find("turned next away") == std::string::npos);
}

TEST_CASE("a worker that knows more workers than worker 0 is told so") {
  const test::Log log;
  const auto coordinator = coordinator_of_two();
  Client third(*coordinator, "third");
  third.hello();
  third.say(with(third.join_message(2), "facts", Json::object({{"number of workers", 3}})));
  CHECK(third.session().wait_for("refused").at("why").as_string() ==
        "it is worker 2 of 3, but worker 0 knows 2 workers. Give all tasks the same cluster.");
  CHECK(third.session().closed);
  // A peer that doesn't know the token isn't told.
  Client stranger(*coordinator, "stranger");
  stranger.hello();
  const Json join = with(stranger.join_message(2), "proof", std::string(64, '0'));
  CHECK_THROWS_AS(stranger.say(join), DataLoss);
  CHECK(stranger.session().sent("refused").empty());
}

TEST_CASE("a worker that speaks another protocol is turned away, and told why") {
  const test::Log log;
  const auto coordinator = coordinator_of_two();
  Client newer(*coordinator, "newer");
  newer.say(Json::object({{"kind", "hello"}, {"protocol", 2}, {"nonce", "n"}}));
  const Json refused = newer.session().wait_for("refused");
  CHECK(refused.at("why").as_string() ==
        "its cluster protocol is number 2, that of worker 0 is 1. All workers must run the same "
        "version of Cornu.");
  CHECK(newer.session().closed);
  CHECK(newer.session().sent("challenge").empty());
  CHECK(log.text().find("turned newer away: its cluster protocol is number 2") !=
        std::string::npos);
  Worker worker(1);
  auto offer = std::async(std::launch::async, [&] {
    return error_of([&] { worker.membership.join(Json::object(), {}); });
  });
  worker.session(0).wait_for("hello");
  worker.hear(0, refused);
  CHECK(offer.get() ==
        "FailedPrecondition: Cluster: worker 0 (host0:1) turns this task away: its cluster "
        "protocol is number 2, that of worker 0 is 1. All workers must run the same version of "
        "Cornu.");
}

TEST_CASE("of a long error the others hear the beginning") {
  Worker worker(1);
  auto offer =
      std::async(std::launch::async, [&] { return worker.membership.join(Json::object(), {}); });
  worker.challenge(0);
  worker.session(0).wait_for("join");
  worker.hear(0, Worker::members(1));
  offer.get();
  const auto stopped = std::async(
      std::launch::async, [&] { worker.membership.stop("why: " + std::string(400'000, 'x')); });
  CHECK(worker.session(0).wait_for("stopped").at("why").as_string() ==
        "why: " + std::string((size_t{32} << 10) - 5, 'x'));
  worker.hear(0, Json::object({{"kind", "heard"}}));
}

TEST_CASE("who hasn't shown the token is turned away, by name and in time") {
  const test::Log log;
  const auto coordinator = coordinator_of_two();
  Client stranger(*coordinator, "ipv4:10.0.0.7:99");
  stranger.hello();
  const std::string text = error_of(
      [&] { stranger.say(with(stranger.join_message(0), "proof", std::string(64, '0'))); });
  CHECK(text == "DataLoss: Cluster: its CORNU_JOB_TOKEN is another one.");
  CHECK(log.text().find("turned ipv4:10.0.0.7:99 away: Cluster: its CORNU_JOB_TOKEN is another") !=
        std::string::npos);
  // Only one hello is allowed.
  CHECK(error_of([&] { stranger.hello(); }) == "DataLoss: Cluster: expected one hello, got two.");
  CHECK(error_of([&] {
          stranger.say(Json::object({{"kind", "heartbeat"}}));
        }).find("DataLoss: Cluster: expected hello and join first, got ") == 0);
  // A peer that talks but never joins has as much time as a silent one: ten seconds, starting
  // between `before` and `after`.
  const auto before = std::chrono::steady_clock::now();
  Client talker(*coordinator, "talker");
  talker.hello();
  const auto after = std::chrono::steady_clock::now();
  Client member(*coordinator, "member");
  member.join(1);
  coordinator->tick(before + std::chrono::seconds(9));
  CHECK_FALSE(talker.session().closed);
  coordinator->tick(after + std::chrono::seconds(11));
  CHECK(talker.session().closed);
  talker.hang_up();
  CHECK(log.text().find("turned talker away: its session has ended before it joined the job") !=
        std::string::npos);
}

TEST_CASE("a member whose session ends as its group forms joins again") {
  logging::set_level(logging::Level::Off);
  const auto coordinator = coordinator_of_two();
  auto first = std::make_unique<Client>(*coordinator, "first");
  first->join(0);
  Client other(*coordinator, "other");
  other.join(1);
  CHECK(other.session().wait_for("members").at("generation").as_int() == 1);
  first->hang_up();
  CHECK(other.session().wait_for("lost").at("rank").as_int() == 0);
  Client again(*coordinator, "again");
  again.join(0);
  other.say(other.join_message(1, 1));
  CHECK(other.session().wait_for("members").at("generation").as_int() == 2);
  CHECK(again.session().wait_for("members").at("generation").as_int() == 2);
  // Messages of the group that is gone start nothing.
  const auto ready = [](int64_t generation) {
    return Json::object({{"kind", "ready"}, {"generation", generation}, {"shares_memory", true}});
  };
  other.say(ready(1));
  again.say(ready(2));
  CHECK(other.session().sent("start").empty());
  other.say(ready(2));
  CHECK(other.session().wait_for("start").at("generation").as_int() == 2);
}

TEST_CASE("a worker that no longer hears of worker 0 is the one that is lost") {
  logging::set_level(logging::Level::Off);
  const auto coordinator = std::make_shared<Coordinator>(
      CoordinatorOptions{.addresses = {"host0:1", "host1:1", "host2:1"}, .token = kSecret});
  std::vector<std::unique_ptr<Client>> clients;
  for (const int rank : {0, 1, 2}) {
    clients.push_back(std::make_unique<Client>(*coordinator, fmt::format("client {}", rank)));
    clients.back()->join(rank);
  }
  CHECK(clients[2]->session().wait_for("members").at("generation").as_int() == 1);
  clients[1]->say(with(clients[1]->join_message(1, 1), "lost", 0));
  for (const size_t rank : {size_t{0}, size_t{2}}) {
    const Json lost = clients[rank]->session().wait_for("lost");
    CHECK(lost.at("rank").as_int() == 1);
    CHECK(lost.at("why").as_string() == "it hasn't heard of the others");
  }
  clients[2]->say(with(clients[2]->join_message(2, 1), "lost", 1));
  clients[0]->say(with(clients[0]->join_message(0, 1), "lost", 1));
  CHECK(clients[2]->session().wait_for("members").at("generation").as_int() == 2);
  // Worker 2 has lost worker 1 before any other worker has noticed.
  clients[2]->say(with(clients[2]->join_message(2, 2), "lost", 1));
  CHECK(clients[0]->session().wait_for("lost").at("why").as_string() == "a worker has lost it");
}

TEST_CASE("a worker whose 'members' message is lost joins again, and takes the next") {
  logging::set_level(logging::Level::Off);
  Worker worker(1);
  auto offer =
      std::async(std::launch::async, [&] { return worker.membership.join(Json::object(), {}); });
  worker.challenge(0);
  CHECK(worker.session(0).wait_for("join").at("generation").as_int() == 0);
  worker.lose(0);
  worker.challenge(1);
  const Json join = worker.session(1).wait_for("join");
  CHECK(join.at("rank").as_int() == 1);
  worker.hear(0, Worker::members(1));  // too late: that session is gone
  worker.hear(1, Worker::members(2));
  CHECK(offer.get().generation == 2);
}

TEST_CASE("a worker that hears of a loss before it has looked at its group joins the next") {
  logging::set_level(logging::Level::Off);
  Worker worker(0);
  auto first =
      std::async(std::launch::async, [&] { return worker.membership.join(Json::object(), {}); });
  worker.challenge(0);
  worker.session(0).wait_for("join");
  worker.hear(0, Worker::members(1));
  worker.hear(0, Json::object({{"kind", "lost"}, {"rank", 1}, {"name", "one"}, {"why", "x"}}));
  const GroupOffer offer = first.get();
  CHECK(offer.generation == 1);
  CHECK_FALSE(worker.membership.is_in_group(1));
  CHECK_FALSE(worker.membership.start(1, true).has_value());
  std::exception_ptr why;
  worker.membership.on_group_end([&](const Membership::Ending& ending) { why = ending.why; });
  CHECK(error_of([&] { std::rethrow_exception(why); }).find("host1:1") != std::string::npos);
  auto second =
      std::async(std::launch::async, [&] { return worker.membership.join(Json::object(), 1); });
  while (worker.session(0).sent("join").size() < 2) std::this_thread::yield();
  CHECK(worker.session(0).wait_for("join").at("lost").as_int() == 1);
  CHECK(worker.session(0).wait_for("join").at("generation").as_int() == 1);
  CHECK(error_of([&] { worker.hear(0, Worker::members(1)); }) ==
        "DataLoss: Cluster: expected a generation after 1, got 1.");
  worker.hear(0, Worker::members(2));
  CHECK(second.get().generation == 2);
}

TEST_CASE("a worker listens to nobody who hasn't shown the token") {
  logging::set_level(logging::Level::Off);
  Worker worker(1);
  auto text = std::async(std::launch::async, [&] {
    return error_of([&] { worker.membership.join(Json::object(), {}); });
  });
  worker.session(0);
  CHECK(error_of([&] {
          worker.hear(0, Worker::members(1));
        }).find("DataLoss: Cluster: expected a challenge first, got ") == 0);
  worker.hear(0, Json::object({{"kind", "challenge"}, {"nonce", "c"}, {"proof", "x"}}));
  CHECK(text.get() ==
        "FailedPrecondition: Cluster: worker 0 (host0:1) has another CORNU_JOB_TOKEN. Give all "
        "tasks of the job the same one.");
}

TEST_CASE("how connections begin") {
  const DataLink link{7, 0, 12};
  const std::string preface = link_preface(link, "key");
  CHECK(preface.size() == kPreface);
  CHECK(parse_preface(preface) == link);
  CHECK(opening_of(preface) == Opening::Link);
  for (size_t size = 0; size < preface.size(); ++size) {
    CHECK(opening_of(preface.substr(0, size)) == Opening::Unclear);
    CHECK_FALSE(parse_preface(preface.substr(0, size)).has_value());
  }
  CHECK(opening_of("PRI * HTTP/2.0\r\n") == Opening::Http2);
  CHECK(opening_of("PRI * HTTP/1") == Opening::Foreign);
  CHECK(opening_of("PRI *") == Opening::Unclear);
  CHECK(opening_of("\x16") == Opening::Unclear);
  CHECK(opening_of("\x16\x03\x01") == Opening::Tls);
  CHECK(opening_of("GET / HTTP/1.1") == Opening::Foreign);

  const auto preface_of = [](const std::string& numbers) {
    return "CORNULNK " + numbers + " " + std::string(64, '0') + "\n";
  };
  const std::string good = "00000000000000000001 0000000000 0000000001";
  CHECK(parse_preface(preface_of(good)).has_value());
  for (const char* numbers :
       {"00000000000000000000 0000000000 0000000001",     // generations begin with 1
        "99999999999999999999 0000000000 0000000001",     // more than there are
        "-0000000000000000001 0000000000 0000000001",     //
        "00000000000000000001 4294967296 0000000001",     // no rank
        "00000000000000000001 2147483648 0000000001",     //
        "00000000000000000001 0000000000 -000000001",     //
        "0000000000000000000x 0000000000 0000000001",     //
        "00000000000000000001x0000000000 0000000001",     //
        "00000000000000000001 0000000000 0000000001"}) {  // valid
    CAPTURE(numbers);
    CHECK(parse_preface(preface_of(numbers)).has_value() == (numbers == good));
  }
}

TEST_CASE("warnings of those who are turned away are few") {
  const test::Log log;
  const auto begin = std::chrono::steady_clock::now();
  const auto count = [&](const std::string& what) {
    size_t found = 0;
    const std::string text = log.text();
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
      ++found;
    return found;
  };
  {
    Refusals refusals;
    for (int i = 0; i < 1000; ++i) refusals.add(fmt::format("peer{}", i), "garbage\n", begin);
    CHECK(count("turned peer") == 20);
    CHECK(log.text().find("turned peer0 away: garbage\\x0a") != std::string::npos);
    CHECK(count("more connections") == 0);
    refusals.tick(begin + std::chrono::seconds(59));
    CHECK(count("more connections") == 0);
    refusals.tick(begin + std::chrono::seconds(60));
    CHECK(count("turned 980 more connections away, the last one from peer999") == 1);
    for (int i = 0; i < 21; ++i) refusals.add("later", "garbage", begin + std::chrono::seconds(61));
    CHECK(count("turned later away: garbage") == 20);
  }
  CHECK(count("turned 1 more connections away, the last one from later") == 1);
}

TEST_CASE("what is sent while a connection ends goes nowhere") {
  for (int round = 0; round < 50; ++round) {
    std::promise<std::string> ended;
    const auto session =
        connect_session("127.0.0.1:1", nullptr,
                        {.on_message = [](const Json&) {},
                         .on_end = [&](const std::string& why) { ended.set_value(why); }});
    std::atomic<bool> over = false;
    std::thread sender([&] {
      while (!over) session->send(Json::object({{"kind", "hello"}}));
    });
    CHECK(ended.get_future().get() != "");
    over = true;
    sender.join();
    session->send(Json::object({{"kind", "hello"}}));
  }
}
