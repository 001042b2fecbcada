// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/process_connection.h"

#include <mutex>
#include <set>
#include <string>

#include "framework/core/error.h"
#include "framework/core/exception_text.h"
#include "framework/core/hex.h"
#include "framework/core/json.h"
#include "framework/core/logging.h"

namespace cornu::cuda {
namespace {

constexpr std::chrono::seconds kSayAfter{5};

std::vector<DeviceCollectives*> pointers_to(const Connection::Links& links) {
  std::vector<DeviceCollectives*> pointers;
  for (const auto& link : links) pointers.push_back(link.get());
  return pointers;
}

}  // namespace

ProcessConnection::ProcessConnection(Runtime& runtime, Links links, std::vector<GpuDevice*> devices,
                                     const std::shared_ptr<ProcessGroup>& processes,
                                     std::chrono::milliseconds timeout)
    : Connection(runtime, std::move(links)),
      devices_(std::move(devices)),
      watch_(std::make_unique<RunWatch>(runtime, pointers_to(this->links()), processes, timeout)) {}

// A run that is stopped at this point has nobody left to notify.
ProcessConnection::~ProcessConnection() {
  if (!watch_->let_go()) {
    for (const auto& link : links()) link->leave();
  }
  forget(watch_->why_ended());
}

// The only trace of stopped runs from here on are their variables, which are poisoned.
void ProcessConnection::forget(const std::exception_ptr& why) {
  const std::string text = text_of(why);
  for (GpuDevice* device : devices_) {
    try {
      device->forget_refused(text);
    } catch (
        const std::exception& failed) {  // a GPU has failed: the first error is more informative
      logging::warn(failed.what());
    }
  }
}

std::vector<std::unique_ptr<CollectiveGroup>> ProcessConnection::over(
    std::vector<std::unique_ptr<CollectiveGroup>> ends) {
  std::vector<std::unique_ptr<CollectiveGroup>> connected;
  for (auto& end : ends) {
    connected.push_back(std::make_unique<ConnectedGroup>(std::move(end), shared_from_this()));
  }
  return connected;
}

// If a process is gone, the group's error is better than the library's.
template <class Call>
void ProcessConnection::with_cause(const Call& call) {
  try {
    call();
  } catch (const RankUnreachable&) {
    watch_->throw_cause(std::current_exception());
  } catch (const Aborted&) {
    watch_->throw_cause(std::current_exception());
  }
}

void ProcessConnection::all_reduce(int rank, RuntimeStream* stream,
                                   std::span<const Segment> segments, DType dtype, ReduceOp op) {
  std::shared_ptr<RuntimeEvent> reached = runtime().record(stream);
  with_cause([&] { Connection::all_reduce(rank, stream, segments, dtype, op); });
  watch_->follow_call(rank, std::move(reached), runtime().record(stream));
}

void ProcessConnection::check_state(int rank) {
  if (const std::exception_ptr why = watch_->why_ended()) rethrow_copy(why);
  with_cause([&] { Connection::check_state(rank); });
}

// The watch ensures that this terminates.
void ProcessConnection::settle() {
  std::exception_ptr failed;
  for (GpuDevice* device : devices_) {
    try {
      device->drain();
    } catch (const Error&) {
      failed = std::current_exception();
    }
  }
  const std::exception_ptr why = watch_->why_ended();
  if (why) forget(why);
  if (why || failed) rethrow_copy(why ? why : failed);
}

namespace {

// How processes agree on the connection of their GPUs, in steps that all of them take together even
// when one of them fails.
class Negotiation {
 public:
  Negotiation(Runtime& runtime, std::vector<int> gpus, ProcessGroup& processes)
      : runtime_(runtime), gpus_(std::move(gpus)), processes_(processes) {}

  // Returns no links when they don't agree: why_not() has the reason.
  Connection::Links operator()(std::chrono::milliseconds connecting) {
    if (!have_gpus_of_their_own()) return {};
    const std::vector<std::byte> id = agreed_id();
    if (!why_not_.empty()) return {};
    std::string failed;
    Connection::Links links = attempt([&] { return joined(id, connecting); }, failed);
    const std::vector<std::string> all = processes_.exchange("connected GPUs", failed);
    for (size_t process = 0; process < all.size() && why_not_.empty(); ++process) {
      if (!all[process].empty()) why_not_ = fmt::format("Process {}: {}", process, all[process]);
    }
    return why_not_.empty() ? std::move(links) : Connection::Links();
  }
  const std::string& why_not() const { return why_not_; }

 private:
  // Returns the result of `make`, or sets `failed` to the reason why there is none.
  template <class Make>
  static auto attempt(const Make& make, std::string& failed) -> decltype(make()) {
    try {
      return make();
    } catch (const Error& error) {
      failed = error.what();
      return {};
    }
  }

  bool have_gpus_of_their_own() {
    std::vector<std::string> uuids;
    for (const int gpu : gpus_) uuids.push_back(runtime_.facts(gpu).uuid);
    std::string failed;
    const std::string version = attempt([&] { return runtime_.collectives_version(); }, failed);
    const Json own = Json::object({{"failed", failed}, {"version", version}, {"gpus", uuids}});
    std::vector<Json> all;
    for (const std::string& said : processes_.exchange("GPUs", own.dump())) {
      all.push_back(Json::parse(said));
    }
    std::set<std::string> seen;
    for (size_t process = 0; process < all.size() && why_not_.empty(); ++process) {
      why_not_ = why_not_with(all[process], all.front(), process, seen);
    }
    return why_not_.empty();
  }

  // `seen`: the GPUs of preceding processes.
  static std::string why_not_with(const Json& facts, const Json& first, size_t process,
                                  std::set<std::string>& seen) {
    if (const std::string& failed = facts.at("failed").as_string(); !failed.empty()) {
      return fmt::format("Process {}: {}", process, failed);
    }
    if (facts.at("version") != first.at("version")) {
      return fmt::format("Process 0 has {}, and process {} {}: all need the same.",
                         first.at("version").as_string(), process, facts.at("version").as_string());
    }
    for (const std::string& uuid : facts.at("gpus").as_strings()) {
      if (seen.insert(uuid).second) continue;
      return fmt::format("A GPU of process {} is another replica's, too.", process);
    }
    return "";
  }

  std::vector<std::byte> agreed_id() {
    std::string failed;
    std::vector<std::byte> id;
    if (processes_.process() == 0) id = attempt([&] { return runtime_.collectives_id(); }, failed);
    const Json own = Json::object({{"failed", failed}, {"id", to_hex(id)}});
    const Json chosen = Json::parse(processes_.exchange("an id of GPUs", own.dump()).front());
    if (const std::string& why = chosen.at("failed").as_string(); !why.empty()) {
      why_not_ = fmt::format("Process 0: {}", why);
      return {};
    }
    const std::string& digits = chosen.at("id").as_string();
    id.resize(digits.size() / 2);
    check<Internal>(from_hex(digits, id), "Process 0 gave no id of GPUs: {}.", digits);
    return id;
  }

  Connection::Links joined(const std::vector<std::byte>& id, std::chrono::milliseconds most) {
    using Clock = std::chrono::steady_clock;
    const auto ended = std::make_shared<EndNotice>();
    processes_.on_end(
        [ended](const std::exception_ptr& why, ProcessGroup::Ending) { ended->set(why); });
    const Clock::time_point began = Clock::now();
    bool has_said = false;
    const auto look = [&] {
      ended->rethrow_if_set();
      const auto waited = Clock::now() - began;
      if (waited > kSayAfter && !std::exchange(has_said, true)) {
        logging::info("Waiting for the GPUs of other processes to be connected.");
      }
      check<DeadlineExceeded>(
          waited < most,
          "GPUs weren't connected in {:g} s. Can the machines reach each other at the ports that "
          "{} chooses, in the network that NCCL_SOCKET_IFNAME names?",
          std::chrono::duration<double>(most).count(), runtime_.collectives_version());
    };
    const int first = processes_.process() * static_cast<int>(gpus_.size());
    const int size = processes_.processes() * static_cast<int>(gpus_.size());
    return runtime_.make_collectives(gpus_, first, size, id, look);
  }

  // Reports the group's end to those that wait for other processes.
  class EndNotice {
   public:
    void set(const std::exception_ptr& why) {
      const std::lock_guard lock(mutex_);
      why_ = why;
    }
    void rethrow_if_set() {
      const std::lock_guard lock(mutex_);
      if (why_) rethrow_copy(why_);
    }

   private:
    std::mutex mutex_;
    std::exception_ptr why_;
  };

  Runtime& runtime_;
  const std::vector<int> gpus_;
  ProcessGroup& processes_;
  std::string why_not_;
};

}  // namespace

std::shared_ptr<GroupConnection> connect_processes(Runtime& runtime,
                                                   std::vector<GpuDevice*> devices,
                                                   const std::shared_ptr<ProcessGroup>& processes,
                                                   std::chrono::milliseconds timeout,
                                                   std::chrono::milliseconds connecting) {
  std::vector<int> gpus;
  for (const GpuDevice* device : devices) gpus.push_back(device->gpu());
  Negotiation negotiate(runtime, std::move(gpus), *processes);
  Connection::Links links = negotiate(connecting);
  if (links.empty()) {
    logging::warn(fmt::format("GPUs of {} processes communicate through the hosts' memory. {}",
                              processes->processes(), negotiate.why_not()));
    return nullptr;
  }
  logging::info(fmt::format("The GPUs of {} processes communicate by {}.", processes->processes(),
                            runtime.collectives_version()));
  return std::make_shared<ProcessConnection>(runtime, std::move(links), std::move(devices),
                                             processes, timeout);
}

}  // namespace cornu::cuda
