// SPDX-License-Identifier: Apache-2.0
// A logical GPU: its memory, its stream, and what is still to be known of the work on it.
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
#include "framework/backends/cuda/stopped_run.h"
#include "framework/core/tensor.h"
#include "framework/core/variable.h"
#include "framework/graph/op.h"

namespace cornu::cuda {

// What a program's kernels may refuse, by the number that they report.
using Checks = std::map<int64_t, std::function<void(int64_t value)>>;

// Held while something is enqueued on several GPUs that makes them wait for each other, a run with
// collectives or a copy: each does what it was given in its order, and orders that differ would
// make them wait for ever.
std::mutex& order_of_gpus();

class GpuDevice;

// Memory of a GpuDevice, which is never destroyed.
class GpuBuffer : public Buffer {
 public:
  enum class Kind { Computed, Uploaded };
  GpuBuffer(GpuDevice& owner, std::byte* memory, size_t bytes, Kind kind);
  ~GpuBuffer() override;

  GpuDevice& owner() const { return owner_; }
  // Its value is there when this has happened, and doesn't change before it is written again.
  void set_ready(std::shared_ptr<RuntimeEvent> ready) { ready_ = std::move(ready); }
  // What its value depends on.
  const Origin& origin() const { return origin_; }
  void set_origin(Origin origin) { origin_ = std::move(origin); }
  // The last run that it depends on of those that may have been refused something unseen; 0: none.
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

// Of a tensor that lies on a GPU.
GpuBuffer& buffer_of(const Tensor& tensor);
// The last run that any of these depends on, which lie on GPUs.
uint64_t last_run_of(std::span<const Tensor> tensors);
// What these tensors, which lie on GPUs, depend on.
Origin origin_of(std::span<const Tensor> tensors);

// All kernels run on one stream, in the order in which they were enqueued, whichever thread did it.
// The host goes on meanwhile; what it reads, it waits for. Arrays from the host travel on a second
// stream, through page-locked memory, while kernels run.
//
// Kernels that refuse a value (a label, an index) note it, and the first thing that waits for them
// throws: a read of any array of the device, or its next run. Variables that were written since
// then are poisoned, unless they have been given values since that depend on none of these runs.
class GpuDevice {
 public:
  // `limit`: of memory, in bytes; 0: none.
  GpuDevice(Runtime& runtime, int gpu, const Device& device, size_t limit);

  Runtime& runtime() const { return runtime_; }
  int gpu() const { return gpu_; }  // the physical one
  const Device& device() const { return device_; }
  MemoryPool& memory() { return memory_; }

  // Held while anything is enqueued on the stream.
  [[nodiscard]] std::unique_lock<std::recursive_mutex> lock() { return std::unique_lock(mutex_); }
  RuntimeStream* stream() const { return stream_; }

  // Uninitialized; `what` it is for is named where there is no memory left.
  std::shared_ptr<GpuBuffer> allocate(size_t bytes, std::string_view what);
  Tensor empty(const TensorType& type, std::string_view what);
  // The same of several: small ones are parts of one block.
  std::vector<Tensor> empty(std::span<const TensorType> types, std::string_view what);
  // Copies of host memory: small ones travel together.
  void upload(std::span<Tensor*> tensors);
  // A copy of host memory. Large ones overlap with kernels that were enqueued before.
  Tensor upload(const Tensor& tensor);
  // A copy of an array of another GPU.
  Tensor copy_from(GpuDevice& other, const Tensor& tensor);
  // Copies to the host what `from` holds when `ready` has happened (null: when everything that is
  // enqueued is done). Throws what kernels have refused until then.
  void read(std::byte* to, const std::byte* from, size_t bytes, const RuntimeEvent* ready);
  // A copy of a part of an array.
  std::shared_ptr<GpuBuffer> clone(const GpuBuffer& array, const std::byte* from, size_t bytes);
  // The tensor, or a copy where it doesn't lie as kernels read: rows of another one may begin at
  // any byte.
  Tensor aligned(const Tensor& tensor);

  // Where kernels report: a number and a value.
  void* status() const { return status_; }
  // A run in which kernels may refuse something, which may be stopped, or which comes behind such a
  // one.
  struct CheckedRun {
    uint64_t number = 0;
    std::shared_ptr<RuntimeEvent> done;
    std::shared_ptr<const Checks> checks;
    std::shared_ptr<const std::vector<Variable>> variables;  // that any replica writes in it
    bool awaited = false;
    Origin origin;                // what its results depend on
    int64_t* reported = nullptr;  // number and value, page-locked
    std::exception_ptr refused;   // guarded by the lock
  };
  // For what replicas do together; later ones have larger numbers.
  static uint64_t next_run_number();
  // Called with the lock held when such a run has been enqueued. `awaited`: the caller will call
  // settle, and nobody else is told.
  std::shared_ptr<CheckedRun> expect(uint64_t number, std::shared_ptr<const Checks> checks,
                                     std::shared_ptr<const std::vector<Variable>> variables,
                                     bool awaited);
  // Whether what such runs have done is still to be looked at. Called with the lock held.
  bool is_expecting() const { return !expected_.empty(); }
  // Waits for the run, and throws what it has refused.
  void settle(const CheckedRun& run);
  // Throws what has been refused by runs that are done and that nobody waits for.
  void look_at_status();
  // A replica on another GPU has had a run together with one on this: what that has refused is told
  // to who reads this one's results, too.
  void accompany(std::shared_ptr<RuntimeEvent> own, GpuDevice& other,
                 std::shared_ptr<RuntimeEvent> others);
  // After a run that has failed, and may have left rubbish that kernels refused: waits for all that
  // is enqueued. Nobody is told; what was written since what is known to be right is poisoned.
  void forget_refused(const std::string& why);
  // Called without the lock when a run has been enqueued that will be `done`: waits while too many
  // are under way, lest what the host prepares for them take ever more memory.
  void follow(std::shared_ptr<RuntimeEvent> done);

  // Waits for all that has been enqueued.
  void drain();

  // Memory that no other thread uses, for intermediate values of what is enqueued with the lock
  // held. Its address changes when more is asked for than before.
  std::byte* arena(size_t bytes);
  // Page-locked memory for what the host exchanges with the GPU during a run, likewise.
  std::byte* exchange(size_t bytes);

 private:
  friend class GpuBuffer;

  using CheckedRuns = std::deque<std::shared_ptr<CheckedRun>>;
  struct Companion {
    std::shared_ptr<RuntimeEvent> own;
    GpuDevice* device = nullptr;
    std::shared_ptr<RuntimeEvent> done;
  };
  struct Upload {  // memory that arrays from the host were copied to, and when its last use ends
    std::byte* block = nullptr;
    std::shared_ptr<RuntimeEvent> free_after;
  };
  struct Staging {  // page-locked memory
    void* block = nullptr;
    size_t bytes = 0;
    std::shared_ptr<RuntimeEvent> free_after;
  };

  std::shared_ptr<RuntimeEvent> record();
  Staging take_staging(size_t bytes);
  void give_staging(Staging staging);
  Upload take_upload(size_t bytes);
  void give_upload(std::byte* block, size_t bytes) noexcept;
  void give_kept_uploads();
  Tensor upload_large(const Tensor& tensor);
  void copy_through(Staging& staging, const Tensor& from, const Upload& to);
  void drop_staging(const Staging& staging) noexcept;
  void free_staging(const Staging& staging);
  void give_up_staging();
  void look_at_companions();
  // `cause`: the error of all of them; null: one that says that they depend on what was refused.
  CheckedRuns take_refused(const std::string& why, const std::exception_ptr& cause);
  std::exception_ptr next_refused();
  void let_go();

  Runtime& runtime_;
  int gpu_;
  Device device_;
  MemoryPool memory_;
  std::recursive_mutex mutex_;
  RuntimeStream* stream_;
  std::mutex upload_mutex_;  // guards the stream for uploads; never held when another one is taken
  RuntimeStream* upload_stream_;
  std::mutex list_mutex_;  // guards the two lists below, likewise
  std::multimap<size_t, Upload> uploads_;
  std::vector<Staging> staging_;
  std::mutex read_mutex_;  // guards the stream for reads
  RuntimeStream* read_stream_;
  void* status_ = nullptr;
  int64_t* reported_ = nullptr;  // copies of it for runs that take turns, page-locked
  size_t next_reported_ = 0;
  CheckedRuns expected_;         // the oldest first
  CheckedRuns finished_;         // looked at; see let_go
  std::exception_ptr untold_;    // found by who waited for another run
  std::mutex companions_mutex_;  // guards the list below, likewise
  std::deque<Companion> companions_;
  std::mutex runs_mutex_;                           // guards the list below, likewise
  std::deque<std::shared_ptr<RuntimeEvent>> runs_;  // under way, the oldest first
  std::byte* arena_ = nullptr;
  size_t arena_bytes_ = 0;
  std::byte* exchange_ = nullptr;
  size_t exchange_bytes_ = 0;
};

}  // namespace cornu::cuda
