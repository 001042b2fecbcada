// SPDX-License-Identifier: Apache-2.0
// Training while strangers send 10,000 messages to the workers' ports: run by on_workers.py.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <thread>

#include "distribute/cluster/address.h"
#include "distribute/cluster/data_link.h"
#include "framework/core/random.h"
#include "tests/distribute/models.h"
#include "tests/support/log.h"

using namespace cornu;
using namespace cornu::distribute;

namespace {

constexpr int kMessages = 10'000;

std::string big_endian(uint64_t number, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text.push_back(static_cast<char>(number >> (8 * i)));
  return text;
}

// HTTP/2 by hand (RFC 9113), as far as a gRPC call needs it.
std::string frame(int type, int flags, int stream, const std::string& payload) {
  return big_endian(payload.size(), 3) + static_cast<char>(type) + static_cast<char>(flags) +
         big_endian(static_cast<uint64_t>(stream), 4) + payload;
}

std::string call(const std::string& method) {
  std::string headers;
  const auto add = [&](const std::string& name, const std::string& value) {
    headers += std::string(1, '\0') + static_cast<char>(name.size()) + name +
               static_cast<char>(value.size()) + value;
  };
  add(":method", "POST");
  add(":scheme", "http");
  add(":path", method);
  add(":authority", "worker");
  add("te", "trailers");
  add("content-type", "application/grpc");
  return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, "") + frame(1, 4, 1, headers);
}

std::string message(const std::string& text) {
  return frame(0, 0, 1, std::string(1, '\0') + big_endian(text.size(), 4) + text);
}

const char kSession[] = "/cornu.Cluster/Session";

class Strangers {
 public:
  explicit Strangers(std::vector<std::string> addresses) {
    for (const std::string& address : addresses) ports_.push_back(Address::parse(address, "test"));
  }

  // Sends one message of each kind in turn, to one port after the other. Waits for the end of
  // worker 0's first session and of each worker's first call of another method: the reason for
  // which they are turned away is known later than for others, and only the first few of many are
  // named.
  void send_one() {
    const size_t kind = (kAnswered + count_ / ports_.size()) % kKinds;
    std::string bytes = bytes_of(kind);
    FileDescriptor socket =
        connect_to(ports_[count_ % ports_.size()],
                   {std::chrono::steady_clock::now() + std::chrono::seconds(30)});
    ++count_;
    if (!socket.is_open()) return;
    ++connected_;
    ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    const bool is_first_round = count_ <= ports_.size() * (kOther - kAnswered + 1);
    if (connected_ == 1 || (kind == kOther && is_first_round)) {
      wait_for_end_of_call(socket);
    } else if (kind >= kHalfOpen) {  // nothing more comes for a while
      open_.push_back(std::move(socket));
      if (open_.size() > 50) open_.pop_front();
    } else if (kind >= kAnswered) {
      listen_to(socket);
    }
  }
  int connected() const { return connected_; }

 private:
  static constexpr size_t kAnswered = 7;
  static constexpr size_t kOther = 9;
  static constexpr size_t kHalfOpen = 11;
  static constexpr size_t kKinds = 13;

  std::string bytes_of(size_t kind) {
    const DataLink link{static_cast<int64_t>(random_.below(3)), 0,
                        static_cast<int>(random_.below(3))};
    const std::string hello = R"({"kind": "hello", "protocol": 1, "nonce": "n"})";
    switch (kind) {
      case 0:
        return noise(300);
      case 1:
        return cut(link_preface(link, "no key"));
      case 2:
        return link_preface(link, "no key");
      case 3:
        return altered(link_preface(link, "no key"));
      case 4:
        return cut(call(kSession) + message(hello));
      case 5:
        return "\x16\x03\x01" + noise(300);
      case 6:
        return "GET / HTTP/1.1\r\nHost: worker\r\n\r\n";
      case 7:  // begins correctly, but doesn't know the token
        return call(kSession) + message(hello) +
               message(R"({"kind": "join", "proof": ")" + std::string(64, '0') +
                       R"(", "rank": 1, "generation": 0, "facts": {}, "inbox": {}})");
      case 8:
        return call(kSession) + message(noise(300));
      case kOther:
        return call("/cornu.Cluster/Other") + message(hello);
      case 10:
        return altered(call(kSession) + message(hello));
      case 11:  // lengths of data that never comes
        return random_.below(2) == 0
                   ? call(kSession) + big_endian(0xffffff, 3) + std::string("\0\0\0\0\0\1", 6)
                   : call(kSession) + frame(0, 0, 1, std::string(1, '\0') + "\xff\xff\xff\xff{}");
      default:
        return cut(random_.below(2) == 0 ? link_preface(link, "no key") : call(kSession));
    }
  }

  std::string noise(uint64_t most) {
    std::string bytes(random_.below(most), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random_.below(256));
    return bytes;
  }
  std::string cut(const std::string& bytes) { return bytes.substr(0, random_.below(bytes.size())); }
  std::string altered(std::string bytes) {
    for (uint64_t i = random_.below(4) + 1; i > 0; --i) {
      bytes[random_.below(bytes.size())] = static_cast<char>(random_.below(256));
    }
    return bytes;
  }

  // Waits until the other end has ended the call: an HTTP/2 frame of headers with END_STREAM, or a
  // reset.
  static void wait_for_end_of_call(const FileDescriptor& socket) {
    wait_at_most(socket, {.tv_sec = 60, .tv_usec = 0});
    const auto receive = [&](size_t count) {
      std::string bytes(count, '\0');
      const ssize_t got = ::recv(socket.get(), bytes.data(), count, MSG_WAITALL);
      REQUIRE(got == static_cast<ssize_t>(count));
      return bytes;
    };
    const auto byte = [](const std::string& bytes, size_t at) {
      return static_cast<size_t>(static_cast<unsigned char>(bytes[at]));
    };
    for (bool ended = false; !ended;) {
      const std::string head = receive(9);
      const size_t length = byte(head, 0) << 16 | byte(head, 1) << 8 | byte(head, 2);
      ended = (head[3] == 1 && (head[4] & 1) != 0) || head[3] == 3;
      receive(length);
    }
  }

  static void wait_at_most(const FileDescriptor& socket, const timeval& time) {
    ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) & ~O_NONBLOCK);
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  }

  // Waits until the other end has replied, so that it has read what was sent.
  static void listen_to(const FileDescriptor& socket) {
    wait_at_most(socket, {.tv_sec = 0, .tv_usec = 20'000});
    char bytes[1000];
    static_cast<void>(::recv(socket.get(), bytes, sizeof bytes, 0));
  }

  PhiloxEngine random_{7};
  std::vector<Address> ports_;
  std::deque<FileDescriptor> open_;
  size_t count_ = 0;
  int connected_ = 0;
};

// Fits a model from the same initial state; `before` is called before each step.
std::vector<Tensor> fitted(const std::function<void(int64_t)>& before) {
  constexpr int64_t kUnits = 8;
  const Tensor x = random::normal({16, 4}, {.seed = 1});
  Sequential model(
      {Input({.shape = {4}}),
       layers::Dense({.units = kUnits,
                      .activation = "relu",
                      .kernel_initializer = initializers::GlorotUniform({.seed = 2})}),
       layers::Dense(
           {.units = 1, .kernel_initializer = initializers::GlorotUniform({.seed = 3})})});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1}), .loss = "mse"});
  callbacks::LambdaCallbackOptions options;
  options.on_train_batch_begin = [&](int64_t step, const Logs&) { before(step); };
  model.fit(x, ops::sum(x, 1, true),
            {.batch_size = 4,
             .epochs = 5,
             .verbose = 0,
             .callbacks = {callbacks::LambdaCallback(options)},
             .shuffle = false});
  return model.get_weights();
}

size_t count_of(const std::string& what, const std::string& text) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("ten thousand strangers change nothing" * doctest::skip(test::is_alone())) {
  const test::Log log;
  const Strategy strategy = test::workers();
  const auto scope = strategy.scope();
  const std::vector<Tensor> expected = fitted([](int64_t) {});

  // The last worker's process sends messages, the same number before each step.
  const bool sends = strategy.impl().worker() == strategy.impl().num_workers() - 1;
  const Json config = Json::parse(std::getenv("TF_CONFIG"));
  std::vector<std::string> addresses;
  for (const Json& address : config.at("cluster").at("worker").as_array()) {
    addresses.push_back(address.as_string());
  }
  Strangers strangers(addresses);
  constexpr int kSteps = 20;
  int steps = 0;
  const std::vector<Tensor> weights = fitted([&](int64_t) {
    ++steps;
    for (int i = 0; sends && i < kMessages / kSteps; ++i) strangers.send_one();
  });
  CHECK(steps == kSteps);
  if (sends) CHECK(strangers.connected() == kMessages);
  CHECK(test::distance(weights, expected) == 0);

  // Some are named with the reason; the number of others is logged a few times.
  const std::string text = log.text();
  CHECK(count_of("turned ", text) >= 20);
  CHECK(count_of("turned ", text) < 200);
  CHECK(text.find("127.0.0.1:") != std::string::npos);
  CHECK(text.find("it is no task of this job's") != std::string::npos);
  CHECK(text.find("it calls /cornu.Cluster/Other, which tasks don't have") != std::string::npos);
  if (strategy.impl().worker() == 0) {
    CHECK(text.find("its CORNU_JOB_TOKEN is another one") != std::string::npos);
  }
}
