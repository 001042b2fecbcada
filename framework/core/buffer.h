// SPDX-License-Identifier: Apache-2.0
// Memory that tensors share.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "framework/core/device.h"

namespace cornu {

// A block of memory on a device, freed with its last owner. Host memory is aligned to 64 bytes; all
// logical CPUs share it. A backend with memory of its own derives a class that copies from and to
// it. Thread-safe to share; the bytes themselves are not guarded.
class Buffer {
 public:
  virtual ~Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // The address on its device: what the device's backend works with. Others ask for host().
  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  const Device& device() const { return device_; }
  // The bytes are another owner's constants: to be copied, never written.
  bool read_only() const { return read_only_; }

  // May the host read and write it?
  bool on_host() const { return on_host_; }
  // The bytes, for the host. FailedPrecondition, naming the device, where they lie elsewhere.
  std::byte* host() {
    if (!on_host_) [[unlikely]]
      refuse_host();
    return data_;
  }
  const std::byte* host() const { return const_cast<Buffer*>(this)->host(); }

  // Copies bytes from `offset` on, as many as `to` has; done on return. (Backend::to_device is the
  // way to a device.)
  virtual void copy_to_host(size_t offset, std::span<std::byte> to) const;
  // New memory on the same device that holds the bytes [offset, offset + bytes).
  virtual std::shared_ptr<Buffer> clone(size_t offset, size_t bytes) const;
  // The only owner is going to write to it in place.
  virtual void before_write() {}

 protected:
  Buffer(std::byte* data, size_t bytes, Device device, bool read_only = false)
      : data_(data),
        bytes_(bytes),
        device_(device),
        read_only_(read_only),
        on_host_(device.type == DeviceType::Cpu) {}

 private:
  [[noreturn]] void refuse_host() const;

  std::byte* data_;
  size_t bytes_;
  Device device_;
  bool read_only_;
  bool on_host_;
};

// Uninitialized host memory from a caching allocator: freed blocks are kept for the next request of
// their size class. ResourceExhausted, with the size asked for, when the system has none.
std::shared_ptr<Buffer> allocate_host(size_t bytes);

// Host memory that holds `count` empty std::string objects, and owns them: they are copied as
// objects, never byte by byte, by clone() and copy_to_host() (into living ones) too.
std::shared_ptr<Buffer> allocate_strings(size_t count);

// Memory of the caller's, kept alive by `owner`; nothing is copied or freed. Constants are never
// written to.
std::shared_ptr<Buffer> wrap_host(void* data, size_t bytes, std::shared_ptr<const void> owner);
std::shared_ptr<Buffer> wrap_host(const void* data, size_t bytes,
                                  std::shared_ptr<const void> owner);

// Gives cached free host blocks back to the system.
void release_cached_host_memory();

}  // namespace cornu
