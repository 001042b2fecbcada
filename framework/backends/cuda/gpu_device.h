// SPDX-License-Identifier: Apache-2.0
// A logical GPU: its memory, its stream, and the work whose outcome isn't known yet.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "framework/backends/cuda/memory_pool.h"
#include "framework/backends/cuda/staging.h"
#include "framework/backends/cuda/stopped_run.h"
#include "framework/core/tensor.h"
#include "framework/core/variable.h"
#include "framework/graph/op.h"

namespace cornu::cuda {

// The checks made by a program's kernels, by the number that a failed check reports.
using Checks = std::map<int64_t, std::function<void(int64_t value)>>;

// Held while enqueueing work on several GPUs that makes them wait for each other, i.e. a run with
// collectives or a copy. Each GPU executes its work in order, and inconsistent orders would
// deadlock.
std::mutex& order_of_gpus();

class GpuDevice;

// Memory of a GpuDevice (devices are never destroyed).
class GpuBuffer : public Buffer {
 public:
  enum class Kind { Computed, Uploaded };
  GpuBuffer(GpuDevice& owner, std::byte* memory, size_t bytes, Kind kind);
  ~GpuBuffer() override;

  GpuDevice& owner() const { return owner_; }
  // The value is available once this event has happened, and doesn't change before the next write.
  void set_ready(std::shared_ptr<RuntimeEvent> ready) { ready_ = std::move(ready); }
  // The run that its value depends on.
  const Origin& origin() const { return origin_; }
  void set_origin(Origin origin) { origin_ = std::move(origin); }
  // The last run that it depends on among those whose failed checks may not have been noticed; 0:
  // none.
  uint64_t last_run() const { return last_run_; }
  void set_last_run(uint64_t number) { last_run_ = number; }

  void copy_to_host(size_t offset, std::span<std::byte> to) const override;
  std::shared_ptr<Buffer> clone(size_t offset, size_t bytes) const override;
  void before_write() override { ready_.reset(); }

 private:
  GpuDevice& owner_;
  Kind kind_;
  std::shared_ptr<RuntimeEvent> ready_;
  Origin origin_;
  std::atomic<uint64_t> last_run_ = 0;
};

// The buffer of a tensor in GPU memory.
GpuBuffer& buffer_of(const Tensor& tensor);
// The last run that any of these tensors in GPU memory depends on.
uint64_t last_run_of(std::span<const Tensor> tensors);
// The origin of these tensors in GPU memory.
Origin origin_of(std::span<const Tensor> tensors);

// All kernels run on one stream, in the order in which they were enqueued by any thread. The host
// continues meanwhile, and only waits for what it reads. Arrays from the host are copied on a
// second stream, through page-locked memory, while kernels run.
//
// Kernels that reject a value (a label, an index) report it, and the first operation that waits for
// them throws: a read of any array of the device, or its next run. Variables written since then are
// poisoned, unless they have been assigned values since that don't depend on any of these runs.
class GpuDevice {
 public:
  // `limit`: maximum memory in bytes; 0: unlimited.
  GpuDevice(Runtime& runtime, int gpu, const Device& device, size_t limit);

  Runtime& runtime() const { return runtime_; }
  int gpu() const { return gpu_; }  // the physical index
  const Device& device() const { return device_; }
  MemoryPool& memory() { return memory_; }

  // Hold this lock while enqueueing anything on the stream.
  [[nodiscard]] std::unique_lock<std::recursive_mutex> lock() { return std::unique_lock(mutex_); }
  RuntimeStream* stream() const { return stream_; }

  // Uninitialized memory; `what` it is for is named when there is no memory left.
  std::shared_ptr<GpuBuffer> allocate(size_t bytes, std::string_view what);
  Tensor empty(const TensorType& type, std::string_view what);
  // Several uninitialized tensors: small ones share one block.
  std::vector<Tensor> empty(std::span<const TensorType> types, std::string_view what);
  // Copies tensors from host memory: small ones in a single transfer.
  void upload(std::span<Tensor*> tensors);
  // Copies a tensor from host memory. Large copies overlap with previously enqueued kernels.
  Tensor upload(const Tensor& tensor);
  // Copies an array from another GPU.
  Tensor copy_from(GpuDevice& other, const Tensor& tensor);
  // Copies to the host what `from` holds once `ready` has happened (null: once all enqueued work is
  // done). Throws the failed checks of kernels up to then.
  void read(std::byte* to, const std::byte* from, size_t bytes, const RuntimeEvent* ready);
  // Copies a part of an array.
  std::shared_ptr<GpuBuffer> clone(const GpuBuffer& array, const std::byte* from, size_t bytes);
  // Returns the tensor, or a copy if it isn't aligned as kernels require: rows of another tensor
  // may start at any byte.
  Tensor aligned(const Tensor& tensor);
  // Returns make(), for what takes memory of the GPU beside the pool: if there is none, the pool
  // returns what it doesn't use, and it is made once more.
  template <class Make>
  auto with_memory(const Make& make) {
    try {
      return make();
    } catch (const ResourceExhausted&) {
      memory_.release();
      return make();
    }
  }

  // Where kernels report failed checks: a number and a value.
  void* status() const { return status_; }
  // A run whose kernels may fail a check, which may be stopped, or which follows such a run.
  struct CheckedRun {
    uint64_t number = 0;
    std::shared_ptr<RuntimeEvent> done;
    std::shared_ptr<const Checks> checks;
    std::shared_ptr<const std::vector<Variable>> variables;  // written by any replica in this run
    bool awaited = false;
    Origin origin;                // the run that its results depend on
    int64_t* reported = nullptr;  // number and value, page-locked
    std::exception_ptr refused;   // guarded by the lock
  };
  // Returns the number of a run, shared by its replicas; later runs have larger numbers.
  static uint64_t next_run_number();
  // Called with the lock held when such a run has been enqueued. `awaited`: the caller will call
  // settle, and nobody else is notified.
  std::shared_ptr<CheckedRun> expect(uint64_t number, std::shared_ptr<const Checks> checks,
                                     std::shared_ptr<const std::vector<Variable>> variables,
                                     bool awaited);
  // Whether the outcome of such runs is still to be checked. Called with the lock held.
  bool is_expecting() const { return !expected_.empty(); }
  // Waits for the run, and throws its failed check.
  void settle(const CheckedRun& run);
  // Throws failed checks of completed runs that nobody waits for.
  void look_at_status();
  // Called when this GPU and another one were replicas of the same run: readers of this one's
  // results are also told about the other one's failed checks.
  void accompany(std::shared_ptr<RuntimeEvent> own, GpuDevice& other,
                 std::shared_ptr<RuntimeEvent> others);
  // Called after a failed run, which may have left garbage that kernels rejected: waits for all
  // enqueued work. Nobody is notified; what was written since the last run known to be correct is
  // poisoned.
  void forget_refused(const std::string& why);
  // Called without the lock when a run has been enqueued. `done`: its completion. Blocks while too
  // many runs are in flight, to limit the memory for what the host prepares for them.
  void follow(std::shared_ptr<RuntimeEvent> done);

  // Waits for all enqueued work.
  void drain();

  // Memory for the intermediate values of work enqueued with the lock held; not used by other
  // threads. Its address changes when more is requested than before.
  std::byte* arena(size_t bytes);
  // Like arena(): page-locked memory through which the host exchanges data with the GPU during a
  // run.
  std::byte* exchange(size_t bytes);

 private:
  friend class GpuBuffer;

  using CheckedRuns = std::deque<std::shared_ptr<CheckedRun>>;
  struct Companion {
    std::shared_ptr<RuntimeEvent> own;
    GpuDevice* device = nullptr;
    std::shared_ptr<RuntimeEvent> done;
  };
  struct Upload {  // destination of host arrays, and the end of its last use
    std::byte* block = nullptr;
    std::shared_ptr<RuntimeEvent> free_after;
  };

  std::shared_ptr<RuntimeEvent> record();
  template <class Copy>
  void through_staging(size_t bytes, Copy copy);
  Upload take_upload(size_t bytes);
  void give_upload(std::byte* block, size_t bytes) noexcept;
  void give_kept_uploads();
  Tensor upload_large(const Tensor& tensor);
  void copy_through(StagingPool::Block& staging, const Tensor& from, size_t begin,
                    const Upload& to);
  void drop_staging(const StagingPool::Block& staging) noexcept;
  void look_at_companions();
  // `cause`: the error for all of them; null: one which says that they depend on a failed check.
  CheckedRuns take_refused(const std::string& why, const std::exception_ptr& cause);
  std::exception_ptr next_refused();
  void let_go();

  Runtime& runtime_;
  int gpu_;
  Device device_;
  MemoryPool memory_;
  std::recursive_mutex mutex_;
  RuntimeStream* stream_;
  std::mutex upload_mutex_;  // guards the upload stream; never held while taking another lock
  RuntimeStream* upload_stream_;
  StagingPool staging_;
  std::mutex list_mutex_;  // guards the list below, in the same way
  std::multimap<size_t, Upload> uploads_;
  std::mutex read_mutex_;  // guards the read stream
  RuntimeStream* read_stream_;
  void* status_ = nullptr;
  int64_t* reported_ = nullptr;  // copies of it for runs, used in turn; page-locked
  size_t next_reported_ = 0;
  CheckedRuns expected_;         // oldest first
  CheckedRuns finished_;         // checked; see let_go
  std::exception_ptr untold_;    // found while waiting for another run
  std::mutex companions_mutex_;  // guards the list below, in the same way
  std::deque<Companion> companions_;
  std::mutex runs_mutex_;                           // guards the list below, in the same way
  std::deque<std::shared_ptr<RuntimeEvent>> runs_;  // in flight, oldest first
  std::byte* arena_ = nullptr;
  size_t arena_bytes_ = 0;
  std::byte* exchange_ = nullptr;
  size_t exchange_bytes_ = 0;
};

}  // namespace cornu::cuda
