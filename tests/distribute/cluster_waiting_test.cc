// SPDX-License-Identifier: Apache-2.0
// Workers that wait for others that don't come: what they report, and how it ends.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "distribute/cluster/address.h"
#include "distribute/cluster/cluster.h"
#include "distribute/cluster/credentials.h"
#include "distribute/cluster/membership.h"
#include "tests/distribute/clusters.h"
#include "tests/distribute/recorded_session.h"
#include "tests/support/files.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/log.h"

using namespace cornu;
using namespace cornu::distribute;
using test::error_of;
using test::free_addresses;
using test::RecordedSession;
using testing::contains;

namespace {

using std::chrono::milliseconds;

constexpr char kAdvice[] =
    " Look at the addresses of the cluster, and whether all of its workers run; CORNU_JOIN_TIMEOUT "
    "(or join_timeout_seconds of the strategy) says how long they wait for each other.";
constexpr char kNoAddress[] =
    "the host 'nowhere' of the task at nowhere:1 has no address: Name or service not known.";

// Options of worker 1, whose sessions end immediately.
MembershipOptions options_of_second() {
  return {.rank = 1,
          .addresses = {"nowhere:1", "host1:1"},
          .token = {},
          .connect =
              [](const std::string&, const Session::Listener& own) {
                auto session = std::make_shared<RecordedSession>();
                own.on_end("nobody listens");
                return session;
              },
          .join_timeout = milliseconds(1),
          .say_after = milliseconds(0)};
}

std::string error_of_joining(const MembershipOptions& options) {
  Membership membership(options);
  return error_of([&] { membership.join(Json::object(), {}); });
}

}  // namespace

TEST_CASE("a host of worker 0 without an address is a warning, and an error when time is over") {
  const test::Log log;
  MembershipOptions options = options_of_second();
  options.why_unresolved = [](const std::string& address) {
    CHECK(address == "nowhere:1");
    return kNoAddress;
  };
  CHECK(error_of_joining(options) ==
        fmt::format("DeadlineExceeded: Cluster: worker 1 (host1:1) has waited for 0.001 s for "
                    "worker 0 (nowhere:1) to answer: {}{}",
                    kNoAddress, kAdvice));
  CHECK(contains(
      log.text(),
      fmt::format(
          "[warning] Cluster: {} This task waits for worker 0 (nowhere:1) for 0.001 s. If that "
          "machine isn't about to be started, correct the addresses of the cluster.",
          kNoAddress)));
}

TEST_CASE("without a timeout a worker goes on asking for the host of worker 0, and says so") {
  const test::Log log;
  MembershipOptions options = options_of_second();
  options.join_timeout = {};
  std::promise<void> asked;
  int times = 0;
  options.why_unresolved = [&](const std::string&) -> std::string {
    if (++times == 3) asked.set_value();
    return kNoAddress;
  };
  // Ends the wait.
  std::atomic<bool> is_over = false;
  options.job_is_over = [&] { return is_over.load(); };
  auto joined = std::async(std::launch::async, [&] { return error_of_joining(options); });
  asked.get_future().wait();
  is_over = true;
  CHECK(contains(joined.get(), "it has nothing left to do with the others"));
  CHECK(contains(log.text(),
                 "This task waits for worker 0 (nowhere:1) as long as it takes, since "
                 "CORNU_JOIN_TIMEOUT isn't set."));
}

TEST_CASE("a worker 0 that doesn't answer ends a wait that has an end") {
  const test::Log log;
  MembershipOptions options = options_of_second();
  options.why_unresolved = [](const std::string&) { return ""; };
  CHECK(error_of_joining(options) ==
        fmt::format("DeadlineExceeded: Cluster: worker 1 (host1:1) has waited for 0.001 s for "
                    "worker 0 (nowhere:1) to answer; the last attempt: nobody listens.{}",
                    kAdvice));
  CHECK(contains(log.text(),
                 "[info] Cluster: waiting for worker 0 (nowhere:1) to answer; the last "
                 "attempt: nobody listens."));
}

TEST_CASE("a worker whom worker 0 keeps waiting for others says for whom") {
  const test::Log log;
  std::promise<Session::Listener> listener;
  const auto session = std::make_shared<RecordedSession>();
  MembershipOptions options = options_of_second();
  options.join_timeout = milliseconds(300);
  options.connect = [&](const std::string&, Session::Listener own) {
    listener.set_value(std::move(own));
    return session;
  };
  auto joined = std::async(std::launch::async, [&] { return error_of_joining(options); });
  const Session::Listener worker_0 = listener.get_future().get();
  const std::string nonces = session->wait_for("hello").at("nonce").as_string() + "c";
  worker_0.on_message(Json::object(
      {{"kind", "challenge"}, {"nonce", "c"}, {"proof", signature("", "coordinator " + nonces)}}));
  session->wait_for("join");
  worker_0.on_message(Json::object(
      {{"kind", "waiting"}, {"for", Json::array({"worker 2 (host2:1)", "worker 3 (host3:1)"})}}));
  CHECK(joined.get() ==
        fmt::format("DeadlineExceeded: Cluster: worker 1 (host1:1) has waited for 0.3 s for worker "
                    "2 (host2:1), worker 3 (host3:1) to come.{}",
                    kAdvice));
}

TEST_CASE("why a host has no address") {
  const std::string why = why_unresolved(Address::parse("a..b:2222", "test"));
  CHECK(why.starts_with("the host 'a..b' of the task at a..b:2222 has no address: "));
  CHECK(why_unresolved(Address::parse("127.0.0.1:2222", "test")).empty());
}

TEST_CASE("all workers of a job whose worker 0 has a wrong name end") {
  const test::Log log;
  const auto own = free_addresses(2);
  for (const int rank : {0, 1}) {
    CAPTURE(rank);
    // Worker 0 itself listens at its port, whatever its name.
    const std::string port = own[0].substr(own[0].rfind(':'));
    Cluster cluster({.rank = rank,
                     .addresses = {"a..b" + port, own[1]},
                     .insecure = true,
                     .join_timeout = milliseconds(50)});
    const std::string text = error_of([&] { cluster.form(); });
    CHECK(text.starts_with(fmt::format(
        "DeadlineExceeded: Cluster: worker {} ({}) has waited for 0.05 s for worker 0 (a..b{}) to "
        "answer: the host 'a..b' of the task at a..b{} has no address: ",
        rank, rank == 0 ? "a..b" + port : own[1], port, port)));
  }
}

TEST_CASE("workers that have all come, but can't reach each other, end") {
  const test::Log log;
  const auto own = free_addresses(2);
  // Worker 0 knows worker 1 by a wrong name.
  const std::string wrong = "a..b" + own[1].substr(own[1].rfind(':'));
  std::vector<std::unique_ptr<Cluster>> clusters;
  for (const int rank : {0, 1}) {
    ClusterOptions options{.rank = rank,
                           .addresses = {own[0], rank == 0 ? wrong : own[1]},
                           .insecure = true,
                           .share_memory = false,
                           .join_timeout = milliseconds(1500)};
    clusters.push_back(std::make_unique<Cluster>(options));
  }
  const auto texts =
      test::on_all(clusters, [](Cluster& cluster) { return error_of([&] { cluster.form(); }); });
  CHECK(texts[0].starts_with(
      fmt::format("DeadlineExceeded: Cluster: worker 0 ({}) has had no connection with worker 1 "
                  "({}) for 1.5 s. Look at the addresses of the cluster; CORNU_JOIN_TIMEOUT",
                  own[0], wrong)));
  CHECK(texts[1].starts_with("DeadlineExceeded: Cluster: worker 1 "));
  CHECK(contains(log.text(), fmt::format("[warning] Cluster: the host 'a..b' of the task at {} has "
                                         "no address: ",
                                         wrong)));
  test::end_all(clusters);
}
