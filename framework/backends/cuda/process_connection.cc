// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/process_connection.h"

#include <chrono>
#include <set>
#include <string>
#include <utility>

#include "framework/core/error.h"
#include "framework/core/hex.h"
#include "framework/core/json.h"
#include "framework/core/logging.h"

namespace cornu::cuda {
namespace {

// A process that is gone shows in the library before it does in the group: by then, it does there.
constexpr std::chrono::seconds kPatience{15};

}  // namespace

std::vector<std::unique_ptr<CollectiveGroup>> ProcessConnection::over(
    std::vector<std::unique_ptr<CollectiveGroup>> ends) {
  std::vector<std::unique_ptr<CollectiveGroup>> connected;
  for (auto& end : ends) {
    connected.push_back(std::make_unique<ConnectedGroup>(std::move(end), shared_from_this()));
  }
  return connected;
}

void ProcessConnection::all_reduce(int rank, RuntimeStream* stream,
                                   std::span<const Segment> segments, DType dtype, ReduceOp op) {
  try {
    Connection::all_reduce(rank, stream, segments, dtype, op);
  } catch (const RanksDiffer&) {
    throw;
  } catch (const Error&) {
    throw_cause(std::current_exception());
  }
}

void ProcessConnection::check_state(int rank) {
  try {
    Connection::check_state(rank);
  } catch (const Error&) {
    throw_cause(std::current_exception());
  }
}

// What has ended the group, or ends it soon; else what was seen.
void ProcessConnection::throw_cause(const std::exception_ptr& seen) {
  std::unique_lock lock(mutex_);
  ended_.wait_for(lock, kPatience, [&] { return why_ != nullptr; });
  std::rethrow_exception(why_ ? why_ : seen);
}

std::shared_ptr<const StoppedRun> ProcessConnection::follow(std::shared_ptr<RuntimeEvent> done) {
  auto outcome = std::make_shared<StoppedRun>();
  const std::lock_guard lock(mutex_);
  if (why_) {
    outcome->stop(why_);
    return outcome;
  }
  while (!runs_.empty() && runtime().is_done(*runs_.front().done)) runs_.pop_front();
  runs_.push_back({std::move(done), outcome});
  return outcome;
}

// Marks before it lets go: what isn't done by then may never have been.
void ProcessConnection::stop(const std::exception_ptr& why) {
  {
    const std::lock_guard lock(mutex_);
    if (why_) return;
    why_ = why;
    for (const Run& run : runs_) {
      if (!runtime().is_done(*run.done)) run.outcome->stop(why);
    }
    runs_.clear();
  }
  for (const auto& link : links()) link->abort();
  ended_.notify_all();
}

void ProcessConnection::settle() {
  const std::vector<std::shared_ptr<RuntimeEvent>> last = last_calls();
  for (const auto& event : last) {
    if (event) runtime().synchronize(*event);
  }
  std::exception_ptr why;
  {
    const std::lock_guard lock(mutex_);
    why = why_;
  }
  if (!why) return;
  try {
    std::rethrow_exception(why);
  } catch (const std::exception& error) {
    for (GpuDevice* device : devices_) device->forget_refused(error.what());
    throw;
  }
}

namespace {

// Tells the group's end to whoever waits for other processes while GPUs are being connected.
class EndNotice {
 public:
  void set(std::exception_ptr why) {
    const std::lock_guard lock(mutex_);
    why_ = std::move(why);
  }
  void rethrow_if_set() {
    const std::lock_guard lock(mutex_);
    if (why_) std::rethrow_exception(why_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr why_;
};

// What `make` gives, or in `failed` why there is none.
template <class Make>
auto attempt(const Make& make, std::string& failed) -> decltype(make()) {
  try {
    return make();
  } catch (const Error& error) {
    failed = error.what();
    return {};
  }
}

// Why these processes' GPUs can't be connected, by what each says of its own; empty: they can.
std::string why_not_connected(const std::vector<std::string>& said) {
  std::set<std::string> uuids;
  std::string first_version;
  for (size_t process = 0; process < said.size(); ++process) {
    const Json facts = Json::parse(said[process]);
    if (const std::string& why = facts.at("failed").as_string(); !why.empty()) {
      return fmt::format("Process {}: {}", process, why);
    }
    const std::string& version = facts.at("version").as_string();
    if (process == 0) first_version = version;
    if (version != first_version) {
      return fmt::format("Process 0 has {}, and process {} {}: all need the same.", first_version,
                         process, version);
    }
    for (const std::string& uuid : facts.at("gpus").as_strings()) {
      if (uuids.insert(uuid).second) continue;
      return fmt::format("A GPU of process {} is another replica's, too.", process);
    }
  }
  return "";
}

// The first error among what all processes say; empty: none has one.
std::string first_failure(const std::vector<std::string>& said) {
  for (size_t process = 0; process < said.size(); ++process) {
    if (!said[process].empty()) return fmt::format("Process {}: {}", process, said[process]);
  }
  return "";
}

// In steps that all processes take together, whatever fails in one of them.
Connection::Links make_links(Runtime& runtime, const std::vector<int>& gpus,
                             ProcessGroup& processes, std::string& failed) {
  std::vector<std::string> uuids;
  for (const int gpu : gpus) uuids.push_back(runtime.facts(gpu).uuid);
  std::string own_failure;
  const std::string version = attempt([&] { return runtime.collectives_version(); }, own_failure);
  failed = why_not_connected(processes.exchange(
      "GPUs",
      Json::object({{"failed", own_failure}, {"version", version}, {"gpus", uuids}}).dump()));
  if (!failed.empty()) return {};

  std::vector<std::byte> id;
  if (processes.process() == 0) {
    id = attempt([&] { return runtime.collectives_id(); }, own_failure);
  }
  const std::vector<std::string> ids = processes.exchange(
      "an id of GPUs", Json::object({{"failed", own_failure}, {"id", to_hex(id)}}).dump());
  const Json chosen = Json::parse(ids.front());
  failed = chosen.at("failed").as_string();
  if (!failed.empty()) return {};
  const std::string& digits = chosen.at("id").as_string();
  id.resize(digits.size() / 2);
  check<Internal>(from_hex(digits, id), "Process 0 gave no id of GPUs: {}.", digits);

  const auto notice = std::make_shared<EndNotice>();
  processes.on_end([notice](std::exception_ptr why) { notice->set(std::move(why)); });
  const int first = processes.process() * static_cast<int>(gpus.size());
  const int size = processes.processes() * static_cast<int>(gpus.size());
  Connection::Links links = attempt(
      [&] {
        return runtime.make_collectives(gpus, first, size, id, [&] { notice->rethrow_if_set(); });
      },
      own_failure);
  failed = first_failure(processes.exchange("connected GPUs", own_failure));
  if (!failed.empty()) return {};
  return links;
}

}  // namespace

std::shared_ptr<GroupConnection> connect_processes(Runtime& runtime,
                                                   std::vector<GpuDevice*> devices,
                                                   ProcessGroup& processes) {
  std::vector<int> gpus;
  for (const GpuDevice* device : devices) gpus.push_back(device->gpu());
  std::string failed;
  Connection::Links links = make_links(runtime, gpus, processes, failed);
  if (links.empty()) {
    logging::warn(fmt::format("GPUs of {} processes communicate through the hosts' memory. {}",
                              processes.processes(), failed));
    return nullptr;
  }
  logging::info(fmt::format("The GPUs of {} processes communicate by {}.", processes.processes(),
                            runtime.collectives_version()));
  const auto connection =
      std::make_shared<ProcessConnection>(runtime, std::move(links), std::move(devices));
  processes.on_end([weak = std::weak_ptr(connection)](const std::exception_ptr& why) {
    if (const auto living = weak.lock()) living->stop(why);
  });
  return connection;
}

}  // namespace cornu::cuda
