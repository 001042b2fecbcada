// SPDX-License-Identifier: Apache-2.0
// Bytes received over a connection between tasks: its beginning, messages at the coordinator's and
// at a worker's end of a session, before and after the token has been proven, and data exchanged by
// ranks. The first byte selects which; the others are lines, or bytes of a stream.
#include <algorithm>
#include <array>
#include <cstring>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "distribute/cluster/coordinator.h"
#include "distribute/cluster/credentials.h"
#include "distribute/cluster/data_link.h"
#include "distribute/cluster/membership.h"
#include "distribute/collectives/ring.h"
#include "distribute/collectives/shared_memory.h"
#include "framework/core/error.h"
#include "framework/core/logging.h"
#include "tests/distribute/recorded_session.h"
#include "tests/fuzz/support.h"

namespace cornu::distribute {
namespace {

const std::vector<std::string> kAddresses = {"host0:1", "host1:1"};
constexpr char kToken[] = "the token of this job";

std::vector<std::string_view> lines_of(std::string_view text) {
  constexpr size_t kMax = 100;
  std::vector<std::string_view> lines;
  while (!text.empty() && lines.size() < kMax) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// A message in which "?" represents the proof that a worker, or the coordinator, would send.
Json message_in(std::string_view line, const std::string& proves) {
  Json message = parse_message(line);
  const Json* given = message.find("proof");
  if (given && *given == Json("?")) message.set("proof", signature(kToken, proves));
  return message;
}

void preface(std::string_view bytes) {
  const Opening opening = opening_of(bytes);
  const std::optional<DataLink> link = parse_preface(bytes.substr(0, kPreface));
  if (!link) return;
  fuzz::require(opening == Opening::Link, "a preface is a link's beginning");
  fuzz::require(parse_preface(link_preface(*link, "key")) == link, "prefaces read back");
}

// The first byte of each line selects one of two sessions; '!' also advances the time.
void coordinator(std::string_view text) {
  const auto own =
      std::make_shared<Coordinator>(CoordinatorOptions{.addresses = kAddresses, .token = kToken});
  constexpr size_t kSessions = 2;
  std::shared_ptr<test::RecordedSession> sessions[kSessions];
  Session::Listener listeners[kSessions];
  std::string nonces[kSessions];
  for (const std::string_view line : lines_of(text)) {
    if (line.empty()) continue;
    const size_t i = static_cast<unsigned char>(line.front()) % kSessions;
    if (!sessions[i] || sessions[i]->closed) {
      if (sessions[i]) listeners[i].on_end("closed");
      sessions[i] = std::make_shared<test::RecordedSession>();
      listeners[i] = own->accept(sessions[i]);
      nonces[i].clear();
    }
    fuzz::attempt([&] {
      const std::vector<Json> challenges = sessions[i]->sent("challenge");
      const std::string both =
          nonces[i] + (challenges.empty() ? "" : challenges.back().at("nonce").as_string());
      const Json message = message_in(line.substr(1), "worker " + both);
      const Json* nonce = message.find("nonce");
      if (nonces[i].empty() && nonce && nonce->is_string()) nonces[i] = nonce->as_string();
      try {
        listeners[i].on_message(message);
      } catch (const Error&) {
        sessions[i]->closed = true;
        throw;
      }
    });
    if (line.front() == '!') own->tick(std::chrono::steady_clock::now());
  }
  for (size_t i = 0; i < kSessions; ++i) {
    if (sessions[i]) listeners[i].on_end("the end");
  }
}

// The coordinator is simulated; in the end it closes the session for good.
void worker(std::string_view text) {
  std::promise<std::shared_ptr<test::RecordedSession>> connected;
  Session::Listener listener;
  Membership membership({.rank = 1,
                         .addresses = kAddresses,
                         .token = kToken,
                         .connect = [&](const std::string&, Session::Listener own) {
                           auto session = std::make_shared<test::RecordedSession>();
                           listener = std::move(own);
                           connected.set_value(session);
                           return session;
                         }});
  std::thread joins([&] {
    fuzz::attempt([&] {
      const GroupOffer offer = membership.join(Json::object({}), {});
      fuzz::require(offer.inboxes.size() == kAddresses.size(), "an offer has all inboxes");
      for (Json inbox : offer.inboxes) {
        if (inbox.is_object()) inbox.set("space", process_space());
        Inbox::open(inbox);
      }
      membership.start(offer.generation, true);
      membership.on_group_end([](const Membership::Ending&) {});
    });
  });
  const auto session = connected.get_future().get();
  const std::string nonce = session->wait_for("hello").at("nonce").as_string();
  const auto say = [&](std::string_view line) {
    fuzz::attempt([&] { listener.on_message(message_in(line, "coordinator " + nonce + "0")); });
  };
  for (const std::string_view line : lines_of(text)) say(line);
  say(R"({"kind": "refused", "why": "the end"})");
  say(R"({"kind": "differs", "why": "the end"})");
  joins.join();
}

// Returns what a peer sends, and accepts everything.
class Feed : public Transport {
 public:
  Feed(std::string_view bytes, bool shares_memory)
      : bytes_(fuzz::bytes_of(bytes)), shares_memory_(shares_memory) {}

  int rank() const override { return 1; }
  int size() const override { return 2; }
  size_t send(int, std::span<const std::byte> bytes) override { return bytes.size(); }
  std::span<const std::byte> received(int, size_t wanted) override {
    const size_t there = std::min(bytes_.size(), aligned_.size());
    if (there < wanted) return {};
    std::memcpy(aligned_.data(), bytes_.data(), there);
    return std::span(aligned_).first(there);
  }
  void consume(int, size_t bytes) override { bytes_ = bytes_.subspan(bytes); }
  size_t receive(int, std::span<std::byte> bytes) override {
    const size_t there = std::min(bytes_.size(), bytes.size());
    if (there > 0) std::memcpy(bytes.data(), bytes_.data(), there);
    bytes_ = bytes_.subspan(there);
    return there;
  }
  void wait(int, int from) override {
    if (from != kNobody) raise<Unavailable>("the stream is over");
  }
  bool shares_memory() const override { return shares_memory_; }
  std::byte* memory(size_t bytes) override { return bytes <= own_.size() ? own_.data() : nullptr; }
  std::span<const std::byte> own_memory() const override { return own_; }
  std::span<const std::byte> memory_of(int, const SharedBlock::Handle& handle) override {
    return std::span(theirs_).first(handle.process == 0 ? theirs_.size() : 0);
  }
  void abort(std::exception_ptr) override {}

 private:
  std::span<const std::byte> bytes_;
  bool shares_memory_;
  alignas(64) std::array<std::byte, 4096> aligned_ = {};
  alignas(64) std::array<std::byte, size_t{96} << 10> own_ = {};
  std::vector<std::byte> theirs_ = std::vector<std::byte>(size_t{96} << 10);
};

// One call after the other, as long as the peer's data agrees.
void exchanges(std::string_view bytes) {
  Feed feed(bytes.substr(1), !bytes.empty() && (bytes.front() & 1) != 0);
  RingCollectives ring(feed);
  std::array<float, 9'000> large = {};
  using Kind = CollectiveCall::Kind;
  fuzz::attempt([&] {
    ring.barrier({});
    const auto all_reduce = [&](void* memory, int64_t count, DType dtype) {
      const CollectiveCall call{
          Kind::AllReduce, {{memory, memory, count}}, dtype, ReduceOp::Sum, 0};
      ring.all_reduce(call, call.segments, 1);
    };
    all_reduce(feed.memory(1), 3, DType::Float32);
    const CollectiveCall gather{Kind::AllGather, {{large.data(), large.data(), 8}}, {}, {}, 0};
    ring.all_gather(gather, large.data(), large.data() + 8, 8);
    ring.broadcast({Kind::Broadcast, {{large.data(), large.data(), 8}}, {}, {}, 0}, large.data(), 8,
                   0);
    all_reduce(feed.memory(1), 9'000, DType::Float32);
    all_reduce(large.data(), 9'000, DType::Float32);
  });
}

}  // namespace
}  // namespace cornu::distribute

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cornu;
  logging::set_level(logging::Level::Off);
  if (size == 0) return 0;
  const std::string_view text = fuzz::text_of(data, size).substr(1);
  switch (data[0]) {
    case 'p':
      distribute::preface(text);
      break;
    case 'c':
      distribute::coordinator(text);
      break;
    case 'w':
      distribute::worker(text);
      break;
    case 'e':
      if (!text.empty()) distribute::exchanges(text);
      break;
    default:
      break;
  }
  return 0;
}
