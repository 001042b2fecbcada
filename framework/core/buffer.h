// SPDX-License-Identifier: Apache-2.0
// Memory shared by tensors.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "framework/core/device.h"

namespace cornu {

// A block of memory on a device, freed with its last owner. Host memory is aligned to 64 bytes and
// shared by all logical CPUs. A backend with its own memory derives a class that copies to and from
// it. A buffer may be shared between threads; access to its bytes is not synchronized.
class Buffer {
 public:
  virtual ~Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // The address on the buffer's device, for use by that device's backend. All others use host().
  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  const Device& device() const { return device_; }
  // Whether the bytes are another owner's constants, which may be copied but never written.
  bool read_only() const { return read_only_; }

  // Whether the bytes are a caller's, who may change or free them at any time.
  virtual bool is_borrowed() const { return false; }

  // Whether the host can read and write the memory directly.
  bool on_host() const { return on_host_; }
  // The bytes, for access from the host. Throws FailedPrecondition, naming the device, when they
  // aren't in host memory.
  std::byte* host() {
    if (!on_host_) [[unlikely]]
      refuse_host();
    return data_;
  }
  const std::byte* host() const { return const_cast<Buffer*>(this)->host(); }

  // Copies to.size() bytes starting at `offset` to `to`; the copy is complete on return. (To copy
  // to a device, use Backend::to_device.)
  virtual void copy_to_host(size_t offset, std::span<std::byte> to) const;
  // Returns new memory on the same device with a copy of the bytes [offset, offset + bytes).
  virtual std::shared_ptr<Buffer> clone(size_t offset, size_t bytes) const;
  // Called before the only owner writes to the buffer in place.
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

// Returns uninitialized host memory from a caching allocator: freed blocks are kept for later
// requests of the same size class. Throws ResourceExhausted, with the requested size, when the
// system is out of memory.
std::shared_ptr<Buffer> allocate_host(size_t bytes);

// Returns host memory that holds and owns `count` empty std::string objects. They are always copied
// as objects, never byte by byte; this includes clone() and copy_to_host(), whose destination must
// hold live strings.
std::shared_ptr<Buffer> allocate_strings(size_t count);

// Wraps the caller's memory, which `owner` keeps alive; nothing is copied or freed. Memory passed
// as const is never written.
std::shared_ptr<Buffer> wrap_host(void* data, size_t bytes, std::shared_ptr<const void> owner);
std::shared_ptr<Buffer> wrap_host(const void* data, size_t bytes,
                                  std::shared_ptr<const void> owner);

// Returns the allocator's cached free host blocks to the system.
void release_cached_host_memory();

}  // namespace cornu
