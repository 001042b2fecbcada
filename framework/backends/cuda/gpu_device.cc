// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/gpu_device.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "framework/core/error.h"
#include "framework/core/exception_text.h"
#include "framework/core/variable_access.h"

namespace cornu::cuda {
namespace {

// From this size on, the overhead of an upload over a copy in kernel order pays off.
constexpr size_t kLargeUpload = size_t{64} << 10;
constexpr size_t kStatusBytes = 2 * sizeof(int64_t);
constexpr size_t kKeptUploads = 4;  // free blocks of one size
// Free blocks of all sizes together, except for those of the last size that was given.
constexpr size_t kKeptUploadBytes = size_t{256} << 20;
constexpr size_t kWaitedUploads = 2;  // with this many in use, wait for the oldest
constexpr size_t kMaxRuns = 16;       // in flight
constexpr size_t kReports = 256;      // runs whose status hasn't been checked yet
constexpr size_t kCompanions = 256;   // older ones are checked by their GPU's next run

constexpr size_t kPlaceAlignment = 16;  // required by kernels and libraries

// Parts of a block start at multiples of 256 bytes.
size_t part_bytes(size_t bytes) { return (bytes + 255) / 256 * 256; }

std::exception_ptr why_stopped(const GpuDevice::CheckedRun& run) {
  return run.origin ? run.origin->why() : nullptr;
}

}  // namespace

std::mutex& order_of_gpus() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

GpuBuffer::GpuBuffer(GpuDevice& owner, std::byte* memory, size_t bytes, Kind kind)
    : Buffer(memory, bytes, owner.device()), owner_(owner), kind_(kind) {}

GpuBuffer::~GpuBuffer() {
  if (kind_ == Kind::Computed) {
    owner_.memory().give(data(), bytes());
  } else {
    owner_.give_upload(data(), bytes());
  }
}

void GpuBuffer::copy_to_host(size_t offset, std::span<std::byte> to) const {
  owner_.read(to.data(), data() + offset, to.size(), ready_.get());
  require_right(origin_);
}

std::shared_ptr<Buffer> GpuBuffer::clone(size_t offset, size_t bytes) const {
  return owner_.clone(*this, data() + offset, bytes);
}

GpuBuffer& buffer_of(const Tensor& tensor) { return static_cast<GpuBuffer&>(*tensor.buffer()); }

Origin origin_of(std::span<const Tensor> tensors) {
  Origin origin;
  for (const Tensor& tensor : tensors) add_origin(origin, buffer_of(tensor).origin());
  return origin;
}

uint64_t last_run_of(std::span<const Tensor> tensors) {
  uint64_t last = 0;
  for (const Tensor& tensor : tensors) last = std::max(last, buffer_of(tensor).last_run());
  return last;
}

GpuDevice::GpuDevice(Runtime& runtime, int gpu, const Device& device, size_t limit)
    : runtime_(runtime),
      gpu_(gpu),
      device_(device),
      memory_(
          runtime, gpu, device.to_string(), limit, [this] { drain(); },
          [this] { give_kept_uploads(); }),
      stream_(runtime.make_stream(gpu)),
      upload_stream_(runtime.make_stream(gpu)),
      staging_(runtime, device.to_string()),
      read_stream_(runtime.make_stream(gpu)) {
  status_ = memory_.take(kStatusBytes, "the status of kernels");
  reported_ = static_cast<int64_t*>(runtime.allocate_pinned(kStatusBytes * kReports));
  check<ResourceExhausted>(reported_ != nullptr, "{}: no page-locked memory can be had.", device);
  std::fill_n(reported_, 2 * kReports, 0);
  const auto locked = lock();
  runtime.fill(stream_, status_, 0, kStatusBytes);
}

std::shared_ptr<RuntimeEvent> GpuDevice::record() {
  const auto locked = lock();
  return runtime_.record(stream_);
}

std::shared_ptr<GpuBuffer> GpuDevice::allocate(size_t bytes, std::string_view what) {
  return std::make_shared<GpuBuffer>(*this, memory_.take(bytes, what), bytes,
                                     GpuBuffer::Kind::Computed);
}

Tensor GpuDevice::empty(const TensorType& type, std::string_view what) {
  return Tensor::from_buffer(allocate(type.bytes(), what), 0, type.shape, type.dtype);
}

std::vector<Tensor> GpuDevice::empty(std::span<const TensorType> types, std::string_view what) {
  std::vector<size_t> places;
  size_t together = 0;
  for (const TensorType& type : types) {
    places.push_back(together);
    if (type.bytes() < kLargeUpload) together += part_bytes(type.bytes());
  }
  const std::shared_ptr<GpuBuffer> block = together > 0 ? allocate(together, what) : nullptr;
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < types.size(); ++i) {
    const TensorType& type = types[i];
    const bool is_part = block && type.bytes() < kLargeUpload;
    tensors.push_back(is_part ? Tensor::from_buffer(block, places[i], type.shape, type.dtype)
                              : empty(type, what));
  }
  return tensors;
}

void GpuDevice::upload(std::span<Tensor*> tensors) {
  std::vector<Tensor*> small;
  std::vector<TensorType> types;
  size_t bytes = 0;
  for (Tensor* tensor : tensors) {
    if (tensor->bytes() >= kLargeUpload) {
      *tensor = upload_large(*tensor);
      continue;
    }
    small.push_back(tensor);
    types.push_back(type_of(*tensor));
    bytes += part_bytes(tensor->bytes());
  }
  if (small.empty()) return;
  std::vector<Tensor> copies = empty(types, "arrays from the host");
  if (bytes > 0) {
    auto* const to = const_cast<std::byte*>(copies.front().address());
    through_staging(bytes, [&](StagingPool::Block& staging) {
      auto* place = static_cast<std::byte*>(staging.memory);
      for (const Tensor* tensor : small) {
        tensor->copy_to_host(place);
        place += part_bytes(tensor->bytes());
      }
      const auto locked = lock();
      runtime_.copy_to_gpu(stream_, to, staging.memory, bytes);
      staging.free_after = runtime_.record(stream_);
    });
  }
  for (size_t i = 0; i < small.size(); ++i) *small[i] = std::move(copies[i]);
}

Tensor GpuDevice::upload(const Tensor& tensor) {
  Tensor copy = tensor;
  Tensor* one = &copy;
  upload(std::span(&one, 1));
  return copy;
}

Tensor GpuDevice::upload_large(const Tensor& tensor) {
  const size_t bytes = tensor.bytes();
  Upload place = take_upload(bytes);
  Tensor copy = Tensor::from_buffer(
      std::make_shared<GpuBuffer>(*this, place.block, bytes, GpuBuffer::Kind::Uploaded), 0,
      tensor.shape(), tensor.dtype());
  for (size_t begin = 0; begin < bytes; begin += StagingPool::kMaxBytes) {
    through_staging(
        std::min(StagingPool::kMaxBytes, bytes - begin),
        [&](StagingPool::Block& staging) { copy_through(staging, tensor, begin, place); });
  }
  return copy;
}

// Calls `copy` with page-locked memory, which is used again once free_after, set by it, is reached.
template <class Copy>
void GpuDevice::through_staging(size_t bytes, Copy copy) {
  StagingPool::Block staging = staging_.take(bytes);
  try {
    copy(staging);
  } catch (...) {
    drop_staging(staging);
    throw;
  }
  staging_.give(std::move(staging));
}

// Copies the piece of `from` that begins at this byte; later work of the GPU waits for it.
void GpuDevice::copy_through(StagingPool::Block& staging, const Tensor& from, size_t begin,
                             const Upload& to) {
  const size_t bytes = std::min(StagingPool::kMaxBytes, from.bytes() - begin);
  std::memcpy(staging.memory, from.raw() + begin, bytes);
  {
    const std::lock_guard uploading(upload_mutex_);
    if (to.free_after) runtime_.wait(upload_stream_, *to.free_after);
    runtime_.copy_to_gpu(upload_stream_, to.block + begin, staging.memory, bytes);
    staging.free_after = runtime_.record(upload_stream_);
  }
  const auto locked = lock();
  runtime_.wait(stream_, *staging.free_after);
}

// After an error: the copy may be in flight, possibly to memory that is about to be released.
void GpuDevice::drop_staging(const StagingPool::Block& staging) noexcept {
  try {
    {
      const std::lock_guard uploading(upload_mutex_);
      runtime_.synchronize(upload_stream_);
    }
    const auto locked = lock();
    runtime_.synchronize(stream_);
    runtime_.free_pinned(staging.memory);
  } catch (const Error&) {  // the GPU has failed: the memory is leaked
  }
}

// Takes a block whose last use is over, or the oldest of several: a copy waits for it on the GPU.
GpuDevice::Upload GpuDevice::take_upload(size_t bytes) {
  {
    const std::lock_guard listing(list_mutex_);
    const auto [begin, end] = uploads_.equal_range(bytes);
    auto found = std::find_if(
        begin, end, [&](const auto& one) { return runtime_.is_done(*one.second.free_after); });
    if (found == end && static_cast<size_t>(std::distance(begin, end)) >= kWaitedUploads) {
      found = begin;
    }
    if (found != end) {
      Upload place = std::move(found->second);
      uploads_.erase(found);
      return place;
    }
  }
  std::byte* block = memory_.take(bytes, "an array from the host");
  return {block, record()};
}

void GpuDevice::give_upload(std::byte* block, size_t bytes) noexcept {
  Upload place{block, nullptr};
  try {
    place.free_after = record();
  } catch (const Error&) {
    return;  // the GPU has failed, or CUDA is gone at program exit: the memory is leaked
  }
  std::vector<std::pair<size_t, std::byte*>> freed;
  {
    const std::lock_guard listing(list_mutex_);
    if (uploads_.count(bytes) < kKeptUploads) {
      uploads_.emplace(bytes, std::move(place));
    } else {
      freed.emplace_back(bytes, block);
    }
    size_t others = 0;
    for (const auto& [size, one] : uploads_) others += size == bytes ? 0 : size;
    for (auto it = uploads_.begin(); others > kKeptUploadBytes && it != uploads_.end();) {
      if (it->first == bytes) {
        ++it;
        continue;
      }
      others -= it->first;
      freed.emplace_back(it->first, it->second.block);
      it = uploads_.erase(it);
    }
  }
  // Like all memory, it was used in the order of the stream.
  for (const auto& [size, memory] : freed) memory_.give(memory, size);
}

void GpuDevice::give_kept_uploads() {
  std::multimap<size_t, Upload> kept;
  {
    const std::lock_guard listing(list_mutex_);
    kept.swap(uploads_);
  }
  for (const auto& [bytes, place] : kept) memory_.give(place.block, bytes);
}

Tensor GpuDevice::copy_from(GpuDevice& other, const Tensor& tensor) {
  Tensor copy = empty(type_of(tensor), "an array of another GPU");
  buffer_of(copy).set_origin(buffer_of(tensor).origin());
  buffer_of(copy).set_last_run(buffer_of(tensor).last_run());
  const std::lock_guard ordering(order_of_gpus());
  const std::shared_ptr<RuntimeEvent> there = other.record();
  std::shared_ptr<RuntimeEvent> copied;
  {
    const auto locked = lock();
    runtime_.wait(stream_, *there);
    runtime_.copy(stream_, const_cast<std::byte*>(copy.address()), tensor.address(),
                  tensor.bytes());
    copied = runtime_.record(stream_);
  }
  // Until then the other GPU keeps the memory unchanged, whoever owns it.
  const auto locked = other.lock();
  runtime_.wait(other.stream(), *copied);
  return copy;
}

void GpuDevice::read(std::byte* to, const std::byte* from, size_t bytes,
                     const RuntimeEvent* ready) {
  if (bytes == 0) return;
  if (ready) {
    const std::lock_guard reading(read_mutex_);
    runtime_.wait(read_stream_, *ready);
    runtime_.copy_to_host(read_stream_, to, from, bytes);
    runtime_.synchronize(read_stream_);
  } else {
    const auto locked = lock();
    runtime_.copy_to_host(stream_, to, from, bytes);
    runtime_.synchronize(stream_);
  }
  look_at_status();
  look_at_companions();
}

std::shared_ptr<GpuBuffer> GpuDevice::clone(const GpuBuffer& array, const std::byte* from,
                                            size_t bytes) {
  std::shared_ptr<GpuBuffer> copy = allocate(bytes, "a copy of an array");
  copy->set_origin(array.origin());
  copy->set_last_run(array.last_run());
  const auto locked = lock();
  runtime_.copy(stream_, copy->data(), from, bytes);
  return copy;
}

Tensor GpuDevice::aligned(const Tensor& tensor) {
  if (reinterpret_cast<uintptr_t>(tensor.address()) % kPlaceAlignment == 0) return tensor;
  return Tensor::from_buffer(clone(buffer_of(tensor), tensor.address(), tensor.bytes()), 0,
                             tensor.shape(), tensor.dtype());
}

uint64_t GpuDevice::next_run_number() {
  static std::atomic<uint64_t> count = 0;
  return ++count;
}

std::shared_ptr<GpuDevice::CheckedRun> GpuDevice::expect(
    uint64_t number, std::shared_ptr<const Checks> checks,
    std::shared_ptr<const std::vector<Variable>> variables, bool awaited) {
  if (expected_.size() == kReports - 1) {
    runtime_.synchronize(*expected_.front()->done);
    if (const std::exception_ptr refused = next_refused(); refused && !untold_) untold_ = refused;
  }
  next_reported_ =
      next_reported_ % (kReports - 1) + 1;  // the first one is reserved for forget_refused
  auto run = std::make_shared<CheckedRun>();
  run->number = number;
  run->checks = std::move(checks);
  run->variables = std::move(variables);
  run->awaited = awaited;
  run->reported = reported_ + 2 * next_reported_;
  run->reported[0] = 0;
  runtime_.copy_to_host(stream_, run->reported, status_, kStatusBytes);
  // The failed check doesn't affect later runs: this run's results are known to be invalid.
  if (awaited) runtime_.fill(stream_, status_, 0, kStatusBytes);
  run->done = runtime_.record(stream_);
  expected_.push_back(run);
  return run;
}

void GpuDevice::settle(const CheckedRun& run) {
  runtime_.synchronize(*run.done);
  std::exception_ptr refused;
  {
    const auto locked = lock();
    while (const std::exception_ptr other = next_refused()) {
      if (!untold_) untold_ = other;
    }
    refused = run.refused;
  }
  let_go();
  if (refused) rethrow_copy(refused);
}

void GpuDevice::look_at_status() {
  std::exception_ptr refused;
  {
    const auto locked = lock();
    refused = std::exchange(untold_, nullptr);
    if (!refused) refused = next_refused();
  }
  let_go();
  if (refused) rethrow_copy(refused);
}

// Not destroyed under the lock: a run may hold the last handles of variables, whose memory may
// belong to other GPUs.
void GpuDevice::let_go() {
  CheckedRuns runs;
  const auto locked = lock();
  runs.swap(finished_);
}

// Checks completed runs, up to the first one with a failed check that nobody waits for. Whether
// later runs have failed checks is unknown.
std::exception_ptr GpuDevice::next_refused() {
  while (!expected_.empty() && runtime_.is_done(*expected_.front()->done)) {
    const std::shared_ptr<CheckedRun> run = expected_.front();
    const std::exception_ptr stopped = why_stopped(*run);
    if (!stopped && run->reported[0] == 0) {
      finished_.push_back(run);
      expected_.pop_front();
      continue;
    }
    const int64_t number = run->reported[0];
    const int64_t value = run->reported[1];
    CheckedRuns runs = {run};
    if (run->awaited) {
      finished_.push_back(run);
      expected_.pop_front();
    } else {
      drain();
      runs = take_refused(stopped
                              ? text_of(stopped)
                              : "a kernel has refused what it was given, on " + device_.to_string(),
                          stopped);
    }
    try {
      if (stopped) rethrow_copy(stopped);
      for (const auto& one : runs) {
        if (const auto found = one->checks->find(number); found != one->checks->end()) {
          found->second(value);
        }
      }
      raise<Internal>("{}: a kernel has reported {} (value {}), which nobody knows.", device_,
                      number, value);
    } catch (...) {
      run->refused = std::current_exception();
    }
    if (!run->awaited) return run->refused;
  }
  return nullptr;
}

void GpuDevice::accompany(std::shared_ptr<RuntimeEvent> own, GpuDevice& other,
                          std::shared_ptr<RuntimeEvent> others) {
  const std::lock_guard listing(companions_mutex_);
  companions_.push_back({std::move(own), &other, std::move(others)});
  if (companions_.size() > kCompanions) companions_.pop_front();
}

// Only those of completed runs of this GPU.
void GpuDevice::look_at_companions() {
  std::vector<Companion> due;
  {
    const std::lock_guard listing(companions_mutex_);
    while (!companions_.empty() && runtime_.is_done(*companions_.front().own)) {
      due.push_back(std::move(companions_.front()));
      companions_.pop_front();
    }
  }
  for (const Companion& one : due) {
    runtime_.synchronize(*one.done);
    one.device->look_at_status();
  }
}

void GpuDevice::follow(std::shared_ptr<RuntimeEvent> done) {
  std::shared_ptr<RuntimeEvent> oldest;
  {
    const std::lock_guard listing(runs_mutex_);
    runs_.push_back(std::move(done));
    if (runs_.size() <= kMaxRuns) return;
    oldest = std::move(runs_.front());
    runs_.pop_front();
  }
  runtime_.synchronize(*oldest);
}

// Takes everything that may depend on failed checks: the runs since the last one known to be
// correct.
GpuDevice::CheckedRuns GpuDevice::take_refused(const std::string& why,
                                               const std::exception_ptr& cause) {
  runtime_.fill(stream_, status_, 0, kStatusBytes);
  CheckedRuns runs = std::exchange(expected_, {});
  finished_.insert(finished_.end(), runs.begin(), runs.end());
  // Threads may have enqueued the runs in a different order than their numbers.
  uint64_t first = std::numeric_limits<uint64_t>::max();
  for (const auto& run : runs) first = std::min(first, run->number);
  const auto depends = [&](const Tensor& value) { return buffer_of(value).last_run() >= first; };
  for (const auto& run : runs) {
    for (const Variable& variable : *run->variables)
      VariableAccess::poison_where(variable, depends, why);
    run->refused =
        cause ? cause
              : std::make_exception_ptr(FailedPrecondition(fmt::format(
                    "{}: what this run has given isn't known, since {}, in one before it. Run it "
                    "again.",
                    device_, why)));
  }
  return runs;
}

void GpuDevice::forget_refused(const std::string& why) {
  const auto locked = lock();
  runtime_.copy_to_host(stream_, reported_, status_, kStatusBytes);
  drain();
  const bool any = reported_[0] != 0 || std::ranges::any_of(expected_, [](const auto& run) {
                     return run->reported[0] != 0 || why_stopped(*run);
                   });
  if (any) take_refused(why, nullptr);
  untold_ = nullptr;
}

void GpuDevice::drain() {
  const auto locked = lock();
  runtime_.synchronize(stream_);
}

std::byte* GpuDevice::arena(size_t bytes) {
  if (bytes > arena_bytes_) {
    if (arena_) memory_.give(arena_, arena_bytes_);
    arena_ = nullptr;
    arena_bytes_ = 0;
    arena_ = memory_.take(bytes, "intermediate values");
    arena_bytes_ = bytes;
  }
  return arena_;
}

std::byte* GpuDevice::exchange(size_t bytes) {
  if (bytes > exchange_bytes_) {
    drain();
    exchange_bytes_ = 0;
    if (exchange_) runtime_.free_pinned(std::exchange(exchange_, nullptr));
    exchange_ = static_cast<std::byte*>(runtime_.allocate_pinned(bytes));
    exchange_bytes_ = exchange_ ? bytes : 0;
    check<ResourceExhausted>(exchange_ != nullptr,
                             "{}: {} bytes of page-locked memory of the host can't be had.",
                             device_, bytes);
  }
  return exchange_;
}

}  // namespace cornu::cuda
