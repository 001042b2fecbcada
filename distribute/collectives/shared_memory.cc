// SPDX-License-Identifier: Apache-2.0
#include "distribute/collectives/shared_memory.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <new>
#include <thread>

#include "framework/core/error.h"

namespace cornu::distribute {

// Rung by others; its owner sleeps on it.
struct alignas(64) Inbox::Bell {
  std::atomic<uint32_t> rings = 0;
  std::atomic<uint32_t> sleeping = 0;

  void ring() {
    rings.fetch_add(1);
    if (sleeping.load() != 0) call(FUTEX_WAKE, INT32_MAX, nullptr);
  }
  // Until it is rung after `seen`, for a while at most.
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

// Counts of bytes that were written and read; the sender moves `head`, the receiver `tail`.
struct Inbox::Ring {
  alignas(64) std::atomic<uint64_t> head = 0;
  alignas(64) std::atomic<uint64_t> tail = 0;
  uint64_t place = 0;  // of its data; 0: there is none
};

namespace {

constexpr size_t kRing = size_t{512} << 10;  // bytes; stays in a core's own cache
constexpr size_t kTag = 16;
constexpr uint64_t kMostRanks = 1 << 16;
static_assert(kRing % Transport::kMostWanted == 0);

// The first bytes: what they are found right by.
struct Head {
  std::array<std::byte, kTag> tag;
  uint64_t ranks;
};
constexpr size_t kBellPlace = 64;
static_assert(sizeof(Head) <= kBellPlace);
constexpr size_t kRingsPlace = 128;

std::string line_of(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Processes with the same one see each other under /proc.
std::string process_space() {
  struct stat space {};
  static_cast<void>(::stat("/proc/self/ns/pid", &space));
  return fmt::format("{}:{}", line_of("/proc/sys/kernel/random/boot_id"), space.st_ino);
}

std::string hex(const std::array<std::byte, kTag>& tag) {
  std::string text;
  for (const std::byte byte : tag) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

}  // namespace

Inbox::Inbox(FileDescriptor memory, size_t bytes) : memory_(std::move(memory)), bytes_(bytes) {}

void Inbox::map() {
  void* mapped = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0);
  check<ResourceExhausted>(mapped != MAP_FAILED, "Collective: {} bytes of shared memory: {}.",
                           bytes_, std::strerror(errno));
  mapped_ = static_cast<std::byte*>(mapped);
}

Inbox::~Inbox() {
  if (mapped_) ::munmap(mapped_, bytes_);
}

std::shared_ptr<Inbox> Inbox::create(int size, const std::vector<int>& senders) {
  const auto ranks = static_cast<size_t>(size);
  const size_t data = (kRingsPlace + ranks * sizeof(Ring) + 4095) / 4096 * 4096;
  const size_t bytes = data + senders.size() * kRing;
  FileDescriptor memory(::memfd_create("cornu", MFD_CLOEXEC));
  check<ResourceExhausted>(
      memory.is_open() && ::ftruncate(memory.get(), static_cast<off_t>(bytes)) == 0,
      "Collective: {} bytes of shared memory: {}.", bytes, std::strerror(errno));
  std::shared_ptr<Inbox> inbox(new Inbox(std::move(memory), bytes));
  inbox->map();
  auto* head = new (inbox->mapped_) Head{{}, ranks};
  const ssize_t random = ::getrandom(head->tag.data(), kTag, 0);
  CORNU_ASSERT(random, ==, ssize_t{kTag});
  new (inbox->mapped_ + kBellPlace) Bell;
  size_t place = data;
  for (size_t i = 0; i < ranks; ++i) {
    auto* ring = new (inbox->mapped_ + kRingsPlace + i * sizeof(Ring)) Ring;
    if (std::ranges::find(senders, static_cast<int>(i)) == senders.end()) continue;
    ring->place = place;
    place += kRing;
  }
  return inbox;
}

Json Inbox::description() const {
  return Json::object({{"space", process_space()},
                       {"process", static_cast<int64_t>(::getpid())},
                       {"descriptor", static_cast<int64_t>(memory_.get())},
                       {"tag", hex(reinterpret_cast<const Head*>(mapped_)->tag)}});
}

std::shared_ptr<Inbox> Inbox::open(const Json& description) {
  try {
    if (description.at("space").as_string() != process_space()) return nullptr;
    const std::string path = fmt::format("/proc/{}/fd/{}", description.at("process").as_int(),
                                         description.at("descriptor").as_int());
    FileDescriptor memory(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    struct stat found {};
    if (!memory.is_open() || ::fstat(memory.get(), &found) != 0 || !S_ISREG(found.st_mode) ||
        found.st_size < static_cast<off_t>(kRingsPlace)) {
      return nullptr;
    }
    std::shared_ptr<Inbox> inbox(new Inbox(std::move(memory), static_cast<size_t>(found.st_size)));
    inbox->map();
    const auto* head = reinterpret_cast<const Head*>(inbox->mapped_);
    const bool is_it = hex(head->tag) == description.at("tag").as_string() &&
                       head->ranks <= kMostRanks &&
                       kRingsPlace + head->ranks * sizeof(Ring) <= inbox->bytes_;
    return is_it ? inbox : nullptr;
  } catch (const Error&) {
    return nullptr;  // no description of an inbox
  }
}

Inbox::Bell& Inbox::bell() const { return *reinterpret_cast<Bell*>(mapped_ + kBellPlace); }

Inbox::Ring* Inbox::ring(int sender) const {
  const auto rank = static_cast<uint64_t>(sender);
  if (rank >= reinterpret_cast<const Head*>(mapped_)->ranks) return nullptr;
  auto* ring = reinterpret_cast<Ring*>(mapped_ + kRingsPlace + rank * sizeof(Ring));
  return ring->place > 0 && ring->place <= bytes_ - kRing ? ring : nullptr;
}

std::byte* Inbox::data(int sender) const { return mapped_ + ring(sender)->place; }

namespace {

// Looks for as long as sleeping and being woken takes, and lets others have the core meanwhile:
// they may be those that it waits for.
template <class Ready>
bool comes_soon(Ready ready) {
  constexpr std::chrono::microseconds kLongest(20);
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
      : members_(std::move(members)), inboxes_(std::move(inboxes)), ends_(inboxes_.size()) {
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
    // An element that lies on both sides of the end.
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
    constexpr std::chrono::milliseconds kLook(1000);  // a bell is never missed: for the deadline
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

 private:
  struct End {
    Inbox::Ring* out = nullptr;
    Inbox::Ring* in = nullptr;
    std::byte* out_data = nullptr;
    std::byte* in_data = nullptr;
  };

  const Inbox& own() const { return *inboxes_[static_cast<size_t>(rank())]; }

  // Bytes of a ring that are in use; its other end may be damaged, but is never followed elsewhere.
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
  alignas(64) std::array<std::byte, kMostWanted> joined_;
  GroupEnd end_;
};

}  // namespace

std::unique_ptr<Transport> make_shared_memory_transport(
    GroupMembers members, std::vector<std::shared_ptr<Inbox>> inboxes) {
  return std::make_unique<SharedMemoryTransport>(std::move(members), std::move(inboxes));
}

}  // namespace cornu::distribute
