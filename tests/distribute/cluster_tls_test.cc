// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>

#include <fstream>
#include <map>
#include <optional>

#include "distribute/cluster/tls.h"
#include "framework/core/error.h"
#include "tests/distribute/certificates.h"
#include "tests/distribute/clusters.h"
#include "tests/support/files.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/log.h"

using namespace cornu;
using namespace cornu::distribute;
using test::Authority;
using test::Certificate;
using test::error_of;
using test::Identity;
using test::identity_of;

namespace {

std::pair<FileDescriptor, FileDescriptor> connected_sockets() {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

Patience soon() { return {std::chrono::steady_clock::now() + std::chrono::seconds(20)}; }

// Both ends of a connection, each created on its own thread.
struct Links {
  Links(FileDescriptor connects, FileDescriptor accepts, const Identity& one,
        const Identity& other) {
    std::thread beside([&] {
      accept_error =
          error_of([&] { accepted.emplace(std::move(accepts), TlsRole::Accepts, *other, soon()); });
    });
    connect_error =
        error_of([&] { connected.emplace(std::move(connects), TlsRole::Connects, *one, soon()); });
    beside.join();
  }
  std::optional<TlsLink> connected;
  std::optional<TlsLink> accepted;
  std::string connect_error = {};
  std::string accept_error = {};
};

std::string accept_error(FileDescriptor socket, const Identity& identity,
                         const Patience& patience) {
  return error_of([&] { TlsLink(std::move(socket), TlsRole::Accepts, *identity, patience); });
}

std::string received(const FileDescriptor& socket, size_t most) {
  std::string all(most, '\0');
  size_t size = 0;
  while (size < most) {
    const ssize_t count = ::recv(socket.get(), all.data() + size, most - size, 0);
    if (count <= 0) break;
    size += static_cast<size_t>(count);
  }
  all.resize(size);
  return all;
}

// Forwards bytes between two sockets until both have ended, and returns them.
std::string tapped(const FileDescriptor& a, const FileDescriptor& b) {
  std::string all;
  std::array<pollfd, 2> waits = {pollfd{a.get(), POLLIN, 0}, pollfd{b.get(), POLLIN, 0}};
  while (waits[0].fd >= 0 || waits[1].fd >= 0) {
    ::poll(waits.data(), waits.size(), -1);
    for (size_t i = 0; i < 2; ++i) {
      if (waits[i].revents == 0) continue;
      const int to = i == 0 ? b.get() : a.get();
      char bytes[4096];
      const ssize_t count = ::recv(waits[i].fd, bytes, sizeof bytes, 0);
      if (count <= 0) {
        ::shutdown(to, SHUT_WR);
        waits[i].fd = -1;
        continue;
      }
      all.append(bytes, static_cast<size_t>(count));
      for (ssize_t sent = 0; sent < count;) {
        const ssize_t more =
            ::send(to, bytes + sent, static_cast<size_t>(count - sent), MSG_NOSIGNAL);
        if (more <= 0) break;
        sent += more;
      }
    }
  }
  return all;
}

ClusterOptions options_of(int rank, const std::vector<std::string>& addresses,
                          const Identity& identity) {
  return {.rank = rank, .addresses = addresses, .identity = identity, .share_memory = false};
}

std::string waits_for(const test::Log& log, const std::string& text) {
  while (log.text().find(text) == std::string::npos) std::this_thread::yield();
  return text;
}

}  // namespace

TEST_CASE("files that make no identity") {
  const testing::TempFolder folder;
  const Authority authority("the job");
  const Authority foreign("another job");
  const Certificate own = authority.issue("a task");
  const auto error = [&](const std::string& certificate, const std::string& key,
                         const std::string& ca) {
    return error_of([&] { identity_of(folder, certificate, key, ca); });
  };
  CHECK(identity_of(folder, "", "", "") == nullptr);
  CHECK(error(own.certificate, "", "") ==
        "InvalidArgument: TLS takes CORNU_TLS_CERT, CORNU_TLS_KEY and CORNU_TLS_CA, files in PEM "
        "format: CORNU_TLS_KEY, CORNU_TLS_CA isn't set. Set all of them, or none.");
  CHECK(error("nothing", own.key, authority.certificate()).find("CORNU_TLS_CERT' has no ") !=
        std::string::npos);
  CHECK(error(own.certificate, "nothing", authority.certificate()).find("has no private key") !=
        std::string::npos);
  CHECK(error(own.certificate, own.key, "nothing").find("CORNU_TLS_CA' has no certificate") !=
        std::string::npos);
  CHECK(error(own.certificate, authority.issue("b").key, authority.certificate())
            .find("isn't that of the certificate in ") != std::string::npos);
  CHECK(error(own.certificate, own.key, foreign.certificate())
            .find("unable to get local issuer certificate. It must be signed by the authority in "
                  "CORNU_TLS_CA, and be valid now.") != std::string::npos);
  const Certificate old = authority.issue("old", -1);
  CHECK(error(old.certificate, old.key, authority.certificate()).find("certificate has expired") !=
        std::string::npos);
  const std::string text = error_of([&] {
    TlsIdentity::of_environment([](const std::string&) { return std::optional("/no/file"); });
  });
  CHECK(text ==
        "InvalidArgument: CORNU_TLS_CERT: '/no/file' can't be read. It must be a file in PEM "
        "format.");
}

TEST_CASE("what a link carries arrives, and nobody on its way can read it") {
  const Authority authority("the job");
  const Identity identity = identity_of(authority);
  auto [near, tap_near] = connected_sockets();
  auto [far, tap_far] = connected_sockets();
  std::string seen;
  std::thread tap(
      [&seen, a = std::move(tap_near), b = std::move(tap_far)] { seen = tapped(a, b); });
  std::string secret;
  for (int i = 0; i < 200'000; ++i) secret += fmt::format("{:07}", i);
  {
    Links links(std::move(near), std::move(far), identity, identity);
    REQUIRE(links.connect_error.empty());
    REQUIRE(links.accept_error.empty());
    FileDescriptor one = links.connected->take_plain();
    FileDescriptor other = links.accepted->take_plain();
    std::thread sends([&] {
      CHECK(write_all(one.get(), std::as_bytes(std::span(secret))));
      ::shutdown(one.get(), SHUT_WR);
    });
    std::thread answers([&] { CHECK(write_all(other.get(), std::as_bytes(std::span(secret)))); });
    std::string there;
    std::thread reads([&] { there = received(other, secret.size() + 1); });
    CHECK(received(one, secret.size()) == secret);  // also after its own end was shut down
    reads.join();
    CHECK(there == secret);
    sends.join();
    answers.join();
    other = FileDescriptor();
    CHECK(received(one, 1).empty());
  }
  tap.join();
  CHECK(seen.size() > 2 * secret.size());
  CHECK(seen.find("0012345") == std::string::npos);
}

TEST_CASE("a link ends when the other end is gone") {
  const Identity identity = identity_of(Authority("the job"));
  auto [near, far] = connected_sockets();
  Links links(std::move(near), std::move(far), identity, identity);
  const FileDescriptor one = links.connected->take_plain();
  links.accepted.reset();
  CHECK(received(one, 1).empty());
}

TEST_CASE("ends that don't trust each other") {
  const Authority authority("the job");
  const Identity identity = identity_of(authority);
  const Identity foreign = identity_of(Authority("another job"));
  {
    auto [near, far] = connected_sockets();
    Links links(std::move(near), std::move(far), identity, foreign);
    CHECK(links.connect_error.find("Unavailable: TLS: no handshake with ") == 0);
    CHECK(links.connect_error.find("self-signed certificate in certificate chain") !=
          std::string::npos);
    CHECK(links.accept_error.find("unknown ca") != std::string::npos);
  }
  auto [near, far] = connected_sockets();
  near = FileDescriptor();
  CHECK(
      accept_error(std::move(far), identity, soon()).find("Unavailable: TLS: no handshake with ") ==
      0);
  auto [silent, waits] = connected_sockets();
  CHECK(accept_error(std::move(waits), identity, {std::chrono::steady_clock::now()})
            .find("in time.") != std::string::npos);
}

TEST_CASE("workers with certificates of one authority are a job, over a network too") {
  const test::Log log;
  const auto addresses = test::free_addresses(3);
  const Authority authority("the job");
  std::vector<std::unique_ptr<Cluster>> clusters;
  for (int rank = 0; rank < 3; ++rank) {
    clusters.push_back(
        std::make_unique<Cluster>(options_of(rank, addresses, identity_of(authority))));
  }
  for (int turn = 0; turn < 2; ++turn) {
    const auto sums =
        test::on_all(clusters, [](Cluster& cluster) { return test::sum_of_ranks(cluster.form()); });
    CHECK(sums == std::vector<double>{6, 6, 6});
  }
  const auto big = test::on_all(clusters, [](Cluster& cluster) {
    const auto group = cluster.form();
    auto ends = WorkerCollectives::ends(group);
    std::vector<float> values(1'000'003, 1.0F + static_cast<float>(group->worker()));
    ends[0]->all_reduce(values.data(), values.data(), static_cast<int64_t>(values.size()),
                        DType::Float32, ReduceOp::Sum);
    return std::ranges::count(values, 6.0F);
  });
  CHECK(big == std::vector<ptrdiff_t>(3, 1'000'003));
  test::end_all(clusters);
}

TEST_CASE("tasks of another authority, or without TLS, are turned away") {
  const test::Log log;
  const auto addresses = test::free_addresses(2);
  const Authority authority("the job");
  std::vector<std::unique_ptr<Cluster>> clusters;
  clusters.push_back(std::make_unique<Cluster>(options_of(0, addresses, identity_of(authority))));
  for (const Identity& wrong : {Identity(), identity_of(Authority("another job"))}) {
    bool ends = false;
    ClusterOptions options = options_of(1, addresses, wrong);
    options.job_is_over = [&] { return ends; };
    Cluster other(options);
    auto waits = std::async(std::launch::async, [&] { return error_of([&] { other.form(); }); });
    waits_for(log, wrong ? "it has begun as a session does, and holds none"
                         : "it doesn't use TLS, as this job's tasks do (CORNU_TLS_CERT)");
    if (!wrong) waits_for(log, "(This task doesn't use TLS: is CORNU_TLS_CERT set for worker 0?)");
    ends = true;
    waits.get();
  }
  clusters.push_back(std::make_unique<Cluster>(options_of(1, addresses, identity_of(authority))));
  const auto sums =
      test::on_all(clusters, [](Cluster& cluster) { return test::sum_of_ranks(cluster.form()); });
  CHECK(sums == std::vector<double>{3, 3});
  test::end_all(clusters);
}

TEST_CASE("a task with TLS says so of a job without") {
  const test::Log log;
  const auto addresses = test::free_addresses(2);
  const Cluster first(options_of(0, addresses, nullptr));
  std::atomic<bool> ends = false;
  ClusterOptions options = options_of(1, addresses, identity_of(Authority("the job")));
  options.job_is_over = [&] { return ends.load(); };
  Cluster other(options);
  auto waits = std::async(std::launch::async, [&] { return error_of([&] { other.form(); }); });
  waits_for(log, "it uses TLS, which this job's tasks don't (CORNU_TLS_CERT)");
  waits_for(log, "(This task uses TLS, as CORNU_TLS_CERT says: does worker 0, too?)");
  ends = true;
  waits.get();
}
