// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda_runtime/nccl.h"

#if __has_include(<nccl.h>)

#include <nccl.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "framework/core/error.h"

namespace cornu::cuda {
namespace {

// clang-format off
#define CORNU_NCCL_FUNCTIONS(FUNCTION) \
  FUNCTION(ncclAllGather) FUNCTION(ncclAllReduce) FUNCTION(ncclBroadcast) FUNCTION(ncclCommAbort) \
  FUNCTION(ncclCommDestroy) FUNCTION(ncclCommFinalize) FUNCTION(ncclCommGetAsyncError) \
  FUNCTION(ncclCommInitRankConfig) \
  FUNCTION(ncclGetErrorString) FUNCTION(ncclGetLastError) FUNCTION(ncclGetUniqueId) \
  FUNCTION(ncclGetVersion) FUNCTION(ncclGroupEnd) FUNCTION(ncclGroupStart) \
  FUNCTION(ncclReduceScatter)
// clang-format on

CORNU_NCCL_FUNCTIONS(CORNU_DECLARE)
constexpr LoadedFunction kFunctions[] = {CORNU_NCCL_FUNCTIONS(CORNU_LOADED)};

void load_nccl() {
  static const bool loaded = [] {
    // Switches would use their own order of summation: results mustn't depend on whether there are
    // any.
    setenv("NCCL_NVLS_ENABLE", "0", 0);
    load_library("libnccl.so.2", "NCCL", kFunctions);
    return true;
  }();
  static_cast<void>(loaded);
}

std::string text_of(ncclResult_t result, ncclComm_t communicator) {
  const char* last = ncclGetLastError(communicator);
  return fmt::format("{}{}{}", ncclGetErrorString(result),
                     last != nullptr && *last != '\0' ? ": " : "", last != nullptr ? last : "");
}

constexpr const char* kStopped =
    "Communication between GPUs was stopped, since a replica has failed.";

ncclDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::Bool:
    case DType::UInt8:
      return ncclUint8;
    case DType::Int8:
      return ncclInt8;
    case DType::Int32:
      return ncclInt32;
    case DType::Int64:
      return ncclInt64;
    case DType::UInt32:
      return ncclUint32;
    case DType::UInt64:
      return ncclUint64;
    case DType::Float16:
      return ncclFloat16;
    case DType::BFloat16:
      return ncclBfloat16;
    case DType::Float32:
      return ncclFloat32;
    case DType::Float64:
      return ncclFloat64;
    case DType::String:
      break;
  }
  raise<Internal>("GPUs were asked to communicate arrays of {}.", dtype);
}

ncclRedOp_t operation_of(ReduceOp op, DType dtype) {
  check<Internal>(dtype != DType::Bool || op == ReduceOp::Min || op == ReduceOp::Max,
                  "GPUs were asked to add arrays of bool.");
  switch (op) {
    case ReduceOp::Sum:
      return ncclSum;
    case ReduceOp::Mean:
      return ncclAvg;
    case ReduceOp::Min:
      return ncclMin;
    case ReduceOp::Max:
      break;
  }
  return ncclMax;
}

// The ranks that a call waits for: threads of the same process, which all arrive, or other
// processes, which may be gone.
enum class Others { Threads, Processes };

class NcclCollectives : public DeviceCollectives {
 public:
  NcclCollectives(Gpu& gpu, int rank, int size, Others others)
      : gpu_(gpu), rank_(rank), size_(size), others_(others) {}
  NcclCollectives(const NcclCollectives&) = delete;
  NcclCollectives& operator=(const NcclCollectives&) = delete;
  ~NcclCollectives() override {
    if (communicator_ == nullptr || aborted_) return;
    // Destroying would wait for the other ranks, which may be gone.
    const bool is_quiet = others_ == Others::Threads ? !failed_ : left_ && is_flushed();
    if (is_quiet) {
      ncclCommDestroy(communicator_);
    } else {
      ncclCommAbort(communicator_);
    }
  }

  // Must be called for all ranks of the process together, within a group.
  void join(const ncclUniqueId& id) {
    gpu_.use();
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.collnetEnable = 0;  // as in load_nccl
    // Otherwise a call that waits for a lost process couldn't be ended.
    if (others_ == Others::Processes) config.blocking = 0;
    const ncclResult_t result = ncclCommInitRankConfig(&communicator_, size_, id, rank_, &config);
    if (is_error(result)) require(result, "connecting GPUs");
  }
  // Waits until the call in progress has been made.
  void await_others(const char* doing, const std::function<void()>& look) {
    using Clock = std::chrono::steady_clock;
    const auto began = Clock::now();
    while (true) {
      ncclResult_t state = ncclSuccess;
      require(ncclCommGetAsyncError(communicator_, &state), doing);
      if (state != ncclInProgress) return require(state, doing);
      look();
      pause(Clock::now() - began);
    }
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int gpu() const override { return gpu_.number(); }

  void all_reduce(RuntimeStream* stream, std::span<const Segment> segments, DType dtype,
                  ReduceOp op) override {
    const ncclDataType_t type = type_of(dtype);
    const ncclRedOp_t operation = operation_of(op, dtype);
    enqueue(stream, "reducing", [&] {
      require(ncclGroupStart(), "reducing");
      ncclResult_t result = ncclSuccess;
      for (const Segment& segment : segments) {
        if (segment.count == 0 || is_error(result)) continue;
        result = ncclAllReduce(segment.in, segment.out, static_cast<size_t>(segment.count), type,
                               operation, communicator_, stream->handle());
      }
      const ncclResult_t ended = ncclGroupEnd();
      return is_error(result) ? result : ended;
    });
  }

  void reduce_scatter(RuntimeStream* stream, const void* in, void* out, int64_t count_per_rank,
                      DType dtype, ReduceOp op) override {
    const ncclDataType_t type = type_of(dtype);
    const ncclRedOp_t operation = operation_of(op, dtype);
    if (count_per_rank == 0) return;
    enqueue(stream, "reducing", [&] {
      return ncclReduceScatter(in, out, static_cast<size_t>(count_per_rank), type, operation,
                               communicator_, stream->handle());
    });
  }

  void all_gather(RuntimeStream* stream, const void* in, void* out,
                  size_t bytes_per_rank) override {
    if (bytes_per_rank == 0) return;
    enqueue(stream, "gathering", [&] {
      return ncclAllGather(in, out, bytes_per_rank, ncclUint8, communicator_, stream->handle());
    });
  }

  void broadcast(RuntimeStream* stream, void* data, size_t bytes, int root) override {
    if (bytes == 0) return;
    enqueue(stream, "broadcasting", [&] {
      return ncclBroadcast(data, data, bytes, ncclUint8, root, communicator_, stream->handle());
    });
  }

  // Aborting drops data still held by the threads that serve the network.
  void leave() override {
    const std::lock_guard lock(mutex_);
    if (communicator_ == nullptr || aborted_ || failed_ || others_ == Others::Threads) return;
    gpu_.use();
    left_ = !is_error(ncclCommFinalize(communicator_));
  }
  void check_state() override {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock) check_locked();
  }

  void synchronize(const RuntimeEvent& event) override {
    using Clock = std::chrono::steady_clock;
    const auto began = Clock::now();
    event.gpu().use();
    while (true) {
      const CUresult result = cuEventQuery(event.handle());
      if (result == CUDA_SUCCESS) {  // perhaps because it was released
        check<Aborted>(!aborted_, kStopped);
        return;
      }
      if (result != CUDA_ERROR_NOT_READY) event.check(result, "waiting for other GPUs");
      try {
        check_state();
      } catch (const Error&) {
        abort();
        throw;
      }
      pause(Clock::now() - began);
    }
  }

  // A thread that enqueues holds the lock, and may itself be waiting for a lost rank, which only
  // aborting ends.
  void abort() override {
    if (aborted_.exchange(true)) return;
    const std::unique_lock lock(mutex_, std::chrono::seconds(5));
    if (communicator_ != nullptr) ncclCommAbort(communicator_);
  }

 private:
  static bool is_error(ncclResult_t result) {
    return result != ncclSuccess && result != ncclInProgress;
  }
  // Whether everything sent has reached the other ranks, within a short time.
  bool is_flushed() {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::seconds kMax{2};
    const auto began = Clock::now();
    ncclResult_t state = ncclInProgress;
    while (state == ncclInProgress && Clock::now() - began < kMax) {
      if (ncclCommGetAsyncError(communicator_, &state) != ncclSuccess) return false;
      pause(Clock::now() - began);
    }
    return state == ncclSuccess;
  }
  // Yields first, since most waits are short.
  static void pause(std::chrono::steady_clock::duration waited) {
    if (waited < std::chrono::milliseconds(2)) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  template <class Run>
  void enqueue(RuntimeStream* stream, const char* doing, const Run& run) {
    const std::lock_guard lock(mutex_);
    check_locked();
    gpu_.use();
    stream->note(fmt::format("{} by NCCL", doing));
    const ncclResult_t result = run();
    if (result == ncclSuccess) return;
    try {
      if (is_error(result)) require(result, doing);
      await_others(doing, [&] { check<Aborted>(!aborted_, kStopped); });
    } catch (const Error&) {
      stream->broken = true;
      throw;
    }
  }

  void check_locked() {
    check<Aborted>(!aborted_, kStopped);
    ncclResult_t state = ncclSuccess;
    require(ncclCommGetAsyncError(communicator_, &state), "asking for errors");
    if (state != ncclInProgress) require(state, "communicating between GPUs");
  }

  void require(ncclResult_t result, const char* doing) {
    if (result == ncclSuccess) [[likely]] {
      return;
    }
    failed_ = true;
    // After an abort, the communicator with the details is freed.
    check<Aborted>(!aborted_, kStopped);
    const std::string text =
        fmt::format("NCCL failed when {} on GPU {} (rank {} of {}): {}", doing, gpu_.number(),
                    rank_, size_, text_of(result, communicator_));
    check<RankUnreachable>(result != ncclRemoteError && result != ncclSystemError, "{}", text);
    throw Internal(text);
  }

  Gpu& gpu_;
  int rank_;
  int size_;
  Others others_;
  ncclComm_t communicator_ = nullptr;
  std::timed_mutex mutex_;  // guards calls of the communicator
  std::atomic<bool> aborted_ = false;
  std::atomic<bool> failed_ = false;
  bool left_ = false;
};

void check_nccl(ncclResult_t result, const char* doing) {
  check<Internal>(result == ncclSuccess, "NCCL failed when {}: {}", doing,
                  result == ncclSuccess ? "" : text_of(result, nullptr));
}

ncclUniqueId new_id() {
  ncclUniqueId id;
  check_nccl(ncclGetUniqueId(&id), "making a group's id");
  return id;
}

using Ranks = std::vector<std::unique_ptr<NcclCollectives>>;

Ranks join(std::span<Gpu* const> gpus, int first, int size, Others others, const ncclUniqueId& id) {
  Ranks ranks;
  for (Gpu* gpu : gpus) {
    const int rank = first + static_cast<int>(ranks.size());
    ranks.push_back(std::make_unique<NcclCollectives>(*gpu, rank, size, others));
  }
  check_nccl(ncclGroupStart(), "connecting GPUs");
  try {
    for (const auto& rank : ranks) rank->join(id);
  } catch (...) {
    ncclGroupEnd();
    throw;
  }
  const ncclResult_t ended = ncclGroupEnd();
  if (ended != ncclInProgress) check_nccl(ended, "connecting GPUs");
  return ranks;
}

std::vector<std::unique_ptr<DeviceCollectives>> as_collectives(Ranks ranks) {
  return {std::make_move_iterator(ranks.begin()), std::make_move_iterator(ranks.end())};
}

}  // namespace

std::vector<std::unique_ptr<DeviceCollectives>> make_nccl(std::span<Gpu* const> gpus) {
  load_nccl();
  return as_collectives(join(gpus, 0, static_cast<int>(gpus.size()), Others::Threads, new_id()));
}

std::vector<std::unique_ptr<DeviceCollectives>> make_nccl(std::span<Gpu* const> gpus, int first,
                                                          int size, std::span<const std::byte> id,
                                                          const std::function<void()>& look) {
  load_nccl();
  ncclUniqueId own;
  check<InvalidArgument>(id.size() == sizeof(own), "An id of a group of GPUs has {} bytes, got {}.",
                         sizeof(own), id.size());
  std::memcpy(&own, id.data(), sizeof(own));
  Ranks ranks = join(gpus, first, size, Others::Processes, own);
  for (const auto& rank : ranks) rank->await_others("connecting GPUs", look);
  return as_collectives(std::move(ranks));
}

std::vector<std::byte> make_nccl_id() {
  load_nccl();
  const ncclUniqueId id = new_id();
  std::vector<std::byte> bytes(sizeof(id));
  std::memcpy(bytes.data(), &id, sizeof(id));
  return bytes;
}

std::string nccl_version() {
  load_nccl();
  int version = 0;
  check_nccl(ncclGetVersion(&version), "asking for its version");
  return fmt::format("NCCL {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string nccl_version_text() {
  try {
    return nccl_version();
  } catch (const Error&) {
    return "no NCCL";
  }
}

}  // namespace cornu::cuda

#else

#include "framework/core/error.h"

namespace cornu::cuda {
namespace {

[[noreturn]] void refuse() {
  raise<Unimplemented>("Cornu was built without NCCL, which lets GPUs communicate.");
}

}  // namespace

std::vector<std::unique_ptr<DeviceCollectives>> make_nccl(std::span<Gpu* const>) { refuse(); }
std::vector<std::unique_ptr<DeviceCollectives>> make_nccl(std::span<Gpu* const>, int, int,
                                                          std::span<const std::byte>,
                                                          const std::function<void()>&) {
  refuse();
}
std::string nccl_version() { refuse(); }
std::vector<std::byte> make_nccl_id() { refuse(); }
std::string nccl_version_text() { return "no NCCL"; }

}  // namespace cornu::cuda

#endif
