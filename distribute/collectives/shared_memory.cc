// SPDX-License-Identifier: Apache-2.0
#include "distribute/collectives/shared_memory.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>
#include <thread>

#include "framework/core/error.h"
#include "framework/core/hex.h"
#include "framework/core/logging.h"

namespace cornu::distribute {

// Rung by others; its owner sleeps on it.
struct alignas(64) Inbox::Bell {
  std::atomic<uint32_t> rings = 0;
  std::atomic<uint32_t> sleeping = 0;

  void ring() {
    rings.fetch_add(1);
    if (sleeping.load() != 0) call(FUTEX_WAKE, INT32_MAX, nullptr);
  }
  // Sleeps until the bell is rung after `seen`, or until the timeout.
  void sleep(uint32_t seen, std::chrono::milliseconds most) {
    const timespec time = {most.count() / 1000, most.count() % 1000 * 1'000'000};
    call(FUTEX_WAIT, seen, &time);
  }

 private:
  void call(int what, uint32_t value, const timespec* time) {
    static_assert(sizeof rings == sizeof(uint32_t) && decltype(rings)::is_always_lock_free);
    ::syscall(SYS_futex, &rings, what, value, time, nullptr, 0);
  }
};

// Counters of bytes written and read; the sender advances `head`, the receiver `tail`.
struct Inbox::Ring {
  alignas(64) std::atomic<uint64_t> head = 0;
  alignas(64) std::atomic<uint64_t> tail = 0;
  uint64_t place = 0;  // offset of its data; 0: there is none
};

namespace {

constexpr size_t kRing = size_t{512} << 10;  // bytes; fits into a core's private cache
constexpr uint64_t kMaxRanks = 1 << 16;
static_assert(kRing % Transport::kMaxWanted == 0);

// The start of the block.
struct Head {
  uint64_t ranks;
};
constexpr size_t kBellPlace = 64;
static_assert(sizeof(Head) <= kBellPlace);
constexpr size_t kRingsPlace = 128;

}  // namespace

std::shared_ptr<Inbox> Inbox::create(int size, const std::vector<int>& senders) {
  const auto ranks = static_cast<size_t>(size);
  const size_t data = (kRingsPlace + ranks * sizeof(Ring) + 4095) / 4096 * 4096;
  std::shared_ptr<Inbox> inbox(new Inbox(SharedBlock::create(data + senders.size() * kRing)));
  std::byte* memory = inbox->block_->bytes().data();
  new (memory) Head{ranks};
  new (memory + kBellPlace) Bell;
  size_t place = data;
  for (size_t i = 0; i < ranks; ++i) {
    auto* ring = new (memory + kRingsPlace + i * sizeof(Ring)) Ring;
    if (std::ranges::find(senders, static_cast<int>(i)) == senders.end()) continue;
    ring->place = place;
    place += kRing;
  }
  return inbox;
}

Json Inbox::description() const {
  const SharedBlock::Handle& handle = block_->handle();
  return Json::object({{"space", process_space()},
                       {"process", handle.process},
                       {"descriptor", handle.descriptor},
                       {"tag", to_hex(handle.tag)}});
}

std::shared_ptr<Inbox> Inbox::open(const Json& description) {
  try {
    if (description.at("space").as_string() != process_space()) return nullptr;
    SharedBlock::Handle handle{.process = description.at("process").as_int(),
                               .descriptor = description.at("descriptor").as_int()};
    if (!from_hex(description.at("tag").as_string(), handle.tag)) return nullptr;
    std::shared_ptr<SharedBlock> block = SharedBlock::open(handle);
    if (!block || block->bytes().size() < kRingsPlace) return nullptr;
    const uint64_t ranks = reinterpret_cast<const Head*>(block->bytes().data())->ranks;
    const bool fits =
        ranks <= kMaxRanks && kRingsPlace + ranks * sizeof(Ring) <= block->bytes().size();
    return fits ? std::shared_ptr<Inbox>(new Inbox(std::move(block))) : nullptr;
  } catch (const Error&) {
    return nullptr;  // not a description of an inbox
  }
}

Inbox::Bell& Inbox::bell() const {
  return *reinterpret_cast<Bell*>(block_->bytes().data() + kBellPlace);
}

Inbox::Ring* Inbox::ring(int sender) const {
  const std::span<std::byte> memory = block_->bytes();
  const auto rank = static_cast<uint64_t>(sender);
  if (rank >= reinterpret_cast<const Head*>(memory.data())->ranks) return nullptr;
  auto* ring = reinterpret_cast<Ring*>(memory.data() + kRingsPlace + rank * sizeof(Ring));
  const bool fits =
      ring->place > 0 && memory.size() >= kRing && ring->place <= memory.size() - kRing;
  return fits ? ring : nullptr;
}

std::byte* Inbox::data(int sender) const { return block_->bytes().data() + ring(sender)->place; }

namespace {

// Polls for somewhat longer than going to sleep and waking up takes, and yields the core meanwhile:
// it may be needed by those it waits for.
template <class Ready>
bool comes_soon(Ready ready) {
  constexpr std::chrono::microseconds kLongest(200);
  const auto end = std::chrono::steady_clock::now() + kLongest;
  do {
    if (ready()) return true;
    std::this_thread::yield();
  } while (std::chrono::steady_clock::now() < end);
  return ready();
}

class SharedMemoryTransport : public Transport {
 public:
  SharedMemoryTransport(GroupMembers members, std::vector<std::shared_ptr<Inbox>> inboxes)
      : members_(std::move(members)),
        inboxes_(std::move(inboxes)),
        ends_(inboxes_.size()),
        memory_of_(inboxes_.size()) {
    for (size_t i = 0; i < inboxes_.size(); ++i) {
      if (!inboxes_[i] || static_cast<int>(i) == rank()) continue;
      ends_[i].out = inboxes_[i]->ring(rank());
      ends_[i].in = own().ring(static_cast<int>(i));
      check<Internal>(ends_[i].out && ends_[i].in,
                      "Collective: worker {} and {} have no rings for each other.", rank(), i);
      ends_[i].out_data = inboxes_[i]->data(rank());
      ends_[i].in_data = own().data(static_cast<int>(i));
    }
  }

  int rank() const override { return members_.rank; }
  int size() const override { return members_.size(); }

  size_t send(int to, std::span<const std::byte> bytes) override {
    end_.rethrow_if_set();
    const End& end = ends_[static_cast<size_t>(to)];
    const uint64_t head = end.out->head.load(std::memory_order_relaxed);
    const size_t taken = std::min(bytes.size(), space(to));
    const size_t at = head % kRing;
    const size_t before_wrap = std::min(taken, kRing - at);
    if (taken == 0) return 0;
    std::memcpy(end.out_data + at, bytes.data(), before_wrap);
    std::memcpy(end.out_data, bytes.data() + before_wrap, taken - before_wrap);
    end.out->head.store(head + taken, std::memory_order_release);
    inboxes_[static_cast<size_t>(to)]->bell().ring();
    return taken;
  }

  std::span<const std::byte> received(int from, size_t wanted) override {
    const size_t there = filled(from);
    if (there < wanted) {
      end_.rethrow_if_set();
      return {};
    }
    const End& end = ends_[static_cast<size_t>(from)];
    const size_t at = end.in->tail.load(std::memory_order_relaxed) % kRing;
    const size_t before_wrap = std::min(there, kRing - at);
    if (before_wrap >= wanted) return {end.in_data + at, before_wrap};
    // An element that wraps around the end.
    std::memcpy(joined_.data(), end.in_data + at, before_wrap);
    std::memcpy(joined_.data() + before_wrap, end.in_data, wanted - before_wrap);
    return std::span(joined_).first(wanted);
  }

  void consume(int from, size_t bytes) override {
    if (bytes == 0) return;
    Inbox::Ring& ring = *ends_[static_cast<size_t>(from)].in;
    ring.tail.store(ring.tail.load(std::memory_order_relaxed) + bytes, std::memory_order_release);
    inboxes_[static_cast<size_t>(from)]->bell().ring();
  }

  size_t receive(int from, std::span<std::byte> bytes) override {
    if (bytes.empty()) return 0;
    const auto there = received(from, 1);
    const size_t taken = std::min(there.size(), bytes.size());
    if (taken > 0) std::memcpy(bytes.data(), there.data(), taken);
    consume(from, taken);
    return taken;
  }

  void wait(int to, int from) override {
    constexpr std::chrono::milliseconds kLook(
        1000);  // rings are never missed: this is for the deadline
    const auto deadline = std::chrono::steady_clock::now() + members_.timeout;
    const auto ready = [&] {
      return end_.is_set() || (to != kNobody && space(to) > 0) ||
             (from != kNobody && filled(from) > 0);
    };
    if (!comes_soon(ready)) {
      Inbox::Bell& bell = own().bell();
      bell.sleeping = 1;
      while (true) {
        const uint32_t rung = bell.rings;
        if (ready()) break;
        if (std::chrono::steady_clock::now() >= deadline) {
          bell.sleeping = 0;
          end_.raise(members_.waited_too_long(to, from));
        }
        bell.sleep(rung, std::min(kLook, members_.timeout));
      }
      bell.sleeping = 0;
    }
    end_.rethrow_if_set();
  }

  void abort(std::exception_ptr why) override {
    end_.set(std::move(why));
    own().bell().ring();
  }

  bool shares_memory() const override { return true; }
  std::byte* memory(size_t bytes) override {
    if (memory_ && memory_->bytes().size() >= bytes) return memory_->bytes().data();
    memory_.reset();
    if (bytes > most_memory_) return nullptr;
    try {
      memory_ = SharedBlock::create(bytes);
      return memory_->bytes().data();
    } catch (const ResourceExhausted& error) {
      logging::warn(
          fmt::format("{} Workers send each other what they reduce instead.", error.what()));
      most_memory_ = bytes - 1;
      return nullptr;
    }
  }
  std::span<const std::byte> own_memory() const override {
    return memory_ ? memory_->bytes() : std::span<std::byte>();
  }
  SharedBlock::Handle memory_handle() const override {
    return memory_ ? memory_->handle() : SharedBlock::Handle();
  }
  std::span<const std::byte> memory_of(int rank, const SharedBlock::Handle& handle) override {
    std::shared_ptr<SharedBlock>& known = memory_of_[static_cast<size_t>(rank)];
    if (!known || known->handle() != handle) {
      errno = 0;
      known = SharedBlock::open(handle);
      // A process keeps its memory until all have used it, so it is the process that is gone.
      if (!known && handle.descriptor >= 0 && errno == ENOENT) end_.raise(members_.lost(rank));
    }
    return known ? known->bytes() : std::span<std::byte>();
  }

 private:
  struct End {
    Inbox::Ring* out = nullptr;
    Inbox::Ring* in = nullptr;
    std::byte* out_data = nullptr;
    std::byte* in_data = nullptr;
  };

  const Inbox& own() const { return *inboxes_[static_cast<size_t>(rank())]; }

  // Bytes of a ring that are in use. Clamped: a corrupt counter mustn't lead outside the ring.
  static size_t in_use(const Inbox::Ring& ring) {
    const uint64_t used =
        ring.head.load(std::memory_order_acquire) - ring.tail.load(std::memory_order_acquire);
    return static_cast<size_t>(std::min<uint64_t>(used, kRing));
  }
  size_t space(int to) const { return kRing - in_use(*ends_[static_cast<size_t>(to)].out); }
  size_t filled(int from) const { return in_use(*ends_[static_cast<size_t>(from)].in); }

  GroupMembers members_;
  std::vector<std::shared_ptr<Inbox>> inboxes_;  // by rank
  std::vector<End> ends_;
  std::shared_ptr<SharedBlock> memory_;
  size_t most_memory_ = SIZE_MAX;                        // larger requests have failed
  std::vector<std::shared_ptr<SharedBlock>> memory_of_;  // by rank
  alignas(64) std::array<std::byte, kMaxWanted> joined_;
  GroupEnd end_;
};

}  // namespace

std::unique_ptr<Transport> make_shared_memory_transport(
    GroupMembers members, std::vector<std::shared_ptr<Inbox>> inboxes) {
  return std::make_unique<SharedMemoryTransport>(std::move(members), std::move(inboxes));
}

}  // namespace cornu::distribute
