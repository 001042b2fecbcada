// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda/process_collectives.h"

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "framework/core/error.h"
#include "framework/strategy/reduce_elements.h"
#include "tests/support/cuda/collectives.h"
#include "tests/support/cuda/streams.h"
#include "tests/support/cuda/wire.h"

namespace cornu::cuda::simulated {
namespace {

using Lock = std::lock_guard<std::mutex>;
using Bytes = std::vector<std::byte>;

constexpr int kRubbish = 0xCD;
constexpr int64_t kJoins = -1;   // a process announces its ranks: the first one, and how many
constexpr int64_t kBegins = -2;  // all have joined

// State shared by the ranks of one process. The process of the first ranks receives from all
// others, and forwards to each what it has received. Guarded by lock_of_all().
class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  explicit Exchange(int size) : size_(static_cast<size_t>(size)) {}

  // Accepts connections until all processes have joined.
  void listen(FileDescriptor socket) {
    listener_ = std::make_shared<FileDescriptor>(std::move(socket));
    std::thread([self = shared_from_this(), listener = listener_] {
      while (true) {
        FileDescriptor other(::accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!other.is_open()) return;
        const Lock lock(lock_of_all());
        self->add_wire(std::make_shared<Wire>(std::move(other)));
      }
    }).detach();
  }
  void add_wire(const std::shared_ptr<Wire>& wire) {
    wires_.push_back(wire);
    wire->start([self = shared_from_this(), from = wire.get()](Message message) {
      const Lock lock(lock_of_all());
      self->hear(std::move(message), from);
      collectives_changed().notify_all();
    });
  }
  void join(int first, size_t count) {
    joined_ += count;
    if (first == 0) return begin_if_all_joined();
    wires_.front()->send({kJoins, first, Bytes(count)});
  }
  bool has_begun() const { return has_begun_; }

  // Records a rank's call, which is operation number `number` of its stream.
  void enqueued(int64_t call, RuntimeStream& stream, uint64_t number) {
    calls_[call].streams.push_back({&stream, number});
    if (!calls_[call].given.empty()) advance(call);
  }
  // Called when the stream has reached the call; returns whether it can be run.
  bool come(int64_t call, int rank, const std::vector<Segment>& segments, DType dtype) {
    Call& one = calls_[call];
    if (!one.given.contains(rank)) {
      Bytes given;
      for (const Segment& segment : segments) {
        const std::byte* in = Memory::open(segment.in);
        given.insert(given.end(), in, in + bytes_of(segment, dtype));
      }
      for (const auto& wire : wires_) wire->send({call, rank, given});
      one.given[rank] = std::move(given);
    }
    return aborted_ || one.given.size() == size_;
  }
  void run(int64_t call, const std::vector<Segment>& segments, DType dtype, ReduceOp op) {
    Call& one = calls_[call];
    size_t at = 0;
    for (const Segment& segment : segments) {
      const size_t bytes = bytes_of(segment, dtype);
      if (bytes == 0) continue;
      std::byte* out = Memory::open(segment.out);
      if (one.given.size() < size_ || aborted_) {
        std::memset(out, kRubbish, bytes);
        continue;
      }
      std::vector<const void*> in;
      for (const auto& [rank, given] : one.given) {
        check<Internal>(given.size() >= at + bytes, "GPUs of several processes call other things.");
        in.push_back(given.data() + at);
      }
      const DType as =
          dtype == DType::Bool ? DType::UInt8 : dtype;  // booleans are compared as numbers
      reduce_elements(out, in, 0, segment.count, as, op);
      at += bytes;
    }
    if (++one.done == one.streams.size()) calls_.erase(call);
  }

  bool is_aborted() const { return aborted_; }
  void abort() {
    aborted_ = true;
    collectives_changed().notify_all();
  }
  void close() {
    listens_no_more();
    for (const auto& wire : wires_) wire->close();
  }

 private:
  struct Call {
    struct Place {
      RuntimeStream* stream;
      uint64_t number;
    };
    std::map<int, Bytes> given;  // by rank
    std::vector<Place> streams;  // of this process's ranks that have enqueued it
    size_t done = 0;
  };

  static size_t bytes_of(const Segment& segment, DType dtype) {
    return static_cast<size_t>(segment.count) * size_of(dtype);
  }

  void hear(Message message, const Wire* from) {
    if (message.call == kJoins) {
      joined_ += message.bytes.size();
      return begin_if_all_joined();
    }
    if (message.call == kBegins) {
      has_begun_ = true;
      return;
    }
    for (const auto& wire : wires_) {
      if (wire.get() != from) wire->send(message);
    }
    calls_[message.call].given[static_cast<int>(message.rank)] = std::move(message.bytes);
    advance(message.call);
  }
  void begin_if_all_joined() {
    if (joined_ < size_) return;
    has_begun_ = true;
    listens_no_more();
    for (const auto& wire : wires_) wire->send({kBegins, 0, {}});
  }
  void listens_no_more() const {
    if (listener_) ::shutdown(listener_->get(), SHUT_RDWR);
  }
  void advance(int64_t call) {
    const std::vector<Call::Place> places = calls_[call].streams;
    for (const Call::Place& place : places) place.stream->run_until(place.number + 1);
  }

  size_t size_;
  std::shared_ptr<FileDescriptor> listener_;
  std::vector<std::shared_ptr<Wire>> wires_;
  size_t joined_ = 0;
  bool has_begun_ = false;
  std::map<int64_t, Call> calls_;
  bool aborted_ = false;
};

class ProcessRank : public DeviceCollectives {
 public:
  // `owner` closes the exchange when the last rank of the process is destroyed.
  ProcessRank(std::shared_ptr<Exchange> exchange, std::shared_ptr<void> owner, int rank, int size,
              int gpu, const Memory& memory)
      : exchange_(std::move(exchange)),
        owner_(std::move(owner)),
        rank_(rank),
        size_(size),
        gpu_(gpu),
        memory_(memory) {}

  ~ProcessRank() override { abort(); }
  ProcessRank(const ProcessRank&) = delete;
  ProcessRank& operator=(const ProcessRank&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int gpu() const override { return gpu_; }

  void all_reduce(RuntimeStream* stream, std::span<const Segment> segments, DType dtype,
                  ReduceOp op) override {
    const Lock lock(lock_of_all());
    check_locked();
    const std::string name = "a reduction among processes";
    check<Internal>(!stream->is_capturing(), "{} isn't captured by the simulator.", name);
    Operation operation{.name = name, .memory = {}, .run = {}, .prepare = {}};
    for (const Segment& segment : segments) {
      if (segment.count == 0) continue;
      const size_t bytes = static_cast<size_t>(segment.count) * size_of(dtype);
      operation.memory.push_back(memory_.allocation_of(segment.in, bytes, name));
      operation.memory.push_back(memory_.allocation_of(segment.out, bytes, name));
    }
    const int64_t call = next_++;
    const std::vector<Segment> own(segments.begin(), segments.end());
    operation.prepare = [exchange = exchange_, call, rank = rank_, own, dtype] {
      return exchange->come(call, rank, own, dtype);
    };
    operation.run = [exchange = exchange_, call, own, dtype, op] {
      exchange->run(call, own, dtype, op);
    };
    const uint64_t number = stream->enqueued();
    stream->enqueue(std::move(operation));
    exchange_->enqueued(call, *stream, number);
    collectives_changed().notify_all();
  }
  void reduce_scatter(RuntimeStream*, const void*, void*, int64_t, DType, ReduceOp) override {
    refuse();
  }
  void all_gather(RuntimeStream*, const void*, void*, size_t) override { refuse(); }
  void broadcast(RuntimeStream*, void*, size_t, int) override { refuse(); }

  void check_state() override {
    const Lock lock(lock_of_all());
    check_locked();
  }
  void synchronize(const RuntimeEvent& event) override {
    std::unique_lock lock(lock_of_all());
    while (!event.run()) collectives_changed().wait(lock);
    check_locked();
  }
  void abort() override {
    const Lock lock(lock_of_all());
    exchange_->abort();
  }

 private:
  [[noreturn]] static void refuse() {
    raise<Unimplemented>("The simulator only reduces among processes.");
  }
  void check_locked() const {
    check<Aborted>(!exchange_->is_aborted(), "Communication between GPUs was stopped.");
  }

  std::shared_ptr<Exchange> exchange_;
  std::shared_ptr<void> owner_;
  int rank_;
  int size_;
  int gpu_;
  const Memory& memory_;
  int64_t next_ = 0;  // the number of the next call
};

// Listening sockets by name. Guarded by lock_of_all().
std::map<std::string, FileDescriptor>& listening() {
  static auto* sockets = new std::map<std::string, FileDescriptor>;
  return *sockets;
}

}  // namespace

std::vector<std::byte> make_group_id() {
  std::random_device random;
  const std::string name = fmt::format("cornu-gpus-{}-{:x}{:x}", ::getpid(), random(), random());
  const Lock lock(lock_of_all());
  listening()[name] = listen_at(name);
  const auto bytes = std::as_bytes(std::span(name));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::unique_ptr<DeviceCollectives>> make_process_collectives(
    std::span<const int> gpus, int first, int size, std::span<const std::byte> id,
    const std::function<void()>& look, const Memory& memory) {
  const std::string name(reinterpret_cast<const char*>(id.data()), id.size());
  const auto exchange = std::make_shared<Exchange>(size);
  const std::shared_ptr<void> owner(nullptr, [exchange](void*) {
    const Lock lock(lock_of_all());
    exchange->close();
  });
  std::unique_lock lock(lock_of_all());
  if (first == 0) {
    exchange->listen(std::move(listening().extract(name).mapped()));
  } else {
    exchange->add_wire(std::make_shared<Wire>(connect_to(name)));
  }
  exchange->join(first, gpus.size());
  while (!exchange->has_begun()) {
    collectives_changed().wait_for(lock, std::chrono::milliseconds(1));
    lock.unlock();
    look();
    lock.lock();
  }
  std::vector<std::unique_ptr<DeviceCollectives>> ranks;
  for (const int gpu : gpus) {
    ranks.push_back(std::make_unique<ProcessRank>(
        exchange, owner, first + static_cast<int>(ranks.size()), size, gpu, memory));
  }
  return ranks;
}

}  // namespace cornu::cuda::simulated
