// SPDX-License-Identifier: Apache-2.0
// Workers that find each other, lose each other and find each other again, in one process; and
// foreign messages that arrive at their ports.
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "distribute/cluster/cluster.h"
#include "distribute/cluster/credentials.h"
#include "distribute/cluster/port_owner.h"
#include "framework/core/error.h"
#include "framework/core/logging.h"
#include "framework/core/random.h"
#include "tests/distribute/clusters.h"
#include "tests/support/files.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/log.h"

using namespace cornu;
using namespace cornu::distribute;
using test::end_all;
using test::error_of;
using test::free_addresses;
using test::GroupPtr;
using test::on_all;
using test::options_of;
using test::sum_of_ranks;

namespace {

std::vector<std::unique_ptr<Cluster>> clusters_at(const std::vector<std::string>& addresses) {
  std::vector<std::unique_ptr<Cluster>> clusters;
  for (size_t i = 0; i < addresses.size(); ++i) {
    clusters.push_back(std::make_unique<Cluster>(options_of(static_cast<int>(i), addresses)));
  }
  return clusters;
}

FileDescriptor connected(const std::string& address) {
  return connect_to(Address::parse(address, "test"),
                    {std::chrono::steady_clock::now() + std::chrono::seconds(10)});
}

// Returns whether the other end closes the connection.
bool is_closed(const FileDescriptor& socket) {
  timeval time{20, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  const int blocking = ::fcntl(socket.get(), F_GETFL) & ~O_NONBLOCK;
  ::fcntl(socket.get(), F_SETFL, blocking);
  char byte = 0;
  ssize_t came = 1;
  while (came > 0) came = ::recv(socket.get(), &byte, 1, 0);
  return came == 0 || errno == ECONNRESET;
}

}  // namespace

TEST_CASE("workers form a group, and another one when that has ended") {
  logging::set_level(logging::Level::Off);
  auto clusters = clusters_at(free_addresses(3));
  for (int turn = 0; turn < 3; ++turn) {
    const auto sums =
        on_all(clusters, [](Cluster& cluster) { return sum_of_ranks(cluster.form()); });
    CHECK(sums == std::vector<double>{6, 6, 6});
  }
  end_all(clusters);
}

// The number of memory inboxes that this process holds.
int64_t inboxes() {
  int64_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(entry.path(), gone).string();
    count += target.starts_with("/memfd:");
  }
  return count;
}

TEST_CASE("workers share memory where all of them want to") {
  logging::set_level(logging::Level::Off);
  for (const int unwilling : {0, 1, 3}) {
    CAPTURE(unwilling);
    const std::vector<std::string> addresses = free_addresses(3);
    std::vector<std::unique_ptr<Cluster>> clusters;
    for (int rank = 0; rank < 3; ++rank) {
      ClusterOptions options = options_of(rank, addresses);
      options.share_memory = rank >= unwilling;
      clusters.push_back(std::make_unique<Cluster>(options));
    }
    const auto groups = on_all(clusters, [](Cluster& cluster) { return cluster.form(); });
    CHECK(inboxes() ==
          (unwilling == 0 ? 9 : 3));  // each worker's, and its handles of the other two
    std::vector<std::future<double>> sums;
    for (const GroupPtr& group : groups) {
      sums.push_back(std::async(std::launch::async, [&group] { return sum_of_ranks(group); }));
    }
    for (auto& sum : sums) CHECK(sum.get() == 6);
    end_all(clusters);
  }
}

// A worker in a process of its own.
class Child {
 public:
  Child(int rank, const std::vector<std::string>& addresses, const char* what) {
    const std::string who = Json::object({{"rank", int64_t{rank}},
                                          {"first", addresses[0]},
                                          {"second", addresses[1]},
                                          {"third", addresses[2]},
                                          {"what", what}})
                                .dump();
    const testing::EnvironmentScope told("CORNU_TEST_CHILD", who.c_str());
    char program[] = "/proc/self/exe";
    char no_skip[] = "--no-skip";
    char quiet[] = "--minimal";
    char only[] = "--test-case=the child of another test";
    char* arguments[] = {program, no_skip, quiet, only, nullptr};
    REQUIRE(::posix_spawn(&process_, program, nullptr, nullptr, arguments, environ) == 0);
  }
  ~Child() { kill(); }
  void kill() {
    if (process_ == 0) return;
    ::kill(process_, SIGKILL);
    wait();
  }
  int wait() {
    int status = 0;
    ::waitpid(std::exchange(process_, 0), &status, 0);
    return status;
  }

 private:
  pid_t process_ = 0;
};

TEST_CASE("the child of another test" * doctest::skip()) {
  const Json who = Json::parse(std::getenv("CORNU_TEST_CHILD"));
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  Cluster cluster(options_of(
      static_cast<int>(who.at("rank").as_int()),
      {who.at("first").as_string(), who.at("second").as_string(), who.at("third").as_string()}));
  const GroupPtr group = cluster.form();
  while (who.at("what").as_string() == "hang") ::pause();
  CHECK(sum_of_ranks(group) == 6);
}

TEST_CASE("a worker that is killed is PeerLost to all others, who go on when it is back") {
  logging::set_level(logging::Level::Off);
  for (const int victim : {0, 2}) {
    CAPTURE(victim);
    const auto addresses = free_addresses(3);
    std::vector<std::unique_ptr<Cluster>> clusters;
    for (int rank = 0; rank < 3; ++rank) {
      if (rank != victim)
        clusters.push_back(std::make_unique<Cluster>(options_of(rank, addresses)));
    }
    Child child(victim, addresses, "hang");
    std::vector<GroupPtr> groups =
        on_all(clusters, [](Cluster& cluster) { return cluster.form(); });
    std::vector<std::future<int>> lost;
    for (const GroupPtr& group : groups) {
      lost.push_back(std::async(std::launch::async, [&group] {
        try {
          sum_of_ranks(group);
        } catch (const PeerLost& error) {
          return error.rank();
        }
        return -1;
      }));
    }
    child.kill();
    for (auto& rank : lost) CHECK(rank.get() == victim);
    groups.clear();
    Child again(victim, addresses, "sum");
    const auto sums =
        on_all(clusters, [&](Cluster& cluster) { return sum_of_ranks(cluster.form(victim)); });
    CHECK(sums == std::vector<double>{6, 6});
    end_all(clusters);
    CHECK(again.wait() == 0);
  }
}

TEST_CASE("a worker whose program fails ends the steps of all") {
  const auto addresses = free_addresses(2);
  auto clusters = clusters_at(addresses);
  std::vector<GroupPtr> groups = on_all(clusters, [](Cluster& cluster) { return cluster.form(); });
  std::string text;
  std::thread waits([&] { text = error_of([&] { sum_of_ranks(groups[0]); }); });
  clusters[1]->stop("the disk is full");
  waits.join();
  CHECK(text ==
        fmt::format("Aborted: Cluster: worker 1 ({}) has stopped: the disk is full", addresses[1]));
  groups.clear();
  end_all(clusters);
}

TEST_CASE("what has ended a worker's program reaches all others, also when it ends at once") {
  logging::set_level(logging::Level::Off);
  for (const size_t first : {0, 1}) {  // worker 0 is the coordinator
    for (int round = 0; round < 5; ++round) {
      CAPTURE(first);
      auto clusters = clusters_at(free_addresses(3));
      std::vector<std::string> errors(clusters.size());
      std::vector<GroupPtr> groups =
          on_all(clusters, [](Cluster& cluster) { return cluster.form(); });
      on_all(clusters, [&](Cluster& cluster) {
        const auto rank = static_cast<size_t>(cluster.rank());
        const GroupPtr group = std::move(groups[rank]);
        if (rank == first) {
          cluster.stop("no such column.");
          clusters[first].reset();
        } else {
          errors[rank] = error_of([&] { sum_of_ranks(group); });
        }
        return 0.0;
      });
      for (size_t rank = 0; rank < clusters.size(); ++rank) {
        if (rank == first) continue;
        CHECK(errors[rank].find(" has stopped: no such column.") != std::string::npos);
      }
      end_all(clusters);
    }
  }
}

TEST_CASE("a worker whose program fails may end when the others know") {
  for (const int failing : {0, 1, 2}) {
    CAPTURE(failing);
    auto clusters = clusters_at(free_addresses(3));
    std::vector<GroupPtr> groups =
        on_all(clusters, [](Cluster& cluster) { return cluster.form(); });
    clusters[static_cast<size_t>(failing)]->stop("the disk is full");
    for (const GroupPtr& group : groups) CHECK(group->has_ended());
    clusters[static_cast<size_t>(failing == 0)]->stop("so it is");  // as all know already
    groups.clear();
    end_all(clusters);
  }
}

TEST_CASE("what workers say of their programs is compared") {
  const auto addresses = free_addresses(2);
  std::vector<std::unique_ptr<Cluster>> clusters;
  for (int rank = 0; rank < 2; ++rank) {
    ClusterOptions options = options_of(rank, addresses);
    options.facts = Json::object({{"version of Cornu", rank == 0 ? "1.0" : "1.1"}});
    clusters.push_back(std::make_unique<Cluster>(options));
  }
  const auto texts =
      on_all(clusters, [](Cluster& cluster) { return error_of([&] { cluster.form(); }); });
  for (const std::string& text : texts) {
    CHECK(text.find("the version of Cornu of worker") != std::string::npos);
    CHECK(text.find("\"1.0\"") != std::string::npos);
    CHECK(text.find("\"1.1\"") != std::string::npos);
    CHECK(text.find("All workers must run the same: start all of them again.") !=
          std::string::npos);
  }
  end_all(clusters);
}

TEST_CASE("workers that know different numbers of workers are told so") {
  const auto addresses = free_addresses(3);
  std::vector<std::unique_ptr<Cluster>> clusters;
  clusters.push_back(std::make_unique<Cluster>(options_of(0, {addresses[0], addresses[1]})));
  clusters.push_back(std::make_unique<Cluster>(options_of(1, addresses)));
  const auto texts =
      on_all(clusters, [](Cluster& cluster) { return error_of([&] { cluster.form(); }); });
  for (const std::string& text : texts) {
    CHECK(text.find("the number of workers of worker ") != std::string::npos);
    CHECK(text.find("All workers must run the same: start all of them again.") !=
          std::string::npos);
  }
  end_all(clusters);
}

TEST_CASE("a worker with another token is turned away, and told so") {
  const auto addresses = free_addresses(2);
  std::vector<std::unique_ptr<Cluster>> clusters;
  {
    const testing::EnvironmentScope token("CORNU_JOB_TOKEN", "the secret of this job");
    clusters.push_back(std::make_unique<Cluster>(options_of(0, addresses)));
  }
  std::unique_ptr<Cluster> other;
  {
    const testing::EnvironmentScope token("CORNU_JOB_TOKEN", "the secret of another job");
    other = std::make_unique<Cluster>(options_of(1, addresses));
  }
  CHECK(error_of([&] { other->form(); }) ==
        fmt::format("FailedPrecondition: Cluster: worker 0 ({}) has another CORNU_JOB_TOKEN. Give "
                    "all tasks of the job "
                    "the same one.",
                    addresses[0]));
  // The right worker is still let in.
  other.reset();
  {
    const testing::EnvironmentScope token("CORNU_JOB_TOKEN", "the secret of this job");
    clusters.push_back(std::make_unique<Cluster>(options_of(1, addresses)));
  }
  const auto sums = on_all(clusters, [](Cluster& cluster) { return sum_of_ranks(cluster.form()); });
  CHECK(sums == std::vector<double>{3, 3});
  end_all(clusters);
}

TEST_CASE("addresses on a network need a token") {
  const std::vector<std::string> addresses = {"10.1.2.3:2222", "10.1.2.4:2222"};
  CHECK(error_of([&] { Cluster cluster(options_of(0, addresses)); })
            .find("FailedPrecondition: Cluster: the tasks at 10.1.2.3:2222 are reached over a "
                  "network, and nothing "
                  "keeps others from taking part. Give all tasks of the job the same secret in "
                  "CORNU_JOB_TOKEN") == 0);
  const testing::EnvironmentScope token("CORNU_JOB_TOKEN", "short");
  CHECK(error_of([&] { Cluster cluster(options_of(0, addresses)); }) ==
        "InvalidArgument: CORNU_JOB_TOKEN: expected a token of at least 16 characters, got 5. Make "
        "one with: "
        "openssl rand -hex 32");
}

TEST_CASE("a network on which everybody is trusted") {
  const std::string port = free_addresses(1)[0].substr(10);
  ClusterOptions options = options_of(0, {"10.1.2.3:" + port, "10.1.2.4:2222"});
  options.insecure = true;
  const test::Log log;
  { const Cluster cluster(options); }
  CHECK(log.text().find("Cluster: the tasks at 10.1.2.3:" + port +
                        " are reached over a network, without a token and without certificates: "
                        "whoever reaches their ports can take part") != std::string::npos);
  const test::Log quiet;
  options.addresses = free_addresses(2);
  { const Cluster cluster(options); }
  CHECK(quiet.text().find("without a token") == std::string::npos);
}

// During its lifetime, no files can grow and no memory can be shared.
class NoFiles {
 public:
  NoFiles() {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit none{.rlim_cur = 0, .rlim_max = before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &none) == 0);
  }
  ~NoFiles() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_CASE("workers that can't have memory to share use sockets, all of them") {
  const test::Log log;
  auto clusters = clusters_at(free_addresses(3));
  for (int turn = 0; turn < 2; ++turn) {
    const NoFiles none;
    const auto sums =
        on_all(clusters, [](Cluster& cluster) { return sum_of_ranks(cluster.form()); });
    CHECK(sums == std::vector<double>{6, 6, 6});
  }
  const std::string text = log.text();
  CHECK(text.find(" of shared memory: File too large. All workers exchange tensors over sockets "
                  "instead, which takes longer.") != std::string::npos);
  size_t warnings = 0;  // one per worker
  for (size_t at = 0; (at = text.find("over sockets instead", at)) != std::string::npos; ++at) {
    ++warnings;
  }
  CHECK(warnings == 3);
  end_all(clusters);
}

TEST_CASE("one worker that can't share memory is enough, and the others say so") {
  const test::Log log;
  const auto addresses = free_addresses(2);
  std::vector<std::unique_ptr<Cluster>> clusters;
  for (int rank = 0; rank < 2; ++rank) {
    ClusterOptions options = options_of(rank, addresses);
    options.share_memory = rank == 0;
    clusters.push_back(std::make_unique<Cluster>(options));
  }
  const auto sums = on_all(clusters, [](Cluster& cluster) { return sum_of_ranks(cluster.form()); });
  CHECK(sums == std::vector<double>{3, 3});
  CHECK(log.text().find("Cluster: worker 0 (" + addresses[0] +
                        "): a worker can't share memory with the others, or doesn't want to. All "
                        "workers exchange tensors over sockets instead") != std::string::npos);
  end_all(clusters);
}

TEST_CASE("a worker 0 that is at another address is asked for anew") {
  const test::Log log;
  const auto addresses = free_addresses(3);
  std::vector<std::unique_ptr<Cluster>> clusters;
  // Worker 1 has an address at which nobody listens, and worker 0 an old address of worker 1.
  ClusterOptions first = options_of(0, {addresses[0], "127.0.0.1:1"});
  first.share_memory = false;
  clusters.push_back(std::make_unique<Cluster>(first));
  ClusterOptions second = options_of(1, {addresses[2], addresses[1]});
  int asked = 0;
  second.renew = [&] {
    // At first the address is unknown.
    return ++asked == 1 ? std::vector<std::string>()
                        : std::vector<std::string>{addresses[0], addresses[1]};
  };
  second.renew_after = std::chrono::milliseconds(1);
  clusters.push_back(std::make_unique<Cluster>(second));
  const auto sums = on_all(clusters, [](Cluster& cluster) { return sum_of_ranks(cluster.form()); });
  CHECK(sums == std::vector<double>{3, 3});
  CHECK(asked >= 2);
  end_all(clusters);
}

TEST_CASE("a port that is taken is named") {
  const auto addresses = free_addresses(2);
  const Cluster first(options_of(0, addresses));
  const std::string text = error_of([&] { Cluster second(options_of(0, addresses)); });
  const std::string port = addresses[0].substr(addresses[0].find(':') + 1);
  CHECK(text.find("FailedPrecondition: Cluster: this task's port " + port +
                  " can't be listened on: ") == 0);
  CHECK(text.find(fmt::format("It is process {} (", ::getpid())) != std::string::npos);
  CHECK(text.find("test_distribute_cluster") != std::string::npos);
  CHECK(text.find("End that one, or give this job other ports.") != std::string::npos);
}

TEST_CASE("who listens on a port, as far as the system tells") {
  const testing::TempFolder proc;
  const auto write = [&](const std::string& name, const std::string& text) {
    std::filesystem::create_directories((proc / name).parent_path());
    std::ofstream(proc / name, std::ios::binary) << text;
  };
  write("net/tcp",
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
        "   0: 0100007F:1F90 0100007F:0050 01 00000000:00000000 00:00000000 00000000 0 0 41 1 x\n"
        "   1: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 42 1 x\n"
        "   2: cut");
  CHECK(port_owner(8080, proc.path()).empty());  // no visible process's
  std::filesystem::create_directories(proc / "7/fd");
  std::filesystem::create_symlink("socket:[41]", proc / "7/fd/3");
  CHECK(port_owner(8080, proc.path()).empty());  // it holds another connection
  std::filesystem::create_directories(proc / "8/fd");
  std::filesystem::create_symlink("socket:[42]", proc / "8/fd/5");
  write("8/cmdline", std::string("./train\0--epochs\0"
                                 "5\n\0",
                                 20));
  CHECK(port_owner(8080, proc.path()) == "process 8 (./train --epochs 5\\x0a)");
  CHECK(port_owner(8081, proc.path()).empty());
  CHECK(port_owner(8080, proc / "none").empty());
}

TEST_CASE("a name without an address is asked for again, until there is no more time") {
  const auto now = std::chrono::steady_clock::now();
  int asked = 0;
  const Patience patience{now + std::chrono::hours(1), [&] { return ++asked < 3; }};
  CHECK_FALSE(connect_to({.host = "a..b", .port = 1}, patience).is_open());
  CHECK(asked == 3);
  const Patience over{now};
  CHECK_FALSE(connect_to({.host = "a..b", .port = 1}, over).is_open());
}

TEST_CASE("what isn't an address") {
  for (const char* text :
       {"", "host", "host:", ":1", "host:0", "host:65536", "host:1x", "host:-1"}) {
    CAPTURE(text);
    CHECK(error_of([&] { Address::parse(text, "here"); }) ==
          fmt::format("InvalidArgument: here: expected an address 'host:port' with a port of 1 to "
                      "65535, got '{}'.",
                      text));
  }
  CHECK(Address::parse("[::1]:80", "here").host == "::1");
  CHECK(Address::parse("[::1]:80", "here").text() == "[::1]:80");
  CHECK(Address::parse("localhost:80", "here").is_loopback());
  CHECK_FALSE(Address::parse("128.0.0.1:80", "here").is_loopback());
  CHECK(Address::parse("127.9.8.7:80", "here").is_loopback());
  CHECK_FALSE(Address::parse("127.evil.invalid:80", "here").is_loopback());
}

TEST_CASE("waiting for a connection ends when it isn't worth it any more") {
  const std::string address = free_addresses(1).front();
  const Address parsed = Address::parse(address, "test");
  int asked = 0;
  const Patience patience{std::chrono::steady_clock::now() + std::chrono::hours(1),
                          [&] { return ++asked < 3; }};
  {
    TaskServer server(parsed, {});
    CHECK(!server.take({.generation = 1, .from = 0, .to = 1}, patience).is_open());
    CHECK(asked == 3);
  }
  // A port whose queue is full doesn't respond.
  const FileDescriptor listens = listen_on(parsed);
  REQUIRE(::listen(listens.get(), 0) == 0);
  std::vector<FileDescriptor> queue;
  for (int i = 0; i < 20; ++i) {
    asked = 0;
    queue.push_back(connect_to(parsed, patience));
    if (!queue.back().is_open()) break;
  }
  CHECK(!queue.back().is_open());
  CHECK(asked == 3);
}

TEST_CASE("garbage at a port is turned away, and the group goes on") {
  const auto addresses = free_addresses(2);
  auto clusters = clusters_at(addresses);
  std::vector<GroupPtr> groups = on_all(clusters, [](Cluster& cluster) { return cluster.form(); });
  PhiloxEngine random(5);
  const std::string starts[] = {"", "GET / HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                                link_preface({1, 0, 1}, "no key"),
                                "CORNULNK 9999999999999999999999"};
  for (int i = 0; i < 200; ++i) {
    std::string bytes = starts[static_cast<size_t>(i) % 5];
    const auto count = random.below(300);
    for (uint64_t k = 0; k < count; ++k) bytes.push_back(static_cast<char>(random.below(256)));
    const FileDescriptor socket = connected(addresses[static_cast<size_t>(i % 2)]);
    REQUIRE(socket.is_open());
    ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    ::shutdown(socket.get(), SHUT_WR);
    if (i % 20 == 0) CHECK(is_closed(socket));
  }
  const auto sums = on_all(clusters, [&](Cluster& cluster) {
    return sum_of_ranks(groups[static_cast<size_t>(cluster.rank())]);
  });
  CHECK(sums == std::vector<double>{3, 3});
  groups.clear();
  end_all(clusters);
}

TEST_CASE("signatures") {
  // RFC 4231, test case 2.
  CHECK(signature("Jefe", "what do ya want for nothing?") ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(same_signature("abc", "abc"));
  CHECK_FALSE(same_signature("abc", "abd"));
  CHECK_FALSE(same_signature("abc", "ab"));
  CHECK(random_hex() != random_hex());
  CHECK(random_hex().size() == 32);
}

TEST_CASE("messages that are none") {
  for (const char* text : {"", "[]", "{}", "{\"kind\": 1}", "{\"kind\": \"x\"", "null"}) {
    CAPTURE(text);
    CHECK(error_of([&] {
            parse_message(text);
          }).find("DataLoss: Cluster: expected a message, an object with a kind") == 0);
  }
  CHECK(parse_message("{\"kind\": \"x\"}").at("kind").as_string() == "x");
}
